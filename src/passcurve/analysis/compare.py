"""Comparisons of runs on the same problems, problem by problem."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from passcurve.analysis.common_problems import (
    describe_coverage,
    effective_counts,
    find_common,
    natural_key,
    require_samples,
    require_score,
    unique_names,
)
from passcurve.errors import DataError, UsageError
from passcurve.report.records import ComparedRuns, Decider, Difference, Pair, RunFinding
from passcurve.signature import signature
from passcurve.store.run_counts import RunCounts, read_counts
from passcurve.store.tally import select_counts
from passcurve.types import Counts, Header, Interval
from passcurve.types.amounts import amount

if TYPE_CHECKING:
    from passcurve.stats import Plan

_MAX_DECIDERS = 20


class Comparison(ComparedRuns, frozen=True, kw_only=True):
    """Every pair of the runs, as ``compare`` returns them: the record, which the reports show, with ways to read it."""

    def __getitem__(self, name: str) -> Difference:
        """Return the difference at one k, as in ``pass@10``, between the first two runs.

        Raises UsageError for a k that was not compared.
        """
        for difference in self.pairs[0].differences:
            if name == f"pass@{difference.k}":
                return difference
        compared = ", ".join(f"pass@{difference.k}" for difference in self.pairs[0].differences)
        raise UsageError(f"{name!r} was not compared; there is {compared}, and k=... compares others")

    def __repr__(self) -> str:
        from passcurve.report.comparison import comparison_lines

        return "\n".join(comparison_lines(self))


def compare(
    runs: Sequence[RunCounts], ks: Sequence[int], *, level: float = 0.95, seed: int = 0, common: bool = False
) -> Comparison:
    """Compare every pair of runs for each k.

    Raises UsageError for fewer than two runs, DataError when their problems or tests differ unless ``common``, when
    samples have no verdict, when a score is withheld, or when a k is larger than some problem's n, which is 1 for
    copies.
    """
    if len(runs) < 2:
        raise UsageError("a comparison needs at least two runs")
    names = unique_names(runs)
    for run, name in zip(runs, names, strict=True):
        require_score(run, name)
    ids, differing = find_common(runs, names, common=common)
    for run, name in zip(runs, names, strict=True):
        require_samples(select_counts(run.counts, ids), name, max(ks))
    tables = [select_counts(effective_counts(run, max(ks)), ids) for run in runs]
    judged = [select_counts(run.counts, ids) for run in runs]
    pairs = [(i, j) for i, j in combinations(range(len(runs)), 2)]
    rows = [[_difference(tables[i], tables[j], k, level, seed) for k in ks] for i, j in pairs]
    adjusted = iter(_adjusted([cell for row in rows for cell in row], seed))
    return Comparison(
        runs=names,
        benchmark=" and ".join(dict.fromkeys(run.header.benchmark for run in runs if run.header is not None)),
        coverage=describe_coverage(runs, len(ids)),
        problems=len(ids),
        pairs=tuple(
            Pair(
                a=names[i],
                b=names[j],
                differences=tuple(
                    msgspec.structs.replace(difference, adjusted=next(adjusted)) for difference, _ in row
                ),
                deciders=_deciders(judged[i], judged[j]),
                differs=_compare_signatures(runs[i].header, runs[j].header),
            )
            for (i, j), row in zip(pairs, rows, strict=True)
        ),
        seed=seed,
        notes=(
            *differing,
            *(f"{name}: {run.note}" for name, run in zip(names, runs, strict=True) if run.note),
        ),
        findings=run_findings(runs),
    )


def run_findings(runs: Sequence[RunCounts]) -> tuple[RunFinding, ...]:
    """Return what was found in the samples of these runs."""
    return tuple(
        RunFinding(run=name, name=finding.name, rows=finding.rows, text=finding.text)
        for name, run in zip(unique_names(runs), runs, strict=True)
        for finding in run.findings
    )


def default_ks(runs: Sequence[RunCounts]) -> tuple[int, ...]:
    """Return 1, 2, 5, 10, 20, ... up to the least number of samples of any common problem in any run, 1 for copies."""
    common = set.intersection(*({count.problem_id for count in run.counts} for run in runs))
    numbers = (count.n for run in runs for count in effective_counts(run) if count.problem_id in common)
    least = max(1, min(numbers, default=1))
    steps = (digit * 10**power for power in range(len(str(least))) for digit in (1, 2, 5))
    return (*(k for k in steps if k < least), least)


def read_finished_counts(path: Path, k: int = 1) -> tuple[list[int], list[int]]:
    """Return n and c of each problem of a finished run, as ``effective_counts`` does.

    Raises what ``read_counts`` and ``effective_counts`` raise, and DataError when samples have no verdict, or when
    there are no samples.
    """
    run = read_counts(path)
    require_score(run, str(path))
    if not run.counts:
        raise DataError(f"{str(path)!r} has no verdicts")
    counts = effective_counts(run, k)
    return [count.n for count in counts], [count.c for count in counts]


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of runs of one model on the same problems, one row per temperature."""

    temperatures: tuple[float, ...]
    n: tuple[tuple[int, ...], ...]
    c: tuple[tuple[int, ...], ...]


