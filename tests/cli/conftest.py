"""Fixtures of the command line's tests: one judged run of the built-in examples, which no test changes."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import struct
import termios
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from command_server import Completed


class JudgedExamples(NamedTuple):
    """Run of ``starter:examples``: the shell of its folder, the ended command and the rows of results."""

    shell: Any
    done: Any
    rows: list[dict[str, Any]]


@pytest.fixture(scope="session")
def judged(shell_in, folder_made_once) -> JudgedExamples:
    """Judge the built-in examples once; tests must not change the folder."""

    def judge(folder: Path) -> None:
        done = shell_in(folder)("judge", "starter:examples", "--json", "--timeout", "1")
        output_of(folder).write_text(json.dumps(done), "utf-8")

    def output_of(folder: Path) -> Path:
        return folder.with_suffix(".json")

    folder = folder_made_once("judged", judge)
    shell, done = shell_in(folder), Completed(*json.loads(output_of(folder).read_text("utf-8")))
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
