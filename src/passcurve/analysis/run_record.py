"""The record of one stored run in a report: scores, curves, failures, spreads, tokens."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from passcurve import config
from passcurve.analysis.score import ScoredRun
from passcurve.analysis.scored_record import scored_record
from passcurve.report import methods
from passcurve.report.diagnosis import fault_lines
from passcurve.report.evidence import Evidence
from passcurve.report.generation import cost_record
from passcurve.stats import extrapolate
from passcurve.store.completions import stored_totals
from passcurve.types import STATUSES, Header

HEADLINE_KS = (1, 5, 10, 100)
SIDE_KINDS = ("autopsy", "profiles")
"""Commands that leave a record beside a run."""
_BINS = 10
"""Bins of the solve rates of problems with many samples, or unequal numbers of them."""
_FEW = 20
"""Samples of each problem up to which every c/n has a bin of its own."""
_MOST_TESTS = 12
"""Failing tests that are named."""
_COARSE, _FINE = 20, 50
"""Bins between a value and its tenfold: of times and tokens, which spread far, and of memory, which does not."""
_STEPS = [digit * 10**power for power in range(7) for digit in (1, 2, 5)]


def run_record(
    run: ScoredRun, name: str, ids: Sequence[str], evidence: Evidence | None, prices: Path | None
) -> dict[str, Any]:
    """Return everything that a report says of one run.

    ``ids`` are the problems of the report; ``prices`` is a file that says what tokens cost.
    """
    scope = run.diagnosis.scope if run.diagnosis is not None else None
    benchmark = run.header.benchmark if run.header is not None else ""
    paragraph = methods.describe_scores(run.estimates, run.curve, run.counts, benchmark, run.header, scope)
    record = scored_record(run, paragraph)
    return {
        "name": name,
        "suites": {},
        "excluded": [],
        "withheld": None,
        **{key: value for key, value in record.items() if not _is_estimate(key)},
        "curve": record.get("curve"),
        "scores": {key: value for key, value in record.items() if _is_estimate(key)},
        "curves": _curves(run),
        "findings": fault_lines(run.diagnosis, run.findings),
        "reasons": _reasons(run),
        "extrapolation": _extrapolation(run),
        "by_problem": [{"task_id": count.problem_id, "n": count.n, "c": count.c} for count in run.counts],
        "solve_rates": _solve_rates(run),
        "failures": _failures(evidence) if evidence is not None else [],
        "failing_tests": _failing_tests(evidence, ids) if evidence is not None else [],
        "limits": msgspec.to_builtins(run.header.limits) if run.header is not None else None,
        "own_limits": run.header.own_limits if run.header is not None else False,
        "limits_s": _limits_s(run, ids, evidence) if evidence is not None else {},
        "dedup": run.header.dedup if run.header is not None else False,
        "spreads": _spreads(evidence) if evidence is not None else {},
        "void": record["statuses"].get("void", 0),
        "generated": _generated(run, prices),
        **{kind: _side_record(run, kind) for kind in SIDE_KINDS},
    }


def _curves(run: ScoredRun) -> dict[str, list[dict[str, Any]]]:
    """Return each metric at each k, with its interval for new problems."""
    curves: dict[str, list[dict[str, Any]]] = {}
    for estimate in run.estimates:
        interval = estimate.new_problems
        row = {"k": estimate.k, "value": estimate.value, "low": None, "high": None}
        if interval is not None:
            row |= {"low": interval.low, "high": interval.high}
        curves.setdefault(estimate.metric, []).append(row)
    return curves


def _reasons(run: ScoredRun) -> list[str]:
    """Return why pass@k has no value at some k, and the warnings, each once."""
    passes = [estimate for estimate in run.estimates if estimate.metric == "pass@k" and estimate.k in HEADLINE_KS]
    missing: dict[str, list[str]] = {}
    for estimate in passes:
        if estimate.value is None:
            missing.setdefault(estimate.reason, []).append(estimate.name)
    texts = [f"{', '.join(names)}: {reason}" for reason, names in missing.items()]
    return texts + list(dict.fromkeys(text for estimate in passes for text in estimate.warnings))


def _is_estimate(key: str) -> bool:
    return "@" in key or "^" in key


def _extrapolation(run: ScoredRun) -> dict[str, Any] | None:
    """Return what models say of pass@k past n, up to 2 n; None where there is no score or no model."""
    counts = [count for count in run.counts if count.n]
    if run.curve is None or len(counts) < len(run.counts):
        return None
    least = min(count.n for count in counts)
    ks = [k for k in _STEPS if least < k < 2 * least] + [2 * least]
    far = extrapolate([count.n for count in counts], [count.c for count in counts], ks)
    if any(math.isnan(value) for value in far.low):
        return None
    models = (far.beta_binomial, far.zero_inflated, far.power_law, far.chao2)
    with_value = sum(not any(math.isnan(value) for value in model) for model in models)
    return {"k": ks, "low": far.low.tolist(), "high": far.high.tolist(), "models": with_value}


def _limits_s(run: ScoredRun, ids: Sequence[str], evidence: Evidence) -> dict[str, float]:
    """Return the time limit of each problem whose limit is known here."""
    if run.header is None:
        return {}
    common = run.header.limits.timeout_s
    if not run.header.own_limits:
        return dict.fromkeys(ids, common)
    return {name: evidence.problems[name].limit_s(common) for name in ids if name in evidence.problems}


def _solve_rates(run: ScoredRun) -> dict[str, Any]:
    """Return how many problems are never, sometimes and always solved, and how many have which c/n.

    With few samples, as many of each problem, bin c counts the problems with c/n; else each bin is a tenth.
    """
    rates = [(count.c, count.n) for count in run.counts if count.n]
    sizes = {n for _, n in rates}
    size = sizes.pop() if len(sizes) == 1 else 0
    if 0 < size <= _FEW:
        counts = Counter(c for c, _ in rates)
        bins = [counts[c] for c in range(size + 1)]
    else:
        size, counts = 0, Counter(min(_BINS - 1, c * _BINS // n) for c, n in rates)
        bins = [counts[number] for number in range(_BINS)]
    return {
        "n": size or None,
        "never": sum(c == 0 for c, _ in rates),
        "sometimes": sum(0 < c < n for c, n in rates),
        "always": sum(c == n for c, n in rates),
        "bins": bins,
    }


def _failures(evidence: Evidence) -> list[dict[str, Any]]:
    """Return how many samples end in which way: by status, and by exception where there is one; the commonest first."""
    kinds: Counter[tuple[str, str]] = Counter()
    for groups in evidence.groups.values():
        for group in groups:
            status = STATUSES[group.status]
            if status not in ("passed", "void"):
                kinds[status, group.cause] += group.count
    return [{"status": status, "cause": cause, "samples": count} for (status, cause), count in kinds.most_common()]


def _failing_tests(evidence: Evidence, ids: Sequence[str]) -> list[dict[str, Any]]:
    """Return the tests that fail first in most samples: the number of the test, or its line where none is counted."""
    counts: Counter[tuple[int, str]] = Counter()
    for position, groups in evidence.groups.items():
        for group in groups:
            if test := group.test_line or group.failed_test:
                counts[position, test] += group.count
    most = counts.most_common(_MOST_TESTS)
    return [{"task_id": ids[position], "test": test, "samples": count} for (position, test), count in most]


def _spreads(evidence: Evidence) -> dict[str, Any]:
    columns = evidence.columns
    return {
        "own_s": _spread([value / 1e6 for value in columns.own_us]),
        "memory_mib": _spread([value / 1024 for value in columns.memory_kib], _FINE),
        "tokens": _spread([float(value) for value in columns.tokens]),
        "latency_s": _spread([value / 1000 for value in columns.latency_ms]),
    }


def _spread(values: Sequence[float], per_decade: int = _COARSE) -> dict[str, Any]:
    """Return how many of the values above 0 lie in which bin, with median, 95th percentile and largest value.

    Bin i holds the values from 10^(i/per_decade) on: the bins of all runs are the same.
    """
    positive = sorted(value for value in values if value > 0)
    if not positive:
        empty = {"samples": 0, "first_bin": 0, "per_decade": per_decade, "counts": []}
        return empty | {"median": None, "p95": None, "most": None}
    bins = Counter(math.floor(per_decade * math.log10(value)) for value in positive)
    first = min(bins)
    return {
        "samples": len(positive),
        "first_bin": first,
        "per_decade": per_decade,
        "counts": [bins[number] for number in range(first, max(bins) + 1)],
        "median": positive[(len(positive) - 1) // 2],
        "p95": positive[math.ceil(0.95 * len(positive)) - 1],
        "most": positive[-1],
    }


def _generated(run: ScoredRun, prices: Path | None) -> dict[str, Any] | None:
    generation = run.header.generation if run.header is not None else None
    if generation is None:
        return None
    totals = stored_totals(Path(run.source))
    listed = config.read_prices(prices, generation.model) if prices is not None else None
    return {
        "model": generation.model,
        "temperature": generation.decoding.temperature,
        "samples": totals.samples,
        "truncated": totals.truncated,
        "truncated_rate": totals.truncated / totals.samples if totals.samples else None,
        "filtered": totals.filtered,
        "server_models": dict(totals.server_models.most_common()),
        "prompt_tokens": totals.prompt_tokens,
        "completion_tokens": totals.completion_tokens,
        "uncounted": totals.uncounted,
        "latency_s": totals.latency_s,
        "cost": cost_record(totals, listed, run.counts) if listed is not None else None,
    }


def side_records(run: Path, header: Header, kinds: Sequence[str] = SIDE_KINDS) -> list[Path]:
    """Return where ``autopsy`` and ``profiles`` leave their records, beside a run or its samples."""
    places = dict.fromkeys((str(run), header.samples))
    return [Path(f"{place}.{kind}") / f"{kind}.json" for place in places for kind in kinds]


def _side_record(run: ScoredRun, kind: str) -> dict[str, Any] | None:
    """Return what ``autopsy`` or ``profiles`` has left beside a run or its samples; None where nothing fits.

    Where both have some, it is the newer one.
    """
    if run.header is None:
        return None
    paths = side_records(Path(run.source), run.header, (kind,))
    newest_first = sorted(filter(Path.is_file, paths), key=lambda path: path.stat().st_mtime, reverse=True)
    return next(filter(None, (_read_side_record(path, run.header.benchmark) for path in newest_first)), None)


def _read_side_record(path: Path, benchmark: str) -> dict[str, Any] | None:
    try:
        record = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        return None
    if not isinstance(record, dict) or record.get("benchmark") != benchmark:
        return None
    # Programs and verdicts of the samples stay in that file.
    flips = [flip["problem_id"] for flip in record.get("flips", ())]
    kept = {name: record[name] for name in ("rulings", "scores", "patterns", "signature") if name in record}
    return kept | {"flips": flips, "disagreements": len(record.get("disagreements", ()))}
