"""Repeated rows of a file: a part that stands in it twice, or the rows that some problems have above the others."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from math import gcd
from typing import NamedTuple

_MAX_PLACES = 1000
"""Equal rows at which a repeated part is looked for, for each of a few rows."""
_MIN_SHARE = 0.1
"""Smallest share of the rows that a repeated part has; equal rows by chance are fewer."""
_MIN_ROWS = 20
"""Rows from which on equal numbers of copies, or so many equal rows one after another, are no chance."""
_SURE_SHARE, _FEWEST_ROWS = 0.25, 3
"""Share of a smaller file, and rows, that a repeated part must have: short programs are often equal by chance."""
_ROWS_COUNTED = 64
_COMPARISONS_PER_ROW = 8
"""Comparisons after which a part is looked for no more: a file of one text has equal rows at any distance."""


_MAX_PROBLEMS = 0xFFFF
"""Problems that are told from one another."""


class Surplus(NamedTuple):
    """Rows that some problems have above the others, all of them copies."""

    problem: int
    """One of these problems."""
    problems: int
    rows: int
    usual: int
    """Rows of most problems."""


class RepeatedPart(NamedTuple):
    """A part of a file that repeats an earlier one, row by row; rows count from 0."""

    start: int
    original: int
    rows: int


def repeated_part(digests: array[int], problems: array[int]) -> RepeatedPart | None:
    """Return the largest part of several problems that stands twice, by digest and problem of each row."""
    best: RepeatedPart | None = None
    count = len(digests)
    compared = 0
    for anchor in sorted({0, count // 4, count // 2, 3 * count // 4}) if count else ():
        if best is not None and best.start <= anchor < best.start + best.rows:
            continue
        for place in _equal_rows(digests, anchor):
            first, second = min(anchor, place), max(anchor, place)
            before, after = _common_rows(digests, first, second)
            part = RepeatedPart(second - before, first - before, before + after)
            if (best is None or part.rows > best.rows) and _spans_problems(problems, part):
                best = part
            compared += part.rows
            if part.rows * 2 >= count or compared > _COMPARISONS_PER_ROW * count:
                break
    if best is None or best.rows < _FEWEST_ROWS:
        return None
    return best if best.rows >= (_MIN_SHARE if best.rows >= _MIN_ROWS else _SURE_SHARE) * count else None


def multiplicity(digests: array[int]) -> int:
    """Return the largest divisor of the numbers of copies of some rows; 1 in a file of few rows."""
    common, count = 0, len(digests)
    if count < _MIN_ROWS:
        return 1
    # A look at a few rows, which costs no memory, ends at the second in a file whose rows differ.
    for row in range(0, count, count // _ROWS_COUNTED or 1):
        common = gcd(common, digests.count(digests[row]))
        if common == 1:
            break
    return common


def surplus_copies(digests: array[int], problems: array[int]) -> Surplus | None:
    """Return the rows above the usual number of most problems, if those that have more have no other texts."""
    counts = Counter(problems)
    usual, times = Counter(counts.values()).most_common(1)[0] if counts else (0, 0)
    larger = {problem for problem, count in counts.items() if count > usual}
    if not larger or 2 * times <= len(counts) or len(counts) >= _MAX_PROBLEMS:
        return None
    texts: dict[int, set[int]] = {problem: set() for problem in larger}
    for problem, digest in zip(problems, digests, strict=True):
        if problem in larger:
            texts[problem].add(digest)
    copied = [problem for problem in larger if len(texts[problem]) <= usual]
    rows = sum(counts[problem] - usual for problem in copied)
    return Surplus(min(copied), len(copied), rows, usual) if copied else None


def _equal_rows(digests: array[int], row: int) -> Iterator[int]:
    at = -1
    for _ in range(_MAX_PLACES):
        try:
            at = digests.index(digests[row], at + 1)
        except ValueError:
            return
        if at != row:
            yield at


def _common_rows(digests: array[int], first: int, second: int) -> tuple[int, int]:
    """Return the number of equal rows before two equal rows, and from them on."""
    before, after, count = 0, 1, len(digests)
    while before < first and digests[first - before - 1] == digests[second - before - 1]:
        before += 1
    while second + after < count and digests[first + after] == digests[second + after]:
        after += 1
    return before, after


def _spans_problems(problems: array[int], part: RepeatedPart) -> bool:
    """Tell whether both places have rows of several problems, and the second begins after one."""
    period = part.start - part.original
    original = problems[part.original : part.original + min(part.rows, period)]
    return len(original) > 1 and original.count(original[0]) < len(original)
