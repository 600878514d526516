"""Checks of array arguments, and evaluation once per distinct combination of them.

Every check raises ValueError that names the element, as in ``element 3: c=5 exceeds n=4``; a scalar has no element.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from passcurve.stats.double_double import FloatArray

IntArray = NDArray[np.int64]

LARGEST_N = 10**8
"""Largest number of samples of one problem; beyond it, the sums in doubled precision lose digits."""

_WIDEST: dict[str, type[np.generic]] = {"i": np.int64, "u": np.uint64, "f": np.float64}
"""Accepted numpy kinds, each with a type that holds all its values."""

_BLOCK = 1 << 14
"""Number of elements evaluated at a time, so that temporary arrays stay in the cache."""

_FEW_KS = 64
"""Largest number of k values that are looked up one at a time."""


class CheckedCounts(NamedTuple):
    """Valid integers, each in its own shape."""

    n: IntArray
    c: IntArray
    k: IntArray


def check_counts(n: ArrayLike, c: ArrayLike, k: ArrayLike) -> CheckedCounts:
    """Return n, c and k as integers of their own shapes; raise ValueError unless 0 <= c <= n and 1 <= k <= n."""
    result = CheckedCounts(
        check_integers("n", n), check_integers("c", c), check_integers("k", k, least=1, capped=False)
    )
    samples, passed = broadcast(n=result.n, c=result.c)
    check_not_above("c", passed, "n", samples)
    shape = broadcast_shape(n=samples.shape, k=result.k.shape)
    if samples.size and result.k.size and result.k.max() > result.n.min():
        samples, ks = np.broadcast_to(samples, shape), np.broadcast_to(result.k, shape)
        if (over := ks > samples).any():
            place = first_index(over)
            which = f"k={ks[place]} exceeds n={samples[place]}"
            raise ValueError(f"{which}{element_label(place, ' at element {}')}: no unbiased estimator exists")
    return result


def broadcast(**named: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Broadcast arrays; raise ValueError with their shapes if that is impossible."""
    try:
        return np.broadcast_arrays(*named.values())
    except ValueError:
        shapes = " and ".join(f"{name} of shape {values.shape}" for name, values in named.items())
        raise ValueError(f"{shapes} cannot be broadcast together") from None


def broadcast_shape(**named: tuple[int, ...]) -> tuple[int, ...]:
    """Broadcast shapes; raise ValueError with the shapes if that is impossible."""
    try:
        return np.broadcast_shapes(*named.values())
    except ValueError:
        shapes = " and ".join(f"{name} of shape {shape}" for name, shape in named.items())
        raise ValueError(f"{shapes} cannot be broadcast together") from None


def check_not_above(small_name: str, small: IntArray, large_name: str, large: IntArray) -> None:
    """Raise ValueError if an element of one array exceeds that of another."""
    if small.size and large.size and small.max() > large.min():
        small, large = broadcast(**{small_name: small, large_name: large})
        if (over := small > large).any():
            place = first_index(over)
            raise ValueError(f"{element_label(place)}{small_name}={small[place]} exceeds {large_name}={large[place]}")


def check_integers(name: str, values: ArrayLike, *, least: int = 0, capped: bool = True) -> IntArray:
    """Return counts as int64, without a copy if they are int64 already.

    Numbers of samples are capped at ``LARGEST_N``; a k or a budget is not, because it is compared with n elsewhere.
    """
    array = as_array(name, values)
    if not array.size and array.dtype.kind == "f":
        return array.astype(np.int64)
    if array.dtype.kind not in _WIDEST:
        raise ValueError(f"{name} must be integers up to {LARGEST_N}, not {array.dtype.name} values")
    if array.dtype.kind != "i":
        array = array.astype(_WIDEST[array.dtype.kind], copy=False)
    if array.dtype.kind == "f" and (broken := ~(np.isfinite(array) & (np.floor(array) == array))).any():
        place = first_index(broken)
        raise ValueError(f"{element_label(place)}{name}={array[place]} is not an integer")
    if array.size and array.min() < least:
        place = first_index(array < least)
        wrong = f"is less than {least}" if least else "is negative"
        raise ValueError(f"{element_label(place)}{name}={integer_text(array[place])} {wrong}")
    if array.size and array.max() > LARGEST_N:
        if capped:
            place = first_index(array > LARGEST_N)
            most = f"exceeds {LARGEST_N}, the largest supported value"
            raise ValueError(f"{element_label(place)}{name}={integer_text(array[place])} {most}")
        array = np.minimum(array, 2**60)
    return array.astype(np.int64, copy=False)


