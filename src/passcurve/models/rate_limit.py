"""Rate limit: so many requests and so many tokens a minute, evenly spread."""

from __future__ import annotations

import threading
import time

_MINUTE_S = 60.0


class RateLimit:
    """Delays each request by the share of the minute's allowance that the request before it takes.

    The spread is even because many servers count per second where they document a limit per minute.
    """

    def __init__(self, requests_per_minute: float | None = None, tokens_per_minute: float | None = None) -> None:
        """Take the limits; None for no limit."""
        self._request_s = _MINUTE_S / requests_per_minute if requests_per_minute else 0.0
        self._token_s = _MINUTE_S / tokens_per_minute if tokens_per_minute else 0.0
        self._lock = threading.Lock()
        self._next = 0.0
        self._held_until = 0.0

    def wait(self, tokens: int, closed: threading.Event) -> None:
        """Wait until a request for so many tokens may begin, or until the run is closed."""
        with self._lock:
            begin = max(time.monotonic(), self._next)
            self._next = begin + max(self._request_s, tokens * self._token_s)
        # A request that has its time already waits as well, where the server asks for a rest meanwhile.
        while (left_s := max(begin, self._held_until) - time.monotonic()) > 0 and not closed.wait(left_s):
            pass

    def correct(self, estimated: int, used: int | None) -> None:
        """Replace the estimated tokens of a request by those it used; None where the server did not count them."""
        if used is not None and self._token_s:
            with self._lock:
                # A request with few tokens is still one request.
                before_s = max(self._request_s, estimated * self._token_s)
                self._next += max(self._request_s, used * self._token_s) - before_s

    def hold(self, seconds: float) -> None:
        """Let no request begin for so long, because the server asks for it."""
        with self._lock:
            self._held_until = max(self._held_until, time.monotonic() + seconds)
            self._next = max(self._next, self._held_until)
