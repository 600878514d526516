"""The index of stored verdicts: for each row a few bytes in memory, and the place of its line on the disk."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from hashlib import blake2b
from itertools import product

from passcurve.store.codec import IndexedLine, VerdictLine
from passcurve.store.samples import DIGEST_BYTES
from passcurve.types import SCORED, STATUSES, Mode, SampleKey, Status, Verdict

MAX_GAP = 1 << 24
"""Largest gap between the rows of two lines; a line beyond it is damaged, and could take all memory."""
_SPARE_ROWS = 4096
_STATUS_CODES: dict[Status, int] = {status: code for code, status in enumerate(STATUSES, start=1)}
_MODES: tuple[Mode, ...] = ("none", "referee", "shared")
_MODE_CODES: dict[Mode, int] = {mode: code << 4 for code, mode in enumerate(_MODES)}
_STATUS, _MODE, _NEEDS_LINE = 0x0F, 0x30, 0x40
"""Bits of a summary: the status, the mode, and a mark for a verdict with more to count than these two."""


class VerdictIndex:
    """The scored verdicts of an attempt by row; the last line of a row counts, and a void line leaves it owed."""

    def __init__(self) -> None:
        self.scored = 0
        """Number of rows that have a scored verdict."""
        self._has_repeats = False
        """A row has several lines; the slowest verdict so far may be one that no longer counts."""
        self._slowest_s = 0.0
        self._summaries = array("B")
        """Status and mode of each row; 0 for an owed one."""
        self._digests = array("Q")
        self._problems = array("I")
        self._parts = array("H")
        self._offsets = array("Q")
        self._problem_ids: list[str] = []
        self._problem_numbers: dict[str, int] = {}

    @property
    def bound(self) -> int:
        """Return one more than the last row that has a scored verdict; 0 when there is none."""
        row = len(self._summaries)
        while row and not self._summaries[row - 1]:
            row -= 1
        return row

    def status_at(self, row: int) -> Status | None:
        """Return the status of a row, or None when it is owed."""
        summary = self._summary_at(row)
        return STATUSES[(summary & _STATUS) - 1] if summary else None

    def digest_at(self, row: int) -> str | None:
        """Return the digest of the row that was judged, or None when it is owed."""
        return f"{self._digests[row]:016x}" if self._summary_at(row) else None

    def location_of(self, row: int) -> tuple[int, int] | None:
        """Return the part and the offset of a row's line, or None when the row is owed."""
        return (self._parts[row], self._offsets[row]) if self._summary_at(row) else None

    def task_of(self, row: int, raw: bytes) -> str | None:
        """Return the task of a row if these are the bytes that were judged, else None."""
        if not (row < len(self._summaries) and self._summaries[row]):
            return None
        if self._digests[row] != int.from_bytes(blake2b(raw, digest_size=DIGEST_BYTES).digest(), "big"):
            return None
        return self._problem_ids[self._problems[row]]

    def needs_line(self, row: int) -> bool:
        """Tell whether the line of a row may have more to count than its status and mode."""
        return self._has_repeats or bool(row < len(self._summaries) and self._summaries[row] & _NEEDS_LINE)

    def brief_verdict(self, row: int, key: SampleKey) -> Verdict | None:
        """Return the verdict of a row with nothing but its status and mode, or None when the row is owed."""
        summary = self._summaries[row] if row < len(self._summaries) else 0
        if not summary:
            return None
        return Verdict(key=key, status=STATUSES[(summary & _STATUS) - 1], mode=_MODES[(summary & _MODE) >> 4])

    def rows(self) -> Iterator[int]:
        """Yield the rows that have a scored verdict, in order."""
        return (row for row, summary in enumerate(self._summaries) if summary)

    def problem_ids(self) -> list[str]:
        """Return the problems that have a scored verdict, in the order of their first rows."""
        return [self._problem_ids[number] for number in dict.fromkeys(map(self._problems.__getitem__, self.rows()))]

    def rows_of(self, problem_id: str) -> Iterator[int]:
        """Yield the rows of a problem that have a scored verdict, in order."""
        number = self._problem_numbers.get(problem_id)
        return (row for row in self.rows() if self._problems[row] == number)

    def statuses(self) -> dict[Status, int]:
        """Return the number of rows of each scored status."""
        # Count in bytes: an array counts item by item.
        summaries = self._summaries.tobytes()
        totals = dict.fromkeys(SCORED, 0)
        for status, mode, mark in product(SCORED, _MODE_CODES.values(), (0, _NEEDS_LINE)):
            totals[status] += summaries.count(_STATUS_CODES[status] | mode | mark)
        return totals

    def accepts(self, row: int) -> bool:
        """Tell whether a row of this number may follow those that are known; a damaged line may hold any number."""
        return row < len(self._summaries) + MAX_GAP

    def add(self, line: IndexedLine | VerdictLine, part: int, offset: int) -> None:
        """Add the line that begins at an offset of a part."""
        row, verdict = line.row, line.verdict
        if verdict.status == "void":
            return
        if row >= len(self._summaries):
            missing = row + 1 - len(self._summaries) + _SPARE_ROWS
            for column in (self._summaries, self._digests, self._problems, self._parts, self._offsets):
                column.frombytes(bytes(missing * column.itemsize))
        summary = _STATUS_CODES[verdict.status] | _MODE_CODES[verdict.mode]
        if verdict.suspicious or verdict.suites:
            summary |= _NEEDS_LINE
        if verdict.status == "passed" and verdict.own_s > self._slowest_s:
            self._slowest_s = verdict.own_s
            summary |= _NEEDS_LINE
        if self._summaries[row]:
            self._has_repeats = True
        else:
            self.scored += 1
        self._summaries[row] = summary
        self._digests[row] = int(line.digest, 16)
        self._problems[row] = self._number_of(verdict.key.problem_id)
        self._parts[row] = part
        self._offsets[row] = offset

    def remove(self, row: int) -> None:
        """Remove the verdict of a row, which is owed then."""
        if self._summary_at(row):
            self._summaries[row] = 0
            self.scored -= 1
            self._has_repeats = True

    def _number_of(self, problem_id: str) -> int:
        number = self._problem_numbers.get(problem_id)
        if number is None:
            number = self._problem_numbers[problem_id] = len(self._problem_ids)
            self._problem_ids.append(problem_id)
        return number

    def _summary_at(self, row: int) -> int:
        return self._summaries[row] if 0 <= row < len(self._summaries) else 0