def check_probabilities(name: str, values: ArrayLike) -> FloatArray:
    """Return numbers in [0, 1] as float64; raise ValueError for others."""
    array = check_finite(name, values)
    if (broken := (array < 0.0) | (array > 1.0)).any():
        place = first_index(broken)
        raise ValueError(f"{element_label(place)}{name}={array[place]} is not in [0, 1]")
    return array


def check_finite(name: str, values: ArrayLike) -> FloatArray:
    """Return finite numbers as float64, truth values as 0 and 1; raise ValueError for others."""
    array = as_array(name, values)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be numbers, not {array.dtype.name} values")
    floats: FloatArray = array.astype(np.float64, copy=False)
    if (broken := ~np.isfinite(floats)).any():
        place = first_index(broken)
        raise ValueError(f"{element_label(place)}{name}={floats[place]} is not a finite number")
    return floats


def as_array(name: str, values: ArrayLike) -> NDArray[Any]:
    """Return an array; raise ValueError for rows of different lengths and for masked elements."""
    # Where nobody has loaded its module there are no such arrays, and to load it takes longer than most estimates.
    masked_array = getattr(sys.modules.get("numpy.ma"), "MaskedArray", ())
    if isinstance(values, masked_array) and (hidden := np.ma.getmaskarray(values)).any():
        raise ValueError(f"{element_label(first_index(hidden))}{name} is masked; leave such elements out")
    try:
        return np.asarray(values)
    except ValueError:
        lengths = [np.size(np.asarray(row, dtype=object)) for row in values]  # type: ignore[union-attr]
        at = next((i for i, length in enumerate(lengths) if length != lengths[0]), 0)
        problem = f"element {at}: {name} has length {lengths[at]} there and {lengths[0]} in element 0"
        raise ValueError(f"{problem}; rows must be equally long") from None


def integer_text(value: np.generic) -> str:
    """Return an integer as text, abbreviated if it has very many digits."""
    number = value.item()
    return str(int(number)) if abs(number) < 10**20 else f"{float(number):.6g}"


