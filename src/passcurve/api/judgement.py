"""The judgement of one sample, as a warm judge returns it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from passcurve.errors import UsageError
from passcurve.types import Status

Row = Mapping[str, Any]


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one sample."""

    task_id: str
    index: int
    """Its position in the batch."""
    status: Status
    passed: bool | None
    """None where the judging itself failed (``void``), or the problem cannot be judged: no fault of the sample."""
    message: str = ""
    mode: str = ""
    tests: int = 0
    """Tests that there are, and those that passed, where they are counted."""
    tests_passed: int = 0
    suspicious: tuple[str, ...] = ()
    own_s: float = 0.0
    excluded: str = ""
    """Why the problem cannot be judged."""

    @property
    def reward(self) -> float | None:
        """1 for a pass, 0 for a failure, None where nobody knows."""
        return None if self.passed is None else float(self.passed)

    @property
    def share(self) -> float | None:
        """The share of tests that passed; the reward where they are not counted, None where nobody knows.

        Without ``all_tests`` those after the first failure have not run.  What fails though all of them passed has
        ended in what no test counts, which is one test more here.
        """
        if self.passed is None or not self.tests:
            return self.reward
        uncounted = self.tests_passed == self.tests and not self.passed
        return self.tests_passed / (self.tests + uncounted)


def list_rows(rows: Iterable[Row]) -> list[Row]:
    """Return rows as a list; raise UsageError for one row alone, or a text."""
    if isinstance(rows, Mapping | str):
        raise UsageError("give a list of rows, each a dict with task_id and completion or solution")
    return list(rows)
