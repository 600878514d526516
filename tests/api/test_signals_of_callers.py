"""Signals that the caller has blocked or ignored change nothing for samples."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import signal, sys, threading
import passcurve as pc
problem = {"id": "p", "kind": "function", "entry_point": "f", "reference": "def f():\\n    return 1\\n",
           "test": "def check(candidate):\\n    assert candidate() == 1\\n"}
look = '''def f():
    import signal
    numbers = sorted(signal.valid_signals())
    raise ValueError(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())), [signal.getsignal(n) for n in numbers])
'''
def judge():
    if sys.argv[1] == "blocked":
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM, signal.SIGTERM, signal.SIGUSR1})
    with pc.Judge(workers=1, reuse=sys.argv[2]) as judge:
        (one,) = judge([{"problem": problem, "solution": look}])
    print(one.mode, one.message)
if sys.argv[1] == "ignored":
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)
thread = threading.Thread(target=judge)
thread.start()
thread.join()
"""


@pytest.mark.ci
@pytest.mark.parametrize("reuse", ["rewind", pytest.param("fork", marks=pytest.mark.nightly)])
def test_signals_of_callers(reuse: str) -> None:
    """A sample finds the same mask and handlers, whoever has started its judge."""

    def seen(how: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, how, reuse], capture_output=True, text=True, timeout=60, check=False
        )
        assert (0, "") == (done.returncode, done.stderr)
        return done.stdout

    plain = seen("plain")
    assert plain.startswith("referee ValueError: ([]")
    assert plain == seen("blocked") == seen("ignored")
