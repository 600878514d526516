"""Counts of verdicts per problem and per status, and the check that no row was lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable

import msgspec

from passcurve.errors import StoreError
from passcurve.store.part_tally import PartTally
from passcurve.types import SCORED, STATUSES, Counts, Mode, Status, Verdict

_MAX_SUSPICIONS = 200
"""In shared mode a sample can claim any number of suspicions of itself."""


def select_counts(counts: Iterable[Counts], ids: Iterable[str]) -> tuple[Counts, ...]:
    """Return the counts of these problems in this order; a problem without samples has n = 0."""
    by_id = {count.problem_id: count for count in counts}
    return tuple(by_id.get(problem_id) or Counts(problem_id=problem_id, n=0, c=0) for problem_id in ids)


class Tally:
    """Counts of planned and of judged rows; the row of a void verdict stays owed."""

    def __init__(self) -> None:
        self._planned: dict[str, int] = {}
        self._judged: dict[str, int] = {}
        self._passed: dict[str, int] = {}
        self._statuses: dict[Status, int] = dict.fromkeys(STATUSES, 0)
        self._modes: dict[Mode, int] = {"referee": 0, "shared": 0, "none": 0}
        self._suites: dict[str, dict[str, int]] = {}
        """By suite, the number of samples of each problem that pass it and all before it."""
        self._parts = PartTally()
        self._suspicious = 0
        self._suspicions: Counter[str] = Counter()

    def plan(self, problem_id: str) -> None:
        """Count one row to judge."""
        self._planned[problem_id] = self._planned.get(problem_id, 0) + 1

    def add(self, verdict: Verdict) -> None:
        """Count one verdict."""
        self._statuses[verdict.status] += 1
        if verdict.status == "void":
            return
        problem_id = verdict.key.problem_id
        self._judged[problem_id] = self._judged.get(problem_id, 0) + 1
        self._passed[problem_id] = self._passed.get(problem_id, 0) + verdict.passed
        self._modes[verdict.mode] += 1
        self._parts.add(verdict)
        alone = {suite.name for suite in verdict.suites if suite.alone}
        for suite, passed in verdict.suite_passes().items():
            if suite in alone:
                continue
            passes = self._suites.setdefault(suite, {})
            passes[problem_id] = passes.get(problem_id, 0) + passed
        self._suspicious += bool(verdict.suspicious)
        if len(self._suspicions) < _MAX_SUSPICIONS:
            self._suspicions.update(verdict.suspicious)

    @property
    def planned(self) -> int:
        """Return the number of rows to judge."""
        return sum(self._planned.values())

    @property
    def scored(self) -> int:
        """Return the number of rows that have a verdict that counts."""
        return sum(self._statuses[status] for status in SCORED)

    @property
    def owed(self) -> int:
        """Return the number of rows without a verdict."""
        return self.planned - self.scored

    @property
    def statuses(self) -> dict[Status, int]:
        """Return the number of verdicts of each status; ``void`` counts failures of ours, not rows."""
        return dict(self._statuses)

    @property
    def modes(self) -> dict[Mode, int]:
        """Return the number of scored verdicts of each mode."""
        return dict(self._modes)

    @property
    def suspicious(self) -> int:
        """Return the number of scored samples that tried what no honest program needs."""
        return self._suspicious

    @property
    def suspicions(self) -> dict[str, int]:
        """Return the suspicious actions with their numbers of samples, the commonest first."""
        return dict(sorted(self._suspicions.items(), key=lambda item: (-item[1], item[0])))

    def counts(self) -> tuple[Counts, ...]:
        """Return n and c of each planned problem, in the order of their first rows."""
        return tuple(
            Counts(problem_id=problem_id, n=self._judged.get(problem_id, 0), c=self._passed.get(problem_id, 0))
            for problem_id in self._planned
        )

    def suite_counts(self, counted: Container[str]) -> dict[str, tuple[Counts, ...]]:
        """Return n and c of each problem that counts by suite: c counts the samples that pass it and all before it.

        A suite that one of them lacks is left out: the problem would count as failed by it.
        """
        counts = [count for count in self.counts() if count.problem_id in counted]
        return {
            suite: tuple(msgspec.structs.replace(count, c=passes.get(count.problem_id, 0)) for count in counts)
            for suite, passes in self._suites.items()
            if all(count.problem_id in passes for count in counts if count.n)
        }

    def part_counts(self, counted: Container[str]) -> dict[str, tuple[Counts, ...]]:
        """Return n and c of the suites that count alone, and of problems by them, for the problems that count."""
        return self._parts.counts(counted)

    def check(self) -> None:
        """Raise StoreError unless passed + failed of all kinds + owed = planned, in total and for each problem."""
        wrong = [
            f"{problem_id!r}: {self._planned.get(problem_id, 0)} planned, {judged} judged"
            for problem_id, judged in self._judged.items()
            if judged > self._planned.get(problem_id, 0)
        ]
        if wrong:
            raise StoreError(f"more verdicts than rows ({'; '.join(wrong[:3])}); this is a bug in passcurve")
        counts = self.counts()
        passed = sum(count.c for count in counts)
        failed = sum(count.n - count.c for count in counts)
        if passed != self._statuses["passed"] or passed + failed + self.owed != self.planned:
            sums = f"{passed} passed + {failed} failed + {self.owed} owed, {self.planned} planned"
            raise StoreError(f"the counts do not add up ({sums}); this is a bug in passcurve")
