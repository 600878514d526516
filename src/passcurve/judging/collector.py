"""The verdicts of a run: stored in batches, counted, and the remarkable ones remembered."""

from __future__ import annotations

import bisect
from operator import itemgetter

import msgspec

from passcurve.bench.languages import find_language
from passcurve.extract import split_policy
from passcurve.extract.fences import UNCLOSED
from passcurve.interruption import defer_interrupts
from passcurve.judging.fair_queue import Owner
from passcurve.judging.pending import WaitingRow
from passcurve.judging.request import Slowest, Suspect
from passcurve.store.codec import VerdictLine
from passcurve.store.duplicates import DuplicateTracker
from passcurve.store.input_report import InputObserver
from passcurve.store.rundir import JudgingSession
from passcurve.store.tally import Tally
from passcurve.types import Check, Completion, Problem, UnitTests, Verdict, language_of

BATCH_VERDICTS = 1000
"""Verdicts that are stored at once."""

MAX_SUSPECTS = 10
"""Suspicious samples that a result names; the results file has them all."""


class VerdictCollector:
    """Stores and counts verdicts, and keeps the few that a result names."""

    def __init__(self, store: JudgingSession, extract: str) -> None:
        self.tally = Tally()
        self.duplicates = DuplicateTracker()
        # A prelude changes nothing of what the texts are.
        self.input = InputObserver(split_policy(extract)[0])
        self.slowest: Slowest | None = None
        self.resumed = 0
        """Verdicts that an interrupted session had stored."""
        self._store = store
        self._unstored: list[VerdictLine] = []
        self._suspects: dict[bool, list[tuple[int, Suspect]]] = {True: [], False: []}
        """Rows and suspects in the order of the rows, by whether they passed."""

    @property
    def suspects(self) -> tuple[Suspect, ...]:
        """The first suspicious samples, those that passed before the others."""
        return tuple(suspect for _, suspect in self._suspects[True] + self._suspects[False])[:MAX_SUSPECTS]

    def plan(self, problem: Problem, row: Completion) -> None:
        """Take a row that is to have a verdict."""
        self.tally.plan(problem.id)
        self.input.observe(problem, row, is_compiled=_is_compiled(problem.check))

    def add(self, row: WaitingRow, program: str, verdict: Verdict) -> None:
        """Take a verdict for a row; ``program`` is the digest of its program, empty where it has none."""
        if row.key is not verdict.key or row.steps:
            verdict = msgspec.structs.replace(verdict, key=row.key, extraction=row.steps)
        self._unstored.append(VerdictLine(row=row.row, digest=row.digest, program=program, verdict=verdict))
        if len(self._unstored) >= BATCH_VERDICTS:
            self.flush()
        if verdict.status != "void":
            self.duplicates.add(row.key.problem_id, program)
        self._count(row.row, verdict)

    def owner_of(self, _: int) -> Owner:
        """Return who waits for a row: a run waits for all."""
        return ("run",)

    def add_stored(self, row: int, verdict: Verdict) -> None:
        """Take a verdict that an interrupted session has stored."""
        self.resumed += 1
        problem_id = verdict.key.problem_id
        if not self.duplicates.has_two_programs(problem_id) and (line := self._store.line_at(row)):
            self.duplicates.add(problem_id, line.program)
        self._count(row, verdict)

    def flush(self) -> None:
        """Store the verdicts that have come since the last call."""
        if self._unstored:
            with defer_interrupts():
                lines, self._unstored = self._unstored, []
                self._store.append(lines)

    def _count(self, row: int, verdict: Verdict) -> None:
        self.tally.add(verdict)
        self.input.judge(
            row,
            verdict.status,
            verdict.message,
            raised_early=verdict.raised_early,
            is_unclosed=any(UNCLOSED in step for step in verdict.extraction),
        )
        if verdict.passed and (self.slowest is None or verdict.own_s > self.slowest.own_s):
            self.slowest = Slowest(key=verdict.key, own_s=verdict.own_s)
        if verdict.suspicious:
            # Keep the first by row, in whatever order the verdicts come.
            suspects = self._suspects[verdict.passed]
            suspect = Suspect(key=verdict.key, status=verdict.status, seen=verdict.suspicious)
            bisect.insort(suspects, (row, suspect), key=itemgetter(0))
            del suspects[MAX_SUSPECTS:]


def _is_compiled(check: Check) -> bool:
    """Tell whether a program has to compile before it runs: none does that the tests get as a text."""
    if isinstance(check, UnitTests):
        return not check.quoted
    language = language_of(check)
    return not language or bool(find_language(language).build.compile)
