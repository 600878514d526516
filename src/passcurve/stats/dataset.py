"""Intervals for pass@k of a data set: for other problems like these, and for these problems with fresh samples.

Two targets, never mixed.  *New problems*: the problems are a draw from many like them, and the interval is about the
mean over all of those; the spread of the per-problem scores over problems says it all, for sampling noise is in it
already.  *These problems*: the problems are given, and only the samples could have come out otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from passcurve.stats.double_double import FloatArray
from passcurve.stats.fit import beta_binomial_fit, beta_posterior_pass_at_k
from passcurve.stats.intervals import Bounds, clopper_pearson, one_problem_interval, plus_two_t, wilson
from passcurve.stats.passk import pass_at_k
from passcurve.stats.rows import MOST_DRAWS, IntArray, Row, counts, inside, numbers, one_whole, student, whole
from passcurve.stats.sampling import VarianceFrom, largest_variance, sampling_variance

Target = Literal["new_problems", "these_problems"]
Method = Literal[
    "plus-two t", "t", "wilson", "bootstrap", "clustered t", "beta-binomial", "unbiased", "bound", "one problem"
]

LEAST_CLUSTERS, FEW_CLUSTERS = 5, 20


class Clustered(NamedTuple):
    """A mean of scores and its standard error when problems come in clusters."""

    mean: float
    se: float
    clusters: int
    freedom: int
    """Of the t distribution: clusters - 1."""
    warning: str
    """Below 20 clusters the standard error itself is rough; empty from there on."""


class DatasetInterval(NamedTuple):
    """An interval for pass@k of a data set; the bounds are NaN where there is none, and ``reason`` says why."""

    low: float
    high: float
    level: float
    target: Target
    method: Method
    mean: float
    """The estimate that it belongs to: mean over problems of pass@k."""
    between: float
    """Variance of the true scores over problems: that of the scores less ``within``; raw, so it may be negative."""
    within: float
    """Mean sampling variance of a problem's score; NaN where it cannot be told."""
    within_from: VarianceFrom
    seed: int | None
    """Of the bootstrap; None where nothing was drawn."""
    reason: str
    warnings: tuple[str, ...]


class Band(NamedTuple):
    """Intervals of a curve over several k: each by itself, and all at once.  Every array has shape (K,)."""

    k: IntArray
    mean: FloatArray
    pointwise: Bounds[FloatArray]
    """Each covers by itself."""
    simultaneous: Bounds[FloatArray]
    """All cover together: the whole curve lies between with the chance ``level``."""
    critical: float
    """How many standard errors the simultaneous band reaches."""
    level: float
    draws: int
    seed: int


def clustered_se(values: ArrayLike, clusters: Sequence[object] | ArrayLike) -> Clustered:
    """Return mean and clustered standard error of scores whose problems belong together in clusters.

    ``SE^2 = G/(G-1) sum over clusters of (sum of (x_i - mean) in it)^2 / m^2`` with G clusters (Liang and Zeger 1986;
    the factor as in Cameron and Miller 2015, "A practitioner's guide to cluster-robust inference", section II).
    values has shape (m,); clusters names the cluster of each, of any type that can be a key.
    ValueError for other shapes, for values that are not finite, and below 5 clusters, where no standard error holds.
    """
    scores = numbers(values, "value")
    names: dict[object, int] = {}
    try:
        listed: list[object] = list(clusters)  # type: ignore[arg-type]
        where = np.array([names.setdefault(name, len(names)) for name in listed], dtype=np.int64)
    except TypeError as error:
        raise ValueError(f"clusters must be one row of names that can be keys: {error}") from None
    if where.shape != scores.shape:
        raise ValueError(f"{scores.size} values need as many clusters, not {where.size}")
    total = len(names)
    if total < LEAST_CLUSTERS:
        raise ValueError(f"{total} clusters are too few for a standard error: at least {LEAST_CLUSTERS} are needed")
    mean = math.fsum(scores) / scores.size
    sums = np.bincount(where, weights=scores - mean)
    se = math.sqrt(total / (total - 1) * math.fsum(sums**2)) / scores.size
    few = (
        f"{total} clusters: below {FEW_CLUSTERS} the clustered standard error is rough" if total < FEW_CLUSTERS else ""
    )
    return Clustered(mean, se, total, total - 1, few if total < FEW_CLUSTERS else "")


