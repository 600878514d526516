"""Interruptions (Ctrl-C, SIGTERM) at moments that are wrong: where nothing can be raised, where nothing may be lost."""

from __future__ import annotations

import _thread
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# What type checkers take for true; the module that has it takes longer to load than all here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from sys import UnraisableHookArgs
    from typing import Any

_MOMENT_S = 0.01
"""By then the callback has ended."""


@contextmanager
def forward_lost_interrupts() -> Iterator[None]:
    """Interrupt the calling thread once more when a callback was interrupted, where it would be lost.

    The import system has such callbacks.
    """
    thread, before = _thread.get_ident(), sys.unraisablehook

    def hook(lost: UnraisableHookArgs) -> None:
        if issubclass(lost.exc_type, KeyboardInterrupt):
            # By another thread: here it would be lost once more.
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
def deferred() -> Iterator[None]:
    """Let no interruption fall into a block; one that comes meanwhile is raised at its end."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        # No other is ever interrupted.
        yield
        return
    came: list[int] = []
    before: dict[signal.Signals, Any] = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if handler is not None and handler is not signal.SIG_IGN:
                before[number] = handler
                signal.signal(number, lambda number, _: came.append(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


def _raise_keyboard_interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _interrupt(thread: int) -> None:
    import signal
    import time

    time.sleep(_MOMENT_S)
    # Where Ctrl-C is ignored (nohup) it was the other one.
    number = signal.SIGTERM if signal.getsignal(signal.SIGINT) is signal.SIG_IGN else signal.SIGINT
    if sys.platform == "win32":
        _thread.interrupt_main(number)
    else:
        signal.pthread_kill(thread, number)
