"""When a request that failed is sent again, and how long that waits."""

from __future__ import annotations

import email.utils
import random
import time

import msgspec

AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
"""Statuses that may pass; every other error would come again."""
_LONGEST_S = 30.0
_LONGEST_ASKED_S = 300.0
"""Of a server that asks for more we take leave."""


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """How long to wait before the next attempt."""

    seconds: float
    asked: bool
    """Whether the server named it."""


def is_again(status: int) -> bool:
    """Say whether a status may be another one next time."""
    return status in AGAIN or status >= 530


def waiting(attempt: int, retry_after: str | None, rng: random.Random, first_s: float = 0.5) -> Waiting | None:
    """Return how long to wait after the given attempt (from 1); None when the server asks for too long.

    ``retry_after`` is the header: seconds, or a date.  Without one it doubles from ``first_s``, at most half a
    minute, less a random part, so that many clients do not come back at once.
    """
    if retry_after is not None and (named := _seconds(retry_after)) is not None:
        return Waiting(seconds=named, asked=True) if named <= _LONGEST_ASKED_S else None
    return Waiting(seconds=min(_LONGEST_S, first_s * 2.0 ** (attempt - 1)) * rng.uniform(0.5, 1.0), asked=False)


def _now() -> float:
    # A server that names a date means the time of day; the wait itself is measured otherwise.
    return time.time()


def _seconds(text: str) -> float | None:
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        at = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, at.timestamp() - _now())
