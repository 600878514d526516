"""From the counts of each problem to every metric that follows from verdicts alone, each with the intervals it has.

pass@k is what ``estimate`` gives.  The others are means over problems of scores with known ends, so for new problems
each gets the plus-two t interval of the scores brought to [0, 1].  For fresh samples of the same problems there is an
interval for pass^k, the mirror image of pass@k, and for no other; ``cover`` is a model's word and has none at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from passcurve.stats.dataset import count_warnings, dataset_interval, simultaneous_band
from passcurve.stats.double_double import FloatArray
from passcurve.stats.estimate import LEVEL, estimate, obstacle
from passcurve.stats.intervals import plus_two_t
from passcurve.stats.relatives import distinct_at_k, expected_attempts
from passcurve.stats.rows import IntArray
from passcurve.stats.rows import counts as row_of
from passcurve.stats.thresholds import cover_at_tau, g_pass_at_k, mg_pass_at_k, pass_hat_k
from passcurve.types import Counts, Curve, Estimate, Interval, Metric

Groups = Sequence[Sequence[int]]
"""For each problem how many of its samples share each distinct program."""

_COPIED_PROBLEMS = 5
"""From so many problems on, all of whose samples are the same program, chance is no explanation any more."""


class Asked(NamedTuple):
    """What is wanted of the counts."""

    metrics: tuple[Metric, ...] = (Metric(),)
    ks: tuple[int, ...] = (1,)
    every_k: bool = False
    """Every k from 1 to the least n as well."""
    level: float = LEVEL


class Scores(NamedTuple):
    """What the counts give."""

    estimates: tuple[Estimate, ...]
    """In the order of the metrics, and of k within each."""
    curve: Curve | None
    """Of pass@k, where every k was asked for and there are several."""
    copies: bool
    """Whether the samples of each problem are one program, so often that n is 1 in effect."""


def scores(
    counts: Sequence[Counts], asked: Asked, owed: int = 0, *, groups: Groups | None = None, alike: int = 0
) -> Scores:
    """Return each metric at each k, from stored verdicts alone.

    ``groups`` says for each problem, in the order of ``counts``, how many of its samples share each program, which is
    what ``distinct@k`` is made of.  ``alike`` is the number of problems with several samples, if all samples of each of
    those are one program, else 0: from 5 on they are copies (temperature 0), and k > 1 has no value.
    Raises ValueError as ``estimate`` does, and for a metric that is not known here.
    """
    copies = alike >= _COPIED_PROBLEMS
    ks = asked.ks
    if asked.every_k:
        least = 1 if owed or copies or not counts else max(1, min(each.n for each in counts))
        ks = tuple(sorted({*range(1, least + 1), *ks}))
    found: list[Estimate] = []
    for metric in dict.fromkeys(asked.metrics):
        own = ks if metric.k is None else (metric.k,)
        if metric.name == "pass@k":
            found += estimate(counts, own, asked.level, owed, deterministic=copies)
        elif metric.name == "cover":
            found.append(_cover(counts, metric, owed))
        else:
            found += [_relative(counts, metric, k, asked.level, owed, groups, copies=copies) for k in own]
    if alike and not copies:
        said = "all samples of each problem are one program: at temperature 0 n would be 1 in effect"
        found = [replace(each, warnings=(*each.warnings, said)) if each.k > 1 else each for each in found]
    unique = {each.name: each for each in found}
    return Scores(tuple(unique.values()), _curve(counts, unique, asked) if asked.every_k else None, copies)


def lacks_requested_value(estimates: Sequence[Estimate], metrics: Sequence[Metric], *, ks_requested: bool) -> bool:
    """Tell whether an estimate has no value although the user asked for it by its k, not by default."""
    requested = {(metric.label, metric.k) for metric in metrics if metric.k is not None}
    return any(
        estimate.value is None and (ks_requested or (estimate.metric, estimate.k) in requested)
        for estimate in estimates
    )


# --- one metric -----------------------------------------------------------------------------------------------------


class _Ends(NamedTuple):
    least: float
    most: float


class _Rule(NamedTuple):
    """How one metric is made: scores of shape (m,) from n, c, k and the share, and the ends between which they lie."""

    of: Callable[[IntArray, IntArray, int, float], FloatArray]
    ends: Callable[[int], _Ends]
    beyond: int = 0
    """How far k may exceed n."""


def _whole(_: int) -> _Ends:
    return _Ends(0.0, 1.0)


RULES: dict[str, _Rule] = {
    "pass^k": _Rule(lambda n, c, k, _: pass_hat_k(n, c, [k]), _whole),
    "g-pass@k": _Rule(lambda n, c, k, tau: g_pass_at_k(n, c, [k], tau), _whole),
    "mg-pass@k": _Rule(lambda n, c, k, _: mg_pass_at_k(n, c, [k], exact=True), _whole),
    "attempts@k": _Rule(lambda n, c, k, _: expected_attempts(n, c, [k]), lambda k: _Ends(1.0, float(k)), beyond=1),
}
"""Those that follow from n and c; ``pass@k``, ``cover`` and ``distinct@k`` are made elsewhere in this file."""


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
        raise ValueError(f"no metric {metric.name!r}")
    reason = obstacle(counts, max(1, k - rule.beyond) if rule else k, owed)
    if not reason and rule is None and groups is None:
        reason = "it needs the programs, and what is stored there has none"
    if not reason and rule is not None and copies and k > 1:
        reason = f"k={k} of copies: the samples of a problem are one and the same, so n is 1 in effect"
    if reason:
        return Estimate(k=k, metric=metric.label, value=None, reason=reason)
    row = row_of([each.n for each in counts], [each.c for each in counts])
    if rule is None:
        values, ends = np.array([float(distinct_at_k(sizes, k)) for sizes in groups or ()]), _Ends(1.0, float(k))
    else:
        values, ends = rule.of(row.n, row.c, k, float(metric.share or "nan")), rule.ends(k)
    said = list(count_warnings(row, k)) if metric.name == "pass^k" else _warnings(row.n)
    fresh = None
    if metric.name == "pass^k" and not copies:
        mirrored = dataset_interval(row.n, row.n - row.c, k, "these_problems", level)
        fresh = Interval(low=1.0 - mirrored.high, high=1.0 - mirrored.low, level=level, method=mirrored.method)
    elif metric.name != "pass^k":
        said.append(f"{metric.label}: no interval for fresh samples of these problems is defined")
    new = None
    if ends.most > ends.least:
        size = ends.most - ends.least
        low, high = plus_two_t(np.clip((values - ends.least) / size, 0.0, 1.0), level)
        new = Interval(low=ends.least + size * low, high=ends.least + size * high, level=level, method="plus-two t")
    return Estimate(
        k=k,
        metric=metric.label,
        value=math.fsum(values) / len(counts),
        new_problems=new,
        these_problems=fresh,
        warnings=tuple(said),
    )


def _warnings(n: IntArray) -> list[str]:
    said = ["one problem: what it says of others like it is next to nothing"] if n.size == 1 else []
    if n.min() != n.max():
        said.append(f"the numbers of samples differ between problems: {int(n.min())} to {int(n.max())}")
    return said


def _cover(counts: Sequence[Counts], metric: Metric, owed: int) -> Estimate:
    reason = obstacle(counts, 1, owed)
    if not reason:
        try:
            value = cover_at_tau([each.n for each in counts], [each.c for each in counts], float(metric.share))
        except ValueError as error:
            reason = str(error)
        else:
            said = f"{metric.label}: a model's word (beta-binomial), without an interval"
            return Estimate(k=0, metric=metric.label, value=float(value), warnings=(said,))
    return Estimate(k=0, metric=metric.label, value=None, reason=reason)


def _curve(counts: Sequence[Counts], found: dict[str, Estimate], asked: Asked) -> Curve | None:
    points = [each for each in found.values() if each.metric == "pass@k" and each.value is not None]
    if len(points) < 2:
        return None
    n, c = [each.n for each in counts], [each.c for each in counts]
    band = simultaneous_band(n, c, [each.k for each in points], asked.level)
    return Curve(
        k=tuple(each.k for each in points),
        value=tuple(each.value or 0.0 for each in points),
        low=tuple(band.simultaneous.low.tolist()),
        high=tuple(band.simultaneous.high.tolist()),
        level=asked.level,
        method="sup-t",
        draws=band.draws,
        seed=band.seed,
    )
