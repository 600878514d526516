"""Samples of a run by their indices, in whatever order they have come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeVar

from passcurve.store.samples import RawRow
from passcurve.types import Completion, SampleKey

_Row = TypeVar("_Row", Completion, RawRow)


def by_index(rows: Iterable[_Row]) -> Iterator[_Row]:
    """Yield the samples of each problem by their indices.

    Each comes as soon as those before it are there, and those behind a gap at the end.
    """
    following: Counter[str] = Counter()
    early: dict[SampleKey, _Row] = {}
    for row in rows:
        early[row.key] = row
        problem_id = row.key.problem_id
        while ready := early.pop(SampleKey(problem_id=problem_id, sample_index=following[problem_id]), None):
            yield ready
            following[problem_id] += 1
    yield from sorted(early.values(), key=lambda row: (row.key.problem_id, row.key.sample_index))
