"""Quantiles of the normal, the beta and Student's t distribution, with an error below 1e-12 of them.

They are what every score needs.  scipy.special has them, too, but takes more CPU to import than a short run takes to
be judged, and 18 MiB; it is used for long arrays and huge arguments alone.
"""

from __future__ import annotations

import math
from itertools import count

import numpy as np
from numpy.typing import ArrayLike

from passcurve.stats.double_double import FloatArray

_LEAST_TAIL = 1e-100
_TINY = 1e-300

_LARGE = 16.0
"""Argument from which on the series of the gamma function is exact."""

_MANY = 1000.0
"""Degrees of freedom for each 1 + z * z from which on the expansion in their inverse is exact."""

_LONG = 3000
"""Elements from which on scipy is faster: one takes about 0.1 ms here, and its import 0.3 s."""

_HUGE = 1e7
"""Argument beyond which the continued fraction takes too many steps; scipy expands in its inverse there."""

_STEPS = 2000
_CLOSE = 1e-15


def normal_quantile(tail: float) -> float:
    """Return the value that a standard normal variable exceeds with probability ``tail``, between 0 and 1."""
    from statistics import NormalDist

    return -NormalDist().inv_cdf(tail)


def t_quantile(freedom: float, tail: float) -> float:
    """Return the value that Student's t exceeds with probability ``tail``.

    ``freedom``: degrees of freedom, at least 1; ``tail``: between 1e-100 and 1.  ValueError otherwise.
    Source: Abramowitz and Stegun 1964, "Handbook of Mathematical Functions", 26.5.27 and, for many degrees of freedom,
    26.7.5.
    """
    if not freedom >= 1.0 or not _LEAST_TAIL <= tail < 1.0:
        raise ValueError(f"there is no quantile of Student's t for {freedom} degrees of freedom and a tail of {tail}")
    if tail >= 0.5:
        return -t_quantile(freedom, 1.0 - tail) if tail > 0.5 else 0.0
    z = normal_quantile(tail)
    w = z * z
    if freedom < _MANY * (1.0 + w):
        if tail < 0.25:
            x = beta_quantile(freedom / 2.0, 0.5, 2.0 * tail)
            return math.sqrt(freedom * (1.0 - x) / x)
        # The same distribution from its other end, which is next to 0 here.
        x = beta_quantile(0.5, freedom / 2.0, 1.0 - 2.0 * tail)
        return math.sqrt(freedom * x / (1.0 - x))
    terms = (
        z * (w + 1.0) / 4.0,
        z * ((5.0 * w + 16.0) * w + 3.0) / 96.0,
        z * (((3.0 * w + 19.0) * w + 17.0) * w - 15.0) / 384.0,
        z * ((((79.0 * w + 776.0) * w + 1482.0) * w - 1920.0) * w - 945.0) / 92160.0,
    )
    added = 0.0
    for term in reversed(terms):
        added = (added + term) / freedom
    return z + added


def beta_quantiles(a: ArrayLike, b: ArrayLike, tail: float) -> FloatArray:
    """Return the values below which variables with the distributions Beta(a, b) are with probability ``tail``.

    a and b broadcast, each element is above 0; ``tail`` is above 0 and below 1.
    """
    firsts, seconds = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(b, np.float64))
    # NaN is not below, either: scipy passes it on.
    if firsts.size > _LONG or not np.maximum(firsts, seconds).max(initial=0.0) <= _HUGE:
        from scipy.special import betaincinv

        return np.asarray(betaincinv(firsts, seconds, tail), np.float64)
    pairs = zip(firsts.ravel().tolist(), seconds.ravel().tolist(), strict=True)
    return np.array([beta_quantile(*pair, tail) for pair in pairs]).reshape(firsts.shape)


def beta_quantile(a: float, b: float, tail: float) -> float:
    """Return the value below which a variable with the distribution Beta(a, b) is with probability ``tail``.

    Newton's method on the logarithms, whose steps do not go beyond the quantile where b >= 1: the density of the
    logarithm is log-concave then, and with it the probability.  Elsewhere a step that leaves the interval in which the
    quantile lies is replaced by a bisection of it.
    """
    low, high = 0.0, 1.0
    x = a / (a + b)
    for _ in range(_STEPS):
        below, density = _beta(a, b, x)
        low, high = (x, high) if below < tail else (low, x)
        closer = x * math.exp((math.log(tail) - math.log(below)) * below / density) if below > 0.0 else 0.0
        if not low <= closer < high:
            closer = (low + high) / 2.0
        if abs(closer - x) <= _CLOSE * x or closer == 0.0:
            return closer
        x = closer
    return x


def _beta(a: float, b: float, x: float) -> tuple[float, float]:
    """Return the probability that a variable with the distribution Beta(a, b) is below x, and x times its density.

    Source: Abramowitz and Stegun 1964, 26.5.2 and 26.5.8.
    """
    # x ** a (1 - x) ** b / B(a, b).  Near the mean the two logarithms cancel: they share the difference to it.
    size = a + b
    beyond = size * x - a
    power = _log_power(a, beyond, size * x) + _log_power(b, -beyond, size * (1.0 - x))
    remainders = _remainder(size) - _remainder(a) - _remainder(b)
    weight = math.sqrt(a * b / size / (2.0 * math.pi)) * math.exp(power + remainders)
    if x < (a + 1.0) / (size + 2.0):
        below = weight / a * _fraction(a, b, x)
    else:
        below = 1.0 - weight / b * _fraction(b, a, 1.0 - x)
    return below, weight / (1.0 - x)


def _log_power(part: float, beyond: float, value: float) -> float:
    """Return the logarithm of ``(value / part) ** part``, where ``value`` is ``part + beyond``."""
    return part * (math.log1p(beyond / part) if abs(beyond) < part / 2.0 else math.log(value / part))


def _remainder(z: float) -> float:
    """Return what Stirling's formula leaves out of the logarithm of gamma(z).

    Source: Abramowitz and Stegun 1964, 6.1.40.
    """
    if z < _LARGE:
        return math.lgamma(z) - (z - 0.5) * math.log(z) + z - 0.5 * math.log(2.0 * math.pi)
    w = 1.0 / (z * z)
    return ((((w / 1188.0 - 1.0 / 1680.0) * w + 1.0 / 1260.0) * w - 1.0 / 360.0) * w + 1.0 / 12.0) / z


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function.

    Source: Abramowitz and Stegun 1964, 26.5.8; evaluated as Lentz 1976, Applied Optics 15:668.
    """
    fraction = upper = 1.0
    lower = 0.0
    for step in count(1):
        m = step // 2
        if step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        lower = 1.0 / (1.0 + term * lower or _TINY)
        upper = 1.0 + term / upper or _TINY
        fraction *= upper * lower
        if abs(upper * lower - 1.0) < _CLOSE:
            break
    return 1.0 / fraction
