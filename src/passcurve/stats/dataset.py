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
from passcurve.stats.fresh_samples import Method, default_method, fresh_sample_limits, is_saturated
from passcurve.stats.intervals import Bounds, plus_two_t, t_interval, wilson
from passcurve.stats.passk import pass_at_k
from passcurve.stats.quantiles import t_quantile
from passcurve.stats.rows import (
    BLOCK_DRAWS,
    MOST_DRAWS,
    IntArray,
    Row,
    check_integer,
    check_open_unit,
    check_row,
    draw_blocks,
    integer_array,
    number_row,
)
from passcurve.stats.sampling import VarianceFrom, sampling_variance

Target = Literal["new_problems", "these_problems"]

LEAST_CLUSTERS, FEW_CLUSTERS = 5, 20

ONE_PROBLEM = "one problem: it says next to nothing about other problems"


class Clustered(NamedTuple):
    """Mean of scores and its standard error for problems in clusters."""

    mean: float
    se: float
    clusters: int
    freedom: int
    """Degrees of freedom of the t distribution: clusters - 1."""
    warning: str
    """Warning below 20 clusters, where the standard error itself is rough; else empty."""


class DatasetInterval(NamedTuple):
    """Interval for pass@k of a data set; without one, the bounds are NaN and ``reason`` says why."""

    low: float
    high: float
    level: float
    target: Target
    method: Method
    mean: float
    """Estimate of pass@k: the mean over problems."""
    between: float
    """Variance of the true scores over problems: that of the scores less ``within``; raw, so it may be negative."""
    within: float
    """Mean sampling variance of a problem's score; NaN where it cannot be told."""
    within_from: VarianceFrom
    seed: int | None
    """Seed of the bootstrap; None for other methods."""
    reason: str
    warnings: tuple[str, ...]


