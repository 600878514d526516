"""Interruptions (Ctrl-C, SIGTERM) that come where nothing can be raised, or where nothing may be lost."""

from __future__ import annotations

import _thread
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# Type checkers take this for true; ``typing`` takes longer to load than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from sys import UnraisableHookArgs
    from typing import Any

_CALLBACK_S = 0.01
"""Longest duration of a callback."""


@contextmanager
def forward_lost_interrupts() -> Iterator[None]:
    """Interrupt the calling thread once more when an interruption is lost in a callback.

    The import system has such callbacks.
    """
    thread, before = _thread.get_ident(), sys.unraisablehook

    def hook(lost: UnraisableHookArgs) -> None:
        if issubclass(lost.exc_type, KeyboardInterrupt):
            # Another thread raises it: raised here, it would be lost once more.
            _thread.start_new_thread(_interrupt, (thread,))
        else:
            before(lost)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


@contextmanager
def interrupt_on_sigterm() -> Iterator[None]:
    """Raise KeyboardInterrupt in the block on SIGTERM, as on Ctrl-C; call it in the main thread."""
    import signal

    before = signal.signal(signal.SIGTERM, _raise_keyboard_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Defer interruptions to the end of a block."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        # Only the main thread is ever interrupted.
        yield
        return
    deferred: list[int] = []
    before: dict[signal.Signals, Any] = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if handler is not None and handler is not signal.SIG_IGN:
                before[number] = handler
                signal.signal(number, lambda number, _: deferred.append(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if deferred:
            signal.raise_signal(deferred[0])


def _raise_keyboard_interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _interrupt(thread: int) -> None:
    import signal
    import time

    time.sleep(_CALLBACK_S)
    # Where Ctrl-C is ignored (nohup), the signal was SIGTERM.
    number = signal.SIGTERM if signal.getsignal(signal.SIGINT) is signal.SIG_IGN else signal.SIGINT
    if sys.platform == "win32":
        _thread.interrupt_main(number)
    else:
        signal.pthread_kill(thread, number)
