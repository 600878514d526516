"""A fork server that is started before it is known what a run needs: it is used where it fits, and ends in any case."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from jailed import LIMITS, descendants, need

import passcurve
from passcurve.sandbox.forkserver_client import early_fork_server
from passcurve.sandbox.startup import start_sandbox


def children() -> set[int]:
    """Return the processes that this one has started, and those below them."""
    return {process.pid for process in descendants(os.getpid())}


def test_it_is_the_one_of_the_sandbox():
    """A sandbox for Python programs uses it and starts no other, and it ends with the sandbox."""
    need("full")
    before = children()
    with early_fork_server(None) as early:
        (started,) = children() - before
        with start_sandbox(LIMITS, early=early) as sandbox:
            assert early is sandbox.fork_server
            ours = [process for process in descendants(os.getpid()) if process.pid not in before]
            assert [started] == [process.pid for process in ours if process.parent == os.getpid()]
        assert set() == children() - before


def test_another_kind_is_ended_at_once():
    """A sandbox for commands ends it, and starts its own."""
    need("full")
    before = children()
    with early_fork_server(None) as early:
        (started,) = children() - before
        with start_sandbox(LIMITS, commands=True, early=early) as sandbox:
            assert early is not sandbox.fork_server
            assert started not in children()


def test_another_interpreter_has_none():
    """Where another interpreter is asked for, nothing is started: which one it is must be found out first."""
    before = children()
    with early_fork_server(sys.executable) as early:
        assert early is None
        assert set() == children() - before


def test_it_ends_with_an_error():
    """An error in its context ends it before the error is seen."""
    before = children()

    def fail() -> None:
        with early_fork_server(None):
            assert children() - before
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert set() == children() - before


def test_it_is_killed_before_it_is_used():
    """A sandbox starts another one where somebody has killed it."""
    need("full")
    before = children()
    with early_fork_server(None) as early:
        (started,) = children() - before
        os.kill(started, signal.SIGKILL)
        with start_sandbox(LIMITS, early=early) as sandbox:
            assert "full" == sandbox.probe.jail.isolation
    assert set() == children() - before


def test_bytecode_with_a_date_to_come(public_folder: Path):
    """A clock that was set back after the installation does not keep it from starting."""
    need("full")
    root = public_folder / "dated"
    shutil.copytree(Path(passcurve.__file__).parent, root / "passcurve", ignore=shutil.ignore_patterns("__pycache__"))
    script = (
        "from passcurve.sandbox.forkserver_client import early_fork_server\n"
        "from passcurve.sandbox.startup import start_sandbox\n"
        "from passcurve.types import Limits\n"
        "with early_fork_server(None) as early, start_sandbox(Limits(), early=early) as sandbox:\n"
        "    print(sandbox.probe.jail.isolation)\n"
    )
    for _ in range(2):
        path = os.pathsep.join([str(root), str(Path(msgspec.__file__).parents[1])])
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert "full" == done.stdout.strip(), done.stderr
        for bytecode in root.rglob("*.pyc"):
            os.utime(bytecode, (time.time() + 3600, time.time() + 3600))
