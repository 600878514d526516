"""Prediction of the verdict by a number for each sample: AUC within problems and pooled, point-biserial correlation.

AUC is the chance that a right sample has a higher value than a wrong one, ties counting half: the Mann-Whitney U over
the number of pairs (Hanley and McNeil 1982, Radiology 143:29).  Pooled, the pairs are taken over the whole run, so a
value that only tells easy problems from hard ones does well; within, only pairs of one problem count, and each problem
that has both kinds has the same weight.  The point-biserial correlation is Pearson's with a 0 and a 1 for the verdict.

Intervals are percentiles over problems drawn anew with replacement (the bootstrap by clusters: Field and Welsh 2007,
J. R. Statist. Soc. B 69:369), for the samples of one problem are not independent draws of a problem.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

from passcurve.stats.dataset import bootstrap_counts

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class Statistic(msgspec.Struct, frozen=True, kw_only=True):
    """A statistic with its interval; None where undefined."""

    value: float | None
    low: float | None = None
    high: float | None = None


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """Ranking of the samples of a run by one metric."""

    within: Statistic
    pooled: Statistic
    point_biserial: Statistic
    mean_right: float | None
    """Mean value of the samples that passed."""
    mean_wrong: float | None
    informative: int
    """Problems with a right and a wrong sample; only these count within."""
    left_out: int
    """Samples without a value."""


def rank_samples(
    values: FloatArray,
    passed: BoolArray,
    problem: IntArray,
    *,
    level: float = 0.95,
    resamples: int = 999,
    seed: int = 0,
) -> Ranking:
    """Return how ``values`` rank the samples; all three have shape (N,), ``problem`` numbers the problems from 0.

    Values that are NaN are left out.  A statistic is None where there is no pair or nothing varies; its interval is
    None where fewer than two problems can say something, and where all of them say the same.
    """
    defined = ~np.isnan(values)
    x, y, owner = values[defined], passed[defined], problem[defined]
    m = int(problem.max()) + 1 if problem.size else 0
    right, wrong = np.bincount(owner[y], minlength=m), np.bincount(owner[~y], minlength=m)
    both = (right > 0) & (wrong > 0)
    above = _count_wins(x, y, owner, m)
    ones = np.ones((1, m))
    resampled = bootstrap_counts(m, resamples, seed) if m > 1 else np.empty((0, m))
    own = np.diag(above)[both] / (right * wrong)[both]

    def within(weights: FloatArray) -> FloatArray:
        return _divide(weights[:, both] @ own, weights[:, both].sum(axis=1))

    def pooled(weights: FloatArray) -> FloatArray:
        return _divide(((weights @ above) * weights).sum(axis=1), (weights @ right) * (weights @ wrong))

    def correlation(weights: FloatArray) -> FloatArray:
        return _correlation(x, y.astype(np.float64), owner, weights)

    return Ranking(
        within=_with_interval(within(ones), within(resampled), level, int(both.sum())),
        pooled=_with_interval(pooled(ones), pooled(resampled), level, m),
        point_biserial=_with_interval(correlation(ones), correlation(resampled), level, m),
        mean_right=float(x[y].mean()) if y.any() else None,
        mean_wrong=float(x[~y].mean()) if not y.all() else None,
        informative=int(both.sum()),
        left_out=int(values.size - x.size),
    )


def _count_wins(x: FloatArray, y: BoolArray, owner: IntArray, m: int) -> FloatArray:
    """Return how many pairs of a right sample of problem i and a wrong one of j the right one wins, at [i, j].

    Ties count half.
    """
    wins_table = np.zeros((m, m))
    right, whose = x[y], owner[y]
    wrong, where = x[~y], owner[~y]
    order = np.lexsort((wrong, where))
    wrong, edges = wrong[order], np.searchsorted(where[order], np.arange(m + 1))
    for j in range(m):
        own = wrong[edges[j] : edges[j + 1]]
        if own.size:
            wins = np.searchsorted(own, right, "left") + np.searchsorted(own, right, "right")
            wins_table[:, j] = np.bincount(whose, wins / 2.0, m)
    return wins_table


def _divide(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Divide; NaN for a divisor of 0."""
    result: FloatArray = np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0)
    return result


def _with_interval(value: FloatArray, resampled: FloatArray, level: float, problems: int) -> Statistic:
    if math.isnan(value[0]):
        return Statistic(value=None)
    resampled = resampled[~np.isnan(resampled)]
    if problems < 2 or not resampled.size:
        return Statistic(value=float(value[0]))
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(resampled, [tail, 1.0 - tail])
    if low == high:
        # Resampled problems that all say the same are no certainty.
        return Statistic(value=float(value[0]))
    return Statistic(value=float(value[0]), low=float(low), high=float(high))


def _correlation(values: FloatArray, passed: FloatArray, problem: IntArray, weights: FloatArray) -> FloatArray:
    """Return Pearson's correlation of values and verdicts, for each row of weights; NaN where one does not vary."""
    m = weights.shape[1]
    x = values - (values.mean() if values.size else 0.0)
    y = passed - (passed.mean() if passed.size else 0.0)
    sums = np.stack([np.bincount(problem, part, m) for part in (np.ones(x.size), x, y, x * x, y * y, x * y)], 1)
    n, sx, sy, sxx, syy, sxy = (weights @ sums).T
    with np.errstate(invalid="ignore", divide="ignore"):
        vx, vy = sxx - sx * sx / n, syy - sy * sy / n
        result: FloatArray = (sxy - sx * sy / n) / np.sqrt(vx * vy)
    # What does not vary leaves rounding only.
    result[~((vx > 1e-12 * sxx) & (vy > 1e-12 * syy))] = np.nan
    return result
