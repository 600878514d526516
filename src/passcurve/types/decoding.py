"""Types that any thread may decode.

msgspec looks at the fields of a record when it first decodes one.
A second thread that decodes one meanwhile reads fields that are not there yet, and the process dies of SIGSEGV
(msgspec 0.22, with the GIL).
"""

from __future__ import annotations

import functools
import os
import threading
from typing import TypeVar

import msgspec

_T = TypeVar("_T")
_LOCK = threading.Lock()
if hasattr(os, "register_at_fork"):
    # A child has neither a lock that nobody releases nor a record that was half looked at.
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


def decodable(kind: _T) -> _T:
    """Return a type, a record or made of records, once msgspec has looked at all fields; one thread looks at a time."""
    _look_at(kind)
    return kind


@functools.cache
def _look_at(kind: object) -> None:
    with _LOCK:
        msgspec.json.Decoder(kind)
