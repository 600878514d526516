"""The law of the problems' chances without a model: a mixture over a grid of chances.

Problem i is passed with the chance p_i, and the p_i have any law.  Its weights on the grid are fitted by maximum
likelihood (Kiefer and Wolfowitz 1956, Ann. Math. Statist. 27:887; Laird 1978, JASA 73:805) with EM steps from equal
weights.  The grid has equal steps of the angle: p = sin^2(angle), on which all binomial proportions vary alike.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from passcurve.stats.counts import distinct_pairs
from passcurve.stats.double_double import FloatArray
from passcurve.stats.rows import Row
from passcurve.stats.sampling import overlap_probabilities

STEPS = 100
"""EM steps: further ones change the variance of pass@k by little."""

_NEGLIGIBLE = 1e-18


def grid_chances(n: int) -> FloatArray:
    """Return the chances of the grid for up to n samples; its steps are smaller than a standard deviation of c/n."""
    size = 40 + 4 * math.isqrt(n)
    chances: FloatArray = np.sin(np.pi * (np.arange(size) + 0.5) / (2 * size)) ** 2
    return chances


def mixture_variance(row: Row, k: int) -> float:
    """Return the mean over the fitted mixture of the sum of the problems' variances of pass@k over fresh samples."""
    total = 0.0
    for n, weights in _fitted(row.n.tobytes(), row.c.tobytes()):
        total += float(weights @ variance_at(grid_chances(int(row.n.max())), n, k))
    return total


@functools.lru_cache(maxsize=16)
def _fitted(all_n: bytes, all_c: bytes) -> tuple[tuple[int, FloatArray], ...]:
    """Return for each n how many of its problems have each chance, given counts in 64 bits each."""
    row = Row(np.frombuffer(all_n, np.int64), np.frombuffer(all_c, np.int64))
    pairs = distinct_pairs(row.n, row.c)
    problems = np.bincount(pairs.which).astype(np.float64)
    chances = grid_chances(int(row.n.max()))
    passed, failed = pairs.c[:, None], (pairs.n - pairs.c)[:, None]
    logs = passed * np.log(chances) + failed * np.log1p(-chances)
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights = np.full(chances.size, 1.0 / chances.size)
    for _ in range(STEPS):
        weights *= (problems / (likelihood @ weights)) @ likelihood / row.n.size
    posterior = likelihood * weights
    posterior /= posterior.sum(axis=1, keepdims=True)
    counted: FloatArray = problems[:, None] * posterior
    return tuple((n, counted[pairs.n == n].sum(axis=0)) for n in sorted(set(pairs.n.tolist())))


def variance_at(chances: FloatArray, n: int, k: int) -> FloatArray:
    """Return the variance of pass@k of a problem with n samples at each chance, all inside (0, 1)."""
    log_q = np.log1p(-chances)
    weights = overlap_probabilities(n, k)
    variance = np.zeros(chances.size)
    for j in np.flatnonzero(weights[1:] > _NEGLIGIBLE).tolist():
        variance -= weights[j + 1] * np.exp((2 * k - j - 1) * log_q) * np.expm1((j + 1) * log_q)
    return variance
