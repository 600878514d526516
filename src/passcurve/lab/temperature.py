"""pass@k at several temperatures, the best for each k, and the optimism of choosing it on the same samples.

The simulated family is made as the mutants are (``passcurve run --model mutant:``): each problem has a deck of programs
with weights, one of them right; a sample is one draw.  At temperature T a program of weight w is drawn in proportion to
``w^(1/T)``: towards 0 always the heaviest, towards infinity each as often as any other.  Since the weights are known,
so is the true pass@k at every temperature.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from passcurve.errors import UsageError
from passcurve.stats import paired_difference, pass_at_k, temperature_hull

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

TEMPERATURES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.5)
PROGRAMS = 9
"""Number of programs in a deck: the right one and eight wrong ones."""
_RIGHT, _SPREAD = 0.4, 1.5
"""Mean, and a + b, of the beta distribution of the right program's weight at T = 1, as of the mutants."""
MOST = 100_000
"""Largest number of simulated problems, and of samples of each."""
SWEEPS = 200
"""Number of simulated sweeps that estimate the optimism of choosing."""
_FLIPS = 9_999
"""Number of drawn patterns of signs where they cannot be counted."""
_STEPS = (1, 2, 5, 10, 20, 50, 100)


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """One temperature at each k."""

    temperature: float
    value: tuple[float, ...]
    """The unbiased estimate from the samples."""
    truth: tuple[float, ...]
    """The exact pass@k; empty where nobody knows it."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The best temperature at one k."""

    k: int
    best: float
    """The temperature that looks best on all samples."""
    upper: float
    """Its value on these samples: the upper hull."""
    honest: float
    """Chosen on one half of the samples and read off the other, mean over splits (``stats.temperature_hull``)."""
    truth: float | None
    """The true value of the temperature that looks best; None for a real sweep, as what follows."""
    true_best: float | None
    """The temperature that is best."""
    true_upper: float | None
    """Its value: the true hull."""
    optimism: float | None
    """Mean of ``upper - truth`` over ``sweeps`` simulated sweeps like this one."""
    optimism_se: float | None
    """Standard error of ``optimism``."""


class Contrast(msgspec.Struct, frozen=True, kw_only=True):
    """The difference between two temperatures at one k, from the samples."""

    k: int
    high: float
    """The temperature whose score is the first of the difference."""
    low: float
    value: float
    """The score at ``high``."""
    difference: float
    """Score at ``high`` minus score at ``low``, on the same problems."""
    p: float
    """The p-value of no difference, as of ``paired_difference``."""


class Temperature(msgspec.Struct, frozen=True, kw_only=True):
    """A sweep over temperatures."""

    k: tuple[int, ...]
    m: int
    """Problems."""
    n: int
    """Samples of each at each temperature; the least, where they differ."""
    most: int
    """The largest number of samples of a problem."""
    simulated: bool
    splits: int
    sweeps: int
    """0 for a real sweep."""
    seed: int
    curves: tuple[Curve, ...]
    choices: tuple[Choice, ...]
    """Choice for each k up to n / 2: both halves need k samples."""
    leads: tuple[Contrast, ...] = ()
    """The best temperature against the second best, for each k; none of one temperature."""
    heat: tuple[Contrast, ...] = ()
    """The hottest temperature against the coldest, for each k."""


def simulate_sweep(
    temperatures: Sequence[float] = TEMPERATURES,
    ks: Sequence[int] = (),
    *,
    m: int = 100,
    n: int = 40,
    splits: int = 200,
    seed: int = 0,
) -> Temperature:
    """Return one sweep over a simulated family of models, with its true values.

    Raises UsageError for temperatures that are not distinct numbers from 0 on, for k above n, and for sizes below 1 or
    above ``MOST``.
    """
    degrees = _check_temperatures(temperatures)
    if not (1 <= m <= MOST and 2 <= n <= MOST):
        raise UsageError(f"m={m} and n={n} must be 1 to {MOST:,} problems and 2 to {MOST:,} samples")
    k_values = _k_values(ks, n)
    rng = np.random.default_rng(seed)
    weights = draw_decks(m, rng)
    chances = np.stack([temper(weights, degree)[:, 0] for degree in degrees])
    truth = np.stack([1.0 - ((1.0 - chances) ** k).mean(axis=1) for k in k_values], axis=1)
    passed = rng.binomial(n, chances)
    sweep_result = measure_sweep(degrees, np.full(passed.shape, n), passed, k_values, splits=splits, seed=seed)
    table = pass_at_k(n, np.arange(n + 1)[:, None], np.array(k_values)[None, :])
    over = np.zeros((SWEEPS, len(k_values)))
    column = np.arange(len(k_values))
    for sweep in range(SWEEPS):
        curves = table[rng.binomial(n, chances)].mean(axis=1)
        over[sweep] = curves.max(axis=0) - truth[curves.argmax(axis=0), column]
    choices = tuple(
        msgspec.structs.replace(
            choice,
            truth=float(truth[degrees.index(choice.best), at]),
            true_best=degrees[int(truth[:, at].argmax())],
            true_upper=float(truth[:, at].max()),
            optimism=float(over[:, at].mean()),
            optimism_se=float(over[:, at].std(ddof=1) / math.sqrt(SWEEPS)),
        )
        for at, choice in enumerate(sweep_result.choices)
    )
    curves_with_truth = tuple(
        msgspec.structs.replace(curve, truth=tuple(row.tolist()))
        for curve, row in zip(sweep_result.curves, truth, strict=True)
    )
    return msgspec.structs.replace(
        sweep_result, simulated=True, sweeps=SWEEPS, curves=curves_with_truth, choices=choices
    )


