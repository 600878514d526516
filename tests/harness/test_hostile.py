"""Values and frames that attack the referee: each ends in a verdict in time and does not affect the next sample."""

# ruff: noqa: E501 - a program on one line is compared more easily than one in five pieces

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from jailed import IS_ONE, LIMITS, MIB, ONE, Jailed, descendants, jail_at, zygotes

from passcurve.judging.plan import CheckPlan
from passcurve.types import Verdict

pytestmark = pytest.mark.nightly

HOSTILE = msgspec.structs.replace(LIMITS, timeout_s=1.0, memory_bytes=2048 * MIB, output_bytes=64 * MIB)
CHECK_LIMIT_S = 60.0
"""Largest wall time of a check: the tests get 10 s of CPU time, and the machine may be busy."""


@pytest.fixture(scope="module")
def hostile() -> Iterator[Jailed]:
    """Return a jail with the limits that users have."""
    with jail_at("auto", limits=HOSTILE) as jail:
        yield jail


def check(jail: Jailed, program: str, test: str = IS_ONE, **options: object) -> Verdict:
    """Judge a program, and a right one after it on the same worker, each within a time limit."""
    before = time.monotonic()
    verdict = jail.check(program, test, **options)
    took = time.monotonic() - before
    assert took < CHECK_LIMIT_S, verdict
    before = time.monotonic()
    assert jail.check(ONE, IS_ONE).passed
    # A heavy check may leave a second of cleaning behind it, never minutes.
    assert time.monotonic() - before < 10.0
    assert len(verdict.message) <= 500
    str(verdict).encode("utf-8")
    return verdict


