"""Every metric that follows from verdicts alone, with its intervals, from the counts of each problem.

pass@k comes from ``estimate``.  The other metrics are means over problems of scores with known bounds.  For new
problems each gets the plus-two t interval of the scores scaled to [0, 1].  For fresh samples of the same problems only
pass^k has an interval, as the mirror image of pass@k.  ``cover`` is model-based and has no interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from passcurve.stats.dataset import ONE_PROBLEM, count_warnings, dataset_interval, simultaneous_band
from passcurve.stats.double_double import FloatArray
from passcurve.stats.estimate import COPIES, LEVEL, copies_reason, estimate, unavailable_reason
from passcurve.stats.intervals import plus_two_t
from passcurve.stats.relatives import distinct_at_k, expected_attempts
from passcurve.stats.rows import IntArray, Row
from passcurve.stats.rows import check_row as check_counts
from passcurve.stats.thresholds import cover_at_tau, g_pass_at_k, mg_pass_at_k, pass_hat_k
from passcurve.types import Counts, Curve, Estimate, Interval, Metric

Groups = Sequence[Sequence[int]]
"""For each problem, the number of samples of each distinct program."""

_EVERY_K = 200
"""Up to here a curve has every k."""
_UNIFORM_PROBLEMS = 5
"""From this number of problems on, uniform samples are taken for copies (temperature 0)."""


class ScoreRequest(NamedTuple):
    """Metrics to compute from the counts."""

    metrics: tuple[Metric, ...] = (Metric(),)
    ks: tuple[int, ...] = (1,)
    with_curve: bool = False
    """Compute every k of a curve up to the smallest n as well, see ``curve_ks``."""
    level: float = LEVEL


class Scores(NamedTuple):
    """Metrics computed from the counts."""

    estimates: tuple[Estimate, ...]
    """In the order of the metrics, and of k within each."""
    curve: Curve | None
    """Curve of pass@k, for a request of one that gives several k."""
    copies: bool
    """The samples of a problem are copies of one program: n is 1 in effect."""


def score_counts(
    counts: Sequence[Counts],
    request: ScoreRequest,
    owed: int = 0,
    *,
    groups: Groups | None = None,
    uniform_problems: int = 0,
    greedy: bool = False,
) -> Scores:
    """Return each metric at each k, from stored verdicts alone.

    ``groups``, in the order of ``counts``, is the input of ``distinct@k``.  ``uniform_problems`` is the number of
    problems with several samples if all samples of each such problem are one program, else 0.  Where they are copies
    (``are_copies``), k > 1 has no value.  Raises ValueError as ``estimate`` does, and for an unknown metric.
    """
    copies = are_copies(uniform_problems, greedy=greedy)
    ks = request.ks
    if request.with_curve:
        least = 1 if owed or copies or not counts else max(1, min(problem.n for problem in counts))
        ks = tuple(sorted({*curve_ks(least), *ks}))
    estimates: list[Estimate] = []
    for metric in dict.fromkeys(request.metrics):
        metric_ks = ks if metric.k is None else (metric.k,)
        if metric.name == "pass@k":
            estimates += estimate(counts, metric_ks, request.level, owed, deterministic=copies)
        elif metric.name == "cover":
            estimates.append(_cover(counts, metric, owed, copies=copies))
        else:
            estimates += [_relative(counts, metric, k, request.level, owed, groups, copies=copies) for k in metric_ks]
    if uniform_problems and not copies:
        warning = "all samples of each problem are one program: at temperature 0 n would be 1 in effect"
        estimates = [_with_warning(item, warning) if item.k > 1 else item for item in estimates]
    by_name = {item.name: item for item in estimates}
    curve = _curve(counts, list(by_name.values()), request.level) if request.with_curve else None
    return Scores(tuple(by_name.values()), curve, copies)


def curve_ks(least: int) -> tuple[int, ...]:
    """Return the k of a curve: all up to 200, then those of two digits and zeros (210, ... 990, 1000, 1100, ...).

    The last one is ``least``.  An interval at each of 10,000 would take hours, and a picture shows no more.
    """
    rest = (k for size in range(1, len(str(least))) for k in range(10 * 10**size, 100 * 10**size, 10**size))
    sparse = (k for k in rest if _EVERY_K < k < least)
    return tuple(sorted({*range(1, min(least, _EVERY_K) + 1), *sparse, least}))


def are_copies(uniform_problems: int, *, greedy: bool) -> bool:
    """Tell whether samples are copies: from 5 uniform problems on, and from 1 on if they are known to be greedy."""
    return uniform_problems >= (1 if greedy else _UNIFORM_PROBLEMS)


def _with_warning(estimate: Estimate, warning: str) -> Estimate:
    return replace(estimate, warnings=(*estimate.warnings, warning))


def lacks_requested_value(estimates: Sequence[Estimate], metrics: Sequence[Metric], *, ks_requested: bool) -> bool:
    """Tell whether an estimate has no value although the user asked for it by its k, not by default."""
    requested = {(metric.label, metric.k) for metric in metrics if metric.k is not None}
    return any(
        estimate.value is None and (ks_requested or (estimate.metric, estimate.k) in requested)
        for estimate in estimates
    )


# --- one metric -----------------------------------------------------------------------------------------------------


class _Range(NamedTuple):
    least: float
    most: float


class _Rule(NamedTuple):
    """A metric that follows from n and c."""

    scores: Callable[[IntArray, IntArray, int, float], FloatArray]
    """Scores of shape (m,) from n, c, k and the share."""
    range: Callable[[int], _Range]
    """Range of the scores at k."""
    beyond: int = 0
    """Largest allowed k - n."""


def _unit_range(_: int) -> _Range:
    return _Range(0.0, 1.0)


RULES: dict[str, _Rule] = {
    "pass^k": _Rule(lambda n, c, k, _: pass_hat_k(n, c, [k]), _unit_range),
    "g-pass@k": _Rule(lambda n, c, k, tau: g_pass_at_k(n, c, [k], tau), _unit_range),
    "mg-pass@k": _Rule(lambda n, c, k, _: mg_pass_at_k(n, c, [k], exact=True), _unit_range),
    "attempts@k": _Rule(lambda n, c, k, _: expected_attempts(n, c, [k]), lambda k: _Range(1.0, float(k)), beyond=1),
}
"""``pass@k``, ``cover`` and ``distinct@k`` need more than n and c, or give more, and have functions of their own."""


def _relative(
    counts: Sequence[Counts],
    metric: Metric,
    k: int,
    level: float,
    owed: int,
    groups: Groups | None,
    *,
    copies: bool,
) -> Estimate:
    rule = RULES.get(metric.name)
    if rule is None and metric.name != "distinct@k":
        raise ValueError(f"unknown metric {metric.name!r}")
    reason = unavailable_reason(counts, k, owed, beyond=rule.beyond if rule else 0)
    if not reason and rule is None and groups is None:
        reason = "it needs the programs, and the stored run has none"
    if not reason and rule is not None and copies and k > 1:
        reason = copies_reason(k)
    if reason:
        return Estimate(k=k, metric=metric.label, value=None, reason=reason)
    row = check_counts([problem.n for problem in counts], [problem.c for problem in counts])
    if rule is None:
        values = np.array([float(distinct_at_k(sizes, k)) for sizes in groups or ()])
        limits = _Range(1.0, float(k))
    else:
        values, limits = rule.scores(row.n, row.c, k, float(metric.share or "nan")), rule.range(k)
    if metric.name == "pass^k":
        fresh = None if copies else _mirrored_interval(row, k, level)
        warnings = count_warnings(row, k)
    else:
        fresh = None
        warnings = (*_warnings(row.n), f"{metric.label}: no interval for fresh samples of these problems is defined")
    return Estimate(
        k=k,
        metric=metric.label,
        value=math.fsum(values) / len(counts),
        new_problems=_scaled_interval(values, limits, level),
        these_problems=fresh,
        warnings=warnings,
    )


def _mirrored_interval(row: Row, k: int, level: float) -> Interval:
    """Return the interval of pass^k for fresh samples: that of pass@k of the failures, mirrored."""
    mirrored = dataset_interval(row.n, row.n - row.c, k, "these_problems", level)
    return Interval(low=1.0 - mirrored.high, high=1.0 - mirrored.low, level=level, method=mirrored.method)


def _scaled_interval(values: FloatArray, limits: _Range, level: float) -> Interval | None:
    """Return the plus-two t interval of scores within the limits; None if these leave no room."""
    size = limits.most - limits.least
    if size <= 0.0:
        return None
    low, high = plus_two_t(np.clip((values - limits.least) / size, 0.0, 1.0), level)
    return Interval(low=limits.least + size * low, high=limits.least + size * high, level=level, method="plus-two t")


def _warnings(n: IntArray) -> list[str]:
    warnings = [ONE_PROBLEM] if n.size == 1 else []
    if n.min() != n.max():
        warnings.append(f"the numbers of samples differ between problems: {int(n.min())} to {int(n.max())}")
    return warnings


def _cover(counts: Sequence[Counts], metric: Metric, owed: int, *, copies: bool) -> Estimate:
    reason = unavailable_reason(counts, 1, owed) or (COPIES if copies else "")
    if not reason:
        n, c = [problem.n for problem in counts], [problem.c for problem in counts]
        try:
            value = cover_at_tau(n, c, float(metric.share))
        except ValueError as error:
            reason = str(error)
        else:
            warning = f"{metric.label}: model-based (beta-binomial), without an interval"
            return Estimate(k=0, metric=metric.label, value=float(value), warnings=(warning,))
    return Estimate(k=0, metric=metric.label, value=None, reason=reason)


def _curve(counts: Sequence[Counts], estimates: Sequence[Estimate], level: float) -> Curve | None:
    points = [item for item in estimates if item.metric == "pass@k" and item.value is not None]
    if len(points) < 2:
        return None
    n, c = [problem.n for problem in counts], [problem.c for problem in counts]
    band = simultaneous_band(n, c, [point.k for point in points], level)
    return Curve(
        k=tuple(point.k for point in points),
        value=tuple(point.value or 0.0 for point in points),
        low=tuple(band.simultaneous.low.tolist()),
        high=tuple(band.simultaneous.high.tolist()),
        level=level,
        method="sup-t",
        draws=band.draws,
        seed=band.seed,
    )
