"""The calls of a problem's tests that are known before any program is judged."""

from __future__ import annotations

from typing import Literal

import msgspec

from passcurve.harness import recording
from passcurve.sandbox.job import Outcome


class _Recorded(msgspec.Struct, frozen=True):
    """Report on recorded calls: anything may come in its place, as tests can write reports of their own."""

    status: Literal["recorded"]
    recorded: list[bytes]
    passed: list[bool]


class KnownCalls:
    """The calls that tests make whatever they get.  They are recorded without any program.

    A reference solution, and after it each sample, gets all of them at once.  Where the tests make others of the
    reference, none are known.
    """

    def __init__(self) -> None:
        self._calls: list[bytes] = []
        self.are_recorded = False
        self.are_in_doubt = False
        """They could not be recorded, or the reference not be judged with them though the tests make no others."""
        self._is_slow = False
        """The reference solution has used up its slice with them, and is judged without."""
        self.wrong_ones_pass: list[bool] = []
        """For each wrong program that was tried when they were recorded, whether it passes the tests."""

    def take(self, outcome: Outcome) -> None:
        """Take what was recorded; nothing where that failed."""
        self.are_recorded = True
        try:
            report = msgspec.convert(outcome.report, _Recorded)
        except msgspec.ValidationError:
            self.are_in_doubt = True
            return
        self._calls, self.wrong_ones_pass = report.recorded, report.passed

    def take_failure(self, outcome: Outcome) -> None:
        """Forget them after this outcome of the reference solution, unless it was only slow."""
        self._is_slow = outcome.ended == "slice"
        if not self._is_slow:
            self._calls = []
            self.are_in_doubt |= (outcome.report or {}).get("status") != "diverged"

    def keep_made(self, outcome: Outcome) -> None:
        """Keep those that the tests have made of the reference solution, whose results may have ended them earlier.

        Of one that got no calls ahead only their number is known, which must be the same.
        """
        made = (outcome.report or {}).get("calls")
        if type(made) is not int or made <= 0 or (self._is_slow and made != len(self._calls)):
            made = 0
        self._calls = self._calls[:made]

    def pack(self) -> bytes:
        """Return them as a plan holds them."""
        return recording.pack_calls(self._calls)