def memory_of_referees(jail: Jailed) -> int:
    """Return the memory of the largest referee process, in bytes."""
    zygote = zygotes(jail.pool)["referee"].pid
    sizes = [0]
    for process in descendants(zygote):
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        sizes += [int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS")]
    return max(sizes)


RAW = """
import os, stat, struct, time
def line():
    for n in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(n).st_mode):
                return n
        except OSError:
            pass
LINE = line()
def send(*frames):
    for frame in frames:
        data = memoryview(u(len(frame)) + frame)
        while data:
            data = data[os.write(LINE, data):]
def u(n):
    return struct.pack('<I', n)
def e(v):
    k = type(v)
    if v is None: return b'N'
    if k is bool: return b'T' if v else b'F'
    if k is int:
        size = v.bit_length() // 8 + 1
        return b'I' + u(size) + v.to_bytes(size, 'little', signed=True)
    if k is str:
        return b's' + u(len(v.encode('utf-8', 'surrogatepass'))) + v.encode('utf-8', 'surrogatepass')
    if k is Raw: return v.data
    if k is dict: return b'd' + u(len(v)) + b''.join(e(x) for p in v.items() for x in p)
    return (b'l' if k is list else b't') + u(len(v)) + b''.join(map(e, v))
class Raw:
    def __init__(self, data):
        self.data = data
def many(tag, n, item):
    return Raw(tag + u(n) + item * n)
LOADED = e({'loaded': True, 'has_entry_point': True})
def value(v):
    send(LOADED, e({'value': v}))
PRIME = (1 << 61) - 1
"""

VALUES = {
    "a cycle": "x = []\nx.append(x)\n",
    "a doubling": "x = []\nfor _ in range(60):\n    x = [x, x]\n",
    "deep": "x = 1\nfor _ in range(3000):\n    x = (x,)\n",
    "a lying dictionary": "class D(dict):\n    items = keys = __iter__ = lambda s: iter(range(10 ** 12))\n"
    "    __len__ = lambda s: 1 << 40\nx = D(a=1)\n",
    "a lying list": "class L(list):\n    __iter__ = lambda s: iter(range(10 ** 12))\n    __len__ = lambda s: 1 << 40\nx = L([2])\n",
    "not a number as keys": "x = {float('nan'): 1, float('nan'): 2}\n",
    "many numbers that are none": "x = {float('nan') for _ in range(300_000)}\n",
    "a huge decimal": "from decimal import Decimal\nx = Decimal('1e999999999')\n",
    "a huge number": "x = 1 << (8 * (60 << 20))\n",
    "a huge fraction": "from fractions import Fraction\nx = Fraction(3 ** 2_000_000, 2 ** 3_000_000)\n",
    "a huge range": "x = range(10 ** 30)\n",
    "surrogates": "x = '\\ud800' * 100_000\n",
    "complex nonsense": "x = complex(float('nan'), float('inf'))\n",
    "bytes like a frame": "x = b'\\5\\0\\0\\0d\\1\\0\\0\\0s\\5\\0\\0\\0valueT' * 1000\n",
    "objects in a set": "x = {object() for _ in range(100_000)}\n",
    "functions": "x = [lambda: 1 for _ in range(200_000)]\n",
    "an exception with huge arguments": "def f(*_):\n    raise ValueError('x' * 60_000_000, [0] * 1_000_000, 10 ** 100_000)\n",
    "an exception of long names": (
        "def f(*_):\n    raise type('E' * 10_000_000, (ValueError,), {'__module__': 'builtins'})('\\udfff' * 5000)\n"
    ),
    "an exception that never shows": (
        "class E(ValueError):\n    def __str__(self):\n        while True: pass\ndef f(*_):\n    raise E\n"
    ),
    "keys of one hash": "x = {i * ((1 << 61) - 1) for i in range(1500)}\n",
}


@pytest.mark.parametrize("what", VALUES)
def test_values(hostile: Jailed, what: str):
    """A hostile value ends in a verdict and does not pass."""
    program = VALUES[what]
    if "def f(" not in program:
        program += "def f(*_):\n    return x\n"
    verdict = check(hostile, program)
    assert verdict.status in ("failed", "output", "timeout", "memory"), verdict


FRAMES = {
    "keys of one hash": "value(Raw(b'S' + u(200_000) + b''.join(e(i * PRIME) for i in range(200_000))))",
    "keys of one hash in a dictionary": "value(Raw(b'd' + u(200_000) + b''.join(e(i * PRIME) + b'N' for i in range(200_000))))",
    "keys of one hash, few at a time": (
        "value(many(b'l', 900, b'S' + u(1000) + b''.join(e(i * PRIME) for i in range(1000))))"
    ),
    "keys of one hash in tuples": "value(Raw(b'S' + u(200_000) + b''.join(e((i * PRIME,)) for i in range(200_000))))",
    "nothing, many times": "value(many(b'l', 60 << 20, b'N'))",
    "empty lists": "value(many(b'l', 12 << 20, b'l' + u(0)))",
    "empty sets": "value(many(b'l', 12 << 20, b'S' + u(0)))",
    "functions": "value(many(b'l', 6 << 20, b'h' + u(0) + b's' + u(0)))",
    "opaque objects": "value(many(b'S', 6 << 20, b'o' + u(0) + b's' + u(0)))",
    "fractions": "value(many(b'l', 8 << 20, b'qi\\1\\1i\\1\\2'))",
    "a huge fraction": "value(Raw(b'q' + e((1 << (29 << 23)) + 1) + e((1 << (30 << 23)) + 3)))",
    "huge fractions": "value(many(b'l', 200, b'q' + e((1 << 999_999) + 1) + e((1 << 1_000_001) + 3)))",
    "a decimal of many digits": "value(Raw(b'D' + e('7' * (60 << 20))))",
    "a list that claims more": "value(Raw(b'l' + b'\\xff' * 4))",
    "a frame that claims more": "os.write(LINE, b'\\xff' * 4)",
    "a frame that never ends": "os.write(LINE, u(1 << 20) + b'd')",
    "a frame that ends with the program": "os.write(LINE, u(1 << 20) + b'd'); os._exit(0)",
    "a handle of no object": "send(LOADED, e({'value': Raw(b'h' + b'\\xff' * 4 + e('x'))}))",
    "an endless exception": "send(LOADED, e({'raised': {'type': 'E', 'message': 'm', 'lineage': ['ValueError'], 'arguments': Raw(b'r' + e(0) + e(10 ** 30) + e(1))}}))",
    "an exception of a billion": "send(LOADED, e({'raised': {'type': 'E', 'message': 'm', 'lineage': ['ValueError'], 'arguments': Raw(b'r' + e(0) + e(10 ** 9) + e(1))}}))",
    "an exception of many names": "send(LOADED, e({'raised': {'type': 'E', 'message': 'm', 'lineage': many(b'l', 1 << 20, e('E')), 'arguments': ()}}))",
    "an exception of strange names": "send(LOADED, e({'raised': {'type': 'E', 'message': 'm', 'lineage': ['\\ud800', '__import__', 'exit', 'BaseExceptionGroup', 'object'], 'arguments': ()}}))",
    "an exception with offsets outside": "send(LOADED, e({'raised': {'type': 'E', 'message': 'm', 'lineage': ['UnicodeDecodeError'], 'arguments': ('x', Raw(b'b' + u(0)), -10 ** 17, 1 - 10 ** 17, 'r')}}))",
    "a range of huge numbers": "value(Raw(b'r' + e(0) + e(1 << (40 << 20)) + e((1 << (20 << 20)) + 1)))",
    "a huge number and a decimal of one hash": "x = 1 << (40 << 20)\nvalue(Raw(b'S' + u(2) + e(x) + b'D' + e(str(x % PRIME))))",
    "long tuples of one hash": "value(Raw(b'S' + u(60) + b''.join(Raw(b't' + u(90_001) + b'N' * 90_000).data + e(i * PRIME) for i in range(60))))",
    "a load that failed at length": "send(e({'raised': {'type': 'E' * (20 << 20), 'message': 10 ** 5000, 'lineage': [], 'arguments': ()}}))",
    "unsendable nonsense": "send(LOADED, e({'unsendable': {'message': 10 ** 5000}}))",
    "strange types": "send(LOADED, e({'value': 2, 'flattened': [10 ** 5000]}))",
    "many types": "send(LOADED, e({'value': 2, 'flattened': many(b't', 1 << 20, e('E'))}))",
    "a load twice": "send(LOADED, LOADED)",
    "a reply before its time": "send(e({'value': 1}), LOADED)",
    "replies without end": "\nwhile True:\n    send(LOADED, e({'value': 2}))",
    "a reply of two kinds": "send(LOADED, e({'value': 2, 'raised': 5, 'callback': 0}))",
    "a callback of nothing": "\nsend(LOADED)\nwhile True:\n    send(e({'callback': 0, 'args': (), 'kwargs': {}}))",
    "a number as a message": "send(e(5))",
    "no bytes": "send(b'', b'')",
}


@pytest.mark.parametrize("what", FRAMES)
def test_frames(hostile: Jailed, what: str):
    """Hostile bytes on the connection do not pass."""
    verdict = check(hostile, f"{RAW}\n{FRAMES[what]}\ntime.sleep(60)\n")
    assert verdict.status in ("failed", "output", "timeout", "memory", "crash"), verdict
    assert memory_of_referees(hostile) < 512 * MIB


CALLBACKS = {
    "many": ("def f(g):\n    while True:\n        g(1)\n", "timeout"),
    "with endless arguments": (
        RAW + "def f(g):\n    send(e({'callback': 0, 'args': Raw(b'r' + e(0) + e(10 ** 12) + e(1)), 'kwargs': {}}))\n",
        "crash",
    ),
    "with keywords that are none": (
        RAW + "def f(g):\n    send(e({'callback': 0, 'args': (), 'kwargs': [1]}))\n",
        "crash",
    ),
    "below zero": (RAW + "def f(g):\n    send(e({'callback': -1, 'args': (1,), 'kwargs': {}}))\n", "crash"),
    "true": (RAW + "def f(g):\n    send(e({'callback': True, 'args': (1,), 'kwargs': {}}))\n", "crash"),
    "within callbacks": ("def f(g):\n    return g(lambda: f(g))\n", "failed"),
    "that get all there is": ("def f(g):\n    return g(b'x' * (50 << 20))\n", "output"),
    "with keywords that are numbers": (
        RAW + "def f(g):\n    send(e({'callback': 0, 'args': (1,), 'kwargs': {1: 2}}))\n    time.sleep(60)\n",
        "timeout",
    ),
}


@pytest.mark.parametrize("what", CALLBACKS)
def test_callbacks(hostile: Jailed, what: str):
    """Callbacks of any number, depth and form end in a verdict."""
    program, status = CALLBACKS[what]
    test = "def check(candidate):\n    assert candidate(lambda x: x() if callable(x) else x) == 1\n"
    assert status == check(hostile, program, test).status


WORK = {
    "an iterator without end": ("import itertools\ndef f():\n    return itertools.count()\n", "list(candidate())"),
    "an iterator of much": ("def f():\n    while True:\n        yield 'x' * 1_000_000\n", "list(candidate())"),
    "a decimal made a number": (
        "from decimal import Decimal\ndef f():\n    return Decimal('1e999999999')\n",
        "int(candidate())",
    ),
    "a decimal and a fraction": (
        "from decimal import Decimal\ndef f():\n    return Decimal('1e999999999')\n",
        "from fractions import Fraction\n    assert candidate() == Fraction(1, 3)",
    ),
    "a number shown": ("def f():\n    return 10 ** 1_000_000\n", "assert candidate() == 1, f'{candidate()} is not 1'"),
    "a range walked": ("def f():\n    return range(10 ** 30)\n", "assert sum(candidate()) == 1"),
    "a list of one hash": (
        "def f():\n    return [i * ((1 << 61) - 1) for i in range(100_000)]\n",
        "assert len(set(candidate())) == 1",
    ),
}


@pytest.mark.parametrize("what", WORK)
def test_tests_that_do_not_end(hostile: Jailed, what: str):
    """Tests that do not end on a returned value are stopped, and the sample does not pass."""
    program, test = WORK[what]
    verdict = check(hostile, program, f"def check(candidate):\n    {test}\n")
    assert verdict.status in ("failed", "output", "timeout", "memory"), verdict


def test_write_back_of_hostile_arguments(hostile: Jailed):
    """Arguments written back may be of any number and type; those that do not fit are ignored."""
    # The program sleeps, so that only the reply of its own making comes.
    program = (
        RAW
        + "def f(xs):\n    send(e({'value': 1, 'kwargs': {}, 'args': Raw(b'r' + e(0) + e(10 ** 12) + e(1))}))\n    time.sleep(60)\n"
    )
    test = "def check(candidate):\n    xs = [1]\n    assert candidate(xs) == 1\n    assert xs == [2]\n"
    assert "crash" == check(hostile, program, test, plan=CheckPlan(write_back=True)).status
    program = program.replace("Raw(b'r' + e(0) + e(10 ** 12) + e(1))", "(5, [2], [3])")
    assert "failed" == check(hostile, program, test, plan=CheckPlan(write_back=True)).status


def test_free_the_memory_of_a_heavy_check(hostile: Jailed):
    """The memory of a large answer that the tests keep is freed before the next sample is judged."""
    test = "kept = []\ndef check(candidate):\n    kept.append(candidate())\n    assert len(kept[0]) == 300_000\n"
    program = "def f():\n    return [[] for _ in range(300_000)]\n"
    for _ in range(2):
        assert check(hostile, program, test, problem_id="T/heavy").passed
        assert hostile.check("def f():\n    return [1] * 300_000\n", test, problem_id="T/heavy").passed
        assert memory_of_referees(hostile) < 200 * MIB
