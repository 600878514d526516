"""Four estimators of pass@k from samples of one problem: expectation, variance and simulation.

The true chance p of a pass is supplied, which only a thought experiment can.  All four get the same n samples:

- the first k of them: is one right? (Chen et al. 2021, arXiv:2107.03374, section 2.1, call it naive);
- t = n // k batches of k: the share that holds a right one;
- the plug-in ``1 - (1 - c/n)^k``;
- the unbiased estimator ``1 - C(n-c, k) / C(n, k)`` (equation 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from passcurve.errors import UsageError
from passcurve.stats import naive_variance, pass_at_k, plug_in_at_k, plug_in_bias, unbiased_variance

MOST_SAMPLES = 10_000
MOST_DRAWS = 1_000_000
_BLOCK = 1 << 20
"""Number of random numbers drawn at a time."""
STEPS = (1, 2, 3, 5, 10, 20, 50)
"""Multiples of k that are n by default."""

FloatArray = NDArray[np.float64]


class Moments(msgspec.Struct, frozen=True, kw_only=True):
    """An estimator at one n: exactly, and in simulation."""

    samples: int
    """Number of the n samples that it uses."""
    expectation: float
    bias: float
    variance: float
    rmse: float
    """Root of the mean squared error: of variance + bias^2."""
    simulated: float
    """Mean over the simulated data sets."""
    simulated_se: float
    """Standard error of ``simulated``, from the exact variance."""

    @property
    def sd(self) -> float:
        """Standard deviation."""
        return math.sqrt(self.variance)


class AtN(msgspec.Struct, frozen=True, kw_only=True):
    """The four estimators on the same n samples."""

    n: int
    batches: int
    """t = n // k."""
    first_k: Moments
    repeated: Moments
    plug_in: Moments
    unbiased: Moments


class Estimators(msgspec.Struct, frozen=True, kw_only=True):
    """The four estimators at several n."""

    p: float
    k: int
    truth: float
    """``1 - (1-p)^k``."""
    draws: int
    """Simulated data sets for each n."""
    seed: int
    rows: tuple[AtN, ...]


def estimators(p: float, k: int, ns: Sequence[int] = (), *, draws: int = 10_000, seed: int = 0) -> Estimators:
    """Return exact expectation and variance of each estimator at each n, and ``draws`` simulations of it.

    n is k times 1, 2, 3, 5, 10, 20, 50 where none is given.  Variances: ``stats.naive_variance``,
    ``stats.unbiased_variance``, and for the plug-in the sum over all c.
    Raises UsageError for p outside [0, 1], k below 1, n below k or above ``MOST_SAMPLES``, fewer than two draws.
    """
    if not 0.0 <= p <= 1.0:
        raise UsageError(f"p={p:g} must be between 0 and 1")
    if k < 1:
        raise UsageError(f"k={k} is less than 1")
    sizes = tuple(dict.fromkeys(ns)) or tuple(k * step for step in STEPS if k * step <= MOST_SAMPLES)
    for n in sizes or (k,):
        if n < k:
            raise UsageError(f"n={n} is less than k={k}: no unbiased estimator exists")
        if n > MOST_SAMPLES:
            raise UsageError(f"n={n} exceeds the largest supported value, {MOST_SAMPLES:,}")
    if not 2 <= draws <= MOST_DRAWS:
        raise UsageError(f"draws={draws} must be between 2 and {MOST_DRAWS:,}")
    rng = np.random.default_rng(seed)
    truth = -math.expm1(k * math.log1p(-p)) if p < 1.0 else 1.0
    rows = tuple(_estimators_at(p, n, k, truth, draws, rng) for n in sizes)
    return Estimators(p=p, k=k, truth=truth, draws=draws, seed=seed, rows=rows)


def plug_in_variance(p: float, n: int, k: int) -> float:
    """Return the exact variance of the plug-in ``1 - (1 - c/n)^k``, c binomial: the sum over all c."""
    from scipy.stats import binom

    failed = np.arange(n + 1)
    weights = binom.pmf(failed, n, 1.0 - p)
    values = (failed / n) ** k
    mean = math.fsum(weights * values)
    return math.fsum(weights * (values - mean) ** 2)


def _estimators_at(p: float, n: int, k: int, truth: float, draws: int, rng: np.random.Generator) -> AtN:
    batches = n // k
    means = _simulate(p, n, k, draws, rng)

    def moments(samples: int, bias: float, variance: float, simulated: float) -> Moments:
        return Moments(
            samples=samples,
            expectation=truth + bias,
            bias=bias,
            variance=variance,
            rmse=math.sqrt(variance + bias * bias),
            simulated=simulated,
            simulated_se=math.sqrt(variance / draws),
        )

    return AtN(
        n=n,
        batches=batches,
        first_k=moments(k, 0.0, float(naive_variance(p, k, 1)), means[0]),
        repeated=moments(batches * k, 0.0, float(naive_variance(p, k, batches)), means[1]),
        plug_in=moments(n, float(plug_in_bias(p, n, k)), plug_in_variance(p, n, k), means[2]),
        unbiased=moments(n, 0.0, float(unbiased_variance(p, n, k)), means[3]),
    )


def _simulate(p: float, n: int, k: int, draws: int, rng: np.random.Generator) -> tuple[float, float, float, float]:
    """Return the mean of each estimator over simulated data sets; all four see the same samples of each."""
    batches = n // k
    rows = max(1, _BLOCK // batches)
    sums = np.zeros(4)
    for start in range(0, draws, rows):
        size = min(rows, draws - start)
        right = rng.binomial(k, p, (size, batches))
        passed = right.sum(axis=1) + rng.binomial(n - batches * k, p, size)
        hit = right > 0
        sums += [
            hit[:, 0].sum(),
            hit.mean(axis=1).sum(),
            *(_sum(estimator, n, passed, k) for estimator in (plug_in_at_k, pass_at_k)),
        ]
    first, repeated, plug_in, unbiased = (sums / draws).tolist()
    return first, repeated, plug_in, unbiased


def _sum(estimator: Callable[..., FloatArray], n: int, passed: NDArray[np.int64], k: int) -> float:
    return math.fsum(estimator(n, passed, k))
