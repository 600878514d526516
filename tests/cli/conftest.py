"""Fixtures of the command line's tests: one judged run of the built-in examples, which no test changes."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import termios
from typing import Any, NamedTuple

import pytest


class JudgedExamples(NamedTuple):
    """Run of ``starter:examples``: the shell of its folder, the ended command and the rows of results."""

    shell: Any
    done: Any
    rows: list[dict[str, Any]]


@pytest.fixture(scope="session")
def judged(shell_in, tmp_path_factory) -> JudgedExamples:
    """Judge the built-in examples once; tests must not change the folder."""
    shell = shell_in(tmp_path_factory.mktemp("judged"))
    done = shell("judge", "starter:examples", "--json", "--timeout", "1")
    return JudgedExamples(shell, done, shell.rows("starter-examples_results.jsonl"))


@pytest.fixture
def hide_packages(shell):
    """Return a function that hides installed packages from the command."""

    def hide(*packages: str) -> None:
        folder = shell.folder / "absent"
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({packages!r}))\n")
        shell.env["PYTHONPATH"] = str(folder)

    return hide


@pytest.fixture
def lines_on_terminal():
    """Return a function that runs a command of a shell on a terminal so many columns wide, and returns its lines."""

    def run(shell: Any, columns: int, *words: object) -> list[str]:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        with shell.start(*words, stdout=theirs) as started:
            os.close(theirs)
            output = b""
            # The end of a terminal is an error of its own.
            with contextlib.suppress(OSError):
                while piece := os.read(ours, 4096):
                    output += piece
            os.close(ours)
            assert 0 == started.wait(60)
        return output.decode().replace("\r", "").splitlines()

    return run
