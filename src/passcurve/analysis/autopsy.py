"""The autopsy of a score: the same texts judged in several variants.

A variant is an extraction policy with an import prelude, and the rules of a profile.  Each distinct program of a
problem is judged once by each distinct set of rules, as a whole program, as ``judge`` would.  So two variants with the
same rules can differ only in the programs that they extract.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from passcurve.analysis.flips import (
    NO_PROGRAM,
    Flips,
    Judged,
    SampleTable,
    count_uniform_problems,
    find_missing_imports,
)
from passcurve.analysis.judged_programs import RulesRun, group_rules, read_samples, write_programs
from passcurve.analysis.variants import Variant
from passcurve.bench.choose import choose_problems
from passcurve.diagnosis import Diagnosis, InputReport, Scope, diagnose, withhold
from passcurve.extract import NO_PRELUDE, split_policy
from passcurve.judging import run as judging
from passcurve.report.records import Autopsy, Ruling
from passcurve.sandbox.toolchain import OPTIONAL, find_toolchain
from passcurve.signature import signature
from passcurve.store.run_counts import check_samples
from passcurve.store.rundir import RunDir
from passcurve.types import Counts, Estimate, Header, Problem


def run_autopsy(
    requests: Mapping[str, judging.Request],
    variants: Sequence[Variant],
    watch: Callable[[judging.Progress], None] = lambda _: None,
) -> Autopsy:
    """Judge the same samples in several variants, and compare the others with the first.

    ``requests`` are by profile and differ in problems and limits alone; those that are equal are judged once.
    A prelude leaves out packages that samples may not import, and the name of the policy then says so.
    ``samples`` may be the directory of a run that generated them; ``run`` is the folder to work in.
    Verdicts of an interrupted autopsy in that folder are used again.
    Raises what ``judging.judge`` raises.
    """
    request = next(iter(requests.values()))
    optional = (*OPTIONAL, *request.benchmark.packages)
    packages = find_toolchain(request.python, request.packages, optional).packages
    variants = tuple(variant.fit_to_packages(packages) for variant in variants)
    problems = choose_problems(request.benchmark, request.problems)
    rules = group_rules(requests)
    table = write_programs(problems, variants, rules)
    try:
        for group in rules:
            group.judge(watch)
        return _summarize(request, problems, variants, table, rules)
    finally:
        for group in rules:
            group.close()


def read_header(run: Path, *, stale: bool = False) -> Header:
    """Return the header of a judged run.

    Raises StoreError when the folder is not a run or has no verdicts, DataError when its samples have changed since
    they were judged unless ``stale``.
    """
    if not stale:
        check_samples(run)
    return RunDir(run).newest_attempt().header


def _summarize(
    request: judging.Request,
    problems: Sequence[Problem],
    variants: Sequence[Variant],
    table: SampleTable,
    rules: Sequence[RulesRun],
) -> Autopsy:
    # Loaded here: numpy takes longer to load than a wrong command line should have to wait.
    from passcurve.stats.estimate import estimate
    from passcurve.stats.metrics import are_copies, lacks_requested_value

    attempted = len(set(table.problem))
    diagnosis = _diagnose(request, rules, {problems[at].id for at in table.problem})
    counted = [problem for problem in problems if problem.id not in diagnosis.scope.faulty]
    table = table.without({at for at, problem in enumerate(problems) if problem.id in diagnosis.scope.faulty})
    width, rows = len(variants), len(table.problem)
    columns = [next(group for group in rules if variant.profile in group.profiles) for variant in variants]
    passes = bytearray(columns[cell % width].has_passed(program) for cell, program in enumerate(table.program))
    anywhere = bytearray(any(passes[row * width : (row + 1) * width]) for row in range(rows))
    owed = sum(group.count_owed() for group in rules)
    greedy = request.samples.is_dir() and read_header(request.samples, stale=True).is_greedy

    def score(passed: Sequence[int], column: int = 0) -> tuple[Estimate, ...]:
        counts = _count_by_problem(problems, table, passed, subset=request.subset)
        counts = [count for count in counts if count.problem_id not in diagnosis.scope.faulty]
        copies = are_copies(count_uniform_problems(table.problem, table.program[column::width]), greedy=greedy)
        estimates = estimate(counts, request.ks, owed=owed, deterministic=copies)
        return withhold(estimates, diagnosis.withheld) if diagnosis.withheld else estimates

    rulings = _rule(variants, table, passes, score)
    stored = tuple(group.stored for group in columns)
    judged = Judged(variants=tuple(variants), table=table, passes=passes, stored=stored)
    flips = Flips(judged, len(problems))
    without_prelude = all(ruling.prelude == NO_PRELUDE for ruling in rulings)
    missing = attempted < len(problems) and not request.subset
    unmet = any(lacks_requested_value(ruling.estimates, (), ks_requested=request.ks_requested) for ruling in rulings)
    return Autopsy(
        benchmark=request.benchmark.name,
        problems=len(problems),
        attempted=attempted,
        samples=rows,
        malformed=table.malformed,
        rulings=tuple(rulings),
        flips=flips.examples(problems, filter(None, read_samples(request, counted))),
        patterns=flips.patterns,
        missing_imports=find_missing_imports(judged) if without_prelude else None,
        passed_anywhere=sum(anywhere),
        up_to_formatting=score(anywhere),
        owed=owed,
        programs=sum(len(group.rows) for group in rules),
        diagnosis=diagnosis,
        signature=_signature(request, variants, rules, diagnosis.scope),
        folder=str(request.run),
        exit_code=1 if owed else 2 if diagnosis.withheld or table.malformed or missing or unmet else 0,
    )


def _rule(
    variants: Sequence[Variant],
    table: SampleTable,
    passes: bytearray,
    score: Callable[[Sequence[int], int], tuple[Estimate, ...]],
) -> list[Ruling]:
    """Return the part of each variant; ``passes`` are by sample, then by variant."""
    width = len(variants)
    first = passes[::width]
    rulings = []
    for at, variant in enumerate(variants):
        own = passes[at::width]
        rulings.append(
            Ruling(
                policy=variant.name,
                estimates=score(own, at),
                passed=sum(own),
                no_code=sum(program == NO_PROGRAM for program in table.program[at::width]),
                rescued=sum(b > a for a, b in zip(first, own, strict=True)),
                spoiled=sum(a > b for a, b in zip(first, own, strict=True)),
                extract=split_policy(variant.policy)[0],
                prelude=split_policy(variant.policy)[1],
                profile=variant.profile,
            )
        )
    return rulings


def _diagnose(request: judging.Request, rules: Sequence[RulesRun], attempted: set[str]) -> Diagnosis:
    """Return the diagnosis of the benchmark; that of the samples is what the variants are compared for.

    A problem that one profile excludes counts under none, so that all scores cover the same problems.
    """
    scopes = [group.result.diagnosis.scope for group in rules if group.result is not None]
    if not scopes:
        return Diagnosis(scope=Scope(total=len(request.benchmark.problems), requested=0, pattern=request.problems))
    by_id = {exclusion.problem_id: exclusion for scope in scopes for exclusion in reversed(scope.excluded)}
    excluded = tuple(by_id[problem.id] for problem in request.benchmark.problems if problem.id in by_id)
    sampled = len(attempted - by_id.keys()) if request.subset else None
    scope = msgspec.structs.replace(scopes[0], excluded=excluded, sampled=sampled)
    return diagnose(scope, InputReport(), accept_input=True, accept_benchmark=request.accept_benchmark)


def _signature(request: judging.Request, variants: Sequence[Variant], rules: Sequence[RulesRun], scope: Scope) -> str:
    result = next((group.result for group in rules if group.result is not None), None)
    if result is None:
        return ""
    # The judging itself saw whole programs; the reader needs to know the generation and the variants.
    header = msgspec.structs.replace(
        result.header,
        extract=_joined([variant.policy for variant in variants]),
        profile="+".join(dict.fromkeys(variant.profile for variant in variants)),
        subset=request.subset,
        generation=read_header(request.samples).generation if request.samples.is_dir() else None,
    )
    return signature(header, scope)


def _joined(policies: Sequence[str]) -> str:
    names, preludes = zip(*map(split_policy, policies), strict=True)
    joined = "+".join(dict.fromkeys(names))
    return joined if set(preludes) == {NO_PRELUDE} else f"{joined}+prelude:{'+'.join(dict.fromkeys(preludes))}"


def _count_by_problem(
    problems: Sequence[Problem], table: SampleTable, passes: Sequence[int], *, subset: bool
) -> list[Counts]:
    n, c = array("q", [0] * len(problems)), array("q", [0] * len(problems))
    for at, passed in zip(table.problem, passes, strict=True):
        n[at] += 1
        c[at] += passed
    counts = [Counts(problem_id=problem.id, n=n[at], c=c[at]) for at, problem in enumerate(problems)]
    return [count for count in counts if count.n or not subset]
