"""What waits to be judged: a program, and the rows that wrote it, in a few bytes each."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

from passcurve.sandbox.job import Job
from passcurve.types import Mode, Problem, SampleKey


class Row(NamedTuple):
    """What of a row is needed once its program is known."""

    row: int
    digest: str
    key: SampleKey
    steps: tuple[str, ...] = ()
    """How its program came about, where that is told."""


class PendingProgram:
    """One program to be judged, and the rows that wrote exactly it."""

    __slots__ = ("_rows", "_steps", "digest", "job", "mode", "problem", "program", "size")

    def __init__(self, problem: Problem, program: str, digest: str) -> None:
        self.problem, self.program, self.digest = problem, program, digest
        self.job: Job | None = None
        self.mode: Mode = "referee"
        self.size = len(program)
        # Of a program that hangs until all others are done there may be a million rows: three numbers each.
        self._rows = array("Q")
        self._steps: dict[int, tuple[str, ...]] = {}

    def add(self, row: Row) -> None:
        """Take a row that wrote this program."""
        self._rows.extend((row.row, int(row.digest, 16), row.key.sample_index))
        if row.steps:
            self._steps[row.row] = row.steps

    def rows(self) -> Iterator[Row]:
        """Yield the rows as they came."""
        numbers = iter(self._rows)
        for row, digest, index in zip(numbers, numbers, numbers, strict=True):
            key = SampleKey(problem_id=self.problem.id, sample_index=index)
            yield Row(row, f"{digest:016x}", key, self._steps.get(row, ()))
