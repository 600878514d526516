"""Interruptions that come at moments that are wrong for them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading

import pytest

from passcurve.interruption import deferred


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_waits_for_the_end_of_a_block(number):
    """A block runs to its end, and the handler is called then, once, and is in its place again."""
    called, done = [], []

    def handler(number, _):
        called.append(number)
        raise KeyboardInterrupt

    def block():
        with deferred():
            with deferred():
                signal.raise_signal(number)
                signal.raise_signal(number)
                done.append("inner")
            done.append("outer")

    before = signal.signal(number, handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            block()
        assert ([number], ["inner", "outer"], handler) == (called, done, signal.getsignal(number))
    finally:
        signal.signal(number, before)


def test_an_error_of_the_block_does_not_lose_it():
    """An interruption is raised though the block ended with an error."""

    def block():
        with deferred():
            signal.raise_signal(signal.SIGINT)
            raise OSError

    with pytest.raises(KeyboardInterrupt):
        block()


def test_what_is_ignored_stays_ignored():
    """A signal that is ignored is ignored in the block and behind it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with deferred():
            signal.raise_signal(signal.SIGINT)
        assert signal.SIG_IGN is signal.getsignal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_run_their_blocks():
    """A thread that cannot be interrupted needs no handler."""
    done = []

    def block():
        with deferred():
            done.append(True)

    thread = threading.Thread(target=block)
    thread.start()
    thread.join()
    assert [True] == done


INTERRUPTED_AT_EACH_IMPORT = """
import json, os, runpy, signal, sys

class Interruption:
    def __init__(self, imports):
        self.started, self.imports = False, imports

    def find_spec(self, name, *_):
        if self.started and self.imports == 0:
            signal.raise_signal(signal.SIGINT)
        self.imports -= self.started
        self.started = self.started or name == f"{module}.__main__"

module, *sys.argv[1:] = sys.argv[1:]
for imports in range(0, 10_000, 7):
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        os.dup2(write, 1)
        os.dup2(write, 2)
        sys.meta_path.insert(0, Interruption(imports))
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    os.close(write)
    with open(read, encoding="utf-8") as output:
        text = output.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    print(json.dumps([imports, code, text]))
    if code == 2:
        break
"""
"""Runs a command again and again, each time with Ctrl-C a few imports later, until it ends before."""


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("passcurve", "passcurve: interrupted\n"),
        ("passcurve.compat.human_eval", "passcurve: interrupted; nothing was written\n"),
    ],
)
def test_ctrl_c_while_a_command_loads(module, message, tmp_path):
    """Ctrl-C at any import of a command ends it with 130 and one line."""
    words = {"passcurve": ["judge", "missing.jsonl"]}.get(module, ["missing.jsonl"])
    process = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_AT_EACH_IMPORT, module, *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    *interrupted, (_, last_code, _) = map(json.loads, process.stdout.splitlines())
    assert 2 == last_code, process.stderr
    assert len(interrupted) > 10
    assert [] == [run for run in interrupted if run[1:] != [130, message]]
