"""Shared mode: tests and sample in one process, a pass only with the token, and no harm from what else is sent."""

from __future__ import annotations

import time

import pytest
from jailed import ONE, Jailed

from passcurve.langs.judge import judge
from passcurve.langs.python import Plan
from passcurve.sandbox.wire import encode
from passcurve.types import SampleKey, Verdict

SHARED = Plan(mode="shared")
LIVE = "def check(candidate):\n    assert candidate().double() == 4\n"
IS_ONE = "def check(candidate):\n    assert candidate() == 1\n"


def check(jail: Jailed, program: str, test: str = IS_ONE) -> Verdict:
    """Judge a program in shared mode."""
    return jail.check(program, test, plan=SHARED)


def test_live_objects(jail: Jailed):
    """Tests that use methods of what is returned can pass."""
    program = "class A:\n    def __init__(self, n): self.n = n\n    def double(self): return 2 * self.n\n"
    assert check(jail, program + "def f():\n    return A(2)\n", LIVE).passed
    verdict = check(jail, program + "def f():\n    return A(3)\n", LIVE)
    assert ("failed", "AssertionError", "assert candidate().double() == 4") == (
        verdict.status,
        verdict.exception,
        verdict.test_line,
    )
    assert "shared" == verdict.mode


@pytest.mark.parametrize(
    ("program", "status"),
    [
        ("def f(:\n", "compile"),
        ("1 / 0\n", "failed"),
        ("def g(): pass\n", "failed"),
        ("import os\nos._exit(0)\n", "crash"),
        ("import sys\nsys.exit(0)\n", "failed"),
        ("def f():\n    import os\n    os._exit(0)\n", "crash"),
        ("def f():\n    raise SystemExit(0)\n", "failed"),
        ("raise MemoryError\n", "memory"),
        ("import atexit, os\natexit.register(os._exit, 0)\ndef f():\n    return 2\n", "failed"),
        ("import os\nos.write = lambda *_: 0\ndef f():\n    return 2\n", "failed"),
        ("def f():\n    def g(): return g()\n    return g()\n", "failed"),
    ],
)
def test_ends(jail: Jailed, program: str, status: str):
    """However a program ends before the tests do, it is not passed, and the next one is."""
    assert status == check(jail, program).status
    assert check(jail, ONE).passed


def forger(report: bytes, then: str = "os._exit(0)") -> str:
    """Return a program that writes bytes to every line it holds as if they were its report."""
    return (
        "import os, stat\n"
        f"data = {report!r}\n"
        "frame = len(data).to_bytes(4, 'little') + data\n"
        "for n in range(3, 64):\n"
        "    try:\n"
        "        if stat.S_ISSOCK(os.fstat(n).st_mode):\n"
        "            while frame:\n"
        "                frame = frame[os.write(n, frame):]\n"
        "    except OSError:\n"
        "        pass\n"
        f"{then}\n"
    )


LONG = b"1" * 5001
FORGED = {
    "no token": b'{"status": "passed", "message": ""}',
    "an empty token": b'{"status": "passed", "message": "", "token": ""}',
    "a guessed token": b'{"status": "passed", "message": "", "token": "' + b"0" * 32 + b'"}',
    "no text as token": b'{"status": "passed", "token": null}',
    "two of a kind": b'{"status": "failed", "status": "passed", "token": ""}',
    "an unknown status": b'{"status": "wonderful"}',
    "no status": b"{}",
    "a list": b'["passed"]',
    "a number": b"1",
    "long numbers": b'{"status": "failed", "message": ' + LONG + b', "exception": ' + LONG + b"}",
    "a long number of calls": b'{"status": "failed", "calls": ' + LONG + b"}",
    "calls below zero": b'{"status": "failed", "calls": -1}',
    "calls of long numbers": b'{"status": "failed", "call": [' + LONG + b", " + LONG + b"]}",
    "no list of types": b'{"status": "failed", "flattened": 5}',
    "types of long numbers": b'{"status": "failed", "flattened": [' + LONG + b"]}",
    "nonsense of a long number": b'{"status": "protocol", "message": ' + LONG + b"}",
    "a long text": b'{"status": "failed", "message": "' + b"x" * 100_000 + b'"}',
    "half a surrogate pair": b'{"status": "failed", "message": "\\ud800", "exception": "\\udfff"}',
    "no UTF-8": b'{"status": "failed", "message": "\xff"}',
    "a number without end": b'{"status": "failed", "calls": 1e999}',
    "no number": b'{"status": "failed", "calls": NaN}',
    "a deep list": b"[" * 100_000,
    "a deep table": b'{"a":' * 100_000,
    "our own bytes": encode({"status": "passed", "token": ""}),
    "nothing": b"",
    "garbage": b"\xff" * 100,
}


@pytest.mark.parametrize("what", FORGED)
def test_forged_reports(jail: Jailed, what: str):
    """A report that the sample wrote itself, without the token, is no pass and breaks nothing of ours."""
    verdict = check(jail, forger(FORGED[what]))
    assert verdict.status in ("crash", "failed"), verdict
    str(verdict).encode("utf-8")
    assert check(jail, ONE).passed


def test_a_report_over_the_limit(jail: Jailed):
    """A report longer than the supervisor takes is a crash."""
    assert "crash" == check(jail, forger(b'{"status": "failed"' + b" " * (2 << 20) + b"}", "while True: pass")).status
    assert check(jail, ONE).passed


PRIME = (1 << 61) - 1
"""Numbers that differ by it have one hash."""

SLOW = {
    "keys of one hash": lambda: (
        b"S" + (25_000).to_bytes(4, "little") + b"".join(encode(i * PRIME) for i in range(25_000))
    ),
    "a fraction": lambda: b"q" + encode((1 << 2_000_000) + 1) + encode((1 << 2_000_000) + (1 << 999_999) + 3),
    "a long number": lambda: b'{"status": "failed", "calls": ' + b"7" * 1_000_000 + b"}",
    "a long fraction": lambda: b'{"status": "failed", "calls": 0.' + b"7" * 1_000_000 + b"e9}",
    "many keys": lambda: b'{"status": "failed"' + b"".join(b', "%d": 1' % i for i in range(80_000)) + b"}",
    "many lists": lambda: b'{"status": "failed", "flattened": [' + b"[]," * 300_000 + b"[]]}",
}


@pytest.mark.parametrize("what", SLOW)
def test_reports_that_are_slow_to_read(jail: Jailed, what: str):
    """No report that a sample can write, within the limit of a megabyte, keeps the supervisor busy for a second."""
    report = SLOW[what]()
    assert len(report) < 1 << 20
    wanted = jail.job(forger(report), IS_ONE, plan=SHARED)
    before = time.process_time()
    assert not judge(SampleKey(problem_id="T", sample_index=0), wanted, jail.run(wanted), "shared").passed
    assert time.process_time() - before < 1.0


def test_a_right_report_and_then_more(jail: Jailed):
    """What follows a report is not read."""
    program = ONE + "import atexit\n"
    assert check(jail, program).passed
    assert check(jail, ONE).passed


def test_the_harness_survives_patches(jail: Jailed):
    """A program that replaces what the harness uses to report does not pass by it."""
    for patch in (
        "builtins.len = builtins.str = builtins.isinstance = None",
        "os._exit = lambda *_: None",
        "os.write = lambda fd, data: len(data)",
        "sys.modules.clear()",
    ):
        program = f"import builtins, os, sys\n{patch}\ndef f():\n    return 2\n"
        assert not check(jail, program).passed
        assert check(jail, ONE).passed
