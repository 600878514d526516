"""The biased plug-in estimator, and the true variances of estimators, for teaching and checking.

Do not report results with these.  They exist so that claims about them can be checked with numbers.

p is a chance in [0, 1], the true one, which a reader supplies; q = 1 - p.  n, k and t are integers.  All arguments
broadcast; numbers without a shape give a ``numpy.float64``.  ``ValueError`` naming the element for a p outside [0, 1]
or not a number, for an n, k or t below 1, for c > n, and for k > n wherever there is an n.
"""

from __future__ import annotations

import math
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from passcurve.stats.counts import (
    IntArray,
    apply_rule,
    apply_to_distinct,
    check_counts,
    check_integers,
    check_probabilities,
)
from passcurve.stats.double_double import FloatArray, two_product
from passcurve.stats.hypergeometric import pmf

_TERMS = 1 << 12
"""Number of terms of a sum evaluated at a time."""

_NOTHING = 1e-24
"""Terms this small, relative to their sum, end it: none of the up to 10^8 that follow is larger."""


@overload
def plug_in_at_k(n: int, c: int, k: int) -> np.float64: ...
@overload
def plug_in_at_k(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> FloatArray: ...
def plug_in_at_k(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> FloatArray | np.float64:
    """Return the plug-in ``1 - (1 - c/n)^k``, which is biased low; not an estimate to report.

    It is what drawing k samples *with* replacement would give.  Its expectation is below 1 - (1-p)^k for every k > 1
    and 0 < p < 1, by about ``k (k-1) p q^(k-1) / (2n)``; ``plug_in_bias`` is the exact figure.  Put to the mean c/n of
    a data set instead of each problem's, it is biased the other way, high, as soon as problems differ.
    Source of the warning: Chen et al. 2021, arXiv:2107.03374, section 2.1 and appendix A.

    n, c and k broadcast, 0 <= c <= n and 1 <= k <= n, as for ``pass_at_k``; ValueError naming the element otherwise.
    At k = 1 it is c/n to the last bit.
    """
    return apply_rule(_plug_in, *check_counts(n, c, k))


@overload
def naive_variance(p: float, k: int, t: int) -> np.float64: ...
@overload
def naive_variance(p: ArrayLike, k: ArrayLike, t: ArrayLike) -> FloatArray: ...
def naive_variance(p: ArrayLike, k: ArrayLike, t: ArrayLike) -> FloatArray | np.float64:
    """Return the variance ``q^k (1 - q^k) / t`` of the naive estimate: the share of t batches of k samples with a pass.

    It costs t k samples of the problem; compare ``unbiased_variance(p, t k, k)``, which uses the same samples.
    The law is the binomial one: each batch holds a pass with the chance 1 - q^k (Chen et al. 2021, section 2.1, on the
    estimate itself).  p, k >= 1 and t >= 1 broadcast; errors are those of the module.
    """
    ks, batches = (check_integers(*named, least=1, capped=False) for named in (("k", k), ("t", t)))
    return apply_to_distinct(_naive, check_probabilities("p", p), ks, batches)


@overload
def unbiased_variance(p: float, n: int, k: int) -> np.float64: ...
@overload
def unbiased_variance(p: ArrayLike, n: ArrayLike, k: ArrayLike) -> FloatArray: ...
def unbiased_variance(p: ArrayLike, n: ArrayLike, k: ArrayLike) -> FloatArray | np.float64:
    """Return the true variance of ``pass_at_k`` from n samples that each pass with the chance p.

    ``sum over j of h(j) q^(2k-j) - q^(2k)`` with ``h(j) = C(k, j) C(n-k, k-j) / C(n, k)``, the chance that two
    k-subsets share j samples (Hoeffding 1948, "A class of statistics with asymptotically normal distribution", section
    5: the variance of a U-statistic), summed as ``h(j) q^(2k-j) (1 - q^j)`` so that nothing cancels.  At k = 1 it is
    p q / n, and about k^2 p q^(2k-1) / n while k is small beside n.  ``var_pass_at_k`` estimates it from counts.

    p, n and k broadcast, 1 <= k <= n; errors are those of the module.  The cost is that of the terms that matter, a few
    thousand at n = 10^6, for each distinct (p, n, k).
    """
    chance_of_pass = check_probabilities("p", p)
    sizes = check_counts(n, 0, k)
    return apply_to_distinct(_unbiased, chance_of_pass, sizes.n, sizes.k)


@overload
def plug_in_bias(p: float, n: int, k: int) -> np.float64: ...
@overload
def plug_in_bias(p: ArrayLike, n: ArrayLike, k: ArrayLike) -> FloatArray: ...
def plug_in_bias(p: ArrayLike, n: ArrayLike, k: ArrayLike) -> FloatArray | np.float64:
    """Return the expectation of ``plug_in_at_k`` less pass@k: 0 for k = 1, p = 0 and p = 1, negative otherwise.

    ``q^k - E[(F/n)^k]`` where F, the number of failures, is binomial (n, q); summed as the expectation of the distance
    of x^k from its tangent at q, which is never negative, so that nothing cancels.  About -k (k-1) p q^(k-1) / (2n)
    while that is small (a Taylor expansion: Jensen's inequality gives the sign).

    p, n and k broadcast, 1 <= k <= n; errors are those of the module.  The cost is a few vector operations on n
    numbers for each distinct (p, n, k).
    """
    chance_of_pass = check_probabilities("p", p)
    sizes = check_counts(n, 0, k)
    return apply_to_distinct(_bias, chance_of_pass, sizes.n, sizes.k)


# --- the rules ------------------------------------------------------------------------------------------------------


def _plug_in(n: IntArray, c: IntArray, k: IntArray) -> FloatArray:
    result = np.ones(n.size)
    some = c < n
    share, left = c[some] / n[some], (n - c)[some] / n[some]
    # log1p keeps the digits of a small share of passes, log those of a small share of failures.
    logarithm = np.where(share <= 0.5, np.log1p(-np.minimum(share, 0.5)), np.log(left))
    result[some] = -np.expm1(k[some] * logarithm) + 0.0
    result[k == 1] = c[k == 1] / n[k == 1]
    return result


def _rounded_power(base: FloatArray, rest: FloatArray, k: IntArray) -> FloatArray:
    """Return (base + rest)^k, where rest is what rounding the base lost and k may be 10^6."""
    result: FloatArray = np.power(base, k) * np.exp(k * (rest / np.where(base > 0.0, base, 1.0)))
    return result


def _fail_chance(p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return 1 - p and what its rounding lost."""
    q = 1.0 - p
    return q, (1.0 - q) - p


def _naive(p: FloatArray, k: IntArray, t: IntArray) -> FloatArray:
    result = np.zeros(p.size)
    some = (p > 0.0) & (p < 1.0)
    p, k, t = p[some], k[some], t[some]
    result[some] = _rounded_power(*_fail_chance(p), k) * -np.expm1(k * np.log1p(-p)) / t
    return result


def _unbiased(p: FloatArray, n: IntArray, k: IntArray) -> FloatArray:
    return np.array([_unbiased_one(*arguments) for arguments in zip(p.tolist(), n.tolist(), k.tolist(), strict=True)])


def _unbiased_one(p: float, n: int, k: int) -> float:
    if p in (0.0, 1.0):
        return 0.0
    log_q, q = math.log1p(-p), 1.0 - p
    least, most = max(1, 2 * k - n), k

    def grows(j: int) -> bool:
        # The terms are log-concave in j: they grow up to one place and shrink from there.
        shared = (k - j) ** 2 / ((j + 1) * (n - 2 * k + j + 1))
        return shared * math.expm1((j + 1) * log_q) / (q * math.expm1(j * log_q)) > 1.0

    low, high = least, most
    while low < high:
        half = (low + high) // 2
        low, high = (half + 1, high) if grows(half) else (low, half)
    parts: list[float] = []
    for step in (_TERMS, -_TERMS):
        begin = low if step > 0 else low - 1
        while least <= begin <= most:
            terms = _overlaps(
                p, n, k, max(least, min(begin, begin + step + 1)), min(most, max(begin, begin + step - 1))
            )
            parts.append(float(terms.sum()))
            edge = terms[-1] if step > 0 else terms[0]
            if edge <= _NOTHING * math.fsum(parts):
                break
            begin += step
    return math.fsum(parts)


def _overlaps(p: float, n: int, k: int, first: int, last: int) -> FloatArray:
    """Return h(j) q^(2k-j) (1 - q^j) for j = first .. last."""
    j = np.arange(first, last + 1)
    q, rest = _fail_chance(np.full(j.size, p))
    shares = pmf(np.full(j.size, n), np.full(j.size, k), np.full(j.size, k), j)
    result: FloatArray = shares * _rounded_power(q, rest, 2 * k - j) * -np.expm1(j * math.log1p(-p))
    return result


def _bias(p: FloatArray, n: IntArray, k: IntArray) -> FloatArray:
    return np.array([_bias_one(*arguments) for arguments in zip(p.tolist(), n.tolist(), k.tolist(), strict=True)])


def _bias_one(p: float, n: int, k: int) -> float:
    if p in (0.0, 1.0) or k == 1:
        return 0.0
    q, q_rest = (float(part[0]) for part in _fail_chance(np.array([p])))
    f = _failures(p, q, n, k)
    weights = _binomial(f, (q + q_rest) / p, n, min(int((n + 1) * q), n))
    # f - n q without the rounding of q.
    product, lost = two_product(np.full(1, float(n)), np.full(1, p))
    distance = ((f - n) + product) + lost
    u = distance / (n * q)
    share = f / n
    back, lost = two_product(share, np.full(1, float(n)))
    powers = _rounded_power(share, ((f - back) - lost) / n, np.full(f.size, k))
    base = float(_rounded_power(np.array([q]), np.array([q_rest]), np.array([k]))[0])
    near = np.abs(k * u) < 0.5
    gap = np.empty(f.size)
    gap[near] = base * _beyond_tangent(u[near], k)
    gap[~near] = powers[~near] - base * (1.0 + k * u[~near])
    return 0.0 - math.fsum(weights * gap)


def _beyond_tangent(u: FloatArray, k: int) -> FloatArray:
    """Return (1+u)^k - 1 - k u for |k u| < 1/2 by the binomial series."""
    term, total = k * u, np.zeros(u.size)
    for i in range(2, 24):
        term = term * u * ((k - i + 1) / i)
        total += term
    return total


def _failures(p: float, q: float, n: int, k: int) -> FloatArray:
    """Return the numbers of failures that matter: 40 deviations beyond where pmf(f) and pmf(f) f^k are largest."""
    low, high = 0, n
    while low < high:
        f = (low + high) // 2
        grows = f == 0 or (n - f) * q / ((f + 1) * p) * math.exp(k * math.log1p(1 / f)) > 1.0
        low, high = (f + 1, high) if grows else (low, f)
    reach = 20.0 * math.sqrt(n) + 200.0
    failures: FloatArray = np.arange(
        max(0, math.floor(n * q - reach)), min(n, math.ceil(low + reach)) + 1, dtype=np.float64
    )
    return failures


def _binomial(f: FloatArray, odds: float, n: int, mode: int) -> FloatArray:
    """Return the binomial chances of consecutive f, by their quotients from the largest outwards."""
    at = mode - int(f[0])
    up = np.cumprod((n - f[at:-1]) / (f[at:-1] + 1.0) * odds)
    down = np.cumprod((f[at:0:-1] / (n - f[at:0:-1] + 1.0)) / odds)
    weights = np.concatenate([down[::-1], [1.0], up])
    result: FloatArray = weights / math.fsum(weights)
    return result
