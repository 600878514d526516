"""Results that were no plain data compare as EvalPlus compares them, where its rules are followed."""

from __future__ import annotations

import warnings
from collections import Counter, OrderedDict, UserList, deque
from typing import Any

import numpy as np
import pytest

from passcurve.harness.comparators import Comparator
from passcurve.harness.sample import flatten

RESULTS = {
    "a deque": (deque([1, 2]), [1, 2], [1, 3]),
    "an empty deque": (deque(), []),
    "a deque in a list": ([deque([1]), 2], [[1], 2]),
    "a deque of floats": (deque([0.5, 1.0]), [0.5, 1.0], [0.5, 1.1]),
    "a deque of floats, nearly": (deque([0.5 + 1e-9, 1.0]), [0.5, 1.0]),
    "an array": (np.array([1, 2]), [1, 2], [1, 3], (1, 2)),
    "an array in a tuple": ((np.array([1, 2]), 3), ([1, 2], 3)),
    "an array of one item": (np.array([7]), [7], [8]),
    "an array of one item in a list": ([np.array([7])], [[7]], [[8]]),
    "an array of one float, nearly": (np.array([0.5 + 1e-9]), [0.5]),
    "an array without items": (np.array([]), []),
    "an array without dimensions": (np.array(3), 3, 4),
    "two dimensions": (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    "an array of floats": (np.array([0.5, 1.0]), [0.5, 1.0]),
    "a float": (np.float64(0.5), 0.5),
    "a float, nearly": (np.float64(0.5 + 1e-9), 0.5),
    "a float, far off": (np.float64(0.6), 0.5),
    "floats in a list": ([np.float64(0.5), np.float64(1.0)], [0.5, 1.0]),
    "floats in a list, nearly": ([np.float64(0.5 + 1e-9), 1.0], [0.5, 1.0]),
    "floats in a tuple, nearly": ((np.float64(0.5 + 1e-9), 1.0), (0.5, 1.0)),
    "an integer": (np.int64(3), 3, 4),
    "a boolean": (np.bool_(True), True, False),
    "a counter": (Counter("aab"), {"a": 2, "b": 1}, {"a": 2}),
    "an ordered dictionary": (OrderedDict(a=1), {"a": 1}),
    "a list of a class": (UserList([1, 2]), [1, 2], [1]),
}


def evalplus(value: Any, expected: Any, *, is_typed: bool) -> bool:
    """Return what EvalPlus says of a result: release 0.3.1 if ``is_typed``, else 0.2.0 (``unsafe_execute`` of both)."""
    are_floats = isinstance(expected, float) or (
        isinstance(expected, (list, tuple)) and bool(expected) and all(isinstance(item, float) for item in expected)
    )
    try:
        is_equal = value == expected
        if is_equal or not are_floats:
            return bool(is_equal)
        if is_typed and type(value) is not type(expected):
            return False
        return bool(np.allclose(value, expected, rtol=1e-7, atol=1e-6))
    except (ValueError, TypeError):
        return False


def flattened(value: Any, names: list[str]) -> Any:
    """Return what crosses in place of a value, and note the types that were flattened."""
    if type(value) in (list, tuple):
        return type(value)(flattened(item, names) for item in value)
    plain = None if type(value) in (dict, int, float, bool, str) else flatten(value, type(value))
    if plain is None:
        return value
    names.append(type(value).__name__)
    return flattened(plain[0], names)


@pytest.mark.parametrize("rule", ["equal", "typed"])
@pytest.mark.parametrize("name", RESULTS)
def test_the_verdict_is_that_of_evalplus(name: str, rule: str) -> None:
    """With an equal value, a close one, and another one of the same shape."""
    result, *others = RESULTS[name]
    names: list[str] = []
    value = flattened(result, names)
    assert names
    for expected in others:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            right = evalplus(result, expected, is_typed=rule == "typed")
        comparator = Comparator("equal", 0.0, "close", rule)
        assert right == comparator.accepts((), value, expected, tuple(names)), expected


def test_natively_they_count_as_plain_data() -> None:
    """A result in a deque or an array is right where an equal list is."""
    for name in ("a deque", "an array", "a list of a class"):
        names: list[str] = []
        value = flattened(RESULTS[name][0], names)
        assert Comparator("equal", 0.0, "close").accepts((), value, [1, 2], tuple(names))
