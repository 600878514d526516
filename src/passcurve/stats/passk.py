"""The unbiased estimator of pass@k, its complement, its curve and its variance, on arrays of counts.

Of the n samples of a problem c passed.  ``Q(n, c, k) = C(n-c, k) / C(n, k)`` is the chance that k of them, drawn
without replacement, are all wrong; pass@k is ``1 - Q`` (Chen et al. 2021, "Evaluating Large Language Models Trained on
Code", arXiv:2107.03374, equation 1).  It is the average of "one of these k passes" over all k-subsets of the n samples,
so its expectation is ``1 - (1-p)^k`` exactly, and no unbiased estimator varies less.

Arguments.  n, c and k are integers (floats that hold integers are taken; booleans are not) and broadcast against each
other.  Numbers without a shape give a ``numpy.float64``, everything else an array of float64 of the broadcast shape.

Errors.  ``ValueError`` naming the element and its values for what lies outside the definition: a value that is not an
integer, n or c below 0, k below 1, c > n, k > n (no unbiased estimator exists), n above ``LARGEST_N``.

Cost.  Everything is evaluated once per distinct (n, c) and k, each in a bounded number of operations, and then spread.

Accuracy.  pass@1 is c/n to the last bit; pass and fail are correctly rounded for n <= 56; all wrong is exactly 0.0, all
right exactly 1.0.  Largest relative errors measured, the first column against exact integers (every c and k of n = 1 to
57, 100 and 200, and 10,000 random (n, c, k) up to n = 2000), the second against 60-digit decimals (20,000 random
(n, c, k), half of them with few passes or small k, and at n = 10^6 all pairs of 17 values of c and k: about n/2, n/4, 0
and n, and about the border between the two methods below)::

                     n <= 2000   n <= 10^6
    pass_at_k         1.9e-16     3.0e-16
    fail_at_k         2.6e-15     2.3e-15     where it is above 2.3e-308
    log_fail_at_k     2.6e-16     2.4e-16
    var_pass_at_k     5.3e-15     9.5e-15     where it is above 2.3e-308

Beyond, up to LARGEST_N, the first three keep these figures; the variance keeps nine digits.
"""

from __future__ import annotations

import functools
import math
import operator
import reprlib
from fractions import Fraction
from typing import SupportsIndex, overload

import numpy as np
from numpy.typing import ArrayLike

from passcurve.stats.counts import IntArray, apply_in_blocks, apply_rule, as_array, check_counts, distinct_pairs
from passcurve.stats.double_double import Doubled, FloatArray, log_factorial, minus, two_sum

_FEW = 16
"""Largest number of factors that are summed one by one; beyond it, log-factorials in doubled precision."""

_WHOLE_N = 56
"""Largest n of which every binomial coefficient is a float64 without rounding: C(56, 28) < 2^53 < C(57, 28)."""


# --- what is asked --------------------------------------------------------------------------------------------------


