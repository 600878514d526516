"""Confidence intervals for a mean of scores over problems, and for one proportion."""

from __future__ import annotations

import math
from typing import Generic, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from passcurve.stats.counts import as_array, broadcast, check_finite
from passcurve.stats.double_double import FloatArray
from passcurve.stats.quantiles import beta_quantiles, normal_quantile, t_quantile
from passcurve.stats.rows import check_open_unit

Number = TypeVar("Number", float, np.float64, FloatArray, FloatArray | np.float64)


class Bounds(NamedTuple, Generic[Number]):
    """The two ends of an interval, or of an array of intervals."""

    low: Number
    high: Number


def plus_two_t(values: ArrayLike, level: float = 0.95) -> Bounds[float]:
    """Return the plus-two t interval for the mean score over problems like these.

    A 0 and a 1 are appended to the m per-problem scores; the interval is the ordinary t interval of these m + 2 values
    (m + 1 degrees of freedom), clipped to [0, 1] and never without the mean of the scores.  The two made-up problems
    keep a width where all scores agree: the plain t, z and bootstrap intervals have none there.  The idea is that of
    Agresti and Caffo (2000, "Simple and effective confidence intervals for proportions and differences of proportions
    result from adding two successes and two failures", The American Statistician 54:280), who add one success and one
    failure to each of two samples of zeros and ones; here it serves scores between 0 and 1.  With one sample of each of
    20 problems, all passed with the same chance, the exact coverage at level .95 is .9327 or more.

    values has shape (m,), m >= 1, each in [0, 1]; level lies between 0 and 1.  ValueError otherwise.
    """
    scores = check_finite("values", values)
    tail = _tail(level)
    if scores.ndim != 1 or not scores.size:
        raise ValueError(f"values must be one row of at least one score, not an array of shape {scores.shape}")
    if (broken := ~((scores >= 0.0) & (scores <= 1.0))).any():
        place = int(np.flatnonzero(broken)[0])
        raise ValueError(f"element {place}: the score {scores[place]} is not in [0, 1]")

    padded = np.concatenate([scores, [0.0, 1.0]])
    mean = math.fsum(padded) / padded.size
    variance = math.fsum((padded - mean) ** 2) / (padded.size - 1)
    reach = t_quantile(padded.size - 1, tail) * math.sqrt(variance / padded.size)
    # Below level .7 or so the made-up problems may move the middle further than the interval reaches.
    own = min(1.0, math.fsum(scores) / scores.size)
    return Bounds(max(0.0, min(own, mean - reach)), min(1.0, max(own, mean + reach)))


def t_interval(mean: float, se: float, freedom: float, level: float) -> Bounds[float]:
    """Return mean plus and minus the t quantile times the standard error, clipped to [0, 1]; NaN for a NaN error."""
    if math.isnan(se):
        return Bounds(math.nan, math.nan)
    reach = t_quantile(freedom, (1.0 - level) / 2.0) * se
    return Bounds(max(0.0, mean - reach), min(1.0, mean + reach))


@overload
def wilson(x: int, m: int, level: float = 0.95) -> Bounds[np.float64]: ...
@overload
def wilson(x: ArrayLike, m: ArrayLike, level: float = 0.95) -> Bounds[FloatArray]: ...
def wilson(x: ArrayLike, m: ArrayLike, level: float = 0.95) -> Bounds[FloatArray] | Bounds[np.float64]:
    """Return Wilson's score interval for a proportion of which x out of m were seen.

    x and m are integers, 0 <= x <= m, m >= 1, and broadcast; the bounds have the broadcast shape, numbers without a
    shape give ``numpy.float64``.  ValueError naming the element for anything else, and for a level outside (0, 1).
    Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference", JASA 22:209.
    """
    tail = _tail(level)
    successes, trials = _check_proportion(x, m)

    z = normal_quantile(tail)
    square = z * z
    middle = successes + square / 2
    reach = z * np.sqrt(successes * (trials - successes) / trials + square / 4)
    low = np.where(successes == 0, 0.0, np.maximum((middle - reach) / (trials + square), 0.0))
    high = np.where(successes == trials, 1.0, np.minimum((middle + reach) / (trials + square), 1.0))
    return Bounds(low[()], high[()])


