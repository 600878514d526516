"""The scores of a judged run or of a results file, from stored verdicts without judging again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from passcurve.bench import resolve
from passcurve.bench.choose import choose_problems
from passcurve.diagnosis import Diagnosis, Finding, withhold
from passcurve.errors import DataError
from passcurve.signature import signature
from passcurve.store.run_counts import RowFacts, RunCounts, read_counts
from passcurve.store.tally import select_counts
from passcurve.types import Counts, Curve, Estimate, Header, SuiteScore
from passcurve.types.amounts import amount, have, part_of

if TYPE_CHECKING:
    from passcurve.stats.metrics import ScoreRequest


class ScoredRun(msgspec.Struct, frozen=True, kw_only=True):
    """A judged run and its scores."""

    source: str
    kind: str
    """``run``, ``results``, or the harness whose file it is, such as ``evalplus``."""
    counts: tuple[Counts, ...]
    estimates: tuple[Estimate, ...]
    curve: Curve | None
    finished: bool
    header: Header | None
    """How it was judged, where that is stored."""
    diagnosis: Diagnosis | None
    """What was found when it was judged; None where that is not stored."""
    withheld: str
    """Why no score may be reported."""
    notes: tuple[str, ...]
    suites: tuple[SuiteScore, ...] = ()
    """Scores by each suite of tests and all before it, where the verdicts have several."""
    all_rows: RowFacts = RowFacts()

    @property
    def signature(self) -> str:
        """Return the signature; it is empty where the file does not say how it was judged."""
        scope = self.diagnosis.scope if self.diagnosis is not None else None
        return signature(self.header, scope) if self.header is not None else ""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return what was found in the samples; rows of results have that without the rest of the diagnosis."""
        return self.all_rows.findings

    @property
    def problems(self) -> int:
        """Return the number of problems, with those without a sample where they are known."""
        return len(self.counts)

    @property
    def attempted(self) -> int:
        """Return the number of problems that have a sample."""
        return sum(count.n > 0 for count in self.counts)

    @property
    def samples(self) -> int:
        """Return the number of samples that have a verdict."""
        return sum(count.n for count in self.counts)

    @property
    def passed(self) -> int:
        """Return the number of these samples that passed."""
        return sum(count.c for count in self.counts)


def score_run(run: RunCounts, request: ScoreRequest, cache_dir: Path) -> ScoredRun:
    """Estimate the requested metrics of stored verdicts.

    Problems without a sample count as well where the benchmark of the run is on this machine; else a note says that
    they are unknown.
    """
    from passcurve.stats.metrics import score_counts

    notes = [run.note] if run.note else []
    counts, groups = run.counts, run.equal_programs.groups
    if run.header is None:
        notes.append("how it was judged is not stored there, nor problems without a sample: it has no signature")
    elif not run.header.subset:
        try:
            problems = choose_problems(resolve.reload(run.header, cache_dir), run.header.problems)
        except DataError as error:
            notes.append(f"problems without a sample are not known here: {error}")
        else:
            judged = [count.problem_id for count in run.counts]
            faulty = run.diagnosis.scope.faulty if run.diagnosis is not None else frozenset()
            sound = (problem.id for problem in problems if problem.id not in faulty)
            counts = select_counts(run.counts, dict.fromkeys([*judged, *sound]))
            groups = groups and groups + ((),) * (len(counts) - len(judged))
    owed = 0 if run.finished else 1
    scored = score_counts(
        counts,
        request,
        owed,
        groups=groups,
        uniform_problems=run.equal_programs.uniform_problems,
        greedy=run.header is not None and run.header.is_greedy,
    )
    estimates = scored.estimates
    if not run.finished:
        verdicts = amount(sum(count.n for count in counts), "verdict")
        reason = f"the run is not finished: {verdicts} so far; judge it to its end"
        estimates = tuple(msgspec.structs.replace(estimate, reason=reason) for estimate in estimates)
    elif withheld := run.withheld or _without_sample(run, counts):
        estimates = withhold(estimates, withheld)
    return ScoredRun(
        source=run.source,
        kind=run.kind,
        counts=counts,
        estimates=estimates,
        curve=scored.curve if estimates is scored.estimates else None,
        finished=run.finished,
        header=run.header,
        withheld=run.withheld,
        diagnosis=run.diagnosis,
        notes=tuple(notes),
        suites=_score_suites(run, request, counts, copies=scored.copies) if run.finished else (),
        all_rows=run.all_rows,
    )


def _score_suites(
    run: RunCounts, request: ScoreRequest, counts: Sequence[Counts], *, copies: bool
) -> tuple[SuiteScore, ...]:
    """Return the score by each suite over the same problems as the score."""
    from passcurve.stats.estimate import estimate

    withheld = run.withheld or _without_sample(run, counts)
    ks = [k for k in request.ks if k <= min((count.n for count in counts), default=0)]
    suites = []
    for name, judged in run.suites.items():
        by_id = {count.problem_id: count for count in judged}
        chosen = [by_id.get(count.problem_id, count) for count in counts]
        estimates = estimate(chosen, ks, request.level, deterministic=copies) if ks else ()
        estimates = withhold(estimates, withheld) if withheld else estimates
        suites.append(SuiteScore(name=name, passed=sum(count.c for count in chosen), estimates=estimates))
    return tuple(suites)


def _without_sample(run: RunCounts, counts: Sequence[Counts]) -> str:
    """Return why there is no score where the run knows of problems without a sample that are not known here."""
    if run.diagnosis is None:
        return ""
    missing = run.diagnosis.scope.missing(len(counts))
    return f"{part_of(missing, run.diagnosis.scope.requested, 'problem')} {have(missing)} no sample" if missing else ""


def read_curve(path: Path, cache_dir: Path, level: float = 0.95, *, stale: bool = False) -> tuple[ScoredRun, Curve]:
    """Return the curve of stored verdicts up to the least n, with its band; for n = 1 pass@1 and its interval.

    Raises DataError with the reason where pass@1 has no value, and as ``read_counts`` does.
    """
    from passcurve.stats.metrics import ScoreRequest

    request = ScoreRequest(ks=(1,), with_curve=True, level=level)
    scored = score_run(read_counts(path, stale=stale), request, cache_dir)
    first = scored.estimates[0]
    if first.value is None or first.new_problems is None:
        raise DataError(f"{str(path)!r} has no curve: {first.reason or 'pass@1 has no interval'}")
    if scored.curve is not None:
        return scored, scored.curve
    interval = first.new_problems
    curve = Curve(
        k=(1,),
        value=(first.value,),
        low=(interval.low,),
        high=(interval.high,),
        level=interval.level,
        method=interval.method,
        draws=0,
        seed=0,
    )
    return scored, curve