def dataset_interval(
    n: ArrayLike,
    c: ArrayLike,
    k: int = 1,
    target: Target = "new_problems",
    level: float = 0.95,
    method: Method | None = None,
    clusters: Sequence[object] | None = None,
    resamples: int = 999,
    seed: int = 0,
) -> DatasetInterval:
    """Return an interval for pass@k of the data set, for one of the two targets.

    Target ``new_problems``: "plus-two t" (the default), "clustered t" (the default with ``clusters``), "t", "bootstrap"
    (percentiles of means over problems drawn anew, ``resamples`` times with ``numpy.random.default_rng(seed)``),
    "wilson" (n = k = 1 only).  The last three lose their coverage on saturated data and few problems; the figures stand
    in docs/statistics.md.

    Target ``these_problems``: "beta-binomial" (the default) takes the sampling variance V of each problem from the
    fitted model, adds one made-up problem with the largest V there is, and turns the total into the number N of coins
    whose proportion varies as much: ``N = mean (1 - mean) / variance``, at least m, with the mean seen or the model's,
    whichever gives fewer.  The limits are the exact ones of a proportion of N (Korn and Graubard 1998, Survey
    Methodology 24:193, for the effective number).  "unbiased" is the
    mean plus and minus z sqrt(sum V) / m with the unbiased V, where 2k <= n.  "bound" is what remains where no variance
    can be estimated, and the default there.  For one sample of each problem it gives the exact limits of a proportion
    of m, which are right if all chances are alike and wide otherwise (Hoeffding 1956, Ann. Math. Statist. 27:713).
    Where all samples failed, or all passed, it gives the limits of the mean over all chances under which that happens
    at least (1 - level) / 2 of the time.  A single problem gets the limits of ``one_problem_interval``.

    n and c have shape (m,) or broadcast to it.  ValueError naming the element for counts that cannot be, for k > n, and
    for a method that the target or the data do not allow.
    """
    row, k = counts(n, c, k), one_whole(k, "k")
    level = inside(level, "level")
    scores = pass_at_k(row.n, row.c, [k])
    m = row.n.size
    mean = math.fsum(scores) / m
    noise = sampling_variance(row.n, row.c, k)
    within = math.fsum(noise.variance) / m
    between = float(np.var(scores, ddof=1)) - within if m > 1 else math.nan
    warnings = list(warnings_of(row, k))
    drawn = None
    reason = ""
    if target == "new_problems":
        method = method or ("plus-two t" if clusters is None else "clustered t")
        if method == "clustered t":
            if clusters is None:
                raise ValueError("the clustered t interval needs the cluster of each problem")
            found = clustered_se(scores, clusters)
            warnings += [found.warning] if found.warning else []
            bounds = _t(mean, found.se, found.freedom, level)
        elif method == "plus-two t":
            bounds = plus_two_t(scores, level)
        elif method == "t":
            bounds = _t(mean, float(np.std(scores, ddof=1)) / math.sqrt(m) if m > 1 else math.nan, m - 1, level)
        elif method == "bootstrap":
            bounds, drawn = bootstrap_interval(scores, level, resamples, seed), seed
        elif method == "wilson":
            if row.n.max() > 1:
                raise ValueError("Wilson's interval is for one sample of each problem")
            bounds = Bounds(*(float(end) for end in wilson(int(row.c.sum()), m, level)))
        else:
            raise ValueError(f"method {method!r} is not for new problems")
        if math.isnan(bounds.low):
            reason = "one problem says nothing of others like it by itself"
        elif bounds.low == bounds.high:
            reason = "all scores agree: this method has no width there, which is not certainty"
            bounds = Bounds(math.nan, math.nan)
    elif target == "these_problems":
        if clusters is not None:
            raise ValueError("clusters say nothing about fresh samples of these problems")
        alike = not row.c.any() or bool((row.c == row.n).all())
        usual: Method = "bound" if alike or row.n.max() == 1 else "beta-binomial"
        method = method or ("one problem" if m == 1 else usual)
        bounds = _these(row, k, mean, level, method, alike=alike)
    else:
        raise ValueError(f"target {target!r} is neither new_problems nor these_problems")
    return DatasetInterval(
        *bounds, level, target, method, mean, between, within, noise.method, drawn, reason, tuple(warnings)
    )


