"""Samples of a problem that are copies of one program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from passcurve.types import Counts


class DuplicateTracker:
    """Tells the problems whose samples are all one program, from one digest for each problem."""

    def __init__(self) -> None:
        self._digests: dict[str, str | None] = {}
        """Digest of the only program of each problem; None once there are two."""

    def has_two_programs(self, problem_id: str) -> bool:
        """Tell whether two programs of this problem differ: then no further one needs to be added."""
        return self._digests.get(problem_id, "") is None

    def add(self, problem_id: str, program: str) -> None:
        """Add the digest of a sample's program, empty where it has none."""
        if self._digests.setdefault(problem_id, program) != program:
            self._digests[problem_id] = None

    def count_uniform_problems(self, counts: Iterable[Counts]) -> int:
        """Return the number of problems with several samples of one program; 0 if any has two programs."""
        digests = [self._digests.get(count.problem_id, "") for count in counts if count.n > 1]
        return 0 if None in digests else sum(bool(digest) for digest in digests)


def group_sizes(groups: Mapping[str, Counter[str]], ids: Iterable[str]) -> tuple[tuple[int, ...], ...] | None:
    """Return how many samples share each program, for each problem of ``ids``; None where no sample has a program.

    ``groups`` are the samples of each problem, counted by the digest of their program.  An empty digest means no
    program; all such samples of a problem form one group.
    """
    if not any(any(programs) for programs in groups.values()):
        return None
    return tuple(tuple(groups[problem_id].values()) if problem_id in groups else () for problem_id in ids)
