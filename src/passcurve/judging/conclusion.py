"""The end of a run: check that no verdict is lost, estimate, and write the results."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from passcurve.bench.choose import describe_undated
from passcurve.bench.languages import find_language
from passcurve.diagnosis import Diagnosis, Exclusion, InputReport, Scope, diagnose, withhold
from passcurve.generation.sources import Source, no_rows_error
from passcurve.judging.collector import VerdictCollector
from passcurve.judging.plan import CheckPlan
from passcurve.judging.request import Request, Result
from passcurve.sandbox.probe import Probe
from passcurve.signature import signature
from passcurve.store.duplicates import group_sizes
from passcurve.store.part_tally import CLASS_PARTIAL
from passcurve.store.results import ChangedRowError, write_results
from passcurve.store.rundir import JudgingSession
from passcurve.store.samples_file import FileState, identify
from passcurve.store.tally import select_counts
from passcurve.types import Counts, Estimate, Header, Problem, SuiteScore, language_of
from passcurve.types.amounts import have, part_of

if TYPE_CHECKING:
    from passcurve.stats.metrics import Scores


class FinishedRun(NamedTuple):
    """A run in which every row that was read has been judged, or is owed."""

    request: Request
    problems: Mapping[str, Problem]
    source: Source
    store: JudgingSession
    collector: VerdictCollector
    plans: Mapping[str, CheckPlan]


def conclude(run: FinishedRun, header: Header, probe: Probe, begun: FileState | None = None) -> Result:
    """Check that nothing is lost, write the results if nothing is owed, and estimate.

    ``begun`` is the state of the file of samples before it was read, where it is not to grow.
    """
    request, source, tally = run.request, run.source, run.collector.tally
    if not tally.planned:
        raise no_rows_error(request.samples, source, _task_ids(request))
    for problem_id, count in source.missing().items():
        for _ in range(count):
            tally.plan(problem_id)
    tally.check()
    counts = tally.counts()
    attempted = len(counts)
    if not request.subset:
        counts = select_counts(counts, run.problems)
    diagnosis = _diagnose(run, attempted, header)
    counts = tuple(count for count in counts if count.problem_id not in diagnosis.scope.faulty)
    scored = _estimate(run, counts, diagnosis, greedy=header.is_greedy)
    counted = {count.problem_id for count in counts}
    generated = source.progress()
    if not tally.owed:
        _write(run, probe, diagnosis, begun)
    return Result(
        estimates=scored.estimates,
        curve=scored.curve,
        counts=counts,
        benchmark=request.benchmark.name,
        problems=len(run.problems),
        attempted=attempted,
        samples=tally.planned,
        owed=tally.owed,
        malformed=tuple(source.malformed),
        malformed_lines=source.malformed_lines,
        suspicious=tally.suspicious,
        suspicions=tally.suspicions,
        suspects=run.collector.suspects,
        statuses=tally.statuses,
        modes=tally.modes,
        suites=_score_suites(run, counted, diagnosis, copies=scored.copies),
        header=header,
        jail=probe.jail,
        own_clock=probe.own_clock,
        notes=_notes(run),
        slowest=run.collector.slowest,
        resumed=run.collector.resumed,
        diagnosis=diagnosis,
        tolerated=_at_fault(run) if request.count_all else (),
        signature=signature(header, diagnosis.scope),
        run=str(request.run),
        results=str(request.results) if request.results is not None and not tally.owed else None,
        generated=generated,
        exit_code=_exit_code(run, scored.estimates, attempted, diagnosis),
    )


def _diagnose(run: FinishedRun, attempted: int, header: Header) -> Diagnosis:
    request = run.request
    excluded = () if request.count_all else _at_fault(run)
    scope = Scope(
        total=len(request.benchmark.problems),
        requested=len(run.problems),
        pattern=request.problems,
        sampled=attempted - len(excluded) if request.subset else None,
        excluded=excluded,
    )
    return diagnose(
        scope,
        _report_input(run, header),
        accept_input=request.accept_input,
        accept_benchmark=request.accept_benchmark,
    )


def _task_ids(request: Request) -> dict[str, str]:
    """Return the function of each problem by its id."""
    return {problem.id: problem.entry_point for problem in request.benchmark.problems}


def _report_input(run: FinishedRun, header: Header) -> InputReport:
    source, counts = run.source, run.collector.tally.counts()
    uniform = run.collector.duplicates.count_uniform_problems(counts)
    languages = {language_of(problem.check) for problem in run.problems.values()}
    name = languages.pop() if len(languages) == 1 else ""
    return run.collector.input.report(
        rows=source.rows_read + source.malformed_lines,
        unread=source.malformed_lines,
        malformed=source.malformed,
        unknown_tasks=source.unknown_tasks,
        task_ids=_task_ids(run.request),
        problems=1 if run.request.subset else len(run.problems),
        uniform=(uniform, sum(count.n for count in counts if count.n > 1)),
        temperature=header.generation.decoding.temperature if header.generation is not None else None,
        language=find_language(name) if name else None,
    )


def _at_fault(run: FinishedRun) -> tuple[Exclusion, ...]:
    """Return the problems with samples that cannot be judged, in the order of the benchmark."""
    with_samples = {count.problem_id for count in run.collector.tally.counts()}
    return tuple(
        Exclusion(problem_id=problem_id, kind=plan.fault, reason=plan.note)
        for problem_id in run.problems
        # A model's problems are calibrated ahead of their samples, which may never come.
        if problem_id in with_samples and (plan := run.plans.get(problem_id)) is not None and plan.fault is not None
    )


def _estimate(run: FinishedRun, counts: tuple[Counts, ...], diagnosis: Diagnosis, *, greedy: bool) -> Scores:
    # Loaded here: numpy takes longer to load than many samples take to be judged.
    from passcurve.stats.metrics import ScoreRequest, score_counts

    request = run.request
    groups = None
    if any(metric.name == "distinct@k" for metric in request.metrics):
        programs: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for line in run.store.iter_lines():
            programs[line.verdict.key.problem_id][line.program] += 1
        groups = group_sizes(programs, (count.problem_id for count in counts))
    scores = score_counts(
        counts,
        ScoreRequest(metrics=request.metrics, ks=request.ks, with_curve=request.with_curve, level=request.level),
        run.collector.tally.owed,
        groups=groups,
        uniform_problems=run.collector.duplicates.count_uniform_problems(counts),
        greedy=greedy,
    )
    if diagnosis.withheld:
        return scores._replace(estimates=withhold(scores.estimates, diagnosis.withheld), curve=None)
    return scores


def _score_suites(
    run: FinishedRun, counted: Collection[str], diagnosis: Diagnosis, *, copies: bool
) -> tuple[SuiteScore, ...]:
    """Return the scores by suites: those that count after each other, and those that count alone."""
    from passcurve.stats.estimate import estimate

    request, tally = run.request, run.collector.tally
    suites, parts = tally.suite_counts(counted), tally.part_counts(counted)
    scores = []
    for name, counts in (*suites.items(), *parts.items()):
        is_alone = name in parts
        # A problem that counts may have no sample.
        has_all = len(parts[CLASS_PARTIAL] if is_alone else counts) == len(counted) and not tally.owed
        ks = [k for k in request.ks if has_all and k <= min((count.n for count in counts), default=0)]
        estimates = estimate(counts, ks, request.level, deterministic=copies) if ks else ()
        if diagnosis.withheld:
            estimates = withhold(estimates, diagnosis.withheld)
        passed = sum(count.c for count in counts)
        scores.append(SuiteScore(name=name, passed=passed, estimates=estimates, alone=is_alone))
    return tuple(scores)


def _write(run: FinishedRun, probe: Probe, diagnosis: Diagnosis, begun: FileState | None) -> None:
    request, source, store = run.request, run.source, run.store
    store.check_row_count(source.rows_read)
    changed: ChangedRowError | None = None
    if request.results is not None:
        try:
            write_results(
                request.samples,
                source.raw_rows(store.task_of),
                request.results,
                store,
                probe.jail.isolation,
                only=run.problems.keys(),
                planned=run.collector.tally.planned,
                diagnosis=_with_missing(run, diagnosis),
            )
        except ChangedRowError as error:
            # The verdicts on what was there before are whole.
            changed = error
    store.finish(
        planned=run.collector.tally.planned,
        malformed=source.malformed_lines,
        rows=source.rows_read,
        diagnosis=diagnosis,
        samples=identify(request.samples, begun),
        sources={name: file for name, was in request.sources.items() if (file := was or identify(Path(name)))},
    )
    if changed is not None:
        raise changed


def _with_missing(run: FinishedRun, diagnosis: Diagnosis) -> Diagnosis:
    """Return the diagnosis for the results, which do not say which problems have no sample."""
    scope = diagnosis.scope
    missing = scope.missing(sum(count.problem_id not in scope.faulty for count in run.collector.tally.counts()))
    if diagnosis.withheld or not missing:
        return diagnosis
    reason = f"{part_of(missing, scope.requested, 'problem')} {have(missing)} no sample"
    return msgspec.structs.replace(diagnosis, withheld=reason)


def _notes(run: FinishedRun) -> tuple[str, ...]:
    benchmark = run.request.benchmark
    notes = [*benchmark.notes, *filter(None, [describe_undated(benchmark, run.request.problems)])]
    notes += [
        f"{problem_id}: {plan.note}" for problem_id, plan in run.plans.items() if plan.note and plan.fault is None
    ]
    if run.store.abandoned:
        changes = "; ".join(
            f"{change.field} was {change.was or 'empty'}, is {change.now or 'empty'}" for change in run.store.abandoned
        )
        folder = str(run.request.run)
        notes.insert(
            0, f"judged all samples again: the settings of the interrupted run in {folder!r} differ: {changes}"
        )
    return tuple(notes)


def _exit_code(run: FinishedRun, estimates: tuple[Estimate, ...], attempted: int, diagnosis: Diagnosis) -> int:
    request, generated = run.request, run.source.progress()
    if run.collector.tally.owed:
        return generated.exit_code or 1 if generated is not None else 1
    from passcurve.stats.metrics import lacks_requested_value

    lacks_samples = attempted < len(run.problems) and not request.subset
    lacks_value = lacks_requested_value(estimates, request.metrics, ks_requested=request.ks_requested)
    return 2 if diagnosis.withheld or run.source.malformed or lacks_samples or lacks_value else 0
