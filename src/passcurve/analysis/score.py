"""What stored verdicts say, without judging again: the scores of a run or of a file of results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from passcurve.errors import DataError
from passcurve.signature import signature
from passcurve.store.scored import read_scored
from passcurve.types import Counts, Curve, Estimate, Header

if TYPE_CHECKING:
    from passcurve.stats.metrics import Asked


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """A scored run, and what follows from its verdicts."""

    source: str
    kind: str
    """``run``, ``results`` or ``evalplus``."""
    counts: tuple[Counts, ...]
    estimates: tuple[Estimate, ...]
    curve: Curve | None
    finished: bool
    header: Header | None
    """How it was judged, where that is stored."""
    signature: str
    """Empty where it is not known how it was judged."""
    notes: tuple[str, ...]

    @property
    def problems(self) -> int:
        """How many problems there are, those without a sample among them where they are known."""
        return len(self.counts)

    @property
    def attempted(self) -> int:
        """How many have a sample."""
        return sum(each.n > 0 for each in self.counts)

    @property
    def samples(self) -> int:
        """How many samples have a verdict."""
        return sum(each.n for each in self.counts)


def stand(path: Path, asked: Asked, planned: Callable[[Header], Sequence[str]]) -> Standing:
    """Read scored verdicts and work out what is asked of them.

    ``planned`` returns the ids of the problems that a header names, so that those without a sample are not forgotten,
    or raises DataError; then a note says so.  Raises DataError and StoreError as ``read_scored`` does.
    """
    from passcurve.stats.metrics import scores

    run = read_scored(path)
    notes = [run.note] if run.note else []
    counts, groups = run.counts, run.groups
    if run.header is not None and not run.header.subset:
        try:
            ids = planned(run.header)
        except DataError as error:
            notes.append(f"problems without a sample are not known here: {error}")
        else:
            there = {each.problem_id for each in counts}
            lacking = [each for each in ids if each not in there]
            counts += tuple(Counts(problem_id=each, n=0, c=0) for each in lacking)
            groups = groups and groups + ((),) * len(lacking)
    elif run.header is None:
        notes.append("how it was judged is not stored there, nor problems without a sample: it has no signature")
    found = scores(counts, asked, 0 if run.finished else 1, groups=groups, alike=run.alike)
    estimates = found.estimates
    if not run.finished:
        reason = f"the run is not finished: {sum(each.n for each in counts):,} verdicts so far; judge it to its end"
        estimates = tuple(msgspec.structs.replace(each, reason=reason) for each in estimates)
    return Standing(
        source=run.source,
        kind=run.kind,
        counts=counts,
        estimates=estimates,
        curve=found.curve,
        finished=run.finished,
        header=run.header,
        signature=signature(run.header) if run.header is not None else "",
        notes=tuple(notes),
    )