def bootstrap_interval(values: ArrayLike, level: float = 0.95, resamples: int = 999, seed: int = 0) -> Bounds[float]:
    """Return percentile limits of the mean when problems are drawn anew, with replacement.

    Only problems are drawn: drawing samples inside them as well re-centres the mean on the biased plug-in estimate.
    The limits are those number (B+1)(1-level)/2 from either end of the B = ``resamples`` sorted means (Efron 1979;
    Davison and Hinkley 1997, section 5.2.1).  It has no width where all scores agree and covers too little with few
    problems.
    values has shape (m,).  ValueError for other shapes and when (B+1)(1-level)/2 is below 1.
    """
    scores = numbers(values, "value")
    resamples, seed = one_whole(resamples, "resamples", most=MOST_DRAWS), one_whole(seed, "seed", 0)
    rank = int((resamples + 1) * (1.0 - inside(level, "level")) / 2.0 + 1e-9)
    if rank < 1:
        raise ValueError(f"{resamples} resamples are too few for level={level}")
    drawn = bootstrap_counts(scores.size, resamples, seed) @ scores / scores.size
    means = np.clip(np.sort(drawn), scores.min(), scores.max())
    return Bounds(float(means[rank - 1]), float(means[resamples - rank]))


def bootstrap_counts(m: int, resamples: int, seed: int) -> FloatArray:
    """Return how often each of m problems is drawn, shape (resamples, m)."""
    return np.random.default_rng(seed).multinomial(m, np.full(m, 1.0 / m), size=resamples).astype(np.float64)


def simultaneous_band(
    n: ArrayLike, c: ArrayLike, ks: ArrayLike, level: float = 0.95, draws: int = 9_999, seed: int = 0
) -> Band:
    """Return the curve of pass@k over ``ks`` with pointwise plus-two t intervals and a band for all k at once.

    For new problems.  The band is the mean of the padded scores plus and minus ``critical`` standard errors (sup-t);
    ``critical`` is the quantile at ``level`` of the largest |t| over k, drawn by multiplying each problem's deviations
    by a standard normal number, the same for every k, and dividing by the root of a chi-squared over its m + 1 degrees
    of freedom (multiplier method; Montiel Olea and Plagborg-Moller 2019, "Simultaneous confidence bands", section 4).

    n and c have shape (m,), ks (K,).  ValueError naming the element for counts that cannot be and for k > n.
    """
    wanted = np.atleast_1d(whole(ks, "k"))
    if wanted.ndim != 1 or not wanted.size:
        raise ValueError(f"ks must be one row of at least one k, not an array of shape {wanted.shape}")
    row = counts(n, c, max(one_whole(k, "k") for k in wanted.tolist()))
    draws, seed = one_whole(draws, "draws", most=MOST_DRAWS), one_whole(seed, "seed", 0)
    chance = inside(level, "level")
    scores = pass_at_k(row.n[:, None], row.c[:, None], wanted[None, :])
    m = row.n.size
    padded = np.concatenate([scores, np.zeros((1, wanted.size)), np.ones((1, wanted.size))])
    middle = padded.mean(axis=0)
    apart = padded - middle
    size = np.sqrt((apart**2).sum(axis=0))
    rng = np.random.default_rng(seed)
    largest = np.empty(draws)
    for start in range(0, draws, 1 << 12):
        rows = min(1 << 12, draws - start)
        found = np.abs(rng.standard_normal((rows, m + 2)) @ (apart / size)).max(axis=1)
        largest[start : start + rows] = found / np.sqrt(rng.chisquare(m + 1, rows) / (m + 1))
    one = student(m + 1, (1.0 - chance) / 2.0)
    critical = max(one, float(np.quantile(largest, chance, method="higher")))
    se = size / math.sqrt((m + 1) * (m + 2))
    return Band(
        k=wanted.astype(np.int64),
        mean=scores.mean(axis=0),
        pointwise=Bounds(np.maximum(0.0, middle - one * se), np.minimum(1.0, middle + one * se)),
        simultaneous=Bounds(np.maximum(0.0, middle - critical * se), np.minimum(1.0, middle + critical * se)),
        critical=critical,
        level=level,
        draws=draws,
        seed=seed,
    )


def warnings_of(row: Row, k: int) -> tuple[str, ...]:
    """Say what a reader must know of counts before believing pass@k of them."""
    said = []
    least = int(row.n.min())
    if row.n.size == 1:
        said.append("one problem: what it says of others like it is next to nothing")
    alike = not row.c.any() or bool((row.c == row.n).all())
    if alike:
        what = "failed" if not row.c.any() else "passed"
        said.append(f"saturated: every sample {what}; an interval without width would not be certainty")
    elif row.n.max() > 1 and bool(((row.c == 0) | (row.c == row.n)).all()):
        said.append("every problem passed always or never: with duplicate samples (temperature 0) n is 1 in effect")
    if k > 1 and k == least:
        whose = "a problem's score" if least == row.n.max() else "the score of a problem with that n"
        said.append(f"k = n = {k}: {whose} is 0 or 1, and the noise of sampling is known from a model only")
    elif 2 * k > least and k > 1:
        said.append(f"k={k} is more than half of n={least}: there is no unbiased estimate of the sampling noise")
    if least != row.n.max():
        said.append(f"the numbers of samples differ between problems: {least} to {int(row.n.max())}")
    return tuple(said)


