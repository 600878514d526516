"""Variance of pass@k of the same problems over fresh samples.

The variance of the unbiased estimate of one problem with n samples and chance p, q = 1 - p, is that of a U-statistic
(Hoeffding 1948, equation 5.13): ``sum over j of h(j) q^(2k-j) - q^(2k)``, where ``h(j) = C(k,j) C(n-k,k-j) / C(n,k)``
is the chance that two k-subsets of the samples share j.  For k = 1 it is p q / n.
"""

from __future__ import annotations

import functools
import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from passcurve.stats.counts import distinct_pairs
from passcurve.stats.double_double import FloatArray
from passcurve.stats.fit import beta_binomial_fit
from passcurve.stats.passk import fail_at_k, var_pass_at_k
from passcurve.stats.rows import Row, check_integer, check_row

VarianceFrom = Literal["unbiased", "beta-binomial", "none"]


class Sampling(NamedTuple):
    """Variance of each problem's pass@k over fresh samples, and its method."""

    variance: FloatArray
    """Shape (m,); NaN throughout where ``method`` is none."""
    method: VarianceFrom
    reason: str
    """Reason for a method other than unbiased; else empty."""


def sampling_variance(
    n: ArrayLike, c: ArrayLike, k: int, at: int | None = None, method: VarianceFrom | None = None
) -> Sampling:
    """Return the variance over fresh samples of pass@k of each problem, had it ``at`` samples (its own n by default).

    Unbiased where 2k <= n for every problem: powers of q have unbiased estimates up to n.  Else from the beta-binomial
    fit: the mean of the formula of the module over Beta(a + c, b + n - c).  NaN, with the reason, where there is no
    fit (one sample of each problem, or all samples alike).  ``method`` asks for one of the two; "unbiased" then raises
    ValueError where it does not exist.  n and c have shape (m,) or broadcast to it.  ValueError naming the element for
    counts that cannot be, for k > n and for k > at.
    """
    row, k = check_row(n, c, k), check_integer(k, "k")
    at = None if at is None else check_integer(at, "at")
    if at is not None and at < k:
        raise ValueError(f"at={at} samples are fewer than k={k}")
    least = int(row.n.min())
    if 2 * k <= least and method != "beta-binomial":
        return Sampling(_unbiased(row, k, at), "unbiased", "")
    reason = f"no unbiased variance exists: it needs 2k = {2 * k} samples of every problem, and one has {least}"
    if method == "unbiased":
        raise ValueError(reason)
    try:
        fit = beta_binomial_fit(row.n, row.c)
    except ValueError as error:
        return Sampling(np.full(row.n.size, np.nan), "none", f"{reason}; no model can be fitted either: {error}")
    return Sampling(expected_variance(row, k, fit.a, fit.b, at), "beta-binomial", reason if 2 * k > least else "")


def _unbiased(row: Row, k: int, at: int | None) -> FloatArray:
    if at is None:
        return var_pass_at_k(row.n, row.c, [k])
    # 1 - sum of the weights of j >= 1 is that of j = 0: written as differences, the terms keep their digits.
    total = np.zeros(row.n.size)
    both = fail_at_k(row.n, row.c, [2 * k])
    for j, weight in enumerate(overlap_probabilities(at, k)):
        if j and weight:
            total += weight * (fail_at_k(row.n, row.c, [2 * k - j]) - both)
    return total


def expected_variance(row: Row, k: int, a: float, b: float, at: int | None = None) -> FloatArray:
    """Return the mean of the variance over the chances that a beta distribution and the counts leave open."""
    pairs = distinct_pairs(row.n, row.c)
    variances = np.empty(pairs.n.size)
    steps = np.arange(2 * k)
    for i, (n, c) in enumerate(zip(pairs.n.tolist(), pairs.c.tolist(), strict=True)):
        logs = np.concatenate([[0.0], np.cumsum(np.log1p(-(a + c) / (a + b + n + steps)))])
        variances[i] = _with_overlap(overlap_probabilities(n if at is None else at, k), logs)
    return variances[pairs.which]


@functools.lru_cache(maxsize=1024)
def largest_variance(n: int, k: int) -> float:
    """Return the variance of one problem with n samples at the chance where it is largest."""
    weights = overlap_probabilities(n, k)
    best = 0.0
    # The largest lies near the chance at which half of the k-subsets fail.
    for log_q in (-np.exp(np.linspace(-4.0, 3.0, 141)) / k).tolist():
        best = max(best, _with_overlap(weights, log_q * np.arange(2 * k + 1, dtype=np.float64)))
    return best


def _with_overlap(weights: FloatArray, logs: FloatArray) -> float:
    """Return the sum over j of h(j) (Q_(2k-j) - Q_(2k)) from log Q_0, log Q_1, ... log Q_(2k)."""
    k = weights.size - 1
    shared = logs[2 * k - np.arange(1, k + 1)]
    return math.fsum(weights[1:] * -np.exp(shared) * np.expm1(logs[2 * k] - shared))


@functools.lru_cache(maxsize=1024)
def overlap_probabilities(n: int, k: int) -> FloatArray:
    """Return the chances that two k-subsets of n samples share 0, 1, ... k of them."""
    j = np.arange(k + 1)
    possible = k - j <= n - k
    weights = np.zeros(k + 1)

    def log_choose(top: int, bottom: FloatArray) -> FloatArray:
        return math.lgamma(top + 1.0) - _log_gamma(bottom + 1.0) - _log_gamma(top - bottom + 1.0)

    shared = j[possible].astype(np.float64)
    weights[possible] = np.exp(
        log_choose(k, shared) + log_choose(n - k, k - shared) - log_choose(n, np.array(float(k)))
    )
    weights.setflags(write=False)
    return weights


def _log_gamma(values: FloatArray) -> FloatArray:
    return np.array([math.lgamma(value) for value in values.ravel().tolist()]).reshape(values.shape)
