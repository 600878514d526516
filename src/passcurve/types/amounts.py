"""Numbers of things in messages, and the verbs behind them."""

from __future__ import annotations


def amount(count: int, thing: str) -> str:
    """Return a number of things, whose name is regular."""
    return f"{count:,} {thing}{'s' * (count != 1)}"


def have(count: int) -> str:
    """Return the verb behind so many."""
    return "has" if count == 1 else "have"


def are(count: int) -> str:
    """Return the verb behind so many."""
    return "is" if count == 1 else "are"


def were(count: int) -> str:
    """Return the verb behind so many."""
    return "was" if count == 1 else "were"


def part_of(count: int, whole: int, thing: str) -> str:
    """Return so many of a number of things, as in ``1 of 40 problems``."""
    return f"{count:,} of {amount(whole, thing)}"
