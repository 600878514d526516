"""Sign-flip and permutation tests: exact where all cases can be counted, else seeded Monte Carlo with its error.

Two runs on the same problems give differences d_1 .. d_m.  If neither run is better, d_i could as well have been -d_i:
the p-value is the share of the 2^m patterns of signs whose sum is at least as far from 0 as the sum seen (Fisher 1935,
The Design of Experiments, section 21; Pitman 1937).  That is exact when every d_i is distributed symmetrically about 0
given the problem, or over problems drawn at random.  It holds when both runs have the same n and the same true scores;
with n_A different from n_B the noise of the two differs in shape, and the test is approximate.

Sums within 1e-9 of the sum seen, in units of the largest sum possible, count as equal to it: ties must count, and
rounding must not break them.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from passcurve.stats.counts import check_finite
from passcurve.stats.double_double import FloatArray
from passcurve.stats.passk import pass_at_k
from passcurve.stats.rows import (
    MOST_DRAWS,
    IntArray,
    Row,
    check_integer,
    check_row,
    check_same_problems,
    draw_blocks,
    number_row,
)

_TIE = 1e-9
_HALVES = 40
"""Largest number of non-zero differences that are counted by listing the sums of two halves."""
MAX_T_EXACT = 14
"""Largest number of problems for which every pattern of signs is listed for several hypotheses."""
MAX_T_DRAWS = 9_999
"""Number of patterns that are drawn where there are more problems."""
_UNITS = 2048
"""Largest denominator tried for differences that are multiples of one unit."""
_WORK = 100_000_000
"""Most additions of an exact count on such a lattice."""

How = Literal["exact", "Monte Carlo"]


class Tested(NamedTuple):
    """A p-value and its Monte Carlo error."""

    p: float
    error: float
    """Standard error of p from drawing at random; 0 where it was counted."""
    method: How
    draws: int
    """Patterns drawn at random; 0 where they were counted."""
    seed: int | None
    """Seed of the draws; None for an exact test."""


class MaxT(NamedTuple):
    """p-values of several hypotheses about the same problems, raw and adjusted for their number."""

    p: FloatArray
    """Unadjusted p-values, shape (h,)."""
    adjusted: FloatArray
    """The chance of any false rejection among them is at most alpha when those at or below alpha are rejected."""
    error: FloatArray
    """Standard errors of ``adjusted`` from drawing at random; 0 where all patterns were listed."""
    method: How
    draws: int
    seed: int | None


def sign_flip_p(differences: ArrayLike, draws: int = 99_999, seed: int = 0) -> Tested:
    """Return the two-sided sign-flip p-value for the mean of paired differences being 0.

    differences has shape (m,), m >= 1, any finite numbers.  Counted exactly when they are multiples of one unit 1/D
    with D <= 2048 (always so for k = 1 with ordinary n), or when at most 40 are not 0; else ``draws`` patterns of signs
    are drawn with ``numpy.random.default_rng(seed)`` and p is (1 + hits) / (1 + draws), which never rejects a true null
    too often (Phipson and Smyth 2010, "Permutation p-values should never be zero", equation 2).  All differences 0
    gives p = 1.  What it assumes stands in the module.  ValueError for other shapes, draws < 1 and seed < 0.
    """
    values = np.abs(number_row(differences, "difference"))
    observed = abs(math.fsum(np.asarray(differences, dtype=np.float64)))
    draws, seed = _check_random(draws, seed)
    values = values[values > 0.0]
    if not values.size:
        return Tested(1.0, 0.0, "exact", 0, None)
    reached = observed - _TIE * math.fsum(values)
    if (units := _lattice_units(values)) is not None:
        return Tested(_lattice_p(units, observed / math.fsum(values)), 0.0, "exact", 0, None)
    if values.size <= _HALVES:
        return Tested(_halves_p(values, reached), 0.0, "exact", 0, None)
    hits = 0
    rng = np.random.default_rng(seed)
    for rows in draw_blocks(draws, values.size):
        signs = _draw_signs(rng, rows, values.size)
        hits += int((np.abs(signs @ values) >= reached).sum())
    return _monte_carlo(hits, draws, seed)


def max_t_p(differences: ArrayLike, draws: int = MAX_T_DRAWS, seed: int = 0) -> MaxT:
    """Return p-values for h hypotheses about the same m problems, adjusted by the step-down maximum of |t|.

    differences has shape (m, h): a column for each k, or for each pair of models, or both.  The signs of a problem are
    flipped in all columns together, which keeps the dependence between the columns; that assumes that the whole row of
    differences of a problem is symmetric about 0 when nothing differs.  A column's statistic is |sum| / sqrt(sum of
    squares), which orders sign patterns as |t| does.  The adjustment is the free step-down of Westfall and Young (1993,
    Resampling-Based Multiple Testing, algorithm 4.1, with max T).  All 2^m patterns are listed for m <= 14, else
    ``draws`` are drawn with ``seed``.  A column of zeros has p = 1.
    ValueError for other shapes, for what is not finite, draws < 1 and seed < 0.
    """
    table = check_finite("differences", differences)
    if table.ndim != 2 or not table.size:
        raise ValueError(f"differences must have shape (m, h) with m, h >= 1, not {table.shape}")
    number_row(table.ravel(), "difference")
    draws, seed = _check_random(draws, seed)
    size = np.sqrt((table**2).sum(axis=0))
    scaled = table / np.where(size > 0.0, size, 1.0)
    observed = np.abs(scaled.sum(axis=0))
    order = np.argsort(-observed, kind="stable")
    ranked, scaled = observed[order], scaled[:, order]
    reached = ranked - _TIE * np.sqrt(table.shape[0])
    m = table.shape[0]
    exact = m <= MAX_T_EXACT
    total = 1 << m if exact else draws
    rng = np.random.default_rng(seed)
    raw, stepped = np.zeros(order.size), np.zeros(order.size)
    start = 0
    for rows in draw_blocks(total, m):
        signs = _list_signs(start, rows, m) if exact else _draw_signs(rng, rows, m)
        start += rows
        statistics = np.abs(signs @ scaled)
        raw += (statistics >= reached).sum(axis=0)
        # The largest among this hypothesis and those that follow it.
        later = np.maximum.accumulate(statistics[:, ::-1], axis=1)[:, ::-1]
        stepped += (later >= reached).sum(axis=0)
    extra = 0 if exact else 1
    p, adjusted = np.empty(order.size), np.empty(order.size)
    p[order] = (extra + raw) / (extra + total)
    adjusted[order] = np.maximum.accumulate((extra + stepped) / (extra + total))
    error = np.zeros(order.size) if exact else np.sqrt(adjusted * (1.0 - adjusted) / draws)
    return MaxT(p, adjusted, error, "exact" if exact else "Monte Carlo", 0 if exact else draws, None if exact else seed)


def stratified_permutation_p(
    n_a: ArrayLike, c_a: ArrayLike, n_b: ArrayLike, c_b: ArrayLike, k: int = 1, draws: int = 9_999, seed: int = 0
) -> Tested:
    """Return the p-value of the sharp null that both runs have the same chance on every single problem.

    Given how many of a problem's n_A + n_B samples passed, those of A are then a draw without replacement: c_A is
    hypergeometric, whatever the chance is (Fisher's exact test within each problem, the problems put together; Cochran
    1954, Mantel and Haenszel 1959).  The statistic is |mean pass@k of A - mean pass@k of B|, whose expectation under
    that null is 0 also for unequal n.  This null is sharper than "equally good on average": two runs that differ on
    single problems and agree on average violate it, and the test may then reject.  Not for problems drawn at random.

    n and c have shape (m,) or broadcast to it.  For k = 1 it is counted exactly when the counts are not too many, else
    drawn as in ``sign_flip_p``.  ValueError naming the element for counts that cannot be and for k > n.
    """
    a, b = check_row(n_a, c_a, k), check_row(n_b, c_b, k)
    k = check_integer(k, "k")
    check_same_problems(a, b)
    draws, seed = _check_random(draws, seed)
    m = a.n.size
    observed = abs(math.fsum(pass_at_k(a.n, a.c, [k])) - math.fsum(pass_at_k(b.n, b.c, [k])))
    reached = observed - _TIE * m
    if k == 1 and (p := _strata_p(a, b, reached)) is not None:
        return Tested(p, 0.0, "exact", 0, None)
    hits = 0
    rng = np.random.default_rng(seed)
    both = a.c + b.c
    score_a, score_b = _score_table(a.n, k), _score_table(b.n, k)
    for rows in draw_blocks(draws, m):
        passed_a = rng.hypergeometric(both, a.n + b.n - both, a.n, size=(rows, m))
        difference = score_a.of(passed_a) - score_b.of(both - passed_a)
        hits += int((np.abs(difference.sum(axis=1)) >= reached).sum())
    return _monte_carlo(hits, draws, seed)


# --- counting -------------------------------------------------------------------------------------------------------


def _lattice_units(values: FloatArray) -> IntArray | None:
    """Return positive values as multiples of one unit when the sums are few enough to be counted."""
    denominators = np.arange(1, _UNITS + 1)
    distinct = np.unique(values)
    if distinct.size > _UNITS:
        return None
    fits = np.ones(denominators.size, dtype=np.bool_)
    for value in distinct:
        multiple = value * denominators
        fits &= (np.abs(multiple - np.round(multiple)) <= 1e-9) & (np.round(multiple) >= 1)
    if not fits.any():
        return None
    units = np.round(values * denominators[int(np.argmax(fits))])
    if float(units.sum()) * values.size > _WORK:
        return None
    whole: IntArray = units.astype(np.int64)
    return whole


def _lattice_p(units: IntArray, share: float) -> float:
    """Add the chances of the sums, from -total to total in steps of two units, one difference after the other."""
    total = int(units.sum())
    chance = np.zeros(total + 1)  # of the sum of the units with a plus sign
    chance[0] = 1.0
    so_far = 0
    for unit in np.sort(units).tolist():
        chance[unit : so_far + unit + 1] = chance[unit : so_far + unit + 1] + chance[: so_far + 1]
        chance[: so_far + unit + 1] *= 0.5
        so_far += unit
    sums = np.abs(2 * np.arange(total + 1) - total)
    return min(1.0, math.fsum(chance[sums >= round(share * total)]))


def _halves_p(values: FloatArray, reached: float) -> float:
    """List the signed sums of two halves; for each sum of one, count by bisection which of the other reach far."""
    first, second = (_signed_sums(half) for half in (values[::2], values[1::2]))
    second.sort()
    above = second.size - np.searchsorted(second, reached - first, side="left")
    if reached <= 0.0:
        return 1.0
    # The sums lie symmetrically about 0: as many reach below as above.
    return min(1.0, float(2 * int(above.sum()) / 2**values.size))


def _signed_sums(values: FloatArray) -> FloatArray:
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums - value, sums + value])
    return sums


def _strata_p(a: Row, b: Row, reached: float) -> float | None:
    """Convolve the hypergeometric laws of the problems on the lattice of the differences."""
    n_a, n_b, both = a.n, b.n, a.c + b.c
    unit = math.lcm(*np.unique(n_a).tolist(), *np.unique(n_b).tolist())
    low, high = np.maximum(0, both - n_b), np.minimum(n_a, both)
    # With one pass more for A the difference grows by 1/n_A + 1/n_B.
    step = unit // n_a + unit // n_b
    if unit > 10**6 or float((step * (high - low)).sum()) * float((high - low).sum() + 1) > _WORK:
        return None

    from scipy.special import gammaln

    start = int((low * (unit // n_a) - (both - low) * (unit // n_b)).sum())
    chance = np.ones(1)
    for i in range(n_a.size):
        x = np.arange(low[i], high[i] + 1)
        parts = np.stack([x, both[i] - x, n_a[i] - x, n_b[i] - both[i] + x]).astype(np.float64)
        logs: FloatArray = -gammaln(parts + 1.0).sum(axis=0)
        weight = np.exp(logs - logs.max())
        weight /= weight.sum()
        longer = np.zeros(chance.size + int(step[i]) * (x.size - 1))
        for j in range(x.size):
            at = int(step[i]) * j
            longer[at : at + chance.size] += weight[j] * chance
        chance = longer
    sums = np.abs(start + np.arange(chance.size)) / unit
    return min(1.0, math.fsum(chance[sums >= reached]))


# --- drawing --------------------------------------------------------------------------------------------------------


class _ScoreTable(NamedTuple):
    table: FloatArray
    where: IntArray

    def of(self, passed: IntArray) -> FloatArray:
        scores: FloatArray = self.table[self.where, passed]
        return scores


def _score_table(n: IntArray, k: int) -> _ScoreTable:
    """Return pass@k of every c for every distinct n, and which of them each problem has."""
    sizes, where = np.unique(n, return_inverse=True)
    table = np.zeros((sizes.size, int(n.max()) + 1))
    for row, size in enumerate(sizes.tolist()):
        table[row, : size + 1] = pass_at_k([size], np.arange(size + 1), k)
    return _ScoreTable(table, where.reshape(n.shape))


def _draw_signs(rng: np.random.Generator, rows: int, columns: int) -> FloatArray:
    """Draw signs, each from one random bit."""
    bits = np.frombuffer(rng.bytes(rows * ((columns + 7) // 8)), dtype=np.uint8).reshape(rows, -1)
    signs: FloatArray = 1.0 - 2.0 * np.unpackbits(bits, axis=1, count=columns).astype(np.float64)
    return signs


def _list_signs(start: int, rows: int, columns: int) -> FloatArray:
    """Return the patterns of signs number start, start + 1, ..."""
    number = np.arange(start, start + rows)[:, None]
    signs: FloatArray = 1.0 - 2.0 * ((number >> np.arange(columns)) & 1).astype(np.float64)
    return signs


def _monte_carlo(hits: int, draws: int, seed: int) -> Tested:
    p = (1 + hits) / (1 + draws)
    return Tested(p, math.sqrt(p * (1.0 - p) / draws), "Monte Carlo", draws, seed)


def _check_random(draws: int, seed: int) -> tuple[int, int]:
    return check_integer(draws, "draws", most=MOST_DRAWS), check_integer(seed, "seed", 0)