def make_sweep(runs: Sequence[RunCounts], temperatures: Sequence[float] = (), k: int = 1) -> Sweep:
    """Return the counts of runs at several temperatures, in ascending order, as ``effective_counts`` does.

    ``temperatures``, one per run, replace those that the runs were sampled at.
    Raises DataError when the temperature of a run is unknown, when two are the same, when samples have no verdict, when
    the problems differ, or when a run has no pass@k; UsageError when the numbers of temperatures and runs differ.
    """
    names = unique_names(runs)
    ids = find_common(runs, names).ids
    if temperatures and len(temperatures) != len(runs):
        values = amount(len(temperatures), "value")
        raise UsageError(f"--temperatures has {values} for {amount(len(runs), 'run')}; name one for each run")
    rows: dict[float, Sequence[Counts]] = {}
    for at, (run, name) in enumerate(zip(runs, names, strict=True)):
        require_score(run, name)
        stored = run.header.generation.decoding.temperature if run.header and run.header.generation else None
        temperature = temperatures[at] if temperatures else stored
        if temperature is None:
            raise DataError(f"the temperature of {name!r} is not stored; name those of all runs with --temperatures")
        if temperature in rows:
            raise DataError(f"{name!r} has temperature {temperature:g} like another run; each may appear once")
        rows[temperature] = select_counts(effective_counts(run, k), ids)
    order = sorted(rows)
    return Sweep(
        temperatures=tuple(order),
        n=tuple(tuple(count.n for count in rows[temperature]) for temperature in order),
        c=tuple(tuple(count.c for count in rows[temperature]) for temperature in order),
    )


def plan_from_runs(
    runs: Sequence[RunCounts],
    k: int,
    *,
    difference: float | None,
    level: float,
    power: float,
    correlation: float | None,
) -> Plan:
    """Plan a comparison from one run or two on the same problems.

    Raises DataError when the runs cannot be compared, or cannot separate sampling noise from differences of problems.
    """
    from passcurve.stats import plan

    names = unique_names(runs)
    for run, name in zip(runs, names, strict=True):
        require_score(run, name)
        require_samples(run.counts, name, k)
    ids, _ = find_common(runs, names)
    sides = [select_counts(effective_counts(run, k), ids) for run in (runs[0], runs[-1])]
    (n_a, c_a), (n_b, c_b) = ([[count.n for count in side], [count.c for count in side]] for side in sides)
    is_single = len(runs) == 1
    try:
        return plan(
            n_a,
            c_a,
            None if is_single else n_b,
            None if is_single else c_b,
            k=k,
            difference=difference,
            level=level,
            power=power,
            correlation=correlation,
        )
    except ValueError as error:
        raise DataError(f"no plan from {names[0]!r}: {error}") from None


