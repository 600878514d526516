"""Metrics of how many of k samples pass: all of them, a share of them, or the chance of a problem.

n, c and k are those of ``pass_at_k`` and broadcast; numbers without a shape give a ``numpy.float64``; ValueError naming
the element for what lies outside the definition, k > n among it.  Each is an average over all k-subsets of the n
samples, hence unbiased for the same thing asked of k fresh samples; only ``cover_at_tau`` is not of that kind.
"""

from __future__ import annotations

import reprlib
from fractions import Fraction
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from passcurve.stats.counts import (
    IntArray,
    apply_rule,
    apply_to_distinct,
    broadcast,
    check_counts,
    check_integers,
    check_not_above,
    check_probabilities,
    element_label,
)
from passcurve.stats.double_double import FloatArray
from passcurve.stats.hypergeometric import expectation
from passcurve.stats.passk import fail_at_k_flat, pass_at_k_flat
from passcurve.stats.rows import check_positive

_PLAIN = 1 << 26
"""Fractions with denominators up to here lie further apart than two neighbouring floats below 1."""


@overload
def pass_hat_k(n: int, c: int, k: int) -> np.float64: ...
@overload
def pass_hat_k(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> FloatArray: ...
def pass_hat_k(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> FloatArray | np.float64:
    """Return pass^k, the chance that all of k samples pass: ``C(c, k) / C(n, k)``, unbiased for p^k.

    It is ``fail_at_k`` with passes and failures exchanged, ``pass^k(c) = 1 - pass@k(n-c)``, and as accurate; at k = 1
    it is c/n to the last bit.  Shapes and errors are those of the module.
    Source: Yao et al. 2024, "tau-bench", arXiv:2406.12045 (pass^k).
    """
    checked = check_counts(n, c, k)
    return apply_rule(_all_pass, *checked)


@overload
def g_pass_at_k(n: int, c: int, k: int, tau: float | Fraction) -> np.float64: ...
@overload
def g_pass_at_k(n: ArrayLike, c: ArrayLike, k: ArrayLike, tau: ArrayLike | Fraction) -> FloatArray: ...
def g_pass_at_k(n: ArrayLike, c: ArrayLike, k: ArrayLike, tau: ArrayLike | Fraction) -> FloatArray | np.float64:
    """Return G-Pass@k(tau), the chance that at least ``max(1, ceil(tau k))`` of k samples pass.

    ``sum over j >= max(1, ceil(tau k)) of C(c, j) C(n-c, k-j) / C(n, k)``; tau = 0 gives pass@k and tau = 1 pass^k.
    tau broadcasts with the rest, each in [0, 1]: a float, a ``Fraction`` or an array of either.  It is taken as an
    exact rational: a float stands for the fraction with a denominator up to 2^26 that it is the nearest float of, if
    there is one, so that .28 of 25 is 7 (in floats .28 * 25 is above 7, and its ceiling 8).
    Shapes and errors are those of the module, and ValueError for a tau outside [0, 1].  The relative error is about
    1e-15; the cost is that of the terms that matter, a few thousand at n = 10^6, for each distinct combination.
    Source: Liu et al. 2024, "Are Your LLMs Capable of Stable Reasoning?", arXiv:2412.13147, where
    tau -> 0 is said to give pass@k: hence the threshold of at least 1.
    """
    checked = check_counts(n, c, k)
    least = _thresholds_of(checked.k, tau)
    return apply_to_distinct(_at_least, checked.n, checked.c, *np.broadcast_arrays(checked.k, least))


@overload
def mg_pass_at_k(n: int, c: int, k: int, exact: bool = False) -> np.float64: ...
@overload
def mg_pass_at_k(n: ArrayLike, c: ArrayLike, k: ArrayLike, exact: bool = False) -> FloatArray: ...
def mg_pass_at_k(n: ArrayLike, c: ArrayLike, k: ArrayLike, exact: bool = False) -> FloatArray | np.float64:
    """Return mG-Pass@k, the mean of G-Pass@k(tau) over tau from 1/2 to 1: the published sum, or the exact integral.

    The published sum is ``2/k sum over i = ceil(k/2)+1 .. k of G-Pass@k(i/k)``, or 2/k E[max(0, X - ceil(k/2))] for
    X passes among k.  ``exact=True`` gives the integral that the sum stands for, ``2 int_(1/2)^1 G-Pass@k(tau) dtau``
    = 2/k E[max(0, X - k/2)].  For even k they are one; for odd k the sum leaves out half a step, so that a problem with
    nothing but passes gets (k-1)/k, and at k = 1 an empty sum, 0, where the integral is c/n.
    Shapes, errors, accuracy and cost are those of ``g_pass_at_k``.
    Source: Liu et al. 2024, arXiv:2412.13147 (the two sides of its definition of mG-Pass@k).
    """
    checked = check_counts(n, c, k)
    return apply_rule(_mean_exact if exact else _mean_published, *checked)


@overload
def cover_at_tau(
    n: ArrayLike, c: ArrayLike, tau: float, a: float | None = None, b: float | None = None
) -> np.float64: ...
@overload
def cover_at_tau(
    n: ArrayLike, c: ArrayLike, tau: ArrayLike, a: float | None = None, b: float | None = None
) -> FloatArray: ...
def cover_at_tau(
    n: ArrayLike, c: ArrayLike, tau: ArrayLike, a: float | None = None, b: float | None = None
) -> FloatArray | np.float64:
    """Return cover@tau, the expected share of these problems whose own chance p_i is at least tau.

    ``mean over i of P(p_i >= tau | c_i)`` with p_i ~ Beta(a + c_i, b + n_i - c_i).  The indicator c_i/n_i >= tau, which
    the source counts, is biased: at n = 10 a problem with p = .45 reaches .5 half the time.  No unbiased estimator
    exists, so this is a model's word.  Without a and b the prior is fitted to these problems (``beta_binomial_fit``,
    empirical Bayes); a = b = 1 is the uniform prior, which says .31 of p >= .1 after 0 of 10.

    n and c broadcast to the problems (at least one, all axes counted); tau lies in [0, 1] and its shape is that of the
    result, one share for each.  As the law of p_i is continuous, tau = 0 gives 1 and tau = 1 gives 0.
    ValueError naming the element for counts or a tau that cannot be, for no problems, for only one of a and b, for an a
    or b that is not a positive number, and where nothing can be fitted: all failed, all passed, one sample each.
    Source: Dragoi et al. 2025, "Beyond Pass@k: Breadth-Depth Metrics for Reasoning Boundaries", arXiv:2510.08325, for
    the quantity; the posterior chance in place of its indicator is ours.
    """
    samples, passed = broadcast(n=check_integers("n", n), c=check_integers("c", c))
    check_not_above("c", passed, "n", samples)
    least = check_probabilities("tau", tau)
    if not samples.size:
        raise ValueError("there are no problems")
    samples, passed = samples.ravel(), passed.ravel()
    if a is None and b is None:
        from passcurve.stats.fit import beta_binomial_fit

        a, b, _ = beta_binomial_fit(samples, passed)
    if a is None or b is None:
        raise ValueError(f"a={a}, b={b}: give both or neither")
    a, b = check_positive(a, "a"), check_positive(b, "b")

    from scipy.special import betaincc

    pairs, weights = np.unique(np.stack([samples, passed]), axis=1, return_counts=True)
    above = betaincc(a + pairs[1], b + pairs[0] - pairs[1], least[..., None])
    result: FloatArray | np.float64 = np.minimum((above * weights).sum(axis=-1) / samples.size, 1.0)[()]
    return result


# --- the rules ------------------------------------------------------------------------------------------------------


def _all_pass(n: IntArray, c: IntArray, k: IntArray) -> FloatArray:
    return fail_at_k_flat(n, n - c, k)


def _at_least(n: IntArray, c: IntArray, k: IntArray, least: IntArray) -> FloatArray:
    result = expectation(n, c, k, least, lambda _, j: np.ones(j.size))
    result = np.minimum(result, 1.0)
    result[least <= k - (n - c)] = 1.0
    for rows, rule in ((least == k, _all_pass), (least == 1, pass_at_k_flat)):
        result[rows] = rule(n[rows], c[rows], k[rows])
    return result


def _mean_exact(n: IntArray, c: IntArray, k: IntArray) -> FloatArray:
    return _mean_above(n, c, k, k)


def _mean_published(n: IntArray, c: IntArray, k: IntArray) -> FloatArray:
    return _mean_above(n, c, k, k + k % 2)


def _mean_above(n: IntArray, c: IntArray, k: IntArray, twice: IntArray) -> FloatArray:
    """Return 1/k E[max(0, 2X - twice)]."""
    result = expectation(n, c, k, twice // 2 + 1, lambda row, j: (2 * j - twice[row]) / k[row])
    simple = (k == 1) & (twice == 1)
    result[simple] = c[simple] / n[simple]
    return np.minimum(result, 1.0)


def _thresholds_of(k: IntArray, tau: ArrayLike | Fraction) -> IntArray:
    """Return max(1, ceil(tau k)) without rounding, once for each distinct tau and k."""
    taus = np.asarray(tau, dtype=object)
    indices: dict[Fraction, int] = {}
    tau_at = np.empty(taus.shape, dtype=np.intp)
    for place in np.ndindex(taus.shape):
        tau_at[place] = indices.setdefault(_rational(taus[place], place), len(indices))
    ks, k_at = np.unique(k, return_inverse=True)
    rows = [[max(1, -(-share.numerator * int(k_value) // share.denominator)) for k_value in ks] for share in indices]
    table = np.array(rows, dtype=np.int64).reshape(len(indices), ks.size)
    result: IntArray = table[tau_at, k_at.reshape(k.shape)]
    return result


def _rational(tau: object, place: tuple[int, ...]) -> Fraction:
    exact = _exact(tau)
    if exact is None:
        raise ValueError(f"{element_label(place)}tau={reprlib.repr(tau)} is not a number")
    if not 0 <= exact <= 1:
        raise ValueError(f"{element_label(place)}tau={reprlib.repr(tau)} is not in [0, 1]")
    plain = exact.limit_denominator(_PLAIN)
    return plain if isinstance(tau, float) and float(plain) == tau else exact


def _exact(tau: object) -> Fraction | None:
    if isinstance(tau, (bool, np.bool_, str)):
        return None
    try:
        exact: Fraction = Fraction(tau)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return None
    return exact
