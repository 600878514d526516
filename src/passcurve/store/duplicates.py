"""Whether the samples of a problem are copies of one program, and how many of them share each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from passcurve.types import Counts


class Alike:
    """Whether all samples of each problem are one program; keeps one digest for each problem."""

    def __init__(self) -> None:
        self._only: dict[str, str | None] = {}

    def differs(self, problem_id: str) -> bool:
        """Say whether two programs of this problem are known to differ: then no more need to be looked at."""
        return self._only.get(problem_id, "") is None

    def add(self, problem_id: str, program: str) -> None:
        """Note the digest of a sample's program, empty where it has none."""
        if self._only.setdefault(problem_id, program) != program:
            self._only[problem_id] = None

    def problems(self, counts: Iterable[Counts]) -> int:
        """Return how many problems have several samples, if all samples of each of those are one program; else 0."""
        several = [self._only.get(each.problem_id, "") for each in counts if each.n > 1]
        return 0 if None in several else sum(bool(program) for program in several)


def group_sizes(samples: Iterable[tuple[str, str]], ids: Iterable[str]) -> tuple[tuple[int, ...], ...] | None:
    """Return how many samples share each program, for each problem of ``ids``; None where no sample has a program.

    ``samples`` are ids of problems with digests of programs, empty where there is none; those count as one program.
    """
    found: dict[str, Counter[str]] = {}
    for problem_id, program in samples:
        found.setdefault(problem_id, Counter())[program] += 1
    if not any(any(programs) for programs in found.values()):
        return None
    return tuple(tuple(found[each].values()) if each in found else () for each in ids)
