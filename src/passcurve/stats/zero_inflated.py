"""Problems of which a share is impossible, with a beta distribution for the chances of the others.

With the share s a problem's c of n samples have the probability ``(1 - s) f(c)``, and ``s + (1 - s) f(0)`` for c = 0,
where f is the beta-binomial law.  The three numbers are those of the greatest likelihood.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from passcurve.stats.double_double import FloatArray
from passcurve.stats.fit import LEAST_SIZE, MOST_SIZE, beta_binomial_fit
from passcurve.stats.rows import IntArray, Row

_FARTHEST = 15.0
"""Farthest logit of the share: beyond it the share is next to 0 or to 1."""

_STEPS = 500
_CLOSE = 1e-9
_LEAST_GAIN = 1e-9
"""Share of the log-likelihood by which a maximum must be higher to be another one."""


class ZeroInflated(NamedTuple):
    """A share of impossible problems, a beta distribution for the others."""

    impossible: float
    a: float
    b: float
    log_likelihood: float
    """Log-likelihood without the binomial coefficients."""


def fit_zero_inflated(row: Row) -> ZeroInflated:
    """Return the maximum-likelihood fit; the counts must not be saturated.

    Damped Newton steps in the logit of the share, log a/b and log(a + b), from several starts; a + b has the range of
    ``beta_binomial_fit``.  A minimiser that differences the likelihood stops where it is flat: its values differed in
    the third digit from one version of scipy to the next.
    """
    pairs, weights = np.unique(np.stack([row.n, row.c]), axis=1, return_counts=True)
    counts = _Counts(pairs[0], pairs[1], weights.astype(np.float64))
    fit = beta_binomial_fit(row.n, row.c)
    unsolved = float((row.c == 0).mean())
    best: _Maximum | None = None
    for share in (0.02, unsolved / 2, unsolved):
        for a, b in ((fit.a, fit.b), (1.0, 1.0)):
            start = min(0.9, max(0.02, share))
            maximum = _climb(np.array([math.log(start / (1.0 - start)), math.log(a / b), math.log(a + b)]), counts)
            if best is None or maximum.value > best.value + _LEAST_GAIN * abs(best.value):
                best = maximum
    assert best is not None
    share, a, b = _numbers(best.position)
    return ZeroInflated(share, a, b, best.value)


class _Counts(NamedTuple):
    n: IntArray
    c: IntArray
    weights: FloatArray
    """Number of problems with these n and c."""


class _Maximum(NamedTuple):
    position: FloatArray
    value: float


class _Slopes(NamedTuple):
    value: float
    gradient: FloatArray
    """Shape (3,)."""
    curvature: FloatArray
    """Shape (3, 3)."""


def _numbers(position: FloatArray) -> tuple[float, float, float]:
    """Return the share, a and b."""
    logit, ratio, size = position.tolist()
    return 1.0 / (1.0 + math.exp(-logit)), math.exp(size) / (1.0 + math.exp(-ratio)), math.exp(size - _softplus(ratio))


def _softplus(x: float) -> float:
    return float(np.logaddexp(0.0, x))


def _climb(position: FloatArray, counts: _Counts) -> _Maximum:
    least = np.array([-_FARTHEST, -np.inf, math.log(LEAST_SIZE)])
    most = np.array([_FARTHEST, np.inf, math.log(MOST_SIZE)])
    position = np.clip(position, least, most)
    here = _slopes(position, counts)
    damping = 1e-2
    for _ in range(_STEPS):
        held = ((position >= most) & (here.gradient > 0.0)) | ((position <= least) & (here.gradient < 0.0))
        step = _newton_step(here, held, damping)
        candidate = np.clip(position + step, least, most)
        there = _slopes(candidate, counts)
        if there.value >= here.value - 1e-12 * abs(here.value):
            position, here, damping = candidate, there, damping * 0.2
        else:
            damping *= 8.0
        if (np.abs(step) < _CLOSE).all():
            break
    return _Maximum(position, here.value)


def _newton_step(here: _Slopes, held: np.ndarray, damping: float) -> FloatArray:
    """Solve the damped Newton equations, with the curvature shifted until it is that of a maximum."""
    free = np.flatnonzero(~held)
    step = np.zeros(held.size)
    if free.size:
        sizes, directions = np.linalg.eigh(-here.curvature[np.ix_(free, free)])
        scale = float(np.abs(sizes).max()) + 1e-9
        shifted = sizes + max(0.0, 1e-6 * scale - float(sizes.min())) + damping * scale
        step[free] = directions @ ((directions.T @ here.gradient[free]) / shifted)
    clipped: FloatArray = np.clip(step, -2.0, 2.0)
    return clipped


def _slopes(position: FloatArray, counts: _Counts) -> _Slopes:
    """Return the log-likelihood and its derivatives in the logit of the share, log a/b and log(a + b)."""
    share, a, b = _numbers(position)
    size = a + b
    passed, failed, samples = (
        _sums(start, at) for start, at in ((a, counts.c), (b, counts.n - counts.c), (size, counts.n))
    )
    beta = passed[0] + failed[0] - samples[0]
    by_a, by_b = passed[1] - samples[1], failed[1] - samples[1]
    by_aa, by_bb, by_ab = samples[2] - passed[2], samples[2] - failed[2], samples[2]

    # Derivatives of the beta-binomial part in u = log a/b and v = log(a + b).
    w = a * b / size
    by_u, by_v = w * (by_a - by_b), a * by_a + b * by_b
    by_uu = w * w * (by_aa - 2.0 * by_ab + by_bb) + w * (b - a) / size * (by_a - by_b)
    by_uv = w * (a * by_aa + b * by_ab - a * by_ab - b * by_bb) + w * (by_a - by_b)
    by_vv = a * a * by_aa + 2.0 * a * b * by_ab + b * b * by_bb + a * by_a + b * by_b

    # `real` is the probability that a problem is possible, given its counts: 1 unless c = 0.
    logit = float(position[0])
    possible = beta - _softplus(logit)
    whole = np.where(counts.c == 0, np.logaddexp(-_softplus(-logit), possible), possible)
    real = np.exp(possible - whole)
    weights = counts.weights
    split = weights * real * (1.0 - real)
    curvature = np.array(
        [
            [split.sum() - weights.sum() * share * (1.0 - share), -(split @ by_u), -(split @ by_v)],
            [0.0, split @ by_u**2 + (weights * real) @ by_uu, split @ (by_u * by_v) + (weights * real) @ by_uv],
            [0.0, 0.0, split @ by_v**2 + (weights * real) @ by_vv],
        ]
    )
    gradient = np.array([weights @ (1.0 - real - share), (weights * real) @ by_u, (weights * real) @ by_v])
    return _Slopes(math.fsum(weights * whole), gradient, curvature + np.triu(curvature, 1).T)


def _sums(start: float, at: IntArray) -> FloatArray:
    """Return the sums of log(start + j), of 1/(start + j) and of its square over j < ``at``, shape (3, at.size)."""
    terms = start + np.arange(int(at.max(initial=0)))
    sums = np.zeros((3, terms.size + 1))
    np.cumsum(np.stack([np.log(terms), 1.0 / terms, 1.0 / terms**2]), axis=1, out=sums[:, 1:])
    picked: FloatArray = sums[:, at]
    return picked
