"""Selection of problems of a benchmark by a pattern."""

from __future__ import annotations

import fnmatch
import re

from passcurve.errors import UsageError, nearest
from passcurve.types import Benchmark, Problem

_RANGE = re.compile(r"(.*/)?([0-9]{1,9})-([0-9]{1,9})")


def choose_problems(benchmark: Benchmark, pattern: str) -> tuple[Problem, ...]:
    """Return the problems that match a comma-separated list of ids, wildcards and ranges, as in ``1-5,1?``.

    A part that is no whole id is compared with the last parts of the ids, behind the slash.
    Raises UsageError for a part of the list that matches none.
    """
    if not pattern:
        return benchmark.problems
    chosen: set[str] = set()
    ids = [problem.id for problem in benchmark.problems]
    for part in filter(None, (part.strip() for part in pattern.split(","))):
        matching = {name for name in ids if name == part or fnmatch.fnmatchcase(name, part)}
        matching = matching or {name for name in ids if fnmatch.fnmatchcase(name.rpartition("/")[2], part)}
        matching = matching or _in_range(part, ids)
        if not matching:
            raise UsageError(f"--problems {part!r} matches no problem of {benchmark.name}{nearest(part, ids)}")
        chosen |= matching
    return tuple(problem for problem in benchmark.problems if problem.id in chosen)


def _in_range(part: str, ids: list[str]) -> set[str]:
    """Return the ids that end with a number of a range like ``1-5`` or ``HumanEval/1-5``; the ends are included."""
    match = _RANGE.fullmatch(part)
    if match is None:
        return set()
    prefix, first, last = match[1], int(match[2]), int(match[3])
    if first > last:
        raise UsageError(f"--problems {part!r} is an empty range; write it like {last}-{first}")
    numbers = {name: name.rpartition("/")[2] for name in ids if name.startswith(prefix or "")}
    return {name for name, end in numbers.items() if end.isascii() and end.isdigit() and first <= int(end) <= last}
