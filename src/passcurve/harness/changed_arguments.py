"""Copies what a sample did to its arguments into the objects of the tests."""

from __future__ import annotations

from typing import Any


def copy_changes(original: Any, copy: Any) -> None:
    """Make an argument equal to the copy of it that came back, where it can be changed.

    Items of a tuple are always the same objects, and are changed as well.  Those of other collections may have been
    moved or replaced, which nothing tells: the copies take their place.
    """
    if type(original) is not type(copy) or original is copy:
        return
    if isinstance(original, tuple):
        for item, item_copy in zip(original, copy):
            copy_changes(item, item_copy)
    elif isinstance(original, (list, bytearray)):
        original[:] = copy
    elif isinstance(original, (dict, set)):
        original.clear()
        original.update(copy)