def first_index(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return the index of the first true element."""
    return tuple(int(i) for i in np.argwhere(mask)[0])


def element_label(place: tuple[int, ...], form: str = "element {}: ") -> str:
    """Return the position in the array as text; empty for a scalar."""
    if not place:
        return ""
    return form.format(place[0] if len(place) == 1 else place)


# --- once per distinct element --------------------------------------------------------------------------------------

Rule = Callable[[IntArray, IntArray, IntArray], FloatArray]
"""Function of valid flat n, c and k of one length that returns one number for each element."""


class Pairs(NamedTuple):
    """Distinct pairs (n, c), flat, and the index of the pair of each element."""

    n: IntArray
    c: IntArray
    which: IntArray


def apply_rule(rule: Rule, n: IntArray, c: IntArray, k: IntArray) -> FloatArray | np.float64:
    """Apply a rule to the broadcast n, c and k, once per distinct combination where that saves work."""
    shape = np.broadcast_shapes(n.shape, c.shape, k.shape)
    size = math.prod(shape)
    if size > 1:
        pairs = distinct_pairs(n, c)
        ks, k_at = _distinct(k)
        if pairs.n.size * ks.size <= size:
            row, column = np.nonzero(pairs.n >= ks[:, None])[::-1]
            table = np.full((ks.size, pairs.n.size), np.nan)
            table[column, row] = apply_in_blocks(rule, pairs.n[row], pairs.c[row], ks[column])
            return _look_up(table, pairs.which, k_at, shape)
    flat = (np.broadcast_to(values, shape).ravel() for values in (n, c, k))
    result: FloatArray | np.float64 = apply_in_blocks(rule, *flat).reshape(shape)[()]
    return result


def _look_up(table: FloatArray, pair_at: IntArray, k_at: IntArray, shape: tuple[int, ...]) -> FloatArray:
    if k_at.size > _FEW_KS:
        return np.asarray(table[k_at, pair_at], dtype=np.float64)
    # One k at a time: a look-up by one index is several times faster than by two.
    result = np.empty(shape)
    pair_at = pair_at.reshape((1,) * (len(shape) - pair_at.ndim) + pair_at.shape)
    k_at = k_at.reshape((1,) * (len(shape) - k_at.ndim) + k_at.shape)
    for place in itertools.product(*map(range, k_at.shape)):
        own = tuple(slice(i, i + 1) if length > 1 else slice(None) for i, length in zip(place, k_at.shape, strict=True))
        theirs = tuple(part if length > 1 else slice(None) for part, length in zip(own, pair_at.shape, strict=True))
        result[own] = np.take(table[k_at[place]], pair_at[theirs])
    return result


def distinct_pairs(n: IntArray, c: IntArray) -> Pairs:
    """Return the distinct pairs (n, c), and the index of the pair of each element of the broadcast shape."""
    if n.size and n.min() == n.max():
        shape = np.broadcast_shapes(n.shape, c.shape)
        distinct, which = _distinct(c if c.shape == shape else np.broadcast_to(c, shape))
        return Pairs(np.full(distinct.size, n.flat[0]), distinct, which)
    base = int(c.max(initial=0)) + 1
    keys, which = _distinct(n * base + c)
    return Pairs(keys // base, keys % base, which)


def _distinct(values: IntArray) -> tuple[IntArray, IntArray]:
    """Return the sorted distinct values, all non-negative, and the index into them of each element."""
    span = int(values.max(initial=0)) + 1
    if span > 4 * values.size:
        distinct, which = np.unique(values, return_inverse=True)
        return distinct, which.reshape(values.shape)
    occurs = np.zeros(span, dtype=np.bool_)
    occurs[values] = True
    distinct = np.flatnonzero(occurs)
    if distinct.size == span:
        return distinct, values
    rank: IntArray = np.cumsum(occurs) - 1
    return distinct, np.take(rank, values)


def apply_in_blocks(rule: Rule, n: IntArray, c: IntArray, k: IntArray) -> FloatArray:
    """Apply a rule to flat arrays, a block at a time."""
    result = np.empty(n.size)
    with np.errstate(under="ignore"):
        for start in range(0, n.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            result[block] = rule(n[block], c[block], k[block])
    return result


def apply_to_distinct(rule: Callable[..., FloatArray], *columns: IntArray | FloatArray) -> FloatArray | np.float64:
    """Apply a rule of several flat arrays to broadcast arrays, once per distinct combination."""
    try:
        every = np.broadcast_arrays(*columns)
    except ValueError:
        shapes = ", ".join(str(column.shape) for column in columns)
        raise ValueError(f"arguments of the shapes {shapes} cannot be broadcast together") from None
    shape = every[0].shape
    keys = np.zeros(math.prod(shape), dtype=np.int64)
    for column in every:
        distinct, which = np.unique(column, return_inverse=True)
        keys = np.unique(keys * distinct.size + which.reshape(-1), return_inverse=True)[1].reshape(-1)
    where = np.zeros(int(keys.max(initial=-1)) + 1, dtype=np.intp)
    where[keys] = np.arange(keys.size)
    with np.errstate(under="ignore"):
        values = rule(*(column.reshape(-1)[where] for column in every))
    result: FloatArray | np.float64 = values[keys].reshape(shape)[()]
    return result
