"""How fast a server is asked: so many requests and so many tokens a minute, evenly spread."""

from __future__ import annotations

import threading
import time

_MINUTE_S = 60.0


class Pace:
    """Lets requests begin one after another, each as much later as the one before it takes of a minute's allowance.

    Evenly, because many servers count over a second where they speak of a minute.
    """

    def __init__(self, requests_per_minute: float | None = None, tokens_per_minute: float | None = None) -> None:
        """Take the limits; None for no limit."""
        self._request_s = _MINUTE_S / requests_per_minute if requests_per_minute else 0.0
        self._token_s = _MINUTE_S / tokens_per_minute if tokens_per_minute else 0.0
        self._lock = threading.Lock()
        self._next = 0.0

    def wait(self, tokens: int, closed: threading.Event) -> None:
        """Wait until a request may begin that takes so many tokens, or until the run is closed."""
        with self._lock:
            begin = max(time.monotonic(), self._next)
            self._next = begin + max(self._request_s, tokens * self._token_s)
        while (left := begin - time.monotonic()) > 0 and not closed.wait(left):
            pass

    def correct(self, guessed: int, found: int | None) -> None:
        """Give back, or take, what a request took otherwise than was thought; None: nobody knows what it took."""
        if found is not None and self._token_s:
            with self._lock:
                # A request that was short in tokens has still been one.
                was = max(self._request_s, guessed * self._token_s)
                self._next += max(self._request_s, found * self._token_s) - was

    def hold(self, seconds: float) -> None:
        """Let no request begin for so long, because the server asks for it."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)
