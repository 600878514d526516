"""Text match beside verdicts: how similar the programs are to the references, and how well that predicts passing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from passcurve.analysis import compare
from passcurve.analysis.common_problems import has_copies, require_score
from passcurve.analysis.match_rows import MatchRow, MatchRows, find_source, is_run, read_file_rows, read_run_rows
from passcurve.errors import DataError, place_error
from passcurve.extract import extract
from passcurve.lab.ranking import rank_samples
from passcurve.lab.similarity import LoadedMetrics, Metric, strip_prompt
from passcurve.report.records import Inversion, Match, MatchedRun, MatchValues, RunFinding
from passcurve.stats.estimate import estimate
from passcurve.store.run_counts import check_samples, read_counts
from passcurve.store.whole_files import write_whole
from passcurve.types import Counts, Problem

FloatArray = NDArray[np.float64]


def match(
    runs: Sequence[Path],
    chosen: LoadedMetrics,
    ks: Sequence[int],
    cache_dir: Path,
    *,
    benchmark: str | None = None,
    level: float = 0.95,
    resamples: int = 999,
    seed: int = 0,
    stale: bool = False,
) -> tuple[Match, tuple[MatchValues, ...]]:
    """Compare the programs of judged runs with the references, and store the values beside the verdicts.

    A file of another harness with programs and verdicts is compared as it stands, by the problems of ``benchmark`` or
    by its task ids.  Each distinct program of a problem is compared once.
    Raises StoreError when a run cannot be read or written, DataError when it is not finished, when its samples are gone
    or have changed, or when a problem has no reference.
    """
    sources = [find_source(run) for run in runs]
    for source in sources:
        if not stale and is_run(source):
            check_samples(source)
    tables: list[MatchRows] = []
    copies: list[bool] = []
    faults: list[RunFinding] = []
    for run, source in zip(runs, sources, strict=True):
        counts = read_counts(source, stale=True)
        require_score(counts, str(run))
        copies.append(has_copies(counts))
        faults += compare.run_findings([msgspec.structs.replace(counts, source=str(run))])
        tables.append(
            read_run_rows(run, source, cache_dir, counts.diagnosis)
            if is_run(source)
            else read_file_rows(source, benchmark, cache_dir)
        )
    results = [
        _match_rows(str(run), rows, chosen, ks, level, resamples, seed, copies=is_copied)
        for run, rows, is_copied in zip(runs, tables, copies, strict=True)
    ]
    matched = tuple(run for run, _ in results)
    inverted, notes = _find_inversions(sources, matched)
    made = Match(runs=matched, inverted=inverted, findings=tuple(faults), notes=(*chosen.notes, *notes))
    return made, tuple(values for _, values in results)


def _match_rows(
    name: str,
    samples: MatchRows,
    chosen: LoadedMetrics,
    ks: Sequence[int],
    level: float,
    resamples: int,
    seed: int,
    *,
    copies: bool,
) -> tuple[MatchedRun, MatchValues]:
    rows = samples.rows
    values, counted = _values(rows, samples.problems, samples.policy, chosen.metrics)
    if samples.kept is not None:
        _write_values(samples.kept, samples.digest, chosen.metrics, rows, values)
    counts = _count_by_problem(rows)
    return (
        MatchedRun(
            run=name,
            benchmark=samples.benchmark,
            samples=len(rows),
            passed=int(values.passed.sum()),
            problems=len(counts),
            whole=counted.whole,
            no_code=counted.no_code,
            estimates=estimate(counts, ks, deterministic=copies),
            pass_at_1=_mean(values.passed.astype(np.float64), values.problem),
            scores={name: _mean(column, values.problem) for name, column in values.metrics.items()},
            ranked={
                name: rank_samples(column, values.passed, values.problem, level=level, resamples=resamples, seed=seed)
                for name, column in values.metrics.items()
            },
            level=level,
            resamples=resamples,
            seed=seed,
            signatures={metric.name: metric.signature for metric in chosen.metrics},
            signature=samples.signature,
            kept=str(samples.kept) if samples.kept is not None else "",
        ),
        values,
    )


class _FormCounts(NamedTuple):
    whole: int
    no_code: int


def _values(
    rows: Sequence[MatchRow], problems: Mapping[str, Problem], policy: str, metrics: Sequence[Metric]
) -> tuple[MatchValues, _FormCounts]:
    numbers: dict[str, int] = {}
    table = np.empty((len(metrics), len(rows)))
    which = np.empty(len(rows), dtype=np.int64)
    scores: dict[tuple[str, str], tuple[float, ...]] = {}
    whole = no_code = 0
    for at, (row, _) in enumerate(rows):
        problem = problems[row.key.problem_id]
        if problem.reference is None:
            raise DataError(f"problem {problem.id!r} has no reference to compare with")
        which[at] = numbers.setdefault(problem.id, len(numbers))
        text = extract(problem, row, policy).text
        no_code += text is None
        program, reference, how = strip_prompt(
            problem.prompt, problem.reference, problem.prompt if text is None else text
        )
        whole += how == "whole"
        key = (problem.id, program)
        if key not in scores:
            scores[key] = tuple(metric.score(program, reference) for metric in metrics)
        table[:, at] = scores[key]
    passed = np.array([row.passed for row in rows], dtype=np.bool_)
    named = {metric.name: column for metric, column in zip(metrics, table, strict=True)}
    return MatchValues(which, passed, named), _FormCounts(whole, no_code)


def _count_by_problem(rows: Sequence[MatchRow]) -> list[Counts]:
    n: dict[str, int] = {}
    c: dict[str, int] = {}
    for row in rows:
        name = row.completion.key.problem_id
        n[name] = n.get(name, 0) + 1
        c[name] = c.get(name, 0) + row.passed
    return [Counts(problem_id=name, n=of, c=c[name]) for name, of in n.items()]


def _mean(values: FloatArray, problem: NDArray[np.int64]) -> float | None:
    """Return the mean over problems of the mean over samples, as pass@1 is one; None where no sample has a value."""
    has_value = ~np.isnan(values)
    sums = np.bincount(problem[has_value], values[has_value])
    sizes = np.bincount(problem[has_value])
    means = sums[sizes > 0] / sizes[sizes > 0]
    return math.fsum(means) / means.size if means.size else None


def _write_values(
    path: Path,
    digest: str,
    metrics: Sequence[Metric],
    rows: Sequence[MatchRow],
    values: MatchValues,
) -> None:
    """Write the values of the samples beside the verdicts."""
    encode = msgspec.json.encode
    head = {"verdicts": digest, "signatures": {metric.name: metric.signature for metric in metrics}}
    lines = [encode(head)]
    names = list(values.metrics)
    for at, (row, status) in enumerate(rows):
        own = (float(values.metrics[name][at]) for name in names)
        lines.append(
            encode(
                {"task_id": row.key.problem_id, "sample_index": row.key.sample_index, "status": status}
                | {name: None if math.isnan(value) else value for name, value in zip(names, own, strict=True)}
            )
        )
    try:
        write_whole(path, b"\n".join(lines) + b"\n")
    except OSError as error:
        raise place_error(f"cannot write {str(path)!r}: {error.strerror or error}", error) from error


def _find_inversions(
    sources: Sequence[Path], matched: Sequence[MatchedRun]
) -> tuple[tuple[Inversion, ...], tuple[str, ...]]:
    """Return the pairs of runs whose ranks by verdict and by text differ, and notes on pairs that were left out."""
    inversions: list[Inversion] = []
    notes = []
    scored = [read_counts(source, stale=True) for source in sources] if len(sources) > 1 else []
    for one, other in combinations(range(len(scored)), 2):
        try:
            (pair,) = compare.compare([scored[one], scored[other]], [1]).pairs
        except DataError as error:
            notes.append(f"not ranked: {error}")
            continue
        (at_1,) = pair.differences
        if not at_1.difference:
            continue
        better, worse = (one, other) if at_1.difference > 0 else (other, one)
        for name, high in matched[worse].scores.items():
            low = matched[better].scores[name]
            if high is not None and low is not None and high > low:
                inversions.append(
                    Inversion(
                        metric=name,
                        better=matched[better].run,
                        worse=matched[worse].run,
                        pass_at_1=(max(at_1.a, at_1.b), min(at_1.a, at_1.b)),
                        score=(low, high),
                        p=at_1.p,
                    )
                )
    return tuple(inversions), tuple(notes)
