"""Rules by which a result is compared with what is expected, by name: a benchmark names one of them as data.

Each rule gets plain data only.  A rule returns whether the result is right; an exception means that it is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from passcurve.harness.output_comparators import OUTPUT_RULES, apps_function, equal_json

RELATIVE = 1e-7
"""Relative tolerance of numbers that need not be equal, as numpy's ``assert_allclose`` has it."""

FLOAT_TOLERANCE = 1e-6
"""Absolute tolerance where every expected number is a float and the benchmark sets none."""

_TEXTS_BY_CHANCE = 3
"""Texts in one result whose order may well be the same under other hashes."""

_ARRAY, _DEQUE = "ndarray", "deque"
"""Types whose instances do not compare as the lists do that they are flattened to."""

Rule = Callable[["tuple[Any, ...]", Any, Any, float], bool]
"""Arguments of the call, its result, the expected result, and the absolute tolerance."""


def is_float(value: Any) -> bool:
    """Return whether a value is a float, or a list or tuple of one float or more and nothing else."""
    if type(value) in (list, tuple):
        return bool(value) and all(type(item) is float for item in value)
    return type(value) is float


def is_empty(value: Any) -> bool:
    """Return whether a value is a list or tuple without items."""
    return type(value) in (list, tuple) and not value


def is_close(value: Any, expected: Any, tolerance: float) -> bool:
    """Return whether two values of one type are numbers, or equally long and nested lists of them, that are close."""
    if type(value) in (list, tuple) and type(expected) in (list, tuple):
        return len(value) == len(expected) and all(
            is_close(item, other, tolerance) for item, other in zip(value, expected)
        )
    if isinstance(value, complex) or isinstance(expected, complex):
        return bool(abs(value - expected) <= tolerance + RELATIVE * abs(expected))
    if math.isinf(value) or math.isinf(expected):
        return bool(value == expected)
    # False for NaN, which is close to nothing.
    return bool(abs(value - expected) <= tolerance + RELATIVE * abs(expected))


def _equal(_: tuple[Any, ...], value: Any, expected: Any, tolerance: float) -> bool:
    """Accept an equal value, and close numbers where there is a tolerance."""
    if value == expected:
        return True
    return bool(tolerance) and type(value) is type(expected) and is_close(value, expected, tolerance)


def _same_set(_: tuple[Any, ...], value: Any, expected: Any, tolerance: float) -> bool:
    """Accept the same items, in any order and number."""
    try:
        items = set(expected)
    except TypeError:
        # Lists among them have no hash, and stand in no range, which would be searched to its end.
        if type(value) is range:
            return False
        # An iterator gives its items once.
        results = list(value)
        return all(item in results for item in expected) and all(item in expected for item in results)
    # A range can be longer than any memory.
    if (type(value) is not range or len(value) == len(items)) and set(value) == items:
        return True
    return bool(tolerance) and type(value) is type(expected) and is_close(value, expected, tolerance)


def _hash_order(arguments: tuple[Any, ...], value: Any, expected: Any, tolerance: float) -> bool:
    """Accept an equal value, unless it has so many texts that their order is not the expected one but by chance."""
    texts = sum(type(item) is str for item in value) if type(value) in (list, tuple) else 0
    return texts <= _TEXTS_BY_CHANCE and _equal(arguments, value, expected, tolerance)


def _same_truth(_: tuple[Any, ...], value: Any, expected: Any, __: float) -> bool:
    """Accept anything but None where something is expected, and None where nothing is; a boolean says it itself."""
    return _truth(value) == _truth(expected)


def _truth(value: Any) -> bool:
    return value if type(value) is bool else value is not None


def _anything(_: tuple[Any, ...], __: Any, ___: Any, ____: float) -> bool:
    return True


def _equal_or_true(arguments: tuple[Any, ...], value: Any, expected: Any, tolerance: float) -> bool:
    return value is True or _equal(arguments, value, expected, tolerance)


def _equal_or_zero(arguments: tuple[Any, ...], value: Any, expected: Any, tolerance: float) -> bool:
    return bool(value == 0) or _equal(arguments, value, expected, tolerance)


