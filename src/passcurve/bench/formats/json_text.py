"""JSON as the files of benchmarks have it: with integers of any length, where CPython reads 4,300 digits."""

from __future__ import annotations

import json
from typing import Any

_PART = 4000
"""Number of digits that are read at once."""
_MOST_DIGITS = 1_000_000
"""Largest number of digits that are read, since the time grows with their square."""


def read_json_text(text: str | bytes) -> Any:
    """Return the value of a text; raise ValueError or RecursionError for a text that is not JSON."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        # A function of our own for each integer takes longer.
        return json.loads(text, parse_int=_read_integer)


def _read_integer(text: str) -> int:
    digits = text.removeprefix("-")
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"an integer has {len(digits):,} digits, more than {_MOST_DIGITS:,}")
    value = 0
    for start in range(0, len(digits), _PART):
        part = digits[start : start + _PART]
        value = value * 10 ** len(part) + int(part)
    return -value if text.startswith("-") else value
