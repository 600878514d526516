"""Programs that wait for their verdict, and the rows that wrote them, in a few bytes each."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

from passcurve.types import Problem, SampleKey

WINDOW_PROGRAMS = 2000
WINDOW_CHARACTERS = 64 << 20
"""Limits of the programs that wait at once: memory does not grow with the number of samples."""


class WaitingRow(NamedTuple):
    """The part of a row that is needed once its program has a verdict."""

    row: int
    digest: str
    key: SampleKey
    steps: tuple[str, ...] = ()
    """Steps of the extraction, where the results show them."""


class PendingProgram:
    """One program that waits for its verdict, and the rows that wrote exactly this program."""

    __slots__ = ("_rows", "_steps", "digest", "problem", "tag", "text")

    def __init__(self, problem: Problem, text: str, digest: str, tag: int) -> None:
        self.problem, self.text, self.digest, self.tag = problem, text, digest, tag
        # A million rows may have one program that hangs until all others are done: three numbers for each row.
        self._rows = array("Q")
        self._steps: dict[int, tuple[str, ...]] = {}

    def add(self, row: WaitingRow) -> None:
        """Add a row that wrote this program."""
        self._rows.extend((row.row, int(row.digest, 16), row.key.sample_index))
        if row.steps:
            self._steps[row.row] = row.steps

    @property
    def row_count(self) -> int:
        """Number of rows that wrote this program."""
        return len(self._rows) // 3

    def rows(self) -> Iterator[WaitingRow]:
        """Yield the rows in the order in which they came."""
        numbers = iter(self._rows)
        for row, digest, index in zip(numbers, numbers, numbers, strict=True):
            key = SampleKey(problem_id=self.problem.id, sample_index=index)
            yield WaitingRow(row, f"{digest:016x}", key, self._steps.get(row, ()))


class PendingPrograms:
    """All programs that wait for their verdict: some for the plan of their problem, the others for a worker."""

    def __init__(self, window: int = WINDOW_PROGRAMS, *, counts_postponed: bool = True) -> None:
        """``counts_postponed``: those that wait for the end leave no room for others."""
        self._window, self._counts_postponed = window, counts_postponed
        self._by_digest: dict[tuple[str, str], PendingProgram] = {}
        self._without_plan: dict[str, list[PendingProgram]] = {}
        self._postponed: dict[int, PendingProgram] = {}
        self._last_tag = 0
        self._count = 0
        self._characters = 0

    @property
    def is_full(self) -> bool:
        """True if no more programs should be read for now."""
        return self._count >= self._window or self._characters >= WINDOW_CHARACTERS

    @property
    def postponed_programs(self) -> int:
        """Number of programs that wait for the end of the run, with their whole limit."""
        return len(self._postponed)

    @property
    def postponed_rows(self) -> int:
        """Number of rows that wrote these programs."""
        return sum(program.row_count for program in self._postponed.values())

    def find(self, problem_id: str, digest: str) -> PendingProgram | None:
        """Return the pending program with this digest, if there is one."""
        return self._by_digest.get((problem_id, digest))

    def add(self, problem: Problem, text: str, digest: str) -> PendingProgram:
        """Add a program, and return it with a tag of its own, from 1."""
        self._last_tag += 1
        program = PendingProgram(problem, text, digest, self._last_tag)
        self._by_digest[problem.id, digest] = program
        self._count += 1
        self._characters += len(text)
        return program

    def postpone(self, program: PendingProgram) -> None:
        """Note that a program runs again at the end of the run."""
        if program.tag not in self._postponed:
            self._postponed[program.tag] = program
            if not self._counts_postponed:
                self._leave_window(program)

    def remove(self, program: PendingProgram) -> None:
        """Remove a program that has its verdict."""
        was_postponed = self._postponed.pop(program.tag, None) is not None
        self._by_digest.pop((program.problem.id, program.digest), None)
        if self._counts_postponed or not was_postponed:
            self._leave_window(program)

    def _leave_window(self, program: PendingProgram) -> None:
        self._count -= 1
        self._characters -= len(program.text)

    def wait_for_plan(self, program: PendingProgram) -> None:
        """Keep a program until its problem has a plan."""
        self._without_plan.setdefault(program.problem.id, []).append(program)

    def pop_waiting_for_plan(self, problem_id: str) -> list[PendingProgram]:
        """Remove and return the programs that waited for the plan of a problem."""
        return self._without_plan.pop(problem_id, [])
