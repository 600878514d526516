"""Values of JSON: the members of lists, and the object of a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def flatten(value: object) -> list[object]:
    """Return a value as a list; the members of lists in it, however deep, in their order."""
    return list(_members(value))


def _members(value: object) -> Iterator[object]:
    if not isinstance(value, list | tuple):
        yield value
        return
    for item in value:
        yield from _members(item)


def parse_object(line: bytes) -> dict[str, Any] | None:
    """Return the object of a line; None for anything else."""
    try:
        text = line.decode()
        try:
            row = json.loads(text)
        except json.JSONDecodeError:
            return None
        except ValueError:
            # Python refuses integers of thousands of digits, which are valid JSON.
            row = json.loads(text, parse_int=float)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None