def _root(arguments: tuple[Any, ...], value: Any, _: Any, tolerance: float) -> bool:
    """Accept a root of the polynomial whose coefficients are the argument, the constant one first."""
    (coefficients,) = arguments
    return bool(abs(sum(factor * math.pow(value, power) for power, factor in enumerate(coefficients))) <= tolerance)


def _pyramid_surface(arguments: tuple[Any, ...], value: Any, expected: Any, tolerance: float) -> bool:
    """Accept the surface of a square pyramid also where the second argument is its height, rounded to a whole."""
    edge, height = arguments
    by_height = round(edge**2 + 2 * edge * math.sqrt((edge / 2) ** 2 + height**2))
    return abs(value - by_height) <= tolerance or _equal(arguments, value, expected, tolerance)


def _digit_distance(arguments: tuple[Any, ...], value: Any, expected: Any, tolerance: float) -> bool:
    """Accept the sum of the differences of digits, digit by digit, besides the expected value."""
    first, second = (str(number) for number in arguments)
    width = max(len(first), len(second))
    pairs = zip(first.zfill(width), second.zfill(width))
    if _equal(arguments, value, expected, tolerance):
        return True
    return bool(value == sum(abs(int(one) - int(other)) for one, other in pairs))


_BY_EQUALITY = (_equal, _equal_or_true, _equal_or_zero, equal_json, apps_function)
"""Rules that compare a whole result with ``==``."""

RULES: dict[str, Rule] = {
    "equal": _equal,
    "same-set": _same_set,
    "same-truth": _same_truth,
    "hash-order": _hash_order,
    "anything": _anything,
    "equal-or-true": _equal_or_true,
    "equal-or-zero": _equal_or_zero,
    "polynomial-root": _root,
    "pyramid-surface": _pyramid_surface,
    "digit-distance": _digit_distance,
    **OUTPUT_RULES,
}
"""Rules by name; ``docs/benchmarks.md`` says what each accepts."""


class Comparator:
    """A rule with its tolerance, for the tests of one suite."""

    def __init__(self, name: str, tolerance: float, floats: str, flattened: str = "plain") -> None:
        self._rule = RULES[name]
        self.accepts_equal = self._rule in (_equal, _equal_or_true, _equal_or_zero)
        """A value of equal encoding is right, whatever the arguments and the tolerance."""
        self._tolerance = tolerance
        self._floats = floats
        self._flattened = flattened

    def keep(self, value: Any) -> Any:
        """Return what the rule needs of an expected result."""
        return value if self._rule is not _same_truth else _truth(value)

    def note_expected(self, *, is_float: bool, is_empty: bool) -> None:
        """Take note of an expected result.  Once floats are expected, EvalPlus lets all later results be as far off."""
        are_floats = is_float or (is_empty and self._floats == "close or empty")
        if are_floats and self._floats != "equal" and not self._tolerance:
            self._tolerance = FLOAT_TOLERANCE

    def accepts(self, arguments: tuple[Any, ...], value: Any, expected: Any, types: tuple[str, ...] = ()) -> bool:
        """Return whether a result is right; ``types`` are the names of those that were flattened in it."""
        self.note_expected(is_float=is_float(expected), is_empty=is_empty(expected))
        try:
            if types and self._flattened != "plain" and self._rule in _BY_EQUALITY:
                return self._accepts_flattened(arguments, value, expected, types)
            return self._rule(arguments, value, expected, self._tolerance)
        except Exception:
            # Of what a sample returns: too large a number, a text where a list is due, an iterator that fails.
            return False

    def _accepts_flattened(self, arguments: tuple[Any, ...], value: Any, expected: Any, types: tuple[str, ...]) -> bool:
        """Return whether a result is right in the process that it was made in, before it was flattened."""
        is_array, is_deque = _ARRAY in types, _DEQUE in types
        if is_array and not _has_one_item(value):
            # The comparison gives an array, which is neither true nor false.
            return False
        has_type = type(value) in (list, tuple) and not is_array and not is_deque
        tolerance = self._tolerance if has_type or self._flattened != "typed" else 0.0
        if is_deque:
            return bool(tolerance) and type(value) is type(expected) and is_close(value, expected, tolerance)
        return self._rule(arguments, value, expected, tolerance)


def _has_one_item(value: Any) -> bool:
    while type(value) in (list, tuple) and len(value) == 1:
        value = value[0]
    return type(value) not in (list, tuple)
