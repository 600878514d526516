"""Checks shared by the functions that take one row of problems."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from passcurve.stats.doubled import FloatArray

IntArray = NDArray[np.int64]


class Row(NamedTuple):
    """The counts of m problems, each of shape (m,)."""

    n: IntArray
    c: IntArray


def counts(n: ArrayLike, c: ArrayLike, k: int = 1) -> Row:
    """Return n and c as one row of at least one problem with n >= k each, or raise ValueError naming the element."""
    samples, passed = np.broadcast_arrays(whole(n, "n"), whole(c, "c"))
    if samples.ndim != 1:
        raise ValueError(f"n and c must make one row of problems, not an array of shape {samples.shape}")
    if not samples.size:
        raise ValueError("there are no problems")
    least = one_whole(k, "k")
    for broken, wanted in (
        (samples < 1, "n must be at least 1"),
        ((passed < 0) | (passed > samples), "c must be between 0 and n"),
        (samples < least, f"k={least} needs that many samples"),
    ):
        if broken.any():
            place = int(np.flatnonzero(broken)[0])
            raise ValueError(f"element {place}: n={samples[place]}, c={passed[place]}: {wanted}")
    return Row(samples.astype(np.int64), passed.astype(np.int64))


def pair(a: Row, b: Row) -> None:
    """Refuse two rows that are not of the same problems."""
    if a.n.size != b.n.size:
        raise ValueError(f"A has {a.n.size} problems and B has {b.n.size}: both must be of the same problems in order")


def whole(values: ArrayLike, name: str) -> IntArray:
    """Return integers, of which floats may be the carrier; ValueError naming the element for anything else."""
    array = np.asarray(values)
    if not array.size:
        return array.astype(np.int64)
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{name} must be integers, not {array.dtype.name} values")
    sound = np.isfinite(array) & (np.floor(array) == array)
    if not sound.all():
        place = tuple(int(i) for i in np.argwhere(~sound)[0])
        where = f"element {place[0] if len(place) == 1 else place}: " if place else ""
        raise ValueError(f"{where}{name}={array[place]} is not an integer")
    return array.astype(np.int64)


def one_whole(value: int, name: str, least: int = 1) -> int:
    """Return one integer of at least ``least``."""
    if np.ndim(value) or isinstance(value, (bool, np.bool_, str)) or value != int(value) or value < least:
        raise ValueError(f"{name}={value!r} is not an integer of at least {least}")
    return int(value)


def numbers(values: ArrayLike, name: str) -> FloatArray:
    """Return one row of at least one finite number."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"{name} must be one row of at least one number, not an array of shape {array.shape}")
    if not np.isfinite(array).all():
        place = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"element {place}: {name} {array[place]} is not a finite number")
    return array


def chances(values: ArrayLike, name: str) -> FloatArray:
    """Return one row of at least one number, each in [0, 1]."""
    array = numbers(values, name)
    if (broken := (array < 0.0) | (array > 1.0)).any():
        place = int(np.flatnonzero(broken)[0])
        raise ValueError(f"element {place}: {name} {array[place]} is not in [0, 1]")
    return array


def inside(value: float, name: str) -> float:
    """Return a number strictly between 0 and 1."""
    if not 0.0 < value < 1.0:
        raise ValueError(f"{name}={value} is not between 0 and 1")
    return float(value)


def normal(tail: float) -> float:
    """Return the point that a standard normal variable exceeds with the chance ``tail``."""
    from scipy.special import ndtri

    return -float(ndtri(tail))


def student(freedom: float, tail: float) -> float:
    """Return the point that Student's t exceeds with the chance ``tail``."""
    from scipy.special import stdtrit

    return -float(stdtrit(freedom, tail))