class Band(NamedTuple):
    """Pointwise and simultaneous intervals of a curve over several k.  Every array has shape (K,)."""

    k: IntArray
    mean: FloatArray
    pointwise: Bounds[FloatArray]
    """Interval of each k by itself."""
    simultaneous: Bounds[FloatArray]
    """Band that contains the whole curve with probability ``level``."""
    critical: float
    """Half-width of the simultaneous band, in standard errors."""
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
    scores = number_row(values, "value")
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

    Methods for ``new_problems``; docs/intervals.md gives their coverage:
    - "plus-two t": the default; "clustered t": the default with ``clusters``;
    - "t", "bootstrap" (``bootstrap_interval``) and "wilson" (n = k = 1 only): too narrow on saturated data and for few
      problems.

    Methods for ``these_problems``:
    - "beta-binomial", the default: the exact limits of a proportion of N coins (``effective_limits``).  N is the
      effective sample size.  The variance is that of ``total_noise``: under the beta-binomial fit or a mixture without
      a model, whichever gives more, plus the largest possible variance of one more problem.
    - "unbiased": mean plus and minus z sqrt(sum V) / m with the unbiased variances V; needs 2k <= n.
    - "bound", the default where no variance can be estimated: Clopper-Pearson limits for one sample of each problem
      (Hoeffding 1956, Ann. Math. Statist. 27:713: too wide unless all chances are equal).  For only failures or only
      passes: limits over all chances that give such data with probability (1 - level) / 2.
    - "one problem", the default for m = 1: ``one_problem_interval``, and up to 1 where the estimate is 1.

    n and c have shape (m,) or broadcast to it.  Raises ValueError for invalid counts, for k > n, and for a method that
    the target or the data do not allow.
    """
    row, k = check_row(n, c, k), check_integer(k, "k")
    level = check_open_unit(level, "level")
    scores = pass_at_k(row.n, row.c, [k])
    noise = sampling_variance(row.n, row.c, k)
    within = math.fsum(noise.variance) / scores.size
    if target == "new_problems":
        method = method or ("plus-two t" if clusters is None else "clustered t")
        limits = _new_problems(row, scores, method, level, clusters, resamples, seed)
    elif target == "these_problems":
        if clusters is not None:
            raise ValueError("clusters are for the target new_problems only")
        method = method or default_method(row)
        limits = _Limits(fresh_sample_limits(row, k, method, level))
    else:
        raise ValueError(f"target must be 'new_problems' or 'these_problems', got {target!r}")
    return DatasetInterval(
        low=limits.bounds.low,
        high=limits.bounds.high,
        level=level,
        target=target,
        method=method,
        mean=math.fsum(scores) / scores.size,
        between=float(np.var(scores, ddof=1)) - within if scores.size > 1 else math.nan,
        within=within,
        within_from=noise.method,
        seed=seed if method == "bootstrap" else None,
        reason=limits.reason,
        warnings=count_warnings(row, k) + limits.warnings,
    )


def bootstrap_interval(values: ArrayLike, level: float = 0.95, resamples: int = 999, seed: int = 0) -> Bounds[float]:
    """Return percentile limits of the mean when problems are drawn anew, with replacement.

    Only problems are drawn: drawing samples inside them as well re-centres the mean on the biased plug-in estimate.
    The limits are those number (B+1)(1-level)/2 from either end of the B = ``resamples`` sorted means (Efron 1979;
    Davison and Hinkley 1997, section 5.2.1).  It has no width where all scores agree and covers too little with few
    problems.
    values has shape (m,).  ValueError for other shapes and when (B+1)(1-level)/2 is below 1.
    """
    scores = number_row(values, "value")
    resamples, seed = check_integer(resamples, "resamples", most=MOST_DRAWS), check_integer(seed, "seed", 0)
    rank = int((resamples + 1) * (1.0 - check_open_unit(level, "level")) / 2.0 + 1e-9)
    if rank < 1:
        raise ValueError(f"{resamples} resamples are too few for level={level}")
    means = bootstrap_counts(scores.size, resamples, seed) @ scores / scores.size
    means = np.clip(np.sort(means), scores.min(), scores.max())
    return Bounds(float(means[rank - 1]), float(means[resamples - rank]))


def bootstrap_counts(m: int, resamples: int, seed: int) -> FloatArray:
    """Return the number of times that each of m problems is drawn, shape (resamples, m)."""
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
    k_row = np.atleast_1d(integer_array(ks, "k"))
    if k_row.ndim != 1 or not k_row.size:
        raise ValueError(f"ks must be one row of at least one k, not an array of shape {k_row.shape}")
    row = check_row(n, c, max(check_integer(k, "k") for k in k_row.tolist()))
    draws, seed = check_integer(draws, "draws", most=MOST_DRAWS), check_integer(seed, "seed", 0)
    chance = check_open_unit(level, "level")
    scores = pass_at_k(row.n[:, None], row.c[:, None], k_row[None, :])
    m = row.n.size
    padded = np.concatenate([scores, np.zeros((1, k_row.size)), np.ones((1, k_row.size))])
    middle = padded.mean(axis=0)
    deviations = padded - middle
    size = np.sqrt((deviations**2).sum(axis=0))
    rng = np.random.default_rng(seed)
    largest = np.empty(draws)
    for start in range(0, draws, BLOCK_DRAWS):
        rows = min(BLOCK_DRAWS, draws - start)
        blocks = (rng.standard_normal((some, m + 2)) @ (deviations / size) for some in draw_blocks(rows, m + 2))
        maxima = np.concatenate([np.abs(block).max(axis=1) for block in blocks])
        largest[start : start + rows] = maxima / np.sqrt(rng.chisquare(m + 1, rows) / (m + 1))
    quantile = t_quantile(m + 1, (1.0 - chance) / 2.0)
    critical = max(quantile, float(np.quantile(largest, chance, method="higher")))
    se = size / math.sqrt((m + 1) * (m + 2))
    mean = scores.mean(axis=0)

    def bounds(errors: float) -> Bounds[FloatArray]:
        low, high = np.minimum(mean, middle - errors * se), np.maximum(mean, middle + errors * se)
        return Bounds(np.maximum(0.0, low), np.minimum(1.0, high))

    return Band(
        k=k_row.astype(np.int64),
        mean=mean,
        pointwise=bounds(quantile),
        simultaneous=bounds(critical),
        critical=critical,
        level=level,
        draws=draws,
        seed=seed,
    )


def count_warnings(row: Row, k: int) -> tuple[str, ...]:
    """Return what a reader must know about the counts before relying on pass@k."""
    warnings = []
    least = int(row.n.min())
    if row.n.size == 1:
        warnings.append(ONE_PROBLEM)
    if is_saturated(row):
        what = "failed" if not row.c.any() else "passed"
        warnings.append(f"saturated: every sample {what}; an interval without width would not be certainty")
    elif row.n.max() > 1 and bool(((row.c == 0) | (row.c == row.n)).all()):
        warnings.append("every problem passed always or never: with duplicate samples (temperature 0) n is 1 in effect")
    if k > 1 and k == least:
        whose = "a problem's score" if least == row.n.max() else "the score of a problem with that n"
        source = "the noise of sampling is known from a statistical model only"
        warnings.append(f"k = n = {k}: {whose} is 0 or 1, and {source}")
    elif 2 * k > least and k > 1:
        warnings.append(f"k={k} is more than half of n={least}: there is no unbiased estimate of the sampling noise")
    if least != row.n.max():
        warnings.append(f"the numbers of samples differ between problems: {least} to {int(row.n.max())}")
    return tuple(warnings)


class _Limits(NamedTuple):
    bounds: Bounds[float]
    reason: str = ""
    """Reason for bounds that are NaN."""
    warnings: tuple[str, ...] = ()


def _new_problems(
    row: Row,
    scores: FloatArray,
    method: Method,
    level: float,
    clusters: Sequence[object] | None,
    resamples: int,
    seed: int,
) -> _Limits:
    m = scores.size
    mean = math.fsum(scores) / m
    warnings: tuple[str, ...] = ()
    if method == "clustered t":
        if clusters is None:
            raise ValueError("method 'clustered t' needs the cluster of each problem")
        clustered = clustered_se(scores, clusters)
        warnings = (clustered.warning,) if clustered.warning else ()
        bounds = t_interval(mean, clustered.se, clustered.freedom, level)
    elif method == "plus-two t":
        bounds = plus_two_t(scores, level)
    elif method == "t":
        se = float(np.std(scores, ddof=1)) / math.sqrt(m) if m > 1 else math.nan
        bounds = t_interval(mean, se, m - 1, level)
    elif method == "bootstrap":
        bounds = bootstrap_interval(scores, level, resamples, seed)
    elif method == "wilson":
        if row.n.max() > 1:
            raise ValueError("method 'wilson' needs exactly one sample of each problem")
        bounds = Bounds(*(float(end) for end in wilson(int(row.c.sum()), m, level)))
    else:
        raise ValueError(f"method {method!r} is not available for the target new_problems")
    if math.isnan(bounds.low):
        return _Limits(bounds, "one problem alone gives no interval for other problems", warnings)
    if bounds.low == bounds.high:
        reason = "all scores are equal, and this method gives an interval of width 0, which is not certainty"
        return _Limits(Bounds(math.nan, math.nan), reason, warnings)
    return _Limits(bounds, warnings=warnings)
