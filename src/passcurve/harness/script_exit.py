"""``os._exit`` of a script: it ends the run of the program and not the process, whichever thread calls it."""

from __future__ import annotations

# `signal` makes enumerations, which would leave objects behind; of the module below it there are no stubs.
import _signal  # type: ignore[import-not-found]
import _thread
import os
import time
from typing import NoReturn

_SIGNAL: int = getattr(_signal, "SIGRTMAX", _signal.SIGUSR2)
"""The signal that wakes the main thread wherever it waits; programs have no use for the last one."""

_AGAIN_S = 0.01
"""Time after which it is sent again: what the main thread does when it is woken may wait, too."""

_sleep, _kill = time.sleep, _signal.pthread_kill


class ExitError(BaseException):
    """The program has called ``os._exit``: what it has not flushed is lost."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class ExitWatch:
    """Takes the place of ``os._exit``, which never returns, for one run of a program after the other."""

    def __init__(self, *, has_threads: bool) -> None:
        self.codes: list[int] = []
        """Those with which it was called in this run."""
        self._is_running = False
        self._main = _thread.get_ident()
        # Made without threads, too: later objects have the same addresses then.
        self._handler = self._interrupt
        if has_threads:
            _signal.signal(_SIGNAL, self._handler)
        os._exit = self._leave

    def begin(self) -> None:
        """Begin a run, in the main thread."""
        self.codes.clear()
        self._is_running = True

    def end(self) -> None:
        """End it.  Raises ExitError where the program has called ``os._exit``."""
        self._is_running = False
        if self.codes:
            raise ExitError(self.codes[0])

    def _leave(self, status: int) -> NoReturn:
        self.codes.append(status)
        if _thread.get_ident() == self._main:
            raise ExitError(status)
        while self._is_running:
            _kill(self._main, _SIGNAL)
            _sleep(_AGAIN_S)
        raise SystemExit

    def _interrupt(self, *_: object) -> None:
        if self._is_running and self.codes:
            raise ExitError(self.codes[0])