@overload
def pass_at_k(n: int, c: int, k: int) -> np.float64: ...
@overload
def pass_at_k(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> FloatArray: ...
def pass_at_k(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> FloatArray | np.float64:
    """Return the unbiased estimate of pass@k, ``1 - C(n-c, k) / C(n, k)``, in [0, 1].

    Shapes, errors and accuracy are those of the module.  Source: Chen et al. 2021, equation 1.
    """
    return apply_rule(pass_at_k_flat, *check_counts(n, c, k))


@overload
def fail_at_k(n: int, c: int, k: int) -> np.float64: ...
@overload
def fail_at_k(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> FloatArray: ...
def fail_at_k(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> FloatArray | np.float64:
    """Return the chance that k of the n samples are all wrong, ``C(n-c, k) / C(n, k)``, in [0, 1].

    It keeps the digits that ``1 - pass_at_k`` loses where pass@k is close to 1.
    Shapes, errors and accuracy are those of the module.  Source: Chen et al. 2021, equation 1.
    """
    return apply_rule(fail_at_k_flat, *check_counts(n, c, k))


@overload
def log_fail_at_k(n: int, c: int, k: int) -> np.float64: ...
@overload
def log_fail_at_k(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> FloatArray: ...
def log_fail_at_k(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> FloatArray | np.float64:
    """Return the natural logarithm of ``fail_at_k``, at most 0; -inf where every k-subset holds a pass.

    Shapes, errors and accuracy are those of the module.  Source: Chen et al. 2021, equation 1.
    """
    return apply_rule(_log_fail, *check_counts(n, c, k))


@overload
def var_pass_at_k(n: int, c: int, k: int) -> np.float64: ...
@overload
def var_pass_at_k(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> FloatArray: ...
def var_pass_at_k(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> FloatArray | np.float64:
    """Return the unbiased estimate of the variance of ``pass_at_k`` over fresh samples of the same problem.

    ``Q(n, c, k)^2 - Q(n, c, 2k)``, never negative; NaN where 2k > n, for then no unbiased estimate exists: the first
    term is the square of what was seen, and the second, two disjoint k-subsets all wrong, is unbiased for q^2k
    (Hoeffding 1948, "A class of statistics with asymptotically normal distribution", for U-statistics in general).
    For k = 1 it is the textbook ``(c/n)(1 - c/n) / (n-1)``.  Shapes and errors are those of the module.
    """
    return apply_rule(_variance, *check_counts(n, c, k))


@overload
def jackknife_var_pass_at_k(n: int, c: int, k: int) -> np.float64: ...
@overload
def jackknife_var_pass_at_k(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> FloatArray: ...
def jackknife_var_pass_at_k(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> FloatArray | np.float64:
    """Return the delete-one jackknife estimate of the variance of ``pass_at_k``, for k < n.

    ``(n-1)/n sum over samples i of (theta_i - mean theta)^2``, where theta_i is pass@k of the n-1 samples without i;
    there are only two values of theta_i, so it is ``(n-1) (k/(n-k))^2 c/(n-c) Q(n, c, k)^2``.  Its expectation
    is never below the true variance (Efron and Stein 1981, "The jackknife estimate of variance", Annals of Statistics
    9:586), and it exists where ``var_pass_at_k`` does not, for n/2 < k < n.  At k = 1 both are the textbook variance.
    NaN for k = n, for there is no pass@k of n-1 samples; 0 where each k-subset of any n-1 samples holds a pass, or none
    does.  Shapes and errors are those of the module.
    """
    return apply_rule(_jackknife, *check_counts(n, c, k))


def pass_curve(n: ArrayLike, c: ArrayLike, k_max: int) -> FloatArray:
    """Return pass@1, pass@2, ... pass@k_max along a new last axis: shape ``(*broadcast of n and c, k_max)``.

    Each entry equals ``pass_at_k`` of its k to the last bit.  ValueError as in the module, and for a k_max that is not
    one number.
    """
    if np.ndim(as_array("k_max", k_max)):
        raise ValueError(f"k_max must be one number, not an array of shape {np.shape(k_max)}")
    samples, passed, last = check_counts(n, c, k_max)
    pairs = distinct_pairs(samples, passed)
    ks = np.arange(1, int(last) + 1, dtype=np.int64)
    table = apply_in_blocks(
        pass_at_k_flat, np.repeat(pairs.n, ks.size), np.repeat(pairs.c, ks.size), np.tile(ks, pairs.n.size)
    )
    return np.take(table.reshape(pairs.n.size, ks.size), pairs.which, axis=0)


def exact_pass_at_k(n: SupportsIndex, c: SupportsIndex, k: SupportsIndex) -> Fraction:
    """Return pass@k of one problem as the fraction that it is, ``(C(n, k) - C(n-c, k)) / C(n, k)``.

    Takes and returns single numbers; n may be as large as patience allows.  ValueError as in the module.
    Source: Chen et al. 2021, equation 1.
    """
    if any(isinstance(value, (bool, np.bool_)) for value in (n, c, k)):
        raise ValueError("n, c and k must be integers, not bool")
    try:
        n, c, k = operator.index(n), operator.index(c), operator.index(k)
    except TypeError:
        texts = (" ".join(reprlib.repr(value).split()) for value in (n, c, k))
        raise ValueError("n={}, c={}, k={}: each must be an integer".format(*texts)) from None
    if n < 0 or c < 0:
        raise ValueError(f"n={n} and c={c} must not be negative")
    if k < 1:
        raise ValueError(f"k={k} is less than 1")
    if c > n:
        raise ValueError(f"c={reprlib.repr(c)} exceeds n={reprlib.repr(n)}")
    if k > n:
        raise ValueError(f"k={reprlib.repr(k)} exceeds n={reprlib.repr(n)}: no unbiased estimator exists")
    subsets = math.comb(n, k)
    return Fraction(subsets - math.comb(n - c, k), subsets)


# --- the rules ------------------------------------------------------------------------------------------------------


def pass_at_k_flat(n: IntArray, c: IntArray, k: IntArray) -> FloatArray:
    """Return pass@k of flat arrays of one length, all within the definition."""
    result = np.empty(n.size)
    whole = n <= _WHOLE_N
    coefficients = _pascal()
    subsets, failed = coefficients[n[whole], k[whole]], coefficients[n[whole] - c[whole], k[whole]]
    result[whole] = (subsets - failed) / subsets
    rest = ~whole
    log_q = _log_q(n[rest], c[rest], k[rest])
    result[rest] = -np.expm1(log_q.high) - np.exp(log_q.high) * log_q.low
    # One pass or one draw: a ratio of integers, rounded once.
    simple = np.minimum(c, k) == 1
    result[simple] = np.maximum(c, k)[simple] / n[simple]
    return result


def fail_at_k_flat(n: IntArray, c: IntArray, k: IntArray) -> FloatArray:
    """Return 1 - pass@k of flat arrays of one length, all within the definition; k may be 0."""
    result = np.empty(n.size)
    whole = n <= _WHOLE_N
    coefficients = _pascal()
    result[whole] = coefficients[n[whole] - c[whole], k[whole]] / coefficients[n[whole], k[whole]]
    rest = ~whole
    log_q = _log_q(n[rest], c[rest], k[rest])
    scale = np.exp(log_q.high)
    result[rest] = scale + scale * log_q.low
    simple = np.minimum(c, k) == 1
    result[simple] = (n - np.maximum(c, k))[simple] / n[simple]
    return result


def _log_fail(n: IntArray, c: IntArray, k: IntArray) -> FloatArray:
    return _log_q(n, c, k).high


def _variance(n: IntArray, c: IntArray, k: IntArray) -> FloatArray:
    """``Q(k)^2 (1 - Q(2k) / Q(k)^2)``, with the logarithm of the quotient summed from terms of one sign."""
    result = np.full(n.size, np.nan)
    defined = 2 * k <= n
    squared = fail_at_k_flat(n[defined], c[defined], k[defined]) ** 2
    result[defined] = -squared * np.expm1(_log_quotient(n[defined], c[defined], k[defined]))
    return result + 0.0  # no negative zero


def _jackknife(n: IntArray, c: IntArray, k: IntArray) -> FloatArray:
    result = np.zeros(n.size)
    result[k == n] = np.nan
    inner = (k < n) & (c < n)
    n, c, k = n[inner], c[inner], k[inner]
    step = k / (n - k) * fail_at_k_flat(n, c, k)
    result[inner] = step * step * ((n - 1) * c / (n - c))
    return result


def _log_quotient(n: IntArray, c: IntArray, k: IntArray) -> FloatArray:
    """Return log(Q(2k) / Q(k)^2), -inf where Q(2k) is 0."""
    result = np.zeros(n.size)
    result[2 * k > n - c] = -np.inf
    inner = (c > 0) & (2 * k <= n - c)
    few = inner & (np.minimum(c, k) <= _FEW)
    result[few] = _sum_quotient(n[few].astype(np.float64), c[few].astype(np.float64), k[few].astype(np.float64))
    many = inner & ~few
    once, twice = _log_q(n[many], c[many], k[many]), _log_q(n[many], c[many], 2 * k[many])
    main, rest = two_sum(twice.high, -2.0 * once.high)
    result[many] = main + (rest + (twice.low - 2.0 * once.low))
    return result


def _sum_quotient(n: FloatArray, c: FloatArray, k: FloatArray) -> FloatArray:
    """Sum log1p(-k^2/(n-k-i)^2) over i < c, or log1p(-kc/((n-k-i)(n-c-i))) over i < k, whichever is shorter."""
    terms = np.minimum(c, k)
    larger = np.where(c <= k, k, c)
    total, rest = np.zeros(n.size), np.zeros(n.size)
    for i in range(int(terms.max(initial=0))):
        start = n - np.minimum(i, terms - 1)
        below = (start - k) * (start - larger)
        share = k * larger / below
        term = np.where(share <= 0.5, np.log1p(-share), np.log(start * (start - k - larger) / below))
        total, lost = two_sum(total, np.where(i < terms, term, 0.0))
        rest += lost
    return total + rest


# --- log Q in doubled precision -------------------------------------------------------------------------------------
#
# Q is a product of min(c, k) factors (n - max(c, k) - i) / (n - i).  Up to a few factors their logarithms, all of one
# sign, are added with the rounding errors carried along.  Beyond, log Q = f(n-c) + f(n-k) - f(n) - f(n-c-k) with
# f(x) = log x! from Stirling's series: at n = 10^6 the four terms are near 10^7 and log Q can be 10^-4, so 11 digits
# cancel.  The terms therefore carry 31: a sum of two float64, by the error-free transformations of Dekker (1971) and
# Knuth (TAOCP 4.2.2).  (Differences of math.lgamma lose those 11 digits: there the relative error is 10^-5.)


def _log_q(n: IntArray, c: IntArray, k: IntArray) -> Doubled:
    """Return log Q: 0 where nothing passed, -inf where every k-subset holds a pass."""
    high, low = np.zeros(n.size), np.zeros(n.size)
    high[k > n - c] = -np.inf
    inner = (c > 0) & (k <= n - c)
    few = inner & (np.minimum(c, k) <= _FEW)
    for rows, rule in ((few, _sum_factors), (inner & ~few, _from_factorials)):
        if rows.any():
            high[rows], low[rows] = rule(*(values[rows].astype(np.float64) for values in (n, c, k)))
    return Doubled(high, low)


def _sum_factors(n: FloatArray, c: FloatArray, k: FloatArray) -> Doubled:
    factors, taken = np.minimum(c, k), np.maximum(c, k)
    total, rest = np.zeros(n.size), np.zeros(n.size)
    for i in range(int(factors.max())):
        left = n - np.minimum(i, factors - 1)
        share = taken / left
        # log1p keeps the digits of a small share, the logarithm of the quotient those of a small remainder.
        term = np.where(share <= 0.5, np.log1p(-share), np.log((left - taken) / left))
        total, lost = two_sum(total, np.where(i < factors, term, 0.0))
        rest += lost
    return Doubled(*two_sum(total, rest))


def _from_factorials(n: FloatArray, c: FloatArray, k: FloatArray) -> Doubled:
    # All at once: for few problems the calls take longer than the numbers.
    parts = log_factorial(np.stack((n - c, n, n - c - k, n - k)))
    right, every, neither, others = map(Doubled, parts.high, parts.low)
    return minus(minus(right, every), minus(neither, others))


@functools.cache
def _pascal() -> FloatArray:
    """Binomial coefficients C(row, column) up to row 56, each without rounding."""
    rows = range(_WHOLE_N + 1)
    return np.array([[float(math.comb(row, column)) for column in rows] for row in rows])
