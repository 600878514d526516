"""JSON of requests and answers, with the lone surrogates that a model may write, JSON can hold and msgspec refuses."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import msgspec

from passcurve.types.decoding import decodable

BodyError = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What ``decode`` raises."""


def decode(body: bytes, kind: Any) -> Any:
    """Return a body as a type.  Raises one of ``BodyError``."""
    try:
        return msgspec.json.decode(body, type=decodable(kind))
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        if b"\\u" not in body:
            raise
        try:
            value = json.loads(body, parse_constant=_refuse)
        except ValueError:
            value = None
        if value is None:
            raise
    try:
        return msgspec.convert(value, decodable(kind))
    except UnicodeEncodeError:
        raise msgspec.ValidationError("a lone surrogate in a name of a field, or where no text is expected") from None


def encode_line(value: Any) -> bytes:
    """Return a value as a line of JSON, in ASCII: some readers end a line at U+2028 and U+0085, too."""
    return json.dumps(msgspec.to_builtins(value)).encode("ascii") + b"\n"


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)
