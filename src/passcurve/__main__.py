"""The command ``passcurve``, or ``python -m passcurve``: here because an interruption may come while it loads."""

from __future__ import annotations

import sys


def run() -> None:
    """Entry point of the installed command."""
    try:
        from passcurve.cli.main import app
        from passcurve.cli.output import quietly

        quietly(app)
    except KeyboardInterrupt:
        sys.stderr.write("passcurve: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    run()
