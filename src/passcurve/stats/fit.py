"""The beta-binomial model: chances that differ between problems as draws from one beta distribution.

Problem i is passed with the chance p_i, p_i is a draw from Beta(a, b), and c_i of n_i samples pass.  The two numbers a
and b are fitted to all problems; given them, p_i is Beta(a + c_i, b + n_i - c_i) (Skellam 1948; Griffiths 1973; the use
of fitted a and b as if they were known is parametric empirical Bayes, Morris 1983, JASA 78:47).
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from passcurve.stats.counts import distinct_pairs
from passcurve.stats.double_double import FloatArray
from passcurve.stats.rows import IntArray, Row, check_integer, check_positive, check_row
from passcurve.types.amounts import part_of

LEAST_SIZE, MOST_SIZE = 1e-3, 1e6
"""Range of a + b.  Beyond it the likelihood is flat: problems pass always or never, or are all equal."""

_LARGEST_K = 10**6
"""The cost grows with k: one factor each."""

_STEPS = 200
_TERMS = 256
"""Terms of a sum that are worked out at once."""
_CLOSE = 1e-9


class BetaBinomial(NamedTuple):
    """A fitted beta distribution of the chances of the problems."""

    a: float
    b: float
    log_likelihood: float


class Posterior(NamedTuple):
    """Posterior of pass@k of each problem given its counts."""

    mean: FloatArray
    variance: FloatArray


def beta_binomial_fit(n: ArrayLike, c: ArrayLike) -> BetaBinomial:
    """Return the maximum-likelihood beta-binomial fit ``(a, b, log_likelihood)`` of the counts of m problems.

    n and c have shape (m,) or broadcast to it; n may differ between problems.  The log-likelihood includes the binomial
    coefficients.  a + b is kept between 0.001 and 10^6: at the lower end every problem passes always or never, at the
    upper end all problems are alike.
    Maximised in (log a/b, log a+b) by damped Newton steps from the moment estimate; scipy's distribution has no fit.

    ValueError where nothing can be fitted: all samples failed, all passed, or each problem has one sample (then only
    a / (a + b) is determined), and for counts that cannot be.
    """
    row = check_row(n, c)
    return _fit(row.n.tobytes(), row.c.tobytes())


@functools.lru_cache(maxsize=64)
def _fit(n: bytes, c: bytes) -> BetaBinomial:
    """Return the fit of counts in 64 bits each: intervals for many k need that of one data set again and again."""
    row = Row(np.frombuffer(n, np.int64), np.frombuffer(c, np.int64))
    if not row.c.any() or (row.c == row.n).all():
        total = int(row.n.sum())
        how = "passed" if row.c.any() else "failed"
        raise ValueError(f"{part_of(total, total, 'sample')} {how}: nothing to fit")
    if row.n.max() == 1:
        raise ValueError("each problem has one sample: how much the problems differ cannot be told from that")
    tails = [count_above(values)[None, :] for values in (row.c, row.n - row.c, row.n)]
    a, b, fitted = fit_tails(*tails)

    # The logarithm of a factorial is the sum of those of the numbers up to it.
    one = np.ones(1)
    passed, failed, samples = (_sum_of_logs(one, tail) for tail in tails)
    coefficients = samples - passed - failed
    return BetaBinomial(float(a[0]), float(b[0]), float(fitted[0] + coefficients[0]))


def beta_posterior_pass_at_k(n: ArrayLike, c: ArrayLike, k: int, a: float, b: float) -> Posterior:
    """Return mean and variance of 1 - (1-p)^k of each problem, where p is Beta(a + c, b + n - c).

    ``E[(1-p)^k] = B(a + c, b + n - c + k) / B(a + c, b + n - c)``, summed from terms of one sign; k may exceed n, which
    is then a model's word.  n and c have shape (m,) or broadcast to it; the results have shape (m,).
    With a = b = 1 this is the uniform prior, which is no default: it says .476 of 0 of 10 at k = 10.
    ValueError for counts that cannot be, k < 1, and a or b that is not a positive number.
    """
    row = check_row(n, c)
    k = check_integer(k, "k", most=_LARGEST_K)
    a, b = check_positive(a, "a"), check_positive(b, "b")
    pairs = distinct_pairs(row.n, row.c)
    passed, failed = pairs.c.astype(np.float64), (pairs.n - pairs.c).astype(np.float64)
    mean, variance = posterior_moments(a + passed, b + failed, k)
    return Posterior(mean[pairs.which], variance[pairs.which])


def posterior_moments(passed: FloatArray, failed: FloatArray, k: int) -> Posterior:
    """Return mean and variance of 1 - (1-p)^k for p ~ Beta(passed, failed), elementwise."""
    size = passed + failed
    log_q = np.zeros(np.shape(size))
    log_quotient = np.zeros(np.shape(size))
    for start in range(0, k, _TERMS):
        j = np.arange(start, min(k, start + _TERMS)).reshape(-1, *(1 for _ in np.shape(size)))
        # The same as log1p(-passed / (size + j)), and finite where failed is next to nothing.
        log_q -= np.log1p(passed / (failed + j)).sum(axis=0)
        log_quotient += np.log1p(k * passed / ((failed + j) * (size + k + j))).sum(axis=0)
    # E[q^2k] - E[q^k]^2: as a difference where the two are far apart, else by their quotient, which keeps the digits.
    far = log_quotient > 1.0
    square = np.exp(2.0 * log_q)
    variance = np.where(
        far, np.exp(2.0 * log_q + log_quotient) - square, square * np.expm1(np.where(far, 0.0, log_quotient))
    )
    return Posterior(-np.expm1(log_q), variance)


def count_above(values: IntArray) -> FloatArray:
    """Return how many values exceed 0, 1, ..."""
    counted = np.bincount(values)
    return (values.size - np.cumsum(counted))[:-1].astype(np.float64)


class Fits(NamedTuple):
    """Fits of many data sets, each field of shape (sets,)."""

    a: FloatArray
    b: FloatArray
    log_likelihood: FloatArray
    """Log-likelihood without the binomial coefficients."""


def fit_tails(passed: FloatArray, failed: FloatArray, samples: FloatArray) -> Fits:
    """Fit many data sets at once, each given by how many of its problems have more than j passes, failures, samples.

    Each argument has shape (sets, largest count); neither all-zero ``passed`` nor all-zero ``failed`` may occur.
    """
    sums = [tails.sum(axis=1) for tails in (passed, failed, samples)]
    share = sums[0] / sums[2]
    position = np.stack([np.log(share) - np.log1p(-share), np.zeros(share.size)])
    position[1] = np.log(2.0)
    low, high = math.log(LEAST_SIZE), math.log(MOST_SIZE)
    best = _log_likelihood(position, passed, failed, samples)
    damping = np.full(share.size, 1e-2)
    active = np.arange(share.size)
    for _ in range(_STEPS):
        tails = (passed[active], failed[active], samples[active])
        here = position[:, active]
        gradient, curvature = _derivatives(here, *tails)
        at_end = ((here[1] >= high) & (gradient[1] > 0)) | ((here[1] <= low) & (gradient[1] < 0))
        gradient[1] = np.where(at_end, 0.0, gradient[1])
        curvature[1] = np.where(at_end, 0.0, curvature[1])
        step = _newton_step(gradient, curvature, damping[active])
        candidate = here + step
        candidate[1] = np.clip(candidate[1], low, high)
        value = _log_likelihood(candidate, *tails)
        better = value >= best[active] - 1e-12 * np.abs(best[active])
        moved = active[better]
        position[:, moved] = candidate[:, better]
        best[moved] = value[better]
        damping[active] = np.where(better, damping[active] * 0.2, damping[active] * 8.0)
        small = (np.abs(step) < _CLOSE).all(axis=0)
        active = active[~small]
        if not active.size:
            break
    size = np.exp(position[1])
    part = 1.0 / (1.0 + np.exp(-position[0]))
    return Fits(size * part, size * (1.0 / (1.0 + np.exp(position[0]))), best)


def _log_likelihood(position: FloatArray, passed: FloatArray, failed: FloatArray, samples: FloatArray) -> FloatArray:
    size = np.exp(position[1])
    a, b = size / (1.0 + np.exp(-position[0])), size / (1.0 + np.exp(position[0]))
    total: FloatArray = _sum_of_logs(a, passed) + _sum_of_logs(b, failed) - _sum_of_logs(size, samples)
    return total


def _sum_of_logs(start: FloatArray, tails: FloatArray) -> FloatArray:
    result: FloatArray = (tails * np.log(start[:, None] + np.arange(tails.shape[1]))).sum(axis=1)
    return result


def _derivatives(
    position: FloatArray, passed: FloatArray, failed: FloatArray, samples: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the gradient (2, sets) and the second derivatives uu, uv, vv (3, sets) in u = log a/b, v = log(a+b)."""
    size = np.exp(position[1])
    a, b = size / (1.0 + np.exp(-position[0])), size / (1.0 + np.exp(position[0]))
    (a1, a2), (b1, b2), (s1, s2) = (
        _inverse_sums(at, tails) for at, tails in ((a, passed), (b, failed), (size, samples))
    )
    da, db, daa, dbb, dab = a1 - s1, b1 - s1, s2 - a2, s2 - b2, s2
    w = a * b / size
    gradient = np.stack([w * (da - db), a * da + b * db])
    curvature = np.stack(
        [
            w * w * (daa - 2.0 * dab + dbb) + w * (b - a) / size * (da - db),
            w * (a * daa + b * dab - a * dab - b * dbb) + w * (da - db),
            a * a * daa + 2.0 * a * b * dab + b * b * dbb + a * da + b * db,
        ]
    )
    return gradient, curvature


def _inverse_sums(start: FloatArray, tails: FloatArray) -> tuple[FloatArray, FloatArray]:
    inverse = 1.0 / (start[:, None] + np.arange(tails.shape[1]))
    once = tails * inverse
    first: FloatArray = once.sum(axis=1)
    second: FloatArray = (once * inverse).sum(axis=1)
    return first, second


def _newton_step(gradient: FloatArray, curvature: FloatArray, damping: FloatArray) -> FloatArray:
    """Solve the damped Newton equations, with the curvature shifted until it is that of a maximum."""
    uu, uv, vv = -curvature
    middle, spread = (uu + vv) / 2.0, np.hypot((uu - vv) / 2.0, uv)
    scale = np.abs(middle) + spread + 1e-9
    shift = np.maximum(0.0, 1e-6 * scale - (middle - spread)) + damping * scale
    uu, vv = uu + shift, vv + shift
    determinant = uu * vv - uv * uv
    step = np.stack([vv * gradient[0] - uv * gradient[1], uu * gradient[1] - uv * gradient[0]]) / determinant
    clipped: FloatArray = np.clip(step, -2.0, 2.0)
    return clipped
