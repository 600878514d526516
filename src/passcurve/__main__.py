"""The command ``passcurve``, or ``python -m passcurve``: catches an interruption also while the command loads."""

from __future__ import annotations

import sys

COLLECTED_OBJECTS = 200_000
"""New objects after which the collector looks for cycles: most of what a command makes stays, and cycles are rare."""


def run() -> None:
    """Entry point of the installed command."""
    try:
        from passcurve.interruption import forward_lost_interrupts, interrupt_on_sigterm

        with interrupt_on_sigterm(), forward_lost_interrupts():
            _run()
    except KeyboardInterrupt:
        _report_interruption()
        sys.exit(130)
    except SystemExit as end:
        # Typer ends in silence when it is interrupted itself, before a command begins.
        if isinstance(getattr(end.__context__, "__cause__", None), KeyboardInterrupt):
            _report_interruption()
        raise


def _report_interruption() -> None:
    if "--json" in sys.argv:
        sys.stdout.write('{"error": "interrupted", "exit_code": 130}\n')
    sys.stderr.write("passcurve: interrupted\n")


def _run() -> None:
    if sys.argv[1:] == ["--version"]:
        _version()
    else:
        import gc

        gc.set_threshold(COLLECTED_OBJECTS)
        from passcurve.cli.main import make_app
        from passcurve.cli.output import run_and_flush
        from passcurve.config import use_one_thread

        use_one_thread()
        try:
            run_and_flush(make_app(sys.argv[1:]))
        finally:
            # Else the interpreter looks for cycles in all that is left before it ends.
            gc.freeze()


def _version() -> None:
    # Scripts often ask for the version: loading the commands would take several times as long.
    from passcurve import __version__
    from passcurve.cli.output import run_and_flush, write

    run_and_flush(lambda: write(f"passcurve {__version__}"))


if __name__ == "__main__":
    run()
