"""Bounded, printable forms of what servers, libraries and programs report beside their texts."""

from __future__ import annotations

from typing import Any

_MAX_CHARS = 200
_MAX_ERROR_CHARS = 300


def one_line(text: bytes) -> str:
    """Return foreign bytes as one printable line of bounded length."""
    line = " ".join(text[: 4 * _MAX_CHARS].decode("utf-8", "replace").split())
    line = "".join(char if char.isprintable() else "?" for char in line)
    return line if len(line) <= _MAX_CHARS else line[:_MAX_CHARS] + "..."


def nested_field(usage: dict[str, Any], outer: str, inner: str) -> object:
    """Return a field of a nested object, or None where it is absent."""
    part = usage.get(outer)
    return part.get(inner) if isinstance(part, dict) else None


def token_count(value: object) -> int | None:
    """Return a number of tokens, or None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def short_text(value: object) -> str:
    """Return a text of bounded length; empty for anything else."""
    return value[:_MAX_CHARS] if isinstance(value, str) else ""


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message."""
    return (_lines(error) or [type(error).__name__])[0][:_MAX_ERROR_CHARS]


def last_line(error: BaseException) -> str:
    """Return the last line of an error's message, for libraries that put the reason at the end."""
    return (_lines(error) or [type(error).__name__])[-1][:_MAX_ERROR_CHARS]


def _lines(error: BaseException) -> list[str]:
    return [line.strip() for line in str(error).splitlines() if line.strip()]
