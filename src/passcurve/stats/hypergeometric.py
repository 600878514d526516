"""The hypergeometric distribution of passes among k samples drawn without replacement, and sums over it.

``P(j) = C(c, j) C(n-c, k-j) / C(n, k)``.  Its logarithm is made of nine log-factorials in doubled precision, so a
chance is right to a few units in the last place also where the nine, near 10^7, cancel to a number near 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from passcurve.stats.counts import IntArray
from passcurve.stats.double_double import Doubled, FloatArray, log_factorial, minus, plus

_TERMS = 1 << 15
"""Number of terms evaluated at a time."""

Weight = Callable[[IntArray, IntArray], FloatArray]
"""Function of the row and the number of passes of each term that returns the weight of the probability."""


def pmf(n: IntArray, c: IntArray, k: IntArray, j: IntArray) -> FloatArray:
    """Return the probability of j passes, for possible j."""
    return _pmf(_constant_part(n, c, k), n, c, k, j)


def expectation(n: IntArray, c: IntArray, k: IntArray, start: IntArray, weight: Weight) -> FloatArray:
    """Return, for each row, the sum over j >= start of the chance of j passes times the weight of j.

    The weights must not be negative nor change by more than a factor of k over the whole range.  Left out are terms
    further than six square roots of the shortest of c, k, n-c and n-k from the mean (or from ``start`` above it), where
    together they are less than e^-60 of the sum: Hoeffding 1963, theorem 1 and section 6, and the law is log-concave.
    """
    middle = k * (c / np.maximum(n, 1))
    reach = 6.0 * np.sqrt(np.minimum(np.minimum(c, k), np.minimum(n - c, n - k))) + 20.0
    lowest, highest = np.maximum(np.maximum(0, k - (n - c)), start), np.minimum(c, k)
    low = np.maximum(lowest, np.floor(middle - reach).astype(np.int64))
    high = np.minimum(highest, np.ceil(np.maximum(middle, low) + reach).astype(np.int64))
    lengths = np.maximum(high - low + 1, 0)
    result = np.zeros(n.size)
    ends = np.cumsum(lengths)
    begin = 0
    while begin < n.size:
        done = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, done + _TERMS, side="right")))
        result[begin:end] = _sums(n, c, k, low, lengths, np.arange(begin, end), weight)
        begin = end
    return result


def _sums(
    n: IntArray, c: IntArray, k: IntArray, low: IntArray, lengths: IntArray, rows: IntArray, weight: Weight
) -> FloatArray:
    rows = rows[lengths[rows] > 0] if (empty := lengths[rows] == 0).any() else rows
    result = np.zeros(empty.size)
    if not rows.size:
        return result
    starts = np.concatenate([[0], np.cumsum(lengths[rows])[:-1]])
    row = np.repeat(rows, lengths[rows])
    j = np.arange(row.size) - np.repeat(starts, lengths[rows]) + low[row]
    whole = _constant_part(n[rows], c[rows], k[rows])
    spread = Doubled(np.repeat(whole.high, lengths[rows]), np.repeat(whole.low, lengths[rows]))
    terms = _pmf(spread, n[row], c[row], k[row], j) * weight(row, j)
    result[~empty] = np.add.reduceat(terms, starts)
    return result


def _constant_part(n: IntArray, c: IntArray, k: IntArray) -> Doubled:
    """Return the part of the logarithm that does not depend on j."""
    f = [log_factorial(number.astype(np.float64)) for number in (c, n - c, k, n - k, n)]
    return minus(plus(plus(f[0], f[1]), plus(f[2], f[3])), f[4])


def _pmf(whole: Doubled, n: IntArray, c: IntArray, k: IntArray, j: IntArray) -> FloatArray:
    f = [log_factorial(number.astype(np.float64)) for number in (j, c - j, k - j, n - c - k + j)]
    logarithm = minus(whole, plus(plus(f[0], f[1]), plus(f[2], f[3])))
    scale = np.exp(logarithm.high)
    result: FloatArray = scale + scale * logarithm.low
    return result
