"""The record of a report on stored runs: every number that its page and its tables show."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from passcurve.analysis import compare as comparisons
from passcurve.analysis.evidence import read_evidence
from passcurve.analysis.run_record import HEADLINE_KS, run_record
from passcurve.analysis.score import ScoredRun, score_run
from passcurve.bench import resolve
from passcurve.errors import DataError, UsageError
from passcurve.lab.temperature import measure_sweep
from passcurve.report import methods
from passcurve.report.comparison import p_value
from passcurve.report.curves import run_labels
from passcurve.report.evidence import Evidence
from passcurve.report.records import Difference
from passcurve.report.terminal import number
from passcurve.stats.metrics import ScoreRequest
from passcurve.store.locate import find_run_dir
from passcurve.store.run_counts import RunCounts, read_counts
from passcurve.store.rundir import RunDir
from passcurve.types import Header, Metric

_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


class ReportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a report."""

    level: float = 0.95
    prices: Path | None = None
    """A file that says what the tokens of each model cost."""
    stale: bool = False
    common: bool = False
    """Compare the problems that all runs have, even if problems or tests differ."""


class Report(msgspec.Struct, kw_only=True):
    """The record of a report, and the evidence that its page shows."""

    record: dict[str, Any]
    scored: tuple[ScoredRun, ...]
    comparison: comparisons.Comparison | None
    """None for a single run, and for runs that cannot be compared."""
    evidence: tuple[Evidence | None, ...]
    """The samples of each run; None where only counts are stored."""


def read_report(paths: Sequence[Path], cache_dir: Path, options: ReportOptions) -> Report:
    """Read stored runs and compute everything that a report shows.

    Raises DataError and StoreError as ``read_counts`` does.
    """
    # pass@k at every k of the curve makes it; of pass^k its steps are enough.
    powers = [Metric(name="pass^k", k=k) for k in _STEPS]
    request = ScoreRequest(metrics=(Metric(), *powers), ks=HEADLINE_KS, with_curve=True, level=options.level)
    counts = [read_counts(path, stale=options.stale) for path in paths]
    scored = [score_run(run, request, cache_dir) for run in counts]
    names = run_labels(
        [
            (path, run.diagnosis.scope if run.diagnosis is not None else None)
            for path, run in zip(paths, scored, strict=True)
        ]
    )
    ids = list(dict.fromkeys(_ordered_ids(scored, cache_dir)))
    positions = {task_id: at for at, task_id in enumerate(ids)}
    evidence = tuple(_read_evidence(run, positions, cache_dir) for run in scored)
    runs = [
        run_record(run, name, ids, own, options.prices) for run, name, own in zip(scored, names, evidence, strict=True)
    ]
    comparison, reason = _compare(counts, options)
    return Report(
        record={
            "headline_ks": list(HEADLINE_KS),
            "problems": ids,
            "runs": runs,
            "comparison": _comparison_record(comparison, reason, counts, names, options.level),
            "sweep": _sweep(counts),
            "provenance": _provenance(scored),
        },
        scored=tuple(scored),
        comparison=comparison,
        evidence=evidence,
    )


def _ordered_ids(scored: Sequence[ScoredRun], cache_dir: Path) -> Iterable[str]:
    """Yield the problems in the order of the benchmark, then those that only runs have."""
    judged = {count.problem_id for run in scored for count in run.counts}
    judged |= {gone.problem_id for run in scored if run.diagnosis is not None for gone in run.diagnosis.scope.excluded}
    for run in scored:
        if run.header is not None:
            try:
                problems = resolve.reload(run.header, cache_dir).problems
            except DataError:
                continue
            yield from (problem.id for problem in problems if problem.id in judged)
    yield from (count.problem_id for run in scored for count in run.counts)
    yield from sorted(judged)


def _read_evidence(run: ScoredRun, positions: Mapping[str, int], cache_dir: Path) -> Evidence | None:
    return read_evidence(Path(run.source), positions, cache_dir) if run.kind == "run" else None


def _compare(counts: Sequence[RunCounts], options: ReportOptions) -> tuple[comparisons.Comparison | None, str]:
    """Return the paired comparison of every two runs, or the reason why there is none."""
    if len(counts) < 2:
        return None, ""
    try:
        ks = [k for k in comparisons.default_ks(counts) if k in HEADLINE_KS]
        return comparisons.compare(counts, ks, level=options.level, common=options.common), ""
    except (DataError, UsageError) as error:
        return None, str(error)


