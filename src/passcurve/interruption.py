"""Interruptions (Ctrl-C, SIGTERM) that come where nothing can be raised, or where nothing may be lost."""

from __future__ import annotations

import _thread
import signal
import sys
import time
from _weakref import ref
from collections.abc import Iterator
from contextlib import contextmanager

# Type checkers take this for true; ``typing`` takes longer to load than this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from sys import UnraisableHookArgs
    from typing import Any

_LOOK_S = 0.01
"""Time between two looks at an interruption; longer than a callback takes that would lose it once more."""


class _Interruption(KeyboardInterrupt):
    """An interruption whose end can be seen."""


_watches: list[object] = []
"""One for each block of ``forward_lost_interrupts``."""


@contextmanager
def forward_lost_interrupts() -> Iterator[None]:
    """Interrupt the main thread once more when an interruption is lost; call it in the main thread.

    The import system has callbacks that lose it; so does C code that calls Python and clears the error.
    """
    handler, hook = signal.getsignal(signal.SIGINT), sys.unraisablehook

    def ignore_interruption(lost: UnraisableHookArgs) -> None:
        if not issubclass(lost.exc_type, _Interruption):
            hook(lost)

    _watches.append(None)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    sys.unraisablehook = ignore_interruption
    try:
        yield
    except (RuntimeError, ImportError) as error:
        # Python 3.11 wraps what is raised in ``__set_name__``, and modules what is raised while they load.
        if isinstance(error.__cause__, _Interruption):
            raise error.__cause__ from None
        raise
    finally:
        _watches.pop()
        sys.unraisablehook = hook
        signal.signal(signal.SIGINT, handler)


@contextmanager
def interrupt_on_sigterm() -> Iterator[None]:
    """Raise KeyboardInterrupt in the block on SIGTERM, as on Ctrl-C; call it in the main thread."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


_blocks: list[object] = []
"""One for the outermost block of ``defer_interrupts`` in the main thread."""


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Defer interruptions to the end of a block; those of a block within another, to the end of the outer one."""
    import threading

    # Only the main thread is ever interrupted.
    if _blocks or threading.current_thread() is not threading.main_thread():
        yield
        return
    deferred: list[int] = []
    before: dict[signal.Signals, Any] = {}
    try:
        _blocks.append(None)
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if handler is not None and handler is not signal.SIG_IGN:
                before[number] = handler
                signal.signal(number, lambda number, _: deferred.append(number))
        yield
    finally:
        _blocks.clear()
        for number, handler in before.items():
            signal.signal(number, handler)
        if deferred:
            signal.raise_signal(deferred[0])


def _interrupt(number: int, _frame: object) -> None:
    interruption = _Interruption()
    if _watches:
        _thread.start_new_thread(_repeat_if_lost, (number, _thread.get_ident(), ref(interruption)))
    try:
        raise interruption
    finally:
        # Its traceback holds this frame, which would hold it until the collector looks for cycles.
        del interruption


def _repeat_if_lost(number: int, thread: int, interruption: ref[_Interruption]) -> None:
    """Send a signal again if the exception ends while the command goes on."""
    while interruption() is not None:
        time.sleep(_LOOK_S)
    # A callback that loses it is over by then.
    time.sleep(_LOOK_S)
    if not _watches:
        return
    if sys.platform == "win32":
        _thread.interrupt_main(number)
    else:
        signal.pthread_kill(thread, number)
