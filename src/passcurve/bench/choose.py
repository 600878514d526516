"""Selection of problems of a benchmark by a pattern."""

from __future__ import annotations

import fnmatch

from passcurve.errors import UsageError, nearest
from passcurve.types import Benchmark, Problem


def choose_problems(benchmark: Benchmark, pattern: str) -> tuple[Problem, ...]:
    """Return the problems that match a comma-separated list of ids and wildcards.

    Raises UsageError for a part of the list that matches none.
    """
    if not pattern:
        return benchmark.problems
    chosen: set[str] = set()
    ids = [problem.id for problem in benchmark.problems]
    for part in filter(None, (part.strip() for part in pattern.split(","))):
        matching = {name for name in ids if name == part or fnmatch.fnmatchcase(name, part)}
        matching = matching or {name for name in ids if name.rpartition("/")[2] == part}
        if not matching:
            raise UsageError(f"--problems {part!r} matches no problem of {benchmark.name}{nearest(part, ids)}")
        chosen |= matching
    return tuple(problem for problem in benchmark.problems if problem.id in chosen)