def _comparison_record(
    made: comparisons.Comparison | None, reason: str, counts: Sequence[RunCounts], names: Sequence[str], level: float
) -> dict[str, Any] | None:
    """Return a comparison with the counts of each problem; None for a single run."""
    if made is None:
        return {"reason": reason, "pairs": []} if reason else None
    labels = dict(zip(made.runs, names, strict=True))
    by_run = {
        label: {count.problem_id: count for count in run.counts} for label, run in zip(made.runs, counts, strict=True)
    }
    headers = dict(zip(made.runs, (run.header for run in counts), strict=True))
    # A pair is compared on the problems of all runs, though the two may share more.
    common = set.intersection(*(set(own) for own in by_run.values()))
    record: dict[str, Any] = msgspec.to_builtins(made)
    for pair, facts in zip(record["pairs"], made.pairs, strict=True):
        pair["same_model"] = _same_model(headers[pair["a"]], headers[pair["b"]], pair["differs"])
        a, b = by_run[pair["a"]], by_run[pair["b"]]
        pair["problems"] = [
            {"task_id": name, "a": {"n": a[name].n, "c": a[name].c}, "b": {"n": b[name].n, "c": b[name].c}}
            for name in a
            if name in common and a[name].n and b[name].n
        ]
        for difference, fact in zip(pair["differences"], facts.differences, strict=True):
            difference["reading"] = _reading(fact, level)
            difference["lead"] = _lead(difference)
        pair["ahead"] = _shares(pair)
        pair["numbers"] = [made.runs.index(pair["a"]), made.runs.index(pair["b"])]
        pair["a"], pair["b"] = labels[pair["a"]], labels[pair["b"]]
    return record | {"reason": "", "methods": methods.describe_comparison(made), "runs": list(names)}


def _reading(difference: Difference, level: float) -> str:
    """Return what the p-value says of a difference, after adjusting for all others where there are several."""
    p = difference.p if difference.adjusted is None else difference.adjusted
    text = p_value(p)
    name = "p" if difference.adjusted is None else "adjusted p"
    evidence = f"{name} {text if text.startswith('<') else f'= {text}'}"
    is_found = p <= 1.0 - level
    # Where it is no longer found once it is adjusted, that is the reading, whatever the interval of it alone says.
    if difference.is_undecided and is_found == (difference.p <= 1.0 - level):
        return f"Undecided: the interval and the p-value are made in different ways, and disagree ({evidence})."
    if is_found:
        return f"Yes: {'A' if difference.difference > 0 else 'B'} is better on problems like these ({evidence})."
    least = difference.minimum_detectable
    if least is None:
        return f"No evidence of a difference ({evidence})."
    return (
        f"No evidence of a difference ({evidence}); with these runs a true difference of about {number(least)} or more "
        "is found with 80 % power."
    )


def _lead(difference: Mapping[str, Any]) -> str:
    """Return how a run can be better on the whole that is ahead on fewer problems; empty where none is."""
    ahead = difference["wins"] - difference["losses"]
    if ahead * difference["difference"] >= 0:
        return ""
    return f"{'A' if ahead < 0 else 'B'} is ahead on fewer problems, but by more"


def _shares(pair: dict[str, Any]) -> dict[str, float]:
    """Give each decider its part of the difference in pass@1; return those of all where A leads, and where B does."""
    problems = pair["problems"]
    differences = [row["a"]["c"] / row["a"]["n"] - row["b"]["c"] / row["b"]["n"] for row in problems]
    for decider in pair["deciders"]:
        decider["part"] = decider["difference"] / len(problems)
    return {
        "a": math.fsum(value for value in differences if value > 0) / max(1, len(problems)),
        "b": math.fsum(value for value in differences if value < 0) / max(1, len(problems)),
    }


def _same_model(a: Header | None, b: Header | None, differs: Sequence[str]) -> str:
    """Return that two runs name one model, and what else differs; empty where they do not, or name none."""
    models = {header.generation.model for header in (a, b) if header is not None and header.generation is not None}
    if a is None or b is None or a.generation is None or b.generation is None or len(models) > 1:
        return ""
    names = [text.partition(":")[0] for text in differs]
    rest = f"only {' and '.join(names)} differ{'s' * (len(names) == 1)}" if names else "no setting differs"
    return f'Both runs name the same model, "{models.pop()}"; {rest}.'


def _sweep(counts: Sequence[RunCounts]) -> dict[str, Any] | None:
    """Return the sweep of one model over temperatures; None where the runs are none."""
    generations = [run.header.generation for run in counts if run.header is not None]
    models = {generation.model for generation in generations if generation is not None}
    temperatures = {generation.decoding.temperature for generation in generations if generation is not None}
    if len(models) != 1 or None in generations or len(temperatures) < max(2, len(counts)):
        return None
    try:
        sweep = comparisons.make_sweep(counts)
    except (DataError, UsageError):
        return None
    record: dict[str, Any] = msgspec.to_builtins(measure_sweep(sweep.temperatures, sweep.n, sweep.c))
    return record


def _provenance(scored: Sequence[ScoredRun]) -> list[dict[str, Any]]:
    """Return every setting of the runs, one value for each run."""
    tables = [_flatten(run.header) if run.header is not None else {} for run in scored]
    names = dict.fromkeys(name for table in tables for name in table)
    rows = [{"name": name, "values": [table.get(name, "") for table in tables]} for name in names]
    started = [_started(run) for run in scored]
    return [{"name": "judged", "values": started}, *rows] if any(started) else rows


def _started(run: ScoredRun) -> str:
    if run.kind != "run":
        return ""
    return RunDir(find_run_dir(Path(run.source))).newest_attempt().started_at


def _flatten(header: Header) -> dict[str, str]:
    flat: dict[str, str] = {}

    def add(prefix: str, value: Any) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                add(f"{prefix}.{name}" if prefix else name, inner)
        elif value not in (None, "", [], ()):
            flat[prefix] = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)

    add("", msgspec.to_builtins(header))
    return flat
