"""Retries: which failed requests are sent again, and after what delay."""

from __future__ import annotations

import email.utils
import random
import time

import msgspec

RATE_LIMITED = 429
LIMIT_WAIT_FACTOR = 4.0
"""How much longer a rate limit is waited for than another failure: servers count by the minute."""
RETRYABLE_STATUSES = frozenset({408, 409, 425, RATE_LIMITED})
"""Statuses of passing failures below 500; every other error there would come again."""
UNAVAILABLE_STATUSES = frozenset({RATE_LIMITED, 503, 529})
"""Statuses with which a server takes no request, whatever it asks."""
_FINAL_STATUSES = frozenset({501, 505})
"""What a server does not implement, it will not."""
_MAX_DELAY_S = 30.0
_MAX_RETRY_AFTER_S = 300.0
"""Longest delay that a server may request; beyond it the request fails."""


class RetryDelay(msgspec.Struct, frozen=True, kw_only=True):
    """The delay before the next attempt."""

    seconds: float
    is_from_server: bool
    """True if the server requested this delay (``Retry-After``)."""


def is_retryable(status: int) -> bool:
    """Return True if a request with this status may succeed next time."""
    return status in RETRYABLE_STATUSES or (status >= 500 and status not in _FINAL_STATUSES)


def retry_delay(attempt: int, retry_after: str | None, rng: random.Random, first_s: float = 0.5) -> RetryDelay | None:
    """Return the delay after the given attempt (from 1); None when the server requests too long a delay.

    ``retry_after`` is the header: seconds, or a date.  Without it the delay doubles from ``first_s`` up to half a
    minute, less a random part, so that many clients do not come back at once.
    """
    if retry_after is not None and (requested_s := _seconds(retry_after)) is not None:
        return RetryDelay(seconds=requested_s, is_from_server=True) if requested_s <= _MAX_RETRY_AFTER_S else None
    seconds = min(_MAX_DELAY_S, first_s * 2.0 ** (attempt - 1)) * rng.uniform(0.5, 1.0)
    return RetryDelay(seconds=seconds, is_from_server=False)


def _now() -> float:
    # A date in the header is wall-clock time; the delay itself is measured on the monotonic clock.
    return time.time()


def _seconds(text: str) -> float | None:
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        date_s = email.utils.parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, date_s - _now())
