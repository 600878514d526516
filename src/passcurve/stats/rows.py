"""Checks shared by the functions that take one row of problems."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from passcurve.stats.counts import LARGEST_N, as_array, broadcast, element_label, integer_text
from passcurve.stats.counts import first_index as first_of
from passcurve.stats.double_double import FloatArray

IntArray = NDArray[np.int64]

_MOST_SAMPLES = 10**7
"""Largest number of samples of one problem; models are fitted to tables of that length."""

_LARGEST = 2**63 - 1

MOST_DRAWS = 10**7
"""Largest number of random draws; more would fill the memory and change no digit that matters."""

BLOCK_DRAWS = 1 << 12
"""Most random draws that are made at once."""

_BLOCK_NUMBERS = 1 << 22
"""Most random numbers that are drawn at once."""


def draw_blocks(draws: int, columns: int) -> Iterator[int]:
    """Yield the sizes of the blocks in which draws of ``columns`` numbers each are made, so that they fit into memory.

    The numbers are those of one block: all sizes but the last are multiples of four, and random bits come 32 at a time.
    """
    rows = min(BLOCK_DRAWS, max(4, 1 << (_BLOCK_NUMBERS // columns).bit_length() >> 1))
    for start in range(0, draws, rows):
        yield min(rows, draws - start)


class Row(NamedTuple):
    """The counts of m problems, each of shape (m,)."""

    n: IntArray
    c: IntArray


def check_row(n: ArrayLike, c: ArrayLike, k: int = 1) -> Row:
    """Return n and c as one row of at least one problem with n >= k each, or raise ValueError naming the element."""
    samples, passed = broadcast(n=integer_array(n, "n", _MOST_SAMPLES), c=integer_array(c, "c", _MOST_SAMPLES))
    if samples.ndim != 1:
        raise ValueError(f"n and c must make one row of problems, not an array of shape {samples.shape}")
    if not samples.size:
        raise ValueError("there are no problems")
    least = check_integer(k, "k")
    for broken, requirement in (
        (samples < 1, "n must be at least 1"),
        ((passed < 0) | (passed > samples), "c must be between 0 and n"),
        (samples < least, f"k={least} needs that many samples"),
    ):
        if broken.any():
            place = int(np.flatnonzero(broken)[0])
            raise ValueError(f"element {place}: n={samples[place]}, c={passed[place]}: {requirement}")
    return Row(samples.astype(np.int64), passed.astype(np.int64))


def check_same_problems(a: Row, b: Row) -> None:
    """Raise ValueError unless two rows have the same number of problems."""
    if a.n.size != b.n.size:
        raise ValueError(f"A has {a.n.size} problems and B has {b.n.size}: both must be of the same problems in order")


def integer_array(values: ArrayLike, name: str, most: int = LARGEST_N) -> IntArray:
    """Return integers, also given as floats; raise ValueError with the element for anything else."""
    array = as_array(name, values)
    if not array.size:
        return np.zeros(array.shape, dtype=np.int64)
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{name} must be integers up to {most}, not {array.dtype.name} values")
    if not (sound := np.isfinite(array) & (np.floor(array) == array)).all():
        place = first_of(~sound)
        raise ValueError(f"{element_label(place)}{name}={array[place]} is not an integer")
    # The absolute value of the least integer has none of its own.
    if (over := (array > most) | (array < -most)).any():
        place = first_of(over)
        raise ValueError(
            f"{element_label(place)}{name}={integer_text(array[place])} exceeds {most}, the largest supported value"
        )
    return array.astype(np.int64)


def check_integer(value: object, name: str, least: int = 1, most: int = _LARGEST) -> int:
    """Return one integer from ``least`` to ``most``, also given as a float."""
    number = _scalar(value, "iuf")
    if number is None or not math.isfinite(number) or number != int(number) or number < least:
        raise ValueError(f"{name}={_short_text(value)} is not an integer of at least {least}")
    if number > most:
        raise ValueError(f"{name}={_short_text(value)} exceeds {most}, the largest supported value")
    return int(number)


def number_row(values: ArrayLike, name: str) -> FloatArray:
    """Return one row of at least one finite number."""
    raw = as_array(name, values)
    if raw.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be numbers, not {raw.dtype.name} values")
    array = raw.astype(np.float64)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"{name} must be one row of at least one number, not an array of shape {array.shape}")
    if not np.isfinite(array).all():
        place = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"element {place}: {name} {array[place]} is not a finite number")
    return array


def probability_row(values: ArrayLike, name: str) -> FloatArray:
    """Return one row of at least one number, each in [0, 1]."""
    array = number_row(values, name)
    if (broken := (array < 0.0) | (array > 1.0)).any():
        place = int(np.flatnonzero(broken)[0])
        raise ValueError(f"element {place}: {name} {array[place]} is not in [0, 1]")
    return array


def check_open_unit(value: object, name: str) -> float:
    """Return a number strictly between 0 and 1."""
    number = _scalar(value, "f")
    if number is None or not 0.0 < number < 1.0:
        raise ValueError(f"{name}={_short_text(value)} is not between 0 and 1")
    return float(number)


def check_real(value: object, name: str, requirement: str, low: float, high: float) -> float:
    """Return one finite number from ``low`` to ``high``; ``wanted`` is part of the error for others."""
    number = _scalar(value, "iuf")
    if number is None or not math.isfinite(number) or not low <= number <= high:
        raise ValueError(f"{name}={_short_text(value)} is not {requirement}")
    return float(number)


def check_positive(value: object, name: str) -> float:
    """Return one number above 0, at most 10^15."""
    number = check_real(value, name, "a positive number up to 10^15", 0.0, 1e15)
    if number == 0.0:
        raise ValueError(f"{name}={_short_text(value)} is not a positive number up to 10^15")
    return number


def _scalar(value: object, kinds: str) -> int | float | None:
    """Return a number of one of these numpy kinds, or None."""
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, OverflowError):
        return None
    if array.ndim or array.dtype.kind not in kinds:
        return None
    number: int | float = array.item()
    return number


def _short_text(value: object) -> str:
    """Return a value as text on one line of bounded length."""
    plain = value.item() if isinstance(value, np.generic) else value
    return " ".join(reprlib.repr(plain).split())
