"""Limits for mean pass@k of the same problems with fresh samples: the methods behind ``dataset_interval``."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from passcurve.stats.double_double import FloatArray
from passcurve.stats.fit import beta_binomial_fit, beta_posterior_pass_at_k
from passcurve.stats.intervals import Bounds, clopper_pearson, one_problem_interval, proportion_limits, t_interval
from passcurve.stats.mixture import mixture_variance
from passcurve.stats.passk import pass_at_k
from passcurve.stats.quantiles import normal_quantile
from passcurve.stats.rows import Row
from passcurve.stats.sampling import largest_variance, sampling_variance

Method = Literal[
    "plus-two t", "t", "wilson", "bootstrap", "clustered t", "beta-binomial", "unbiased", "bound", "one problem"
]


def is_saturated(row: Row) -> bool:
    """Return whether all samples failed, or all passed."""
    return not row.c.any() or bool((row.c == row.n).all())


class TotalNoise(NamedTuple):
    """Variance of the sum of the problems' scores over fresh samples."""

    below: float
    """For the limit below the sum; NaN where there is no model."""
    above: float
    """For the limit above it, which passes that no sample shows would raise."""
    seen: float
    """The part of both that the model says."""
    reason: str
    """Reason for NaN; else empty."""


def total_noise(row: Row, k: int, level: float) -> TotalNoise:
    """Return the variance of the sum of the problems' scores, from the model that says more, and what it may miss.

    The models are the beta-binomial fit and the mixture: where few problems lie between always and never, the first
    takes those at the ends for certain.  Added is ``_unseen_variance``: above, of problems that never passed, where a
    pass raises the score by k/n; below, of those that always passed, where a failure lowers it for k = 1 only.
    Saturated data show no variance: only what is added remains.
    """
    least = int(row.n.min())
    largest = largest_variance(least, k)
    above = _unseen_variance(int((row.c == 0).sum()), k / least, largest, level)
    below = _unseen_variance(int((row.c == row.n).sum()) if k == 1 else 0, 1.0 / least, largest, level)
    if is_saturated(row) and row.n.max() > 1:
        return TotalNoise(below, above, 0.0, "")
    fitted = sampling_variance(row.n, row.c, k, method="beta-binomial")
    if fitted.method == "none":
        return TotalNoise(math.nan, math.nan, math.nan, fitted.reason)
    variance = max(math.fsum(fitted.variance), mixture_variance(row, k))
    return TotalNoise(variance + below, variance + above, variance, "")


def _unseen_variance(problems: int, step: float, largest: float, level: float) -> float:
    """Return the variance to add for what problems whose samples all agree may hide, and at least ``largest``.

    With the chance 1 - level they show no event though -log(1 - level) are expected (the rule of three); that many
    events of size ``step`` are then as far away as the limit.  No problem hides more than the largest variance.
    """
    events = math.log(1.0 - level) / normal_quantile((1.0 - level) / 2.0)
    return max(largest, min((events * step) ** 2, problems * largest))


def default_method(row: Row) -> Method:
    """Return the default method."""
    if row.n.size == 1:
        return "one problem"
    return "bound" if is_saturated(row) or row.n.max() == 1 else "beta-binomial"


def fresh_sample_limits(row: Row, k: int, method: Method, level: float) -> Bounds[float]:
    """Return the limits of mean pass@k over fresh samples of these problems, by one of the methods."""
    m = row.n.size
    mean = math.fsum(pass_at_k(row.n, row.c, [k])) / m
    tail = (1.0 - level) / 2.0
    if method == "one problem":
        if m > 1:
            raise ValueError(f"method 'one problem' needs exactly one problem, got {m}")
        limits = one_problem_interval(row.n, row.c, k, level)
        # Where k > n - c the estimate is 1, which no chance below 1 gives.
        return Bounds(float(limits.low[0]), max(mean, float(limits.high[0])))
    if method == "bound":
        if is_saturated(row):
            return _saturated_limits(row, k, tail)
        if row.n.max() > 1:
            raise ValueError("method 'bound' needs one sample of each problem, or only failures, or only passes")
        return Bounds(*(float(end) for end in clopper_pearson(int(row.c.sum()), m, level)))
    if method == "unbiased":
        noise = sampling_variance(row.n, row.c, k, method="unbiased")
        return t_interval(mean, math.sqrt(math.fsum(noise.variance)) / m, math.inf, level)
    if method != "beta-binomial":
        raise ValueError(f"method {method!r} is not available for the target these_problems")
    total = total_noise(row, k, level)
    if total.reason:
        raise ValueError(total.reason)
    fit = beta_binomial_fit(row.n, row.c)
    smooth = math.fsum(beta_posterior_pass_at_k(row.n, row.c, k, fit.a, fit.b).mean) / m
    variances = np.array([total.below, total.above]) / m**2
    low, high = effective_limits(np.full(2, mean), np.full(2, smooth), variances, m, level)
    pooled = _pooled_limits(row, k, total, level)
    return Bounds(max(float(low[0]), pooled.low), min(float(high[1]), pooled.high))


def _pooled_limits(row: Row, k: int, total: TotalNoise, level: float) -> Bounds[float]:
    """Return limits for almost saturated data with k = 1 and equal n; 0 and 1 where they do not apply.

    They are exact for the sum of all samples, as if these had one chance: with chances that differ the sum strays no
    further (Hoeffding 1956, Ann. Math. Statist. 27:713).  They stand in where what is added for problems whose samples
    all agree would say more than the samples that do not.
    """
    if k > 1 or row.n.min() != row.n.max():
        return Bounds(0.0, 1.0)
    limits = clopper_pearson(int(row.c.sum()), int(row.n.sum()), level)
    low, high = (float(end) for end in limits)
    return Bounds(low if total.below > 2.0 * total.seen else 0.0, high if total.above > 2.0 * total.seen else 1.0)


def effective_limits(
    mean: FloatArray, smooth: FloatArray, variance: FloatArray, m: int, level: float
) -> Bounds[FloatArray]:
    """Return the exact limits of the proportion ``mean`` of N coins, the effective sample size (at least m).

    N is ``mean (1 - mean) / variance`` with the observed mean or with ``smooth``, the mean under the model, whichever
    gives fewer coins (Korn and Graubard 1998, Survey Methodology 24:193).
    """
    coins = np.maximum(m, np.minimum(mean * (1.0 - mean), smooth * (1.0 - smooth)) / variance)
    return proportion_limits(coins * mean, coins * (1.0 - mean), (1.0 - level) / 2.0)


def _saturated_limits(row: Row, k: int, tail: float) -> Bounds[float]:
    """Bound the mean over all chances under which what was seen happens with chance ``tail`` or more.

    All failed: the product of q_i^n is at least ``tail``; given that product the mean of q_i^k is least when all are
    equal.  All passed: with y_i = -log p_i the sum of y_i is at most -log(tail) / n, and the mean of (1 - e^-y)^k is at
    most the least concave function above it, at the mean of y.  With unequal n the smallest stands for all.
    """
    share = -math.log(tail) / (int(row.n.min()) * row.n.size)
    if not row.c.any():
        return Bounds(0.0, -math.expm1(-k * share))
    if k == 1:
        return Bounds(math.exp(-share), 1.0)
    # (1 - e^-y)^k is convex, then concave; its tangent through 0 touches where e^y = 1 + k y.
    touch = math.log1p(k)
    for _ in range(200):
        touch = math.log1p(k * touch)
    worst = (-math.expm1(-max(share, touch))) ** k * min(1.0, share / touch)
    return Bounds(1.0 - worst, 1.0)
