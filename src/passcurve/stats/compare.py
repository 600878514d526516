"""Paired comparison of two runs on the same problems, and adjustment of several p-values.

Overlap of two intervals is not used: it ignores that hard problems are hard for both runs, and so has little power.
"""

from __future__ import annotations

import math
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from passcurve.stats.counts import broadcast
from passcurve.stats.double_double import FloatArray
from passcurve.stats.fresh_samples import total_noise
from passcurve.stats.intervals import Bounds
from passcurve.stats.passk import pass_at_k
from passcurve.stats.permutation import Tested, sign_flip_p, stratified_permutation_p
from passcurve.stats.quantiles import normal_quantile, t_quantile
from passcurve.stats.rows import (
    Row,
    check_integer,
    check_open_unit,
    check_row,
    check_same_problems,
    integer_array,
    probability_row,
)
from passcurve.stats.sampling import sampling_variance

POWER = 0.8
"""Chance of detection for which the minimum detectable difference of a run is given."""


ROUNDING = 1e-12
"""Largest distance between differences of scores that are equal."""


class Paired(NamedTuple):
    """The difference A - B between two runs on the same m problems."""

    k: int
    m: int
    difference: float
    """Mean pass@k of A minus that of B."""
    differences: FloatArray
    """Difference of each problem, in the order of the input, shape (m,)."""
    level: float
    new_problems: Bounds[float]
    """Target A, other problems like these: plus-two t, of the differences with -1 and +1 appended."""
    paired_t: Bounds[float]
    """The ordinary paired t interval; NaN for one problem, and without width where all differences agree."""
    these_problems: Bounds[float]
    """Target B, these problems and fresh samples; NaN where no variance can be had."""
    sampling: str
    """Source of the variance of ``these_problems``: unbiased, beta-binomial, or none."""
    p: Tested
    """Test of "equally good on problems like these"."""
    p_test: str
    """Test of ``p``: sign flips; with unequal n, that or permutation within problems, whichever has the larger p."""
    mcnemar: float
    """Exact McNemar p where every n = k = 1, NaN elsewhere."""
    wins: int
    """Problems on which A scored more."""
    ties: int
    losses: int
    between: float
    """Variance over problems of the true differences: that of the differences less the sampling noise; raw, so it may
    be negative."""
    within: float
    """Mean sampling variance of a problem's difference."""
    minimum_detectable: float
    """The true difference that this run would have found with power .8; NaN where all differences agree."""
    warnings: tuple[str, ...]


