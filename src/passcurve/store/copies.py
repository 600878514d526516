"""Copies among the rows of a file, by a digest of each row: what is said of them."""

from __future__ import annotations

from array import array
from collections import Counter

from passcurve.diagnosis import Finding
from passcurve.store.describe import shorten
from passcurve.store.repetition import multiplicity, repeated_part, surplus_copies

_MAX_DIGEST = (1 << 64) - 1
_MAX_NUMBER = 0xFFFF
_MIN_ROWS = 10
"""Rows of one task from which on its id may be that of all by a fault."""
_REMEDY = (
    "n is too large where the file was concatenated with itself (remove the copies), "
    "and 1 in effect where the model wrote them at temperature 0"
)


class CopyTracker:
    """Keeps a digest and the problem of each row, in ten bytes."""

    def __init__(self) -> None:
        self._digests = array("Q")
        self._problems = array("H")
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._digests)

    def add(self, problem_id: str, digest: int) -> None:
        """Take a row of a problem."""
        number = self._numbers.setdefault(problem_id, len(self._numbers))
        self._problems.append(min(number, _MAX_NUMBER))
        self._digests.append(digest & _MAX_DIGEST)

    def finding(self) -> Finding | None:
        """Return the finding on rows that stand several times in the file; None where none does."""
        count = len(self._digests)
        part = repeated_part(self._digests, self._problems)
        if part is not None:
            first, last = part.original + 1, part.original + min(part.rows, part.start - part.original)
            text = (
                f"rows {part.start + 1:,} to {part.start + part.rows:,} repeat rows {first:,} to {last:,} one by one, "
                f"so {part.rows:,} of {count:,} rows are copies; {_REMEDY}"
            )
            return Finding(name="duplicate_rows", rows=part.rows, text=text)
        times = multiplicity(self._digests)
        if times == 1 or len(self._numbers) == 1 or self._is_one_row_a_problem(times):
            return self._surplus()
        text = (
            f"each row stands {times} times in the file, so {count // times:,} of {count:,} can be distinct; {_REMEDY}"
        )
        return Finding(name="duplicate_rows", rows=count - count // times, text=text)

    def is_even(self, problems: int) -> bool:
        """Tell whether so many problems have equal numbers of rows."""
        counts = Counter(self._problems)
        return len(counts) >= problems and len(set(counts.values())) == 1

    def one_task(self, problems: int) -> Finding | None:
        """Return the finding on rows that are all of one of so many problems; None where they are not."""
        rows = len(self._digests)
        if len(self._numbers) != 1 or problems <= 1 or rows < _MIN_ROWS:
            return None
        text = (
            f"all {rows:,} rows have the task id {shorten(next(iter(self._numbers)))}, and there are {problems:,} "
            "problems; if the ids were lost, write that of its task into each row"
        )
        return Finding(name="one_task", rows=rows, text=text)

    def equal_programs(self, uniform: tuple[int, int], temperature: float | None) -> Finding | None:
        """Return the finding on problems whose samples are all one program, of their number and their rows."""
        problems, rows = uniform
        if not problems or temperature == 0:
            return None
        if len(set(self._digests)) > len(self._numbers):
            what, remedy = "one program once it is extracted, although texts differ", "look at one with passcurve show"
        else:
            what = "one program" + ("" if temperature is None else f" at temperature {temperature:g}")
            remedy = "sample at a higher temperature with different seeds, or report one sample a problem"
        every = "the one problem" if problems == 1 else f"all {problems:,} problems"
        text = f"all samples of a problem are {what}, for {every} with several: n is 1 in effect; {remedy}"
        return Finding(name="equal_programs", rows=rows, text=text)

    def _surplus(self) -> Finding | None:
        surplus = surplus_copies(self._digests, self._problems)
        if surplus is None:
            return None
        example = shorten(next(name for name, number in self._numbers.items() if number == surplus.problem))
        which = f"{example} has" if surplus.problems == 1 else f"{surplus.problems:,} problems, such as {example}, have"
        what = "1 row" if surplus.rows == 1 else f"{surplus.rows:,} rows"
        others = "than the other problems" if surplus.problems == 1 else "in all than most problems"
        text = (
            f"{which} {what} more {others}, which have {surplus.usual:,}, and these are copies; "
            "remove them, for they count as further samples"
        )
        return Finding(name="duplicate_rows", rows=surplus.rows, text=text)

    def _is_one_row_a_problem(self, times: int) -> bool:
        """Tell whether the copies are all samples of a problem, as a model at temperature 0 writes them."""
        return len(self._digests) == times * len(self._numbers)
