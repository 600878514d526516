"""``python -m passcurve.compat.human_eval SAMPLES``: catches an interruption also while the command loads."""

from __future__ import annotations

import sys


def run() -> None:
    """Run the command and exit with its code."""
    try:
        from passcurve.interruption import forward_lost_interrupts

        with forward_lost_interrupts():
            from passcurve.compat.human_eval.command import main

            code = main()
    except KeyboardInterrupt:
        sys.stderr.write("passcurve: interrupted; nothing was written\n")
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    run()