def paired_difference(
    n_a: ArrayLike,
    c_a: ArrayLike,
    n_b: ArrayLike,
    c_b: ArrayLike,
    k: int = 1,
    level: float = 0.95,
    draws: int = 99_999,
    seed: int = 0,
) -> Paired:
    """Compare two runs on the same problems, given in the same order.

    d_i is the unbiased pass@k of A on problem i minus that of B; the difference is their mean.

    - ``new_problems``: the t interval (m + 1 degrees of freedom) of the d_i with -1 and +1 appended, clipped to
      [-1, 1].  For n = k = 1 it is the interval of Bonett and Price (2012, "Adjusted Wald confidence interval for a
      difference of binomial proportions based on paired data", JEBS 37:479) with t in place of z.  It keeps a width
      where all differences are equal.  With many small differences it is conservative and may contain 0 at a small p.
    - ``these_problems``: the difference plus and minus z sqrt(V_A + V_B) / m, with V the variance of the sum of the
      scores of each run from ``total_noise``.
    - ``p``: ``sign_flip_p`` of the d_i with ``draws`` and ``seed``.  With n_A different from n_B the d_i are not
      symmetric under the null, and sign flips reject too often where passes are rare (.46 instead of .05 at n = 20
      and 1, p = .02, m = 20).  ``p`` is then the larger of this and ``stratified_permutation_p``.
    - ``minimum_detectable``: (z_(alpha/2) + z_.2) s / sqrt(m), with s the standard deviation of the d_i.
    n and c have shape (m,) or broadcast to it.  Raises ValueError for invalid counts, k > n, rows of different lengths
    and a level outside (0, 1).
    """
    a, b = check_row(n_a, c_a, k), check_row(n_b, c_b, k)
    k, draws, seed = check_integer(k, "k"), check_integer(draws, "draws"), check_integer(seed, "seed", 0)
    check_same_problems(a, b)
    tail = (1.0 - check_open_unit(level, "level")) / 2.0
    differences = _without_rounding(pass_at_k(a.n, a.c, [k]) - pass_at_k(b.n, b.c, [k]))
    m = differences.size
    mean = float(_without_rounding(np.array(math.fsum(differences) / m)))
    sd = math.nan if m == 1 else 0.0 if _all_agree(differences) else _sd(differences)
    noise = _noise(a, b, k, level)
    test = _test(a, b, k, differences, draws, seed)
    return Paired(
        k=k,
        m=m,
        difference=mean,
        differences=differences,
        level=level,
        new_problems=_padded_t(differences, tail),
        paired_t=_clipped_bounds(mean, t_quantile(m - 1, tail) * sd / math.sqrt(m))
        if m > 1
        else Bounds(math.nan, math.nan),
        these_problems=_fresh_bounds(mean, noise, m, tail),
        sampling=noise.method,
        p=test.p,
        p_test=test.name,
        mcnemar=_mcnemar(a, b),
        wins=int((differences > 0).sum()),
        ties=int((differences == 0).sum()),
        losses=int((differences < 0).sum()),
        between=sd**2 - noise.raw,
        within=noise.raw,
        minimum_detectable=(normal_quantile(tail) + normal_quantile(1.0 - POWER)) * (sd or math.nan) / math.sqrt(m),
        warnings=tuple(_warnings(a, b, k, differences, noise)),
    )


def _padded_t(differences: FloatArray, tail: float) -> Bounds[float]:
    """Return the t interval of the differences with -1 and +1 appended, and never without their mean."""
    padded = np.concatenate([differences, [-1.0, 1.0]])
    m, mean = padded.size, math.fsum(differences) / differences.size
    low, high = _clipped_bounds(math.fsum(padded) / m, t_quantile(m - 1, tail) * _sd(padded) / math.sqrt(m))
    return Bounds(min(mean, low), max(mean, high))


def _mcnemar(a: Row, b: Row) -> float:
    """Return the exact McNemar p-value; NaN unless every problem has one sample in both runs."""
    if not ((a.n == 1).all() and (b.n == 1).all()):
        return math.nan
    return float(mcnemar_exact(int((a.c > b.c).sum()), int((a.c < b.c).sum())))


class _Test(NamedTuple):
    p: Tested
    name: str


def _test(a: Row, b: Row, k: int, differences: FloatArray, draws: int, seed: int) -> _Test:
    flips = _Test(sign_flip_p(differences, draws, seed), "sign flips")
    if (a.n == b.n).all():
        return flips
    within = _Test(
        stratified_permutation_p(a.n, a.c, b.n, b.c, k, min(draws, 9_999), seed), "permutation within problems"
    )
    return max(flips, within, key=lambda test: test.p.p)


class _Noise(NamedTuple):
    below: float
    """Variance of the sum of the differences for the limit below it; what B may hide lowers the truth."""
    above: float
    """The same for the limit above; what A may hide raises the truth."""
    raw: float
    """Mean variance of a problem's difference, unbiased where that exists."""
    method: str
    reason: str


def _fresh_bounds(middle: float, noise: _Noise, m: int, tail: float) -> Bounds[float]:
    z = normal_quantile(tail)
    below, above = (_clipped_bounds(middle, z * math.sqrt(variance) / m) for variance in (noise.below, noise.above))
    return Bounds(below.low, above.high)


def _noise(a: Row, b: Row, k: int, level: float) -> _Noise:
    first, second = (total_noise(row, k, level) for row in (a, b))
    own = [sampling_variance(row.n, row.c, k) for row in (a, b)]
    raw = math.fsum(math.fsum(item.variance) for item in own) / a.n.size
    reason = next((item.reason for item in own if item.reason), "")
    method = "none" if first.reason or second.reason else "beta-binomial"
    return _Noise(first.below + second.above, first.above + second.below, raw, method, reason)