def _difference(
    a: Sequence[Counts], b: Sequence[Counts], k: int, level: float, seed: int
) -> tuple[Difference, Sequence[float]]:
    from passcurve.stats import paired_difference
    from passcurve.stats.planning import detectable_difference

    (n_a, c_a), (n_b, c_b) = ([[count.n for count in side], [count.c for count in side]] for side in (a, b))
    paired = paired_difference(n_a, c_a, n_b, c_b, k, level, seed=seed)
    return (
        Difference(
            k=k,
            a=_score(a, k),
            b=_score(b, k),
            difference=paired.difference,
            new_problems=_interval(paired.new_problems, level, "paired plus-two t"),
            these_problems=_interval(paired.these_problems, level, f"sampling variance, {paired.sampling}"),
            p=paired.p.p,
            p_error=paired.p.error,
            p_method=paired.p.method,
            p_test=paired.p_test,
            adjusted=None,
            wins=paired.wins,
            ties=paired.ties,
            losses=paired.losses,
            between=_number(paired.between),
            within=_number(paired.within),
            minimum_detectable=_number(detectable_difference(n_a, c_a, n_b, c_b, k, level)),
            warnings=paired.warnings,
        ),
        paired.differences.tolist(),
    )


def _score(counts: Sequence[Counts], k: int) -> float:
    from passcurve.stats.estimate import estimate

    (scored,) = estimate(counts, [k])
    if scored.value is None:
        raise DataError(f"no comparison: {scored.reason}")
    return scored.value


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _interval(bounds: tuple[float, float], level: float, method: str) -> Interval | None:
    low, high = bounds
    return None if math.isnan(low) or math.isnan(high) else Interval(low=low, high=high, level=level, method=method)


def _adjusted(cells: Sequence[tuple[Difference, Sequence[float]]], seed: int) -> list[float | None]:
    """Return the p-values of all differences, adjusted for their number; None for a single one."""
    if len(cells) < 2:
        return [None] * len(cells)
    from passcurve.stats import holm, max_t_p

    columns = [by_problem for _, by_problem in cells]
    stepped: list[float] = max_t_p(list(zip(*columns, strict=True)), seed=seed).adjusted.tolist()
    # Drawn patterns may fall below the exact p of one difference, which no adjustment may make smaller.
    least = [difference.p for difference, _ in cells]
    if any(difference.p_test != "sign flips" for difference, _ in cells):
        # With unequal n the larger of two tests counts, and max T knows one of them only.
        least = holm(least).tolist()
    return [max(pair) for pair in zip(stepped, least, strict=True)]


def _deciders(a: Sequence[Counts], b: Sequence[Counts]) -> tuple[Decider, ...]:
    deciders = [
        Decider(problem_id=one.problem_id, a=one, b=other, difference=one.c / one.n - other.c / other.n)
        for one, other in zip(a, b, strict=True)
        if one.n and other.n and one.c * other.n != other.c * one.n
    ]
    deciders.sort(key=lambda decider: (-abs(_exact_difference(decider)), natural_key(decider.problem_id)))
    return tuple(deciders[:_MAX_DECIDERS])


def _exact_difference(decider: Decider) -> Fraction:
    """Return the difference as a fraction: those of floats that should be equal are not."""
    return Fraction(decider.a.c, decider.a.n) - Fraction(decider.b.c, decider.b.n)


def _compare_signatures(a: Header | None, b: Header | None) -> tuple[str, ...]:
    if a is None or b is None:
        missing = "neither has a signature" if a is b else "one of them has no signature"
        return (f"{missing}: it is not known how it was judged",)
    parts = [dict(part.partition(":")[::2] for part in signature(header).split("|")) for header in (a, b)]
    names = dict.fromkeys([*parts[0], *parts[1]])
    return tuple(
        f"{name}: {parts[0].get(name, 'none')} and {parts[1].get(name, 'none')}"
        for name in names
        if _content_of(name, parts[0].get(name)) != _content_of(name, parts[1].get(name))
    )


def _content_of(name: str, value: str | None) -> str | None:
    """Return what counts of a part of a signature: of a benchmark its digest, whatever its file is called."""
    return value.rpartition("@")[2] if name == "benchmark" and value is not None else value
