"""An interruption that comes where nothing can be raised: in a callback, of which the import system has some."""

from __future__ import annotations

import _thread
import sys

# What type checkers take for true; the module that has it takes longer to load than all here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_MOMENT_S = 0.01
"""By then the callback has ended."""


def mind_callbacks() -> None:
    """From now on interrupt the calling thread once more when a callback was interrupted, where it would be lost."""
    thread = _thread.get_ident()

    def hook(lost: UnraisableHookArgs) -> None:
        if issubclass(lost.exc_type, KeyboardInterrupt):
            # By another thread: here it would be lost once more.
            _thread.start_new_thread(_interrupt, (thread,))
        else:
            sys.__unraisablehook__(lost)

    sys.unraisablehook = hook


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