def _warnings(a: Row, b: Row, k: int, differences: FloatArray, noise: _Noise) -> list[str]:
    warnings = []
    if differences.size == 1:
        warnings.append("one problem: nothing can be said about others like it")
    if _all_agree(differences) and differences.size > 1:
        warnings.append("all differences agree: an interval without width is not certainty")
    if (a.n != b.n).any():
        warnings.append(
            "A and B have different numbers of samples: p is the larger of two tests, sign flips and permutations "
            "within problems, for neither is exact alone"
        )
    if noise.method == "none":
        warnings.append(f"no interval for these problems: {noise.reason}")
    elif noise.reason:
        warnings.append(f"variance from a statistical model: {noise.reason}")
    if k > 1 and bool((2 * k > np.minimum(a.n, b.n)).any()):
        warnings.append(f"k={k} is more than half of the samples: pass@k rests on few independent groups of samples")
    return warnings


def _without_rounding(differences: FloatArray) -> FloatArray:
    """Return differences with 0 where the two scores are equal, but for what rounding makes of them."""
    return np.where(np.abs(differences) <= ROUNDING, 0.0, differences)


def _all_agree(differences: FloatArray) -> bool:
    """Tell whether all differences are one, but for what rounding makes of it."""
    return bool(np.ptp(differences) <= ROUNDING)


def _sd(values: FloatArray) -> float:
    mean = math.fsum(values) / values.size
    return math.sqrt(math.fsum((values - mean) ** 2) / (values.size - 1))


def _clipped_bounds(middle: float, reach: float) -> Bounds[float]:
    if math.isnan(reach):
        return Bounds(math.nan, math.nan)
    return Bounds(max(-1.0, middle - reach), min(1.0, middle + reach))


@overload
def mcnemar_exact(b: int, c: int) -> np.float64: ...
@overload
def mcnemar_exact(b: ArrayLike, c: ArrayLike) -> FloatArray: ...
def mcnemar_exact(b: ArrayLike, c: ArrayLike) -> FloatArray | np.float64:
    """Return the two-sided exact McNemar p-value for one sample of each problem from each of two runs.

    b counts the problems that only A passed and c those that only B passed; problems with the same verdict say nothing.
    Given b + c, b is binomial with chance 1/2 when neither run is better: p = min(1, 2 P(X <= min(b, c))).  It equals
    ``sign_flip_p`` of the differences.  b and c are integers of at least 0 and broadcast; b = c = 0 gives 1.
    Source: McNemar 1947, Psychometrika 12:153, in its exact form.  ValueError for anything else.
    """
    only_a, only_b = broadcast(b=integer_array(b, "b"), c=integer_array(c, "c"))
    for name, values in (("b", only_a), ("c", only_b)):
        if (values < 0).any():
            raise ValueError(f"{name}={values[values < 0].flat[0]} is negative")

    from scipy.special import betainc

    few, many = np.minimum(only_a, only_b), np.maximum(only_a, only_b)
    # P(X <= few) of few + many fair coins; with equal counts two halves overlap and make 1.
    halves = betainc(np.maximum(many, 1).astype(np.float64), few + 1.0, 0.5)
    result: FloatArray = np.where(few == many, 1.0, np.minimum(1.0, 2.0 * halves))
    return result[()]


def holm(p: ArrayLike) -> FloatArray:
    """Return p-values of h hypotheses adjusted for their number, by Holm's step-down rule.

    Rejecting those at or below alpha makes any false rejection at most alpha likely, however the tests depend on each
    other: the smallest is multiplied by h, the next by h - 1, ..., kept in order and cut at 1.  ``max_t_p`` is sharper
    where the data are at hand.  p has shape (h,), each in [0, 1], NaN refused; the order is kept.
    Source: Holm 1979, "A simple sequentially rejective multiple test procedure", Scand. J. Statist. 6:65.
    """
    values = probability_row(p, "p")
    order = np.argsort(values, kind="stable")
    stepped = np.minimum(1.0, np.maximum.accumulate(values[order] * np.arange(values.size, 0, -1)))
    result = np.empty(values.size)
    result[order] = stepped
    return result
