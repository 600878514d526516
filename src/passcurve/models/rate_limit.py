"""Rate limit: so many requests and so many tokens a minute, evenly spread."""

from __future__ import annotations

import threading
import time
from collections import deque

_MINUTE_S = 60.0


class RateLimit:
    """Delays each request by the share of the minute's allowance that the request before it takes.

    The spread is even because many servers count per second where they document a limit per minute.  Requests begin in
    the order in which they come.
    """

    def __init__(self, requests_per_minute: float | None = None, tokens_per_minute: float | None = None) -> None:
        """Take the limits; None for no limit."""
        self._request_s = _MINUTE_S / requests_per_minute if requests_per_minute else 0.0
        self._token_s = _MINUTE_S / tokens_per_minute if tokens_per_minute else 0.0
        self._changed = threading.Condition()
        self._waiting: deque[object] = deque()
        self._next = 0.0
        self._held_until = 0.0
        self._closed = False

    def wait(self, tokens: int) -> None:
        """Wait until a request for so many tokens may begin, or until the run is closed."""
        place = object()
        with self._changed:
            self._waiting.append(place)
            try:
                # The time of the first is looked at again after each change: an estimate may have been far too high.
                while not self._closed and (left_s := self._left_s(place)) > 0:
                    self._changed.wait(min(left_s, threading.TIMEOUT_MAX))
                self._next = max(time.monotonic(), self._next) + self._share_s(tokens)
            finally:
                self._waiting.remove(place)
                self._changed.notify_all()

    def correct(self, estimated: int, used: int | None) -> None:
        """Replace the estimated tokens of a request by those it used; None where the server did not count them."""
        if used is not None and self._token_s:
            with self._changed:
                self._next += self._share_s(used) - self._share_s(estimated)
                self._changed.notify_all()

    def hold(self, seconds: float) -> None:
        """Let no request begin for so long, because the server asks for it."""
        with self._changed:
            self._held_until = max(self._held_until, time.monotonic() + seconds)

    def close(self) -> None:
        """Let nobody wait any longer."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _left_s(self, place: object) -> float:
        """Return how long a request has to wait: unless it is the first, until that has begun."""
        if self._waiting[0] is not place:
            return threading.TIMEOUT_MAX
        return max(self._next, self._held_until) - time.monotonic()

    def _share_s(self, tokens: int) -> float:
        # A request with few tokens is still one request.
        return max(self._request_s, tokens * self._token_s)
