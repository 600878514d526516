"""Values of a row in messages."""

from __future__ import annotations

from passcurve.types.amounts import amount

MAX_SHOWN = 80
"""Characters of a value that a message shows."""


def describe_value(value: object) -> str:
    """Return what a value is that should be something else."""
    match value:
        case None:
            return "null"
        case bool():
            return f"a boolean ({str(value).lower()})"
        case int() | float():
            return f"a number ({str(value)[:MAX_SHOWN]})"
        case str():
            return f"a string ({shorten(value)})"
        case list():
            return "a list"
        case _:
            return "an object"


def shorten(text: str) -> str:
    """Return a text as Python writes it, no longer than a line."""
    short = text if len(text) <= MAX_SHOWN // 2 else text[: MAX_SHOWN // 2] + "..."
    return ascii(short)[: MAX_SHOWN + 2]


def n_rows(count: int) -> str:
    """Return a number of rows in words."""
    return amount(count, "row")
