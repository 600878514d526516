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

_MOST_LOGS = 1 << 20
"""Numbers that are worked on at once."""

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
    return _expected_variance(row.n.tobytes(), row.c.tobytes(), k, a, b, at)


@functools.lru_cache(maxsize=8)
def _expected_variance(all_n: bytes, all_c: bytes, k: int, a: float, b: float, at: int | None) -> FloatArray:
    """Return the same for counts in 64 bits each: the value of an interval and its width both need it."""
    pairs = distinct_pairs(np.frombuffer(all_n, np.int64), np.frombuffer(all_c, np.int64))
    variances = np.empty(pairs.n.size)
    for n in sorted(set(pairs.n.tolist())):
        alike = np.flatnonzero(pairs.n == n)
        weights = overlap_probabilities(n if at is None else at, k)
        steps = a + b + n + np.arange(2 * k)
        for some in np.array_split(alike, -(-alike.size * 2 * k // _MOST_LOGS)):
            logs = np.zeros((some.size, 2 * k + 1))
            np.cumsum(np.log1p(-(a + pairs.c[some, None]) / steps), axis=1, out=logs[:, 1:])
            # All terms have one sign, so that a plain sum keeps their digits.
            variances[some] = _overlap_terms(weights, logs).sum(axis=1)
    of_all: FloatArray = variances[pairs.which]
    of_all.setflags(write=False)
    return of_all


@functools.lru_cache(maxsize=1024)
def largest_variance(n: int, k: int) -> float:
    """Return the variance of one problem with n samples at the chance where it is largest."""
    # The largest lies near the chance at which half of the k-subsets fail.
    log_q = -np.exp(np.linspace(-4.0, 3.0, 141)) / k
    terms = _overlap_terms(overlap_probabilities(n, k), log_q[:, None] * np.arange(2 * k + 1))
    return math.fsum(terms[terms.sum(axis=1).argmax()])


def _overlap_terms(weights: FloatArray, logs: FloatArray) -> FloatArray:
    """Return h(j) (Q_(2k-j) - Q_(2k)) for j = 1 ... k from log Q_0, log Q_1, ... log Q_(2k); a row for each row."""
    k = weights.size - 1
    shared, both = logs[:, 2 * k - 1 : k - 1 : -1], logs[:, 2 * k :]
    terms: FloatArray = weights[1:] * -np.exp(shared) * np.expm1(both - shared)
    return terms


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
