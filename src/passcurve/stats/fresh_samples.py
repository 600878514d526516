"""Limits for mean pass@k of the same problems with fresh samples: the methods behind ``dataset_interval``."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from passcurve.stats.double_double import FloatArray
from passcurve.stats.fit import beta_binomial_fit, beta_posterior_pass_at_k
from passcurve.stats.intervals import Bounds, clopper_pearson, one_problem_interval, proportion_limits, t_interval
from passcurve.stats.passk import pass_at_k
from passcurve.stats.rows import Row
from passcurve.stats.sampling import largest_variance, sampling_variance

Method = Literal[
    "plus-two t", "t", "wilson", "bootstrap", "clustered t", "beta-binomial", "unbiased", "bound", "one problem"
]


def is_saturated(row: Row) -> bool:
    """Return whether all samples failed, or all passed."""
    return not row.c.any() or bool((row.c == row.n).all())


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
        return Bounds(float(limits.low[0]), float(limits.high[0]))
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
    noise = sampling_variance(row.n, row.c, k, method="beta-binomial")
    if noise.method == "none":
        raise ValueError(noise.reason)
    variance = (math.fsum(noise.variance) + largest_variance(int(row.n.min()), k)) / m**2
    fit = beta_binomial_fit(row.n, row.c)
    smooth = math.fsum(beta_posterior_pass_at_k(row.n, row.c, k, fit.a, fit.b).mean) / m
    low, high = effective_limits(np.array([mean]), np.array([smooth]), np.array([variance]), m, level)
    return Bounds(float(low[0]), float(high[0]))


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
