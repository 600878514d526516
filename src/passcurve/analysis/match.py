"""Text match beside verdicts: how similar the programs are to the references, and how well that predicts passing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from passcurve.analysis import compare
from passcurve.analysis.common_problems import require_score
from passcurve.bench import resolve
from passcurve.diagnosis import Diagnosis
from passcurve.errors import DataError, place_error
from passcurve.extract import extract, split_policy
from passcurve.lab.ranking import Ranking, rank_samples
from passcurve.lab.similarity import LoadedMetrics, Metric, strip_prompt
from passcurve.signature import signature
from passcurve.stats.estimate import estimate
from passcurve.store.completions import stored_completions
from passcurve.store.locate import explain_partial_runs, find_run_dir
from passcurve.store.parts import write_atomically
from passcurve.store.run_counts import check_samples, read_counts
from passcurve.store.rundir import RunDir
from passcurve.store.samples import read_rows
from passcurve.store.verdicts import require_finished
from passcurve.types import Completion, Counts, Estimate, Header, Problem, Verdict

KEPT = "match.jsonl"
"""File in the run directory: a head with the signatures, then a line for each sample."""

FloatArray = NDArray[np.float64]


class MatchValues(NamedTuple):
    """The values of the samples of a run, in the order of their rows."""

    problem: NDArray[np.int64]
    """Number of each sample's problem, from 0."""
    passed: NDArray[np.bool_]
    metrics: dict[str, FloatArray]


class MatchedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run whose programs were compared with the references."""

    run: str
    benchmark: str
    samples: int
    passed: int
    problems: int
    whole: int
    """Samples that do not begin with the prompt; they are compared with the whole reference."""
    no_code: int
    """Samples without a program; they are compared as empty text."""
    estimates: tuple[Estimate, ...]
    """pass@k of the same samples."""
    scores: dict[str, float | None]
    """The mean over problems of the mean over samples, for each metric."""
    ranked: dict[str, Ranking]
    level: float
    resamples: int
    seed: int
    signatures: dict[str, str]
    """Signature of each metric."""
    signature: str
    """Signature of the verdicts."""
    kept: str
    """Path of the values of each sample."""


class Inversion(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs that a metric ranks in the wrong order."""

    metric: str
    better: str
    """The run that passes more."""
    worse: str
    """The run that is more similar to the references."""
    pass_at_1: tuple[float, float]
    """pass@1 of the better and of the worse run."""
    score: tuple[float, float]
    p: float
    """p of the paired test that both have the same pass@1."""


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a match of one or several runs."""

    runs: tuple[MatchedRun, ...]
    inverted: tuple[Inversion, ...]
    """The inversions among all pairs of runs on the same problems."""
    notes: tuple[str, ...]
    """Which extras are missing, and which runs cannot be ranked."""


def match(
    runs: Sequence[Path],
    chosen: LoadedMetrics,
    ks: Sequence[int],
    cache_dir: Path,
    *,
    level: float = 0.95,
    resamples: int = 999,
    seed: int = 0,
    stale: bool = False,
) -> tuple[Match, tuple[MatchValues, ...]]:
    """Compare the programs of judged runs with the references, and store the values beside the verdicts.

    Each distinct program of a problem is compared once.
    Raises StoreError when a run cannot be read or written, DataError when it is not finished, when its samples are gone
    or have changed, or when a problem has no reference.
    """
    folders = [_find_run(run) for run in runs]
    if not stale:
        for folder in folders:
            check_samples(folder)
    diagnoses = []
    for run, folder in zip(runs, folders, strict=True):
        counts = read_counts(folder, stale=True)
        require_score(counts, str(run))
        diagnoses.append(counts.diagnosis)
    results = [
        _match_run(run, folder, chosen, ks, cache_dir, level, resamples, seed, diagnosis)
        for run, folder, diagnosis in zip(runs, folders, diagnoses, strict=True)
    ]
    matched = tuple(run for run, _ in results)
    inverted, notes = _find_inversions(folders, matched)
    return Match(runs=matched, inverted=inverted, notes=(*chosen.notes, *notes)), tuple(values for _, values in results)


def _find_run(path: Path) -> Path:
    folder = find_run_dir(path)
    if not folder.is_dir():
        if reason := explain_partial_runs(path):
            raise DataError(reason)
        raise DataError(f"no run directory for {str(path)!r}: judge it first, because a match needs the programs")
    return folder


def _match_run(
    path: Path,
    folder: Path,
    chosen: LoadedMetrics,
    ks: Sequence[int],
    cache_dir: Path,
    level: float,
    resamples: int,
    seed: int,
    diagnosis: Diagnosis | None,
) -> tuple[MatchedRun, MatchValues]:
    with RunDir(folder).read() as stored:
        attempt = stored.attempt
        require_finished(attempt, str(path))
        header = attempt.header
        lines = {line.row: (line.digest, line.verdict) for line in stored.iter_lines()}
    problems = {problem.id: problem for problem in resolve.reload(header, cache_dir).problems}
    rows = [(row, lines[row.row][1]) for row in _completions(folder, header, list(problems), lines)]
    if len(rows) < len(lines):
        raise DataError(f"{str(path)!r} has fewer samples than verdicts: the samples have changed since")
    scope = diagnosis.scope if diagnosis is not None else None
    if scope is not None:
        rows = [(row, verdict) for row, verdict in rows if row.key.problem_id not in scope.faulty]
    # The lines of a prelude are the harness's, not the model's.
    values, counted = _values(rows, problems, split_policy(header.extract)[0], chosen.metrics)
    kept = folder / KEPT
    _write_values(kept, attempt.digest, chosen.metrics, rows, values)
    counts = _count_by_problem(rows)
    return (
        MatchedRun(
            run=str(path),
            benchmark=header.benchmark,
            samples=len(rows),
            passed=int(values.passed.sum()),
            problems=len(counts),
            whole=counted.whole,
            no_code=counted.no_code,
            estimates=estimate(counts, ks),
            scores={name: _mean(column, values.problem) for name, column in values.metrics.items()},
            ranked={
                name: rank_samples(column, values.passed, values.problem, level=level, resamples=resamples, seed=seed)
                for name, column in values.metrics.items()
            },
            level=level,
            resamples=resamples,
            seed=seed,
            signatures={metric.name: metric.signature for metric in chosen.metrics},
            signature=signature(header, scope),
            kept=str(kept),
        ),
        values,
    )


def _completions(
    folder: Path, header: Header, task_ids: Sequence[str], lines: dict[int, tuple[str, Verdict]]
) -> Iterable[Completion]:
    """Yield the completions that were judged; raise DataError for one that has changed."""
    if header.generation is not None:
        rows: Iterable[object] = stored_completions(folder)
    else:
        named, beside = Path(header.samples), folder.with_suffix("")
        source = named if named.is_file() else beside
        if not source.is_file():
            raise DataError(f"the samples file {str(named)!r} of this run is gone: a match needs the texts")
        rows = read_rows(source, task_ids)
    for row in rows:
        if isinstance(row, Completion) and row.row in lines:
            if lines[row.row][0] != row.digest:
                raise DataError(f"row {row.row} of {header.samples!r} has changed since it was judged; judge it again")
            yield row


class _FormCounts(NamedTuple):
    whole: int
    no_code: int


def _values(
    rows: Sequence[tuple[Completion, Verdict]], problems: dict[str, Problem], policy: str, metrics: Sequence[Metric]
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
    passed = np.array([verdict.passed for _, verdict in rows], dtype=np.bool_)
    named = {metric.name: column for metric, column in zip(metrics, table, strict=True)}
    return MatchValues(which, passed, named), _FormCounts(whole, no_code)


def _count_by_problem(rows: Sequence[tuple[Completion, Verdict]]) -> list[Counts]:
    n: dict[str, int] = {}
    c: dict[str, int] = {}
    for row, verdict in rows:
        name = row.key.problem_id
        n[name] = n.get(name, 0) + 1
        c[name] = c.get(name, 0) + verdict.passed
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
    rows: Sequence[tuple[Completion, Verdict]],
    values: MatchValues,
) -> None:
    """Write the values of the samples beside the verdicts."""
    encode = msgspec.json.encode
    head = {"verdicts": digest, "signatures": {metric.name: metric.signature for metric in metrics}}
    lines = [encode(head)]
    names = list(values.metrics)
    for at, (row, verdict) in enumerate(rows):
        own = (float(values.metrics[name][at]) for name in names)
        lines.append(
            encode(
                {"task_id": row.key.problem_id, "sample_index": row.key.sample_index, "status": verdict.status}
                | {name: None if math.isnan(value) else value for name, value in zip(names, own, strict=True)}
            )
        )
    try:
        write_atomically(path, b"\n".join(lines) + b"\n")
    except OSError as error:
        raise place_error(f"cannot write {str(path)!r}: {error.strerror or error}", error) from error


def _find_inversions(
    folders: Sequence[Path], matched: Sequence[MatchedRun]
) -> tuple[tuple[Inversion, ...], tuple[str, ...]]:
    """Return the pairs of runs whose ranks by verdict and by text differ, and notes on pairs that were left out."""
    inversions: list[Inversion] = []
    notes = []
    scored = [read_counts(folder, stale=True) for folder in folders] if len(folders) > 1 else []
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
