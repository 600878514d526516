"""Scores and intervals of a smaller run, by drawing problems and samples of a run without replacement.

Subsampling a U-statistic keeps its expectation, so only its variance and the intervals change.  The variance of the
score is exact; the intervals are computed on the drawn subsamples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from passcurve.errors import UsageError
from passcurve.stats import dataset_interval, fail_at_k, pass_at_k, plus_two_t
from passcurve.types.amounts import amount

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

FEWEST_PROBLEMS = 5
MOST_DRAWS = 100_000
WIDTH_DRAWS = 20
"""Number of subsamples that get the interval for these problems, which takes milliseconds; its width varies little."""
_STEPS = 4
_LEVEL = 0.95


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """A smaller run: m of the problems, at most n samples of each."""

    m: int
    n: int
    cost: int
    """Total number of samples; a rounded mean where problems have different numbers."""
    sd: float
    """Exact standard deviation of the score over all such subsamples."""
    mean: float
    """Mean of the simulated scores; its expectation is the score of the whole run."""
    mean_se: float
    """Standard error of ``mean``: ``sd`` over the root of the draws."""
    low: float
    """2.5 % quantile of the simulated scores."""
    high: float
    """97.5 % quantile of the simulated scores."""
    new_problems: float
    """Mean width of the interval for new problems like these, plus-two t."""
    these_problems: float
    """Mean width of the interval for fresh samples of the problems drawn, as ``dataset_interval`` makes it."""


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """Subsamples of a run in all combinations of sizes, the largest first."""

    k: int
    m: int
    n: int
    """Most samples of a problem."""
    cost: int
    """Number of samples of the whole run."""
    value: float
    """pass@k of the whole run."""
    level: float
    draws: int
    seed: int
    sizes: tuple[Size, ...]


def budget(
    n: ArrayLike,
    c: ArrayLike,
    k: int = 1,
    *,
    ns: Sequence[int] = (),
    ms: Sequence[int] = (),
    draws: int = 200,
    seed: int = 0,
) -> Budget:
    """Return scores and intervals of subsamples: ``ns`` samples of each of ``ms`` problems, in all combinations.

    n and c have shape (m,) or broadcast to it.  By default halves, quarters and eighths of both, as far as k samples
    and ``FEWEST_PROBLEMS`` problems remain.  The exact variance of a subsample's score is, with theta_i the score of
    problem i and V_i its variance over the n'-subsets of its samples,
    ``mean(V) / m' + S^2 / m' (1 - m'/m)`` (Cochran 1977, Sampling Techniques, section 10.3).
    Raises UsageError for sizes that the run does not have, for k above some n, and for draws below 2.
    """
    samples, passed = np.broadcast_arrays(np.asarray(n, dtype=np.int64), np.atleast_1d(np.asarray(c, dtype=np.int64)))
    m, most, least = samples.size, int(samples.max()), int(samples.min())
    if k > least:
        raise UsageError(
            f"k={k} exceeds the {amount(least, 'sample')} that some problem has: no unbiased estimator exists"
        )
    if m < 2:
        raise UsageError("a budget needs at least two problems")
    ns = tuple(sorted(set(ns) or _halve(most, k), reverse=True))
    ms = tuple(sorted(set(ms) or _halve(m, min(FEWEST_PROBLEMS, m)), reverse=True))
    for n_part in ns:
        if not k <= n_part <= most:
            raise UsageError(f"n={n_part} must be between k={k} and {most}, the largest number of samples of a problem")
    for m_part in ms:
        if not 2 <= m_part <= m:
            raise UsageError(f"m={m_part} must be between 2 and {m}, the number of problems of the run")
    if not 2 <= draws <= MOST_DRAWS:
        raise UsageError(f"draws={draws} must be between 2 and {MOST_DRAWS:,}")
    rng = np.random.default_rng(seed)
    sizes = tuple(_size(samples, passed, k, fewer, problems, draws, rng) for problems in ms for fewer in ns)
    return Budget(
        k=k,
        m=m,
        n=most,
        cost=int(samples.sum()),
        value=math.fsum(pass_at_k(samples, passed, k)) / m,
        level=_LEVEL,
        draws=draws,
        seed=seed,
        sizes=sizes,
    )


def exact_variance(n: IntArray, c: IntArray, k: int, fewer: int, problems: int) -> float:
    """Return the variance of the score over all subsamples: so many problems, with up to ``fewer`` samples of each."""
    scores = pass_at_k(n, c, k)
    pairs, which = np.unique(np.stack([n, c]), axis=1, return_inverse=True)
    within = np.array(
        [_subsample_variance(int(samples), int(right), k, min(fewer, int(samples))) for samples, right in pairs.T]
    )[which.reshape(-1)]
    spread = float(np.var(scores, ddof=1))
    return math.fsum(within) / n.size / problems + spread / problems * (1.0 - problems / n.size)


def _subsample_variance(n: int, c: int, k: int, fewer: int) -> float:
    """Return the variance of pass@k of ``fewer`` of the n samples, drawn without replacement."""
    from scipy.stats import hypergeom

    if fewer == n or c in (0, n):
        return 0.0
    right = np.arange(max(0, fewer - (n - c)), min(c, fewer) + 1)
    weights = hypergeom.pmf(right, n, c, fewer)
    deviations = fail_at_k(fewer, right, k) - float(fail_at_k(n, c, k))
    return math.fsum(weights * deviations**2)


def _halve(most: int, least: int) -> tuple[int, ...]:
    sizes = [most]
    while len(sizes) < _STEPS and sizes[-1] // 2 >= least:
        sizes.append(sizes[-1] // 2)
    return tuple(sizes)


def _size(n: IntArray, c: IntArray, k: int, fewer: int, problems: int, draws: int, rng: np.random.Generator) -> Size:
    scores = np.empty(draws)
    new, these = [], []
    whole = fewer >= n.max() and problems == n.size
    for at in range(1 if whole else draws):
        chosen = np.sort(rng.choice(n.size, problems, replace=False)) if problems < n.size else np.arange(n.size)
        taken = np.minimum(fewer, n[chosen])
        right = rng.hypergeometric(c[chosen], n[chosen] - c[chosen], taken)
        estimates = pass_at_k(taken, right, k)
        scores[at] = math.fsum(estimates) / problems
        low, high = plus_two_t(estimates, _LEVEL)
        new.append(high - low)
        if at < WIDTH_DRAWS:
            interval = dataset_interval(taken, right, k, "these_problems", _LEVEL)
            these.append(interval.high - interval.low)
    if whole:
        # There is only one such subsample: the run itself.
        scores[:] = scores[0]
    sd = math.sqrt(exact_variance(n, c, k, fewer, problems))
    return Size(
        m=problems,
        n=fewer,
        cost=round(math.fsum(np.minimum(fewer, n)) * problems / n.size),
        sd=sd,
        mean=math.fsum(scores) / draws,
        mean_se=sd / math.sqrt(draws),
        low=float(np.quantile(scores, 0.025)),
        high=float(np.quantile(scores, 0.975)),
        new_problems=math.fsum(new) / len(new),
        these_problems=math.fsum(these) / len(these),
    )
