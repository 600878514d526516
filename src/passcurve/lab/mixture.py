"""Mixtures: a benchmark is problems of different difficulty, so pass@1 alone does not say what pass@k is.

A model is here nothing but its chance p_i on each problem.  Its pass@k is the mean of ``1 - (1 - p_i)^k``; putting the
mean of the p_i into that formula gives another number, never a smaller one (Jensen's inequality: the formula is concave
in p).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from passcurve.errors import UsageError
from passcurve.stats import pass_at_k, unbiased_variance
from passcurve.types.amounts import amount

FloatArray = NDArray[np.float64]

MODELS = ((0.3,), (0.1, 0.5), (0.0,) * 7 + (1.0,) * 3)
"""Three with the same pass@1: every problem alike, easy and hard ones, all or nothing."""
KS = (1, 2, 3, 5, 7, 10, 20, 50)
PROBLEMS = 100
"""Smallest number of simulated problems."""
MOST_CHANCES = 10_000
MOST_SAMPLES = 100_000


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A model on a benchmark, known or measured, at each k."""

    name: str
    chances: tuple[float, ...]
    """p_i of each problem; empty for a run, whose chances are unknown."""
    pass_at_1: float
    value: tuple[float, ...]
    """pass@k: exact for known chances, the unbiased estimate for a run."""
    wrong: tuple[float, ...]
    """``1 - (1 - pass@1)^k``."""
    simulated: tuple[float, ...]
    """The unbiased estimate from n simulated samples of each problem; empty for a run."""
    simulated_se: tuple[float, ...]
    """Its exact standard error over such simulations."""


class Mixture(msgspec.Struct, frozen=True, kw_only=True):
    """Models at the same k."""

    k: tuple[int, ...]
    n: int
    """Simulated samples of each problem; of a run the least that a problem has."""
    m: int
    """Simulated problems, each chance as often as it takes; of a run how many it has."""
    seed: int
    models: tuple[Model, ...]


def mixture(
    models: Sequence[Sequence[float]] = MODELS, ks: Sequence[int] = KS, *, n: int = 100, seed: int = 0
) -> Mixture:
    """Return pass@k of models given by their chances, exact and simulated, beside ``1 - (1 - pass@1)^k``.

    Raises UsageError for a chance outside [0, 1], a model without one, and k above n.
    """
    k_values = tuple(sorted(set(ks)))
    _check(k_values, n)
    rng = np.random.default_rng(seed)
    results = [_model(_model_name(at, len(models)), chances, k_values, n, rng) for at, chances in enumerate(models)]
    return Mixture(
        k=k_values, n=n, m=max(_problem_count(model.chances) for model in results), seed=seed, models=tuple(results)
    )


def measure_run(name: str, n: ArrayLike, c: ArrayLike, ks: Sequence[int] = KS) -> Mixture:
    """Return pass@k of a run, from the counts of its problems, beside ``1 - (1 - pass@1)^k``.

    n and c have shape (m,).  Of ``ks`` those that the samples allow; UsageError when there is none.
    """
    samples, passed = (np.asarray(values, dtype=np.int64) for values in (n, c))
    least = int(samples.min())
    k_values = tuple(sorted({k for k in ks if k <= least}))
    if not k_values:
        raise UsageError(f"k={min(ks)} exceeds the {amount(least, 'sample')} that some problem has")
    table = pass_at_k(samples[:, None], passed[:, None], np.array([1, *k_values])[None, :])
    value = [math.fsum(column) / samples.size for column in table.T]
    model = Model(
        name=name,
        chances=(),
        pass_at_1=value[0],
        value=tuple(value[1:]),
        wrong=_jensen_values(value[0], k_values),
        simulated=(),
        simulated_se=(),
    )
    return Mixture(k=k_values, n=least, m=samples.size, seed=0, models=(model,))


def _check(ks: tuple[int, ...], n: int) -> None:
    if not ks or ks[0] < 1:
        raise UsageError(f"k={ks[0] if ks else None} is less than 1")
    if ks[-1] > n:
        raise UsageError(f"k={ks[-1]} exceeds n={n}: no unbiased estimator exists; give more samples with --n")
    if n > MOST_SAMPLES:
        raise UsageError(f"n={n} exceeds the largest supported value, {MOST_SAMPLES:,}")


def _problem_count(chances: Sequence[float]) -> int:
    """Return how many problems are simulated."""
    return -(-PROBLEMS // len(chances)) * len(chances)


def _model_name(at: int, count: int) -> str:
    return chr(ord("A") + at) if count <= 26 else f"model {at + 1}"


def _jensen_values(mean: float, ks: Sequence[int]) -> tuple[float, ...]:
    return tuple(_pass_at_k(mean, k) for k in ks)


def _pass_at_k(p: float, k: int) -> float:
    return -math.expm1(k * math.log1p(-p)) if p < 1.0 else 1.0


def _model(name: str, chances: Sequence[float], ks: Sequence[int], n: int, rng: np.random.Generator) -> Model:
    if not 1 <= len(chances) <= MOST_CHANCES:
        raise UsageError(f"model {name} must have 1 to {MOST_CHANCES:,} chances, got {len(chances)}")
    for p in chances:
        if not 0.0 <= p <= 1.0:
            raise UsageError(f"model {name}: {p:g} must be between 0 and 1")
    m = len(chances)
    mean = math.fsum(chances) / m
    passed = rng.binomial(n, np.tile(np.array(chances), _problem_count(chances) // m))
    column = np.array(ks)[None, :]
    estimates = pass_at_k(n, passed[:, None], column)
    noise = unbiased_variance(np.array(chances)[:, None], n, column)
    return Model(
        name=name,
        chances=tuple(chances),
        pass_at_1=mean,
        value=tuple(math.fsum(_pass_at_k(p, k) for p in chances) / m for k in ks),
        wrong=_jensen_values(mean, ks),
        simulated=tuple(math.fsum(column) / passed.size for column in estimates.T),
        simulated_se=tuple(math.sqrt(math.fsum(column) / m / passed.size) for column in noise.T),
    )
