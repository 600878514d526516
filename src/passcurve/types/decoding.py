"""Types that any thread may decode, and JSON of any text.

msgspec looks at the fields of a record when it first decodes one.
A second thread that decodes one meanwhile reads fields that are not there yet, and the process dies of SIGSEGV
(msgspec 0.22, with the GIL).
"""

from __future__ import annotations

import functools
import json
from typing import TypeVar

import msgspec

from passcurve.types.forks import no_forks

_T = TypeVar("_T")


def encode_json(value: object) -> bytes:
    """Return a value as JSON: in ASCII where a text has a lone surrogate, which a model may write and UTF-8 lacks."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value)).encode("ascii")


def decodable(kind: _T) -> _T:
    """Return a type, a record or made of records, once msgspec has looked at all fields; one thread looks at a time."""
    _look_at(kind)
    return kind


@functools.cache
def _look_at(kind: object) -> None:
    # A forked process would have a record that was half looked at.
    with no_forks():
        msgspec.json.Decoder(kind)