@overload
def clopper_pearson(x: int, m: int, level: float = 0.95) -> Bounds[np.float64]: ...
@overload
def clopper_pearson(x: ArrayLike, m: ArrayLike, level: float = 0.95) -> Bounds[FloatArray]: ...
def clopper_pearson(x: ArrayLike, m: ArrayLike, level: float = 0.95) -> Bounds[FloatArray] | Bounds[np.float64]:
    """Return the exact interval for a proportion of which x out of m were seen; it covers at least ``level``.

    Arguments, shapes and errors are those of ``wilson``.
    Source: Clopper and Pearson 1934, "The use of confidence or fiducial limits illustrated in the case of the
    binomial", Biometrika 26:404; the limits are quantiles of beta distributions.
    """
    tail = _tail(level)
    successes, trials = _check_proportion(x, m)
    low, high = proportion_limits(successes, trials - successes, tail)
    return Bounds(low[()], high[()])


def proportion_limits(passed: FloatArray, failed: FloatArray, tail: float) -> Bounds[FloatArray]:
    """Return the exact limits of a proportion, elementwise, each missed with probability ``tail`` at most.

    ``passed`` and ``failed`` need not be whole.
    """
    none, every = passed <= 0.0, failed <= 0.0
    low = beta_quantiles(np.where(none, 1.0, passed), failed + 1.0, tail)
    high = beta_quantiles(passed + 1.0, np.where(every, 1.0, failed), 1.0 - tail)
    return Bounds(np.where(none, 0.0, low), np.where(every, 1.0, high))


def one_problem_interval(n: ArrayLike, c: ArrayLike, k: ArrayLike, level: float = 0.95) -> Bounds[FloatArray]:
    """Return an interval for 1 - (1-p)^k of a single problem of which c of n samples passed; it covers at least level.

    The Clopper-Pearson limits of p, transformed: ``1 - (1 - low)^k`` and ``1 - (1 - high)^k``, for the chance of a pass
    among k grows with p.  k may exceed n: these limits rest on p alone and on no model of several problems.
    n, c and k are integers, 0 <= c <= n, n and k at least 1, and broadcast; the bounds have the broadcast shape.
    ValueError naming the element for anything else, and for a level outside (0, 1).
    """
    samples, passed, draws = broadcast(n=as_array("n", n), c=as_array("c", c), k=as_array("k", k))
    low, high = clopper_pearson(passed, samples, level)
    if draws.dtype.kind not in "iuf" or not ((draws >= 1) & (np.floor(draws) == draws) & np.isfinite(draws)).all():
        raise ValueError("k must be an integer of at least 1")
    with np.errstate(divide="ignore"):
        ends = [-np.expm1(draws * np.log1p(-np.asarray(end, dtype=np.float64))) for end in (low, high)]
    return Bounds(ends[0], ends[1])


def _tail(level: float) -> float:
    """Return the probability left on each side."""
    return (1.0 - check_open_unit(level, "level")) / 2.0


class _Proportion(NamedTuple):
    seen: FloatArray
    trials: FloatArray


def _check_proportion(x: ArrayLike, m: ArrayLike) -> _Proportion:
    successes, trials = broadcast(x=as_array("x", x), m=as_array("m", m))
    for name, values in (("x", successes), ("m", trials)):
        if values.dtype.kind not in "iuf":
            raise ValueError(f"{name} must be integers, not {values.dtype.name} values")
    # Each of these is also false of NaN.
    for sound, requirement in (
        ((trials >= 1) & np.isfinite(trials) & (np.floor(trials) == trials), "m must be an integer of at least 1"),
        ((successes >= 0) & (np.floor(successes) == successes), "x must be an integer of at least 0"),
        (successes <= trials, "x must not exceed m"),
    ):
        if not sound.all():
            place = tuple(int(i) for i in np.argwhere(~sound)[0])
            where = f"element {place[0] if len(place) == 1 else place}: " if place else ""
            raise ValueError(f"{where}x={successes[place]}, m={trials[place]}: {requirement}")
    return _Proportion(successes.astype(np.float64), trials.astype(np.float64))
