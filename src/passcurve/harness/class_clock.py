"""The time limit of one class of tests, kept inside the process that runs them."""

from __future__ import annotations

import signal
import time
from types import FrameType, TracebackType

_ASLEEP = 0.1
"""A process that gets less than this share of the time sleeps, and does not wait for a core."""

_REST_S = 0.01
"""Shortest time after which the clock is read again."""

# A program can replace them in their modules.
_monotonic, _process_time, _signal, _setitimer = time.monotonic, time.process_time, signal.signal, signal.setitimer


class ClassTimeoutError(BaseException):
    """The class of tests has used up its time."""


class ClassClock:
    """Raises ``ClassTimeoutError`` in the main thread after a time, without the time spent waiting for a core.

    ``limit_s``: zero for no limit.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._started = self._cpu_s = 0.0
        self._waited: float | None = None
        self.is_over = False

    def __enter__(self) -> ClassClock:  # noqa: PYI034 - Python 3.9 has no Self
        if self._limit_s:
            self._started, self._cpu_s, self._waited = _monotonic(), _process_time(), _waited_s()
            _signal(signal.SIGALRM, self._look)
            _setitimer(signal.ITIMER_REAL, self._limit_s)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._limit_s:
            _setitimer(signal.ITIMER_REAL, 0.0)
            # A program may have switched the timer off.
            self.is_over = self.is_over or self._rest_s() <= 0.0

    def _rest_s(self) -> float:
        wall_s, cpu_s = _monotonic() - self._started, _process_time() - self._cpu_s
        waited = _waited_s()
        if waited is not None and self._waited is not None:
            return self._limit_s - wall_s + (waited - self._waited)
        return self._limit_s - (wall_s if cpu_s < _ASLEEP * wall_s else cpu_s)

    def _look(self, _: int, __: FrameType | None) -> None:
        rest_s = self._rest_s()
        if rest_s > 0.0:
            _setitimer(signal.ITIMER_REAL, max(rest_s, _REST_S))
            return
        self.is_over = True
        # A test that catches it is interrupted again.
        _setitimer(signal.ITIMER_REAL, self._limit_s)
        raise ClassTimeoutError


def _waited_s() -> float | None:
    """Return how long this thread has waited for a core; None where the kernel does not tell, or the walls hide it."""
    try:
        with open("/proc/thread-self/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) * 1e-9
    except (OSError, ValueError, IndexError):
        return None
