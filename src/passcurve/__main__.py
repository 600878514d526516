"""The command ``passcurve``, or ``python -m passcurve``: here because an interruption may come while it loads."""

from __future__ import annotations

import _thread
import sys

# What type checkers take for true; the module that has it takes longer to load than all here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from sys import UnraisableHookArgs


def run() -> None:
    """Entry point of the installed command."""
    sys.unraisablehook = _lost
    try:
        if sys.argv[1:] == ["--version"]:
            _version()
        else:
            from passcurve.cli.main import app
            from passcurve.cli.output import quietly
            from passcurve.config import use_one_thread

            use_one_thread()
            quietly(app)
    except KeyboardInterrupt:
        sys.stderr.write("passcurve: interrupted\n")
        sys.exit(130)


def _lost(lost: UnraisableHookArgs) -> None:
    """Interrupt again when a callback was interrupted, which cannot raise: the import system has such callbacks."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        # By another thread: here it would be lost once more.
        _thread.start_new_thread(_interrupt, (_thread.get_ident(),))
    else:
        sys.__unraisablehook__(lost)


def _interrupt(thread: int) -> None:
    import signal
    import time

    time.sleep(0.01)
    number = signal.SIGTERM if signal.getsignal(signal.SIGINT) is signal.SIG_IGN else signal.SIGINT
    if sys.platform == "win32":
        _thread.interrupt_main(number)
    else:
        signal.pthread_kill(thread, number)


def _version() -> None:
    # What scripts ask most often is answered without loading the commands, which takes several times as long.
    from passcurve import __version__
    from passcurve.cli.output import quietly, say

    quietly(lambda: say(f"passcurve {__version__}"))


if __name__ == "__main__":
    run()
