"""One line of a file, as the object that it holds."""

from __future__ import annotations

import json
from typing import cast

from passcurve.store.describe import MAX_SHOWN, describe_value, shorten

MAX_DEPTH = 200
"""Deepest nesting of a row; fixed, because the parser's own limit depends on the depth of its caller."""


class MalformedError(Exception):
    """The line is not a row; the message says why."""

    def __init__(self, message: str, task: str | int | None = None, field: str = "", number: int | None = None) -> None:
        super().__init__(message)
        self.task, self.field, self.number = task, field, number


def read_fields(text: bytes) -> dict[str, object]:
    """Return the object of a line; raise MalformedError for what is none."""
    try:
        source = text.decode()
    except UnicodeDecodeError as error:
        raise MalformedError(f"not UTF-8: byte 0x{text[error.start]:02x} at column {error.start + 1}") from error
    try:
        value = _parse(source)
    except json.JSONDecodeError as error:
        rest = shorten(source[error.pos : error.pos + MAX_SHOWN])
        if error.msg == "Extra data" and source[error.pos] == "{":
            column = error.pos + 1
            raise MalformedError(f"two objects in one line: a new line is missing before column {column}") from error
        if source.startswith("{'"):
            raise MalformedError("not JSON but an object as Python shows it: write rows with json.dumps") from error
        reason = error.msg.removesuffix(" at")
        raise MalformedError(f"not JSON: {reason} at column {error.pos + 1}, before {rest}") from error
    except RecursionError as error:
        raise MalformedError(_TOO_DEEP) from error
    if not isinstance(value, dict):
        raise MalformedError(f"a row must be a JSON object, got {describe_value(value)}")
    # Fewer brackets cannot nest that deep.
    if text.count(b"[") + text.count(b"{") > MAX_DEPTH and _too_deep(value):
        raise MalformedError(_TOO_DEEP)
    return cast("dict[str, object]", value)


_TOO_DEEP = f"the row is nested deeper than {MAX_DEPTH} levels"


def _parse(source: str) -> object:
    try:
        return json.loads(source)
    except json.JSONDecodeError:
        raise
    except ValueError:
        # Python refuses integers of thousands of digits, which are valid JSON.
        return json.loads(source, parse_int=float)


def _too_deep(value: object) -> bool:
    layer = [value]
    for _ in range(MAX_DEPTH):
        inner: list[object] = []
        for item in layer:
            if isinstance(item, dict):
                inner.extend(item.values())
            elif isinstance(item, list):
                inner.extend(item)
        layer = inner
        if not layer:
            return False
    return any(isinstance(item, (dict, list)) for item in layer)