def measure_sweep(
    temperatures: Sequence[float],
    n: ArrayLike,
    c: ArrayLike,
    ks: Sequence[int] = (),
    *,
    splits: int = 200,
    seed: int = 0,
) -> Temperature:
    """Return a sweep from counts of shape (T, m), the same m problems at each temperature.

    By default k is 1, 2, 5, 10, ... up to the least n.  Raises UsageError for a k above the least n, and for
    temperatures that are not distinct numbers from 0 on.
    """
    degrees = _check_temperatures(temperatures)
    samples, passed = np.asarray(n, dtype=np.int64), np.asarray(c, dtype=np.int64)
    least = int(samples.min())
    k_values = _k_values(ks, least)
    scores = pass_at_k(samples[..., None], passed[..., None], np.array(k_values))
    curves = scores.mean(axis=1)
    ends = (int(np.argmax(degrees)), int(np.argmin(degrees)))
    # Of equal scores the first counts: ``argsort`` is stable, and the hull chooses so too.
    best = [np.argsort(-column, kind="stable")[:2].tolist() for column in curves.T] if len(degrees) > 1 else []
    halves = [k for k in k_values if 2 * k <= least]
    choices: tuple[Choice, ...] = ()
    if halves:
        hull = temperature_hull(degrees, samples, passed, halves, splits, seed)
        choices = tuple(
            Choice(
                k=k,
                best=float(hull.best[at]),
                upper=float(hull.upper[at]),
                honest=float(hull.honest[at]),
                truth=None,
                true_best=None,
                true_upper=None,
                optimism=None,
                optimism_se=None,
            )
            for at, k in enumerate(halves)
        )
    return Temperature(
        k=k_values,
        m=samples.shape[1],
        n=least,
        most=int(samples.max()),
        simulated=False,
        splits=splits,
        sweeps=0,
        seed=seed,
        curves=tuple(
            Curve(temperature=degree, value=tuple(row.tolist()), truth=())
            for degree, row in zip(degrees, curves, strict=True)
        ),
        choices=choices,
        leads=tuple(_contrast(degrees, samples, passed, k_values[at], *pair) for at, pair in enumerate(best)),
        heat=tuple(_contrast(degrees, samples, passed, k_values[at], *ends) for at in range(len(best))),
    )


def _contrast(degrees: Sequence[float], n: IntArray, c: IntArray, k: int, high: int, low: int) -> Contrast:
    """Return a difference; n and c have shape (T, m), ``high`` and ``low`` are places on their first axis."""
    paired = paired_difference(n[high], c[high], n[low], c[low], k, draws=_FLIPS)
    return Contrast(
        k=k,
        high=degrees[high],
        low=degrees[low],
        value=float(pass_at_k(n[high], c[high], k).mean()),
        difference=paired.difference,
        p=paired.p.p,
    )


def draw_decks(m: int, rng: np.random.Generator) -> FloatArray:
    """Return the weights at T = 1 of the programs of m problems, shape (m, ``PROGRAMS``), the right one first."""
    right = np.clip(rng.beta(_SPREAD * _RIGHT, _SPREAD * (1.0 - _RIGHT), m), 1e-12, 1.0 - 1e-12)
    wrong = rng.standard_exponential((m, PROGRAMS - 1)) + 1e-12
    wrong *= ((1.0 - right) / wrong.sum(axis=1))[:, None]
    return np.concatenate([right[:, None], wrong], axis=1)


def temper(weights: FloatArray, temperature: float) -> FloatArray:
    """Return the chances ``w^(1/T)``, each row divided by its sum; at T = 0 the heaviest of each row, ties sharing."""
    if temperature == 0.0:
        heaviest = (weights == weights.max(axis=1, keepdims=True)).astype(np.float64)
        shared: FloatArray = heaviest / heaviest.sum(axis=1, keepdims=True)
        return shared
    logs = np.log(weights) / temperature
    raised = np.exp(logs - logs.max(axis=1, keepdims=True))
    result: FloatArray = raised / raised.sum(axis=1, keepdims=True)
    return result


def _check_temperatures(temperatures: Sequence[float]) -> list[float]:
    degrees = [float(temperature) for temperature in temperatures]
    if not degrees or not all(0.0 <= degree <= 100.0 for degree in degrees):
        raise UsageError(f"temperatures must be one or more numbers from 0 to 100, got {degrees}")
    if len(set(degrees)) < len(degrees):
        raise UsageError(f"temperatures must be distinct, got {', '.join(f'{degree:g}' for degree in degrees)}")
    return degrees


def _k_values(ks: Sequence[int], least: int) -> tuple[int, ...]:
    k_values = tuple(sorted(set(ks))) or tuple(k for k in _STEPS if k <= least)
    if k_values[0] < 1:
        raise UsageError(f"k={k_values[0]} is less than 1")
    if k_values[-1] > least:
        raise UsageError(
            f"k={k_values[-1]} exceeds the {least} samples that some problem has: no unbiased estimator exists"
        )
    return k_values
