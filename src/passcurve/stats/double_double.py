"""Doubled precision: sums of two float64, and the logarithms and log-factorials that pass@k needs in it.

The error-free transformations are Knuth's two-sum and Dekker's product; a value keeps about 30 digits.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from decimal import Context, Decimal
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class Doubled(NamedTuple):
    """Unevaluated sum of two float64, the second at most half a unit in the last place of the first."""

    high: FloatArray
    low: FloatArray


def log_factorial(x: FloatArray) -> Doubled:
    """Return log x! of whole x: from a table below 256, by Stirling's series (DLMF 5.11.1) from there."""
    table = _small_log_factorials()
    small = x < table.high.size
    large = np.maximum(x, table.high.size)
    inverse = 1.0 / large
    square = inverse * inverse
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
    result = times(log_integer(large), large + 0.5)
    result = _plus(result, -large)
    result = _plus(result, _half_log_two_pi().high, _half_log_two_pi().low)
    result = _plus(result, series)
    row = np.where(small, x, 0.0).astype(np.intp)
    return Doubled(
        np.where(small, table.high[row], result.high),
        np.where(small, table.low[row], result.low),
    )


def log_integer(x: FloatArray) -> Doubled:
    """Return log x of whole x >= 1, < 2^40: powers of two, 64 points, and atanh of what is left, below 1/256."""
    mantissa, exponent = np.frexp(x)
    point = np.rint(mantissa * 128.0)
    nearest = point / 128.0
    # Both of these are exact: x has at most 40 bits and the point 8.
    above, below = mantissa - nearest, mantissa + nearest
    z = _quotient(above, below)
    product, lost = two_product(z.high, z.high)
    w, w_low = two_sum(product, lost + 2.0 * z.high * z.low)
    third = w / 3.0
    back, lost = two_product(third, np.float64(3.0))
    third_low = (((w - back) - lost) + w_low) / 3.0
    tail = w * w * (1 / 5 + w * (1 / 7 + w * (1 / 9 + w * (1 / 11 + w / 13))))
    bracket, lost = two_sum(third, tail)
    bracket_low = lost + third_low
    # log = e log 2 + log(point/128) + 2z + 2z (w/3 + w^2/5 + ...)
    product, lost = two_product(z.high, bracket)
    lost += z.high * bracket_low + z.low * bracket
    table = _logs_of_points()
    row = point.astype(np.intp) - 64
    result = times(_log_two(), exponent.astype(np.float64))
    result = _plus(result, table.high[row], table.low[row])
    result = _plus(result, 2.0 * z.high, 2.0 * z.low)
    return _plus(result, 2.0 * product, 2.0 * lost)


def two_sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rounded sum and what rounding lost, exactly (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: FloatArray, b: FloatArray | np.float64) -> tuple[FloatArray, FloatArray]:
    """Return the rounded product and what rounding lost, exactly (Dekker)."""
    product = a * b
    a_high, b_high = 134217729.0 * a, 134217729.0 * b
    a_high, b_high = a_high - (a_high - a), b_high - (b_high - b)
    a_low, b_low = a - a_high, b - b_high
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _quotient(a: FloatArray, b: FloatArray) -> Doubled:
    high = a / b
    back, lost = two_product(high, b)
    return Doubled(high, ((a - back) - lost) / b)


def _plus(a: Doubled, high: FloatArray, low: FloatArray | float = 0.0) -> Doubled:
    total, lost = two_sum(a.high, high)
    return Doubled(*two_sum(total, lost + (a.low + low)))


def plus(a: Doubled, b: Doubled) -> Doubled:
    """Return a + b."""
    return _plus(a, b.high, b.low)


def minus(a: Doubled, b: Doubled) -> Doubled:
    """Return a - b."""
    return _plus(a, -b.high, -b.low)


def times(a: Doubled, b: FloatArray) -> Doubled:
    """Return a b."""
    product, lost = two_product(a.high, b)
    return Doubled(*two_sum(product, lost + a.low * b))


# --- tables, made on first use from decimals ------------------------------------------------------------------------

_DIGITS = Context(prec=50)
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")


def _doubled(values: Sequence[Decimal]) -> Doubled:
    high = [float(value) for value in values]
    low = [float(_DIGITS.subtract(value, Decimal(part))) for value, part in zip(values, high, strict=True)]
    return Doubled(np.array(high), np.array(low))


def _doubled_number(value: Decimal) -> Doubled:
    table = _doubled([value])
    return Doubled(table.high.reshape(()), table.low.reshape(()))


@functools.cache
def _log_two() -> Doubled:
    return _doubled_number(_DIGITS.ln(Decimal(2)))


@functools.cache
def _half_log_two_pi() -> Doubled:
    return _doubled_number(_DIGITS.divide(_DIGITS.ln(_DIGITS.multiply(Decimal(2), _PI)), Decimal(2)))


@functools.cache
def _logs_of_points() -> Doubled:
    """Log(j/128) for j = 64 .. 128."""
    return _doubled([_DIGITS.ln(_DIGITS.divide(Decimal(j), Decimal(128))) for j in range(64, 129)])


@functools.cache
def _small_log_factorials() -> Doubled:
    """Log x! for x = 0 .. 255."""
    return _doubled([_DIGITS.ln(Decimal(math.factorial(x))) for x in range(256)])
