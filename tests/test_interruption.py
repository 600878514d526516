"""Interruptions: deferred to the end of a block, and not lost while a command loads."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading

import pytest

from passcurve.interruption import defer_interrupts


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_waits_for_the_end_of_a_block(number):
    """The handler is called once, after the block, and is installed again."""
    called, done = [], []

    def handler(number, _):
        called.append(number)
        raise KeyboardInterrupt

    def block():
        with defer_interrupts():
            with defer_interrupts():
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


def test_an_error_in_the_block_does_not_lose_the_interruption():
    """An interruption is raised even when the block ends with an error."""

    def block():
        with defer_interrupts():
            signal.raise_signal(signal.SIGINT)
            raise OSError

    with pytest.raises(KeyboardInterrupt):
        block()


def test_an_ignored_signal_stays_ignored():
    """An ignored signal is ignored in the block and after it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with defer_interrupts():
            signal.raise_signal(signal.SIGINT)
        assert signal.SIG_IGN is signal.getsignal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_need_no_handler():
    """A block in another thread runs without a handler."""
    done = []

    def block():
        with defer_interrupts():
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
    print(json.dumps([imports, code, text]), flush=True)  # else the next child has it in its buffer too
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
