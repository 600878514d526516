"""Which problems of a benchmark a pattern names."""

from __future__ import annotations

import fnmatch

from passcurve.errors import UsageError, nearest
from passcurve.types import Benchmark, Problem


def choose_problems(benchmark: Benchmark, pattern: str) -> tuple[Problem, ...]:
    """Return the problems that a comma-separated list of ids and wildcards names.

    Raises UsageError naming the part of the list that fits none.
    """
    if not pattern:
        return benchmark.problems
    chosen: set[str] = set()
    ids = [problem.id for problem in benchmark.problems]
    for part in filter(None, (part.strip() for part in pattern.split(","))):
        found = {each for each in ids if each == part or fnmatch.fnmatchcase(each, part)}
        found = found or {each for each in ids if each.rpartition("/")[2] == part}
        if not found:
            raise UsageError(f"--problems {part!r} fits no problem of {benchmark.name}{nearest(part, ids)}")
        chosen |= found
    return tuple(problem for problem in benchmark.problems if problem.id in chosen)
