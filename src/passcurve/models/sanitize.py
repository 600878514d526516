"""What servers and programs say beside their texts: cut to what can be shown and counted."""

from __future__ import annotations

from typing import Any

_SHOWN = 200


def shown(text: bytes) -> str:
    """Return bytes of another's as one bounded line."""
    line = " ".join(text[: 4 * _SHOWN].decode("utf-8", "replace").split())
    line = "".join(each if each.isprintable() else "?" for each in line)
    return line if len(line) <= _SHOWN else line[:_SHOWN] + "..."


def inside(tokens: dict[str, Any], outer: str, inner: str) -> object:
    """Return what stands in a part of the usage."""
    found = tokens.get(outer)
    return found.get(inner) if isinstance(found, dict) else None


def count(value: object) -> int | None:
    """Return a number of tokens; None for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def word(value: object) -> str:
    """Return a short text; empty for what is none."""
    return value[:_SHOWN] if isinstance(value, str) else ""
