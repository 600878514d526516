"""The processes of a run, read from /proc, and what a run leaves behind."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

PR_SET_CHILD_SUBREAPER = 36
PATIENCE_S = 60.0


class Process(NamedTuple):
    """One running process."""

    pid: int
    parent: int
    state: str
    words: str
    cpu_limited: bool
    """True for samples, which have a limit of CPU time; false for the process of the tests."""


def list_processes() -> dict[int, Process]:
    """Return every visible process by its id."""
    processes = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                state, parent = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[:2]
                words = (folder / "cmdline").read_bytes().decode("utf-8", "replace").replace("\0", " ")
                limits = (folder / "limits").read_text("ascii")
            except OSError:
                continue
            limited = "Max cpu time              unlimited" not in limits
            processes[int(folder.name)] = Process(int(folder.name), int(parent), state, words, limited)
    return processes


def descendants_of(ancestor: int) -> list[Process]:
    """Return the living descendants of a process."""
    processes = list_processes().values()
    descendants: list[Process] = []
    parents = {ancestor}
    while parents:
        children = [process for process in processes if process.parent in parents]
        descendants += children
        parents = {process.pid for process in children}
    return [process for process in descendants if process.state not in "ZX"]


def jailed(ancestor: int) -> list[Process]:
    """Return the jailed descendants of a process."""
    return [process for process in descendants_of(ancestor) if "forkserver_boot.py" in process.words]


def wait_until(condition: Callable[[], Any], what: str) -> Any:
    """Wait until something is true and return it."""
    deadline = time.monotonic() + PATIENCE_S
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited for {what} in vain"
        time.sleep(0.002)
    return value


class Run:
    """One file of samples and the run directory beside it; sessions come and go."""

    def __init__(self, shell: Any, rows: list[dict[str, Any]], *words: str) -> None:
        self.shell = shell
        self.rows = rows
        self.samples = shell.write("s.jsonl", rows)
        self.folder = shell.folder / "s.jsonl.passcurve"
        self.words = ("judge", "s.jsonl", "--subset", "--json", *words)
        self.sessions: list[subprocess.Popen[bytes]] = []

    def start(self) -> subprocess.Popen[bytes]:
        """Start a session."""
        self.sessions.append(self.shell.start(*self.words))
        return self.sessions[-1]

    def end(self) -> Any:
        """Run a session to its end."""
        return self.shell(*self.words)

    def stored(self) -> list[int]:
        """Return the row of each verdict that is stored, as often as it is."""
        lines = [
            line
            for part in sorted(self.folder.glob("verdicts-*.jsonl"))
            for line in part.read_bytes().split(b"\n")[1:-1]
        ]
        return [json.loads(line)["row"] for line in lines]

    def count(self) -> int:
        """Return how many lines of verdicts are stored."""
        return sum(max(0, part.read_bytes().count(b"\n") - 1) for part in self.folder.glob("verdicts-*.jsonl"))

    def wait(self, session: subprocess.Popen[bytes], count: int) -> None:
        """Wait until so many verdicts are stored, or the session has ended."""
        wait_until(lambda: self.count() >= count or session.poll() is not None, f"{count} verdicts")

    def results(self) -> list[tuple[str, str]]:
        """Return task and status of each row of the results."""
        return [(row["task_id"], row["status"]) for row in self.shell.rows("s.jsonl_results.jsonl")]


@pytest.fixture
def nothing_left() -> Iterator[Callable[[], None]]:
    """Return a check that no process and no mount is left of what the test has started.

    For as long as the test lasts orphans become children of this process, so that none can hide.
    """
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = set(Path("/proc/mounts").read_text("utf-8", "replace").splitlines())
    # Tests of other files in this process may keep a judge until it ends.
    others = {process.pid for process in jailed(os.getpid())}

    def left() -> list[Process]:
        return [process for process in jailed(os.getpid()) if process.pid not in others]

    def check() -> None:
        wait_until(lambda: not left(), f"the end of {left()}")
        after = set(Path("/proc/mounts").read_text("utf-8", "replace").splitlines())
        assert set() == after - before

    yield check
    for process in left():
        os.kill(process.pid, signal.SIGKILL)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    for process in list_processes().values():
        if process.parent == os.getpid() and process.state == "Z":
            os.waitpid(process.pid, os.WNOHANG)


@pytest.fixture
def shell(shell_in, tmp_path) -> Any:
    """Return the command in an empty folder, each call a process of its own: what these tests hold is processes."""
    return shell_in(tmp_path, server=None)


@pytest.fixture
def run_of(shell) -> Iterator[Callable[..., Run]]:
    """Return how to make a run of rows; what a failed test leaves under way is ended."""
    runs: list[Run] = []

    def make(rows: list[dict[str, Any]], *words: str) -> Run:
        runs.append(Run(shell, rows, *words))
        return runs[-1]

    yield make
    for session in (session for run in runs for session in run.sessions):
        if session.returncode is None:
            session.kill()
            session.wait()
        for pipe in (session.stdout, session.stderr):
            if pipe is not None:
                pipe.close()


@pytest.fixture(scope="session")
def processes() -> Callable[[int], list[Process]]:
    """Return how to list what runs behind walls below a process."""
    return jailed