# --- these problems -------------------------------------------------------------------------------------------------


def _these(row: Row, k: int, mean: float, level: float, method: Method, *, alike: bool) -> Bounds[float]:
    m = row.n.size
    tail = (1.0 - level) / 2.0
    if method == "one problem":
        if m > 1:
            raise ValueError(f"the limits of one problem are not those of {m}")
        one = one_problem_interval(row.n, row.c, k, level)
        return Bounds(float(one.low[0]), float(one.high[0]))
    if method == "bound":
        if alike:
            return _saturated(row, k, tail)
        if row.n.max() > 1:
            raise ValueError("the bound is for one sample of each problem, and for data in which all samples are alike")
        return Bounds(*(float(end) for end in clopper_pearson(int(row.c.sum()), m, level)))
    if method == "unbiased":
        found = sampling_variance(row.n, row.c, k, method="unbiased")
        return _t(mean, math.sqrt(math.fsum(found.variance)) / m, math.inf, level)
    if method != "beta-binomial":
        raise ValueError(f"method {method!r} is not for these problems")
    found = sampling_variance(row.n, row.c, k, method="beta-binomial")
    if found.method == "none":
        raise ValueError(found.reason)
    variance = (math.fsum(found.variance) + largest_variance(int(row.n.min()), k)) / m**2
    fit = beta_binomial_fit(row.n, row.c)
    smooth = math.fsum(beta_posterior_pass_at_k(row.n, row.c, k, fit.a, fit.b).mean) / m
    low, high = effective_limits(np.array([mean]), np.array([smooth]), np.array([variance]), m, level)
    return Bounds(float(low[0]), float(high[0]))


def effective_limits(
    mean: FloatArray, smooth: FloatArray, variance: FloatArray, m: int, level: float
) -> Bounds[FloatArray]:
    """Return the exact limits of a proportion ``mean`` of as many coins as vary by ``variance``, at least m.

    The coins are counted at ``mean`` and at ``smooth``, what the model makes of the mean, and the fewer are taken.
    """
    from scipy.special import betainccinv, betaincinv

    tail = (1.0 - level) / 2.0
    coins = np.maximum(m, np.minimum(mean * (1.0 - mean), smooth * (1.0 - smooth)) / variance)
    passed, failed = coins * mean, coins * (1.0 - mean)
    none, every = mean <= 0.0, mean >= 1.0
    low = np.where(none, 0.0, betaincinv(np.where(none, 1.0, passed), failed + 1.0, tail))
    high = np.where(every, 1.0, betainccinv(passed + 1.0, np.where(every, 1.0, failed), tail))
    return Bounds(low, high)


def _saturated(row: Row, k: int, tail: float) -> Bounds[float]:
    """Bound the mean over all chances under which what was seen happens with chance ``tail`` or more.

    All failed: the product of q_i^n is at least ``tail``; given that product the mean of q_i^k is least when all are
    equal.  All passed: with y_i = -log p_i the sum of y_i is at most -log(tail) / n, and the mean of (1 - e^-y)^k is at
    most the least concave function above it, at the mean of y.  With unequal n the smallest stands for all.
    """
    share = -math.log(tail) / (int(row.n.min()) * row.n.size)
    if not row.c.any():
        return Bounds(0.0, -math.expm1(-k * share))
    if k == 1:
        return Bounds(math.exp(-share), 1.0)
    # (1 - e^-y)^k is convex, then concave; its tangent through 0 touches where e^y = 1 + k y.
    touch = math.log1p(k)
    for _ in range(200):
        touch = math.log1p(k * touch)
    worst = (-math.expm1(-max(share, touch))) ** k * min(1.0, share / touch)
    return Bounds(1.0 - worst, 1.0)


def _t(mean: float, se: float, freedom: float, level: float) -> Bounds[float]:
    if math.isnan(se):
        return Bounds(math.nan, math.nan)
    reach = student(freedom, (1.0 - level) / 2.0) * se
    return Bounds(max(0.0, mean - reach), min(1.0, mean + reach))
