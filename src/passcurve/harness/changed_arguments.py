"""Copies what a sample did to its arguments into the objects of the tests."""

from __future__ import annotations

from typing import Any

_COLLECTIONS = (list, tuple, dict, set, frozenset, bytearray)
_ATOMS = (type(None), bool, int, float, complex, str, bytes, range)
_NUMBERS = ("fractions", "decimal")


def copy_changes(original: Any, copy: Any) -> Any:
    """Make an argument equal to the copy of it that came back, in place where that is possible; return the result.

    What crossed as something else, such as a function or an array, stays what it was.
    """
    kind = type(original)
    if kind not in _COLLECTIONS:
        return copy if kind in _ATOMS or kind.__module__ in _NUMBERS else original
    if kind is not type(copy):
        return copy
    if kind is tuple and len(original) == len(copy):
        items = tuple(map(copy_changes, original, copy))
        return original if all(new is old for new, old in zip(items, original)) else items
    if kind is list:
        kept = len(original)
        original[:] = [copy_changes(original[at], item) if at < kept else item for at, item in enumerate(copy)]
    elif kind is dict:
        old = dict(original)
        original.clear()
        original.update((key, copy_changes(old[key], item) if key in old else item) for key, item in copy.items())
    elif kind is set:
        original.clear()
        original.update(copy)
    elif kind is bytearray:
        original[:] = copy
    else:
        return copy
    return original
