"""Shared mode: tests and sample in one process, a pass only with the token, and no harm from what else is sent."""

from __future__ import annotations

import gc
import time
from pathlib import Path

import pytest
from jailed import ONE, Jailed

from passcurve.harness.wire import encode
from passcurve.judging.plan import CheckPlan
from passcurve.judging.verdict import reach_verdict
from passcurve.types import SampleKey, Verdict

SHARED = CheckPlan(mode="shared")
LIVE = "def check(candidate):\n    assert candidate().double() == 4\n"
IS_ONE = "def check(candidate):\n    assert candidate() == 1\n"


def check(jail: Jailed, program: str, test: str = IS_ONE) -> Verdict:
    """Judge a program in shared mode."""
    return jail.check(program, test, plan=SHARED)


def test_live_objects(jail: Jailed):
    """Tests can call methods of a returned object."""
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
def test_end_before_the_tests(jail: Jailed, program: str, status: str):
    """A program that ends before the tests do does not pass, and the next one does."""
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
    """A report that a sample writes without the token is no pass, and affects nothing else."""
    verdict = check(jail, forger(FORGED[what]))
    assert verdict.status in ("crash", "failed"), verdict
    str(verdict).encode("utf-8")
    assert check(jail, ONE).passed


def test_a_report_over_the_limit(jail: Jailed):
    """A report over the limit of the supervisor has status crash."""
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
    """The supervisor reads any report of up to a megabyte in less than a second."""
    report = SLOW[what]()
    assert len(report) < 1 << 20
    wanted = jail.job(forger(report), IS_ONE, plan=SHARED)
    # The collector would look through what all tests before have left, which no supervisor has.
    gc.collect()
    gc.freeze()
    before = time.process_time()
    try:
        assert not reach_verdict(SampleKey(problem_id="T", sample_index=0), wanted, jail.run(wanted)).passed
        assert time.process_time() - before < 1.0
    finally:
        gc.unfreeze()


def test_ignore_bytes_after_the_report(jail: Jailed):
    """Bytes after a report are not read."""
    program = ONE + "import atexit\n"
    assert check(jail, program).passed
    assert check(jail, ONE).passed


def test_patches_of_the_harness(jail: Jailed):
    """A program that patches the functions with which the harness reports does not pass."""
    for patch in (
        "builtins.len = builtins.str = builtins.isinstance = None",
        "os._exit = lambda *_: None",
        "os.write = lambda fd, data: len(data)",
        "sys.modules.clear()",
        "builtins.BaseException = KeyError",
        "sys.setrecursionlimit = sys.exit",
        "builtins.exec = builtins.getattr = lambda *_: None",
    ):
        program = f"import builtins, os, sys\n{patch}\ndef f():\n    return 2\n"
        assert not check(jail, program).passed
        assert check(jail, ONE).passed


TWO_LINES = "def check(candidate):\n    x = candidate()\n    assert x == 1\n"
WITH_MODULE = "import math\ndef check(candidate):\n    x = candidate()\n    assert math.isclose(x, 1.0)\n"
WITH_CLASS = "import unittest\ndef check(candidate):\n    unittest.TestCase().assertEqual(candidate(), 1)\n"
WITH_HELPER = "def same(a, b):\n    return a == b\ndef check(candidate):\n    x = candidate()\n    assert same(x, 1)\n"
WITH_BUILTIN = "def check(candidate):\n    x = candidate()\n    assert all([x == 1])\n"
CALLED_EARLY = "def check(candidate):\n    assert candidate() == 1\nearly = f()\n"
TWO = "def f():\n    return 2\n"

WITH_MEAN = (
    "import statistics\ndef check(candidate):\n    import statistics\n    assert candidate() == statistics.mean([1])\n"
)
WITH_FRACTION = "from fractions import Fraction\ndef check(candidate):\n    assert not Fraction(1) != candidate()\n"
OTHER_MODULE = "import statistics, sys, types\nother = types.ModuleType('statistics')\nother.mean = lambda _: 2\n"
OTHER_BUILTIN = "import sys\nowner = sys.modules['built' + 'ins']\n"

FAILING_ATTEMPTS = {
    "a module replaced in another table": (
        OTHER_MODULE + "table, sys.modules = sys.modules, dict(sys.modules)\ntable['statistics'] = other\n" + TWO,
        WITH_MEAN,
    ),
    "a statement's builtin replaced": (
        OTHER_MODULE + OTHER_BUILTIN + "real = owner.__import__\n"
        "owner.__import__ = lambda name, *others: other if name == 'statistics' else real(name, *others)\n" + TWO,
        WITH_MEAN,
    ),
    "a module of another class": (
        "import statistics, types\nclass Module(types.ModuleType):\n    def __getattribute__(self, name):\n"
        "        return (lambda _: 2) if name == 'mean' else super().__getattribute__(name)\n"
        "statistics.__class__ = Module\n" + TWO,
        WITH_MEAN,
    ),
    "a method in the place of an inherited one": (
        "from fractions import Fraction\nFraction.__ne__ = lambda *_: False\n" + TWO,
        WITH_FRACTION,
    ),
    "another base": (
        "from fractions import Fraction\nclass Base(*Fraction.__bases__):\n    __slots__ = ()\n"
        "    __ne__ = lambda *_: False\nFraction.__bases__ = (Base,)\n" + TWO,
        WITH_FRACTION,
    ),
    "a method of a base in another module": (
        "import numbers\nnumbers.Real.conjugate = lambda _: 2\n" + TWO,
        "from fractions import Fraction\ndef check(candidate):\n    assert candidate() == Fraction(1).conjugate()\n",
    ),
    "builtins replaced": ("import builtins\nbuiltins.all = lambda _: True\n" + TWO, WITH_BUILTIN),
    "a module's function replaced": ("import math\nmath.isclose = lambda *_: True\n" + TWO, WITH_MODULE),
    "a module replaced": (
        "import sys, types\nsys.modules['math'] = types.SimpleNamespace(isclose=lambda *_: True)\n" + TWO,
        WITH_MODULE,
    ),
    "a function within a module's module replaced": (
        "import os\nos.path.exists = lambda _: True\n" + TWO,
        "import os\ndef check(candidate):\n    assert os.path.exists(str(candidate()))\n",
    ),
    "a module within a module replaced": (
        "import os\nclass Path:\n    exists = lambda _: True\nos.path = Path\n" + TWO,
        "import os\ndef check(candidate):\n    assert os.path.exists(str(candidate()))\n",
    ),
    "a function of a module that comes when it is asked for": (
        "import numpy.testing\nnumpy.testing.assert_allclose = lambda *_: None\n" + TWO,
        "import numpy as np\ndef check(candidate):\n    np.testing.assert_allclose(candidate(), 1)\n",
    ),
    "a module's function with other code": (
        "import statistics\nstatistics.mean.__code__ = (lambda _: 2).__code__\n" + TWO,
        "import statistics\ndef check(candidate):\n    assert candidate() == statistics.mean([1])\n",
    ),
    "a method with other code": (
        "from fractions import Fraction\nFraction.__eq__.__code__ = (lambda *_: True).__code__\n" + TWO,
        "from fractions import Fraction\ndef check(candidate):\n    assert Fraction(1) == candidate()\n",
    ),
    "a method of a class replaced": (
        "from fractions import Fraction\nFraction.from_float = lambda _: 2\n" + TWO,
        "from fractions import Fraction\ndef check(candidate):\n    assert candidate() == Fraction.from_float(1.0)\n",
    ),
    "a method replaced": ("import unittest\nunittest.TestCase.assertEqual = lambda *_: None\n" + TWO, WITH_CLASS),
    "check defined ahead": ("def check(_):\n    pass\n" + TWO, IS_ONE),
    "check replaced": ("def f():\n    globals()['check'] = lambda _: None\n    return 2\n", CALLED_EARLY),
    "check with other globals": (
        "import types\ndef f():\n    if 'check' in globals():\n        mine = {'check': None}\n"
        "        globals()['check'] = types.FunctionType(check.__code__, mine)\n    return 2\n",
        CALLED_EARLY,
    ),
    "a decorator left over": (TWO + "def no(_):\n    return lambda _: None\n@no\ndef g(): pass\n", IS_ONE),
    "the harness's functions rewritten": (
        "import sys\nframe = sys._getframe()\nwhile frame:\n"
        "    for value in list(frame.f_globals.values()):\n"
        "        if hasattr(value, '__code__') and 'passcurve' in value.__module__:\n"
        "            if not value.__code__.co_freevars:\n"
        "                value.__code__ = (lambda *_, **__: None).__code__\n"
        "    frame = frame.f_back\n" + TWO,
        IS_ONE,
    ),
    "the harness's names rewritten": (
        "import sys\nframe = sys._getframe(1)\nwhile frame:\n"
        "    for name in list(frame.f_globals):\n        if frame.f_globals is not globals():\n"
        "            frame.f_globals[name] = lambda *_, **__: None\n"
        "    frame = frame.f_back\n" + TWO,
        IS_ONE,
    ),
    "the harness called again": (
        "import sys\nframe = sys._getframe(1)\nwhile frame:\n    main = frame.f_globals.get('_run')\n"
        "    if main and not hasattr(sys, 'again'):\n        sys.again = 1\n"
        "        main(lambda _: None, frame.f_locals['job'])\n        break\n"
        "    frame = frame.f_back\n" + TWO,
        IS_ONE,
    ),
    "left early": ("import os\nos._exit(0)\n", IS_ONE),
    "left by an exit": ("import sys\ndef f():\n    sys.exit(0)\n", IS_ONE),
    "an exit handler": ("import atexit, os\natexit.register(os._exit, 0)\n" + TWO, IS_ONE),
    "the line led elsewhere": (
        "import os, stat\nfor n in range(3, 64):\n    try:\n"
        "        if stat.S_ISSOCK(os.fstat(n).st_mode): os.dup2(os.open('/dev/null', os.O_RDWR), n)\n"
        "    except OSError: pass\n" + TWO,
        IS_ONE,
    ),
    "a variable of the tests": (
        "import sys\ndef f():\n    sys._getframe(1).f_locals['x'] = 1\n    return 2\n",
        "def check(candidate):\n    x = 0\n    y = candidate()\n    assert y == 1\n",
    ),
}


@pytest.mark.parametrize("what", FAILING_ATTEMPTS)
def test_attempts_that_fail(jail: Jailed, what: str):
    """These attempts do not make a wrong program pass, and the next sample is judged as usual."""
    program, test = FAILING_ATTEMPTS[what]
    verdict = check(jail, program, test)
    assert verdict.status in ("failed", "crash"), verdict
    assert check(jail, ONE).passed


SEARCH = """
import builtins, gc, linecache, os, re, sys
def strings():
    todo, known = list(gc.get_objects()), set()
    frame = sys._getframe()
    while frame:
        todo += [frame, frame.f_locals, frame.f_globals, frame.f_code, frame.f_trace]
        frame = frame.f_back
    try:
        raise ValueError
    except ValueError as error:
        trace = error.__traceback__
        todo += [trace, trace.tb_frame, linecache.cache, sys.modules, vars(builtins)]
    todo += list(sys._current_frames().values())
    todo += [vars(module) for module in list(sys.modules.values()) if hasattr(module, '__dict__')]
    for n in range(3, 64):
        try:
            todo.append(os.pread(n, 1 << 20, 0))
        except OSError:
            pass
    kept = []
    while todo:
        value = todo.pop()
        if id(value) in known:
            continue
        known.add(id(value))
        kept.append(value)
        if isinstance(value, (str, bytes, bytearray)):
            yield value if isinstance(value, str) else bytes(value).decode('latin-1')
        else:
            todo += gc.get_referents(value)
def search():
    return sorted({each for text in strings() for each in re.findall('(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])', text)})
planted = '0123456789abcdef' * 2
"""
SEARCHES = {
    "in the call": "f = search\n",
    "at module level": "found = search()\ndef f():\n    return found\n",
    "by a trace function": (
        "found = []\nframe = sys._getframe(1)\n"
        "def trace(*_):\n    sys.settrace(None)\n    found.extend(search())\n    return trace\n"
        "while frame:\n    frame.f_trace = trace\n    frame.f_trace_opcodes = True\n    frame = frame.f_back\n"
        "sys.settrace(lambda *_: None)\ndef f():\n    return found\n"
    ),
}


@pytest.mark.parametrize("where", SEARCHES)
def test_the_token_is_in_no_object(jail: Jailed, where: str):
    """The token is in no variable, frame, object, descriptor or module that a sample can search."""
    test = "def check(candidate):\n    raise ValueError(repr(('found', candidate())))\n"
    wanted = jail.job(SEARCH + SEARCHES[where], test, plan=SHARED)
    report = jail.run(wanted).report
    assert report["message"].startswith("ValueError: ('found', ["), report
    assert "0123456789abcdef" * 2 in report["message"]
    assert wanted.setup["token"] not in report["message"]
    assert len(wanted.setup["token"]) == 32


FORGERIES = {
    "an object that equals everything": (
        "class A:\n    __eq__ = lambda *_: True\ndef f():\n    return A()\n",
        IS_ONE,
        (),
    ),
    "the expected values read from the tests": (
        "import sys\ndef f():\n    return max(c for c in sys._getframe(1).f_code.co_consts if type(c) is int)\n",
        # From 3.14 on small integers are no constants of a function.
        TWO_LINES.replace("== 1", "== 1000"),
        (),
    ),
    "a builtin replaced while the tests run": (
        "import builtins\ndef f():\n    builtins.all = lambda _: True\n    return 2\n",
        WITH_BUILTIN,
        ("builtins changed: all",),
    ),
    "a function of a module replaced while the tests run": (
        "import math\ndef f():\n    math.isclose = lambda *_: True\n    return 2\n",
        WITH_MODULE,
        ("math changed: isclose",),
    ),
    "a helper of the tests replaced while they run": (
        "def f():\n    globals()['same'] = lambda *_: True\n    return 2\n",
        WITH_HELPER,
        ("tests changed: same",),
    ),
    "data of the tests changed": (
        "import sys\ndef f():\n    sys._getframe(1).f_locals['wanted'].clear()\n    return 2\n",
        "def check(candidate):\n    wanted = [1]\n    x = candidate()\n    assert all(x == y for y in wanted)\n",
        (),
    ),
    "data of a module changed": (
        "import math\nmath.pi = 2\n" + TWO,
        "import math\ndef check(candidate):\n    assert candidate() == math.pi\n",
        (),
    ),
    "what the harness keeps": (
        "import os, sys\nsys._getframe(1).f_locals['monitor']._kept.clear()\nos.path.exists = lambda _: True\n" + TWO,
        "import os\ndef check(candidate):\n    x = candidate()\n    assert x == 1 or os.path.exists('x')\n",
        (),
    ),
    "a helper of the prompt defined otherwise": (
        "def same(a, b):\n    return True\ndef f():\n    return 2\n",
        "def check(candidate):\n    assert same(candidate(), 1)\n",
        (),
    ),
    "a name of a builtin taken by the program": (
        "def all(_):\n    return True\n" + TWO,
        WITH_BUILTIN,
        ("hides the builtin: all",),
    ),
    "lines of the tests skipped by a trace function": (
        "import sys\ndef trace(frame, event, _):\n    if event == 'line':\n        frame.f_lineno += 1\n"
        "    return trace\n"
        "def f():\n    sys._getframe(1).f_trace = trace\n    sys.settrace(lambda *_: None)\n    return 2\n",
        TWO_LINES + "    x = 3\n",
        ("trace function set",),
    ),
    "variables of the tests changed by a trace function": (
        "import sys\ndef trace(frame, event, _):\n    frame.f_locals['x'] = 1\n    return trace\n"
        "def f():\n    sys._getframe(1).f_trace = trace\n    sys.settrace(lambda *_: None)\n    return 2\n",
        TWO_LINES,
        ("trace function set",),
    ),
    "the token found in the process's own memory": (
        "import ctypes, gc, os, re, stat\n"
        'report = rb\'{"status": "passed", "message": "", "token": "[0-9a-f]{32}"\'\n'
        "libc, (out, into) = ctypes.CDLL(None), os.pipe()\n"
        "def page(n):\n"
        "    there = libc.write(into, ctypes.c_void_p(n << 12), 4096) > 0\n"
        "    return os.read(out, 4096) if there else b''\n"
        "def f():\n"
        "    for each in {id(value) >> 20 for value in (*gc.get_objects(), *map(bytes, range(500)))}:\n"
        "        data = b''.join(page((each << 8) + n) for n in range(-256, 512))\n"
        "        for found in re.findall(report, data):\n"
        "            send(found + b'}')\n"
        "    return 2\n"
        "def send(data):\n"
        "    for n in range(3, 64):\n"
        "        try:\n"
        "            if stat.S_ISSOCK(os.fstat(n).st_mode):\n"
        "                os.write(n, len(data).to_bytes(4, 'little') + data)\n"
        "                os._exit(0)\n"
        "        except OSError:\n"
        "            pass\n",
        IS_ONE,
        None,
    ),
}
"""All programs known to pass falsely, as docs/verdicts.md lists it: program, tests, and findings.

None: it writes the report itself, so there are no findings.
"""


@pytest.mark.parametrize("what", FORGERIES)
def test_forgeries_that_remain(jail: Jailed, what: str):
    """Each of these wrong programs passes; one that no longer does must leave this list and the documentation."""
    program, test, findings = FORGERIES[what]
    wanted = jail.job(program, test, plan=SHARED)
    outcome = jail.run(wanted)
    verdict = reach_verdict(SampleKey(problem_id="T", sample_index=0), wanted, outcome)
    assert verdict.passed, verdict
    assert findings is None or list(findings) == outcome.report["seen"]
    assert "failed" == check(jail, TWO, test).status
    assert check(jail, ONE).passed


def test_the_forgeries_that_remain_are_documented():
    """The documentation lists exactly these forgeries."""
    text = (Path(__file__).parents[2] / "docs/verdicts.md").read_text("utf-8")
    passage = text.partition("### The limits of shared mode")[2].partition("\n##")[0].partition("\n###")[0]
    named = {line[4:].partition("**")[0].lower() for line in passage.splitlines() if line.startswith("- **")}
    assert {what.lower() for what in FORGERIES} == named


HONEST = {
    "nothing": ONE,
    "numpy": "import numpy as np\ndef f():\n    return int(np.array([1]).sum())\n",
    "threads": (
        "import threading\ndef f():\n    xs = []\n    t = threading.Thread(target=xs.append, args=(1,))\n"
        "    t.start(); t.join()\n    return xs[0]\n"
    ),
    "a pool of threads": (
        "from concurrent.futures import ThreadPoolExecutor\ndef f():\n    with ThreadPoolExecutor(2) as pool:\n"
        "        return pool.submit(lambda: 1).result()\n"
    ),
    "asyncio": (
        "import asyncio\nasync def g():\n    await asyncio.sleep(0)\n    return 1\n"
        "def f():\n    return asyncio.run(g())\n"
    ),
    "everything of math": "from math import *\ndef f():\n    return int(sqrt(1))\n",
    "builtins as names": "def sum(x):\n    return 1\nlen = abs = 3\ndef f():\n    return sum([])\n",
    "recursion": "import sys\nsys.setrecursionlimit(50_000)\ndef f(n=3000):\n    return 1 if not n else f(n - 1)\n",
    "data classes and enums": (
        "import collections, dataclasses, enum, logging, typing\n@dataclasses.dataclass\nclass A:\n    x: int = 1\n"
        "P = collections.namedtuple('P', 'x')\nclass E(enum.IntEnum):\n    a = 1\n"
        "logging.getLogger().warning('x')\ndef f():\n    return P(A().x).x * E.a\n"
    ),
    "its own tests": (
        "import doctest, sys, unittest\ndef f():\n    '''\n    >>> f()\n    1\n    '''\n    return 1\n"
        "class T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(f(), 1)\n"
        "doctest.testmod(sys.modules['sample'])\n"
        "unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(T))\n"
    ),
    "output led elsewhere": (
        "import contextlib, io, sys\ndef f():\n    with contextlib.redirect_stdout(io.StringIO()) as out:\n"
        "        print(1)\n    sys.stdout = io.StringIO()\n    return int(out.getvalue())\n"
    ),
    "random numbers, time, signals": (
        "import atexit, random, signal, time, warnings\nrandom.seed(3)\nsignal.signal(14, lambda *_: None)\n"
        "atexit.register(print)\nwarnings.simplefilter('ignore')\n"
        "def f():\n    time.sleep(0.001)\n    return random.randint(1, 1)\n"
    ),
    "a copy of everything": (
        "import copy, decimal, fractions, gc, json, re, traceback\n"
        "def f():\n    gc.collect()\n    return copy.deepcopy([1])[0]\n"
    ),
    "a caller looked up": (
        "import inspect\ndef f():\n    return 1 if inspect.currentframe().f_code.co_name == 'f' else 0\n"
    ),
}


@pytest.mark.parametrize("what", HONEST)
def test_no_findings_on_honest_programs(jail: Jailed, what: str):
    """An ordinary program has no findings, whatever it and the tests import."""
    test = "import math, random, unittest, collections, sys, os, time, json, warnings, logging\n" + TWO_LINES
    if any(name.startswith("numpy==") for name in jail.sandbox.toolchain.packages):
        test = "import numpy as np\n" + test
    elif what == "numpy":
        pytest.skip("numpy is not installed here")
    wanted = jail.job(HONEST[what], test, plan=SHARED)
    report = jail.run(wanted).report
    assert ("passed", []) == (report["status"], report["seen"]), report


@pytest.mark.parametrize(
    ("name", "program"), [("all", "def all():\n    return 1\n"), ("f", "from math import *\ndef f():\n    return 1\n")]
)
def test_a_name_of_a_builtin_may_be_the_functions_own(jail: Jailed, name: str, program: str):
    """The function to test, and those of `math`, hide nothing that an honest program would not."""
    wanted = jail.job(program, f"def check(candidate):\n    assert {name}() == pow(1, 1)\n", plan=SHARED, name=name)
    outcome = jail.run(wanted)
    assert ("passed", []) == (outcome.report["status"], outcome.report["seen"])


FINDINGS = {
    "builtins changed: len": "import builtins\nbuiltins.len = abs\n",
    "builtins changed: print": "import builtins\ndel builtins.print\n",
    "os changed: write": "import os\nos.write = print\n",
    "os changed: _exit": "import os\nos._exit = print\n",
    "math changed: isclose": "import math\nmath.isclose = max\n",
    "unittest.TestCase changed: assertTrue": "import unittest\nunittest.TestCase.assertTrue = print\n",
    "sys.modules changed: math": "import sys\nsys.modules['math'] = None\n",
    "trace function set": "import sys\nsys.settrace(lambda *_: None)\nsys.settrace(None)\n",
    "profile function set": "import sys\nsys.setprofile(lambda *_: None)\nsys.setprofile(None)\n",
    "frames of threads read": "import sys\nsys._current_frames()\n",
    "objects searched": "import gc\ngc.get_objects()\ngc.get_referents([])\n",
    "ctypes used": "import ctypes\n",
}

EQUAL = """
import gc, sys
class Equal:
    def __init__(self, answer):
        self.answer = answer
    def __eq__(self, other):
        return 1 / 0 if self.answer is None else self.answer
    def __call__(self, *_):
        return None
"""
"""Objects that answer a comparison as they like."""


@pytest.mark.parametrize("what", FINDINGS)
@pytest.mark.parametrize("wrong", [False, True])
def test_findings(jail: Jailed, what: str, wrong: bool):
    """A report names what a program does for no honest reason, whether it passes or not."""
    test = "import math, unittest\n" + TWO_LINES + "    assert math.isclose(x, x)\n"
    report = jail.run(jail.job(FINDINGS[what] + (TWO if wrong else ONE), test, plan=SHARED)).report
    assert ("failed" if wrong else "passed", [what]) == (report["status"], report["seen"]), report


@pytest.mark.parametrize("answer", ["True", "None"])
def test_no_object_of_a_program_hides_what_it_does(jail: Jailed, answer: str):
    """An object that a program passes is not compared with None: its ``__eq__`` could return True or raise."""
    program = f"{EQUAL}gc.get_referents(Equal({answer}))\nsys.settrace(Equal({answer}))\nsys.settrace(None)\n{ONE}"
    report = jail.run(jail.job(program, IS_ONE, plan=SHARED)).report
    assert ("passed", ["objects searched", "trace function set"]) == (report["status"], report["seen"]), report


def test_at_most_eight_findings(jail: Jailed):
    """A report has at most eight findings, each of a few words."""
    program = "import builtins\nfor name in dir(builtins)[:60]:\n    setattr(builtins, name, lambda *_: 1)\n" + ONE
    report = jail.run(jail.job(program, TWO_LINES, plan=SHARED)).report
    assert ("passed", 8) == (report["status"], len(report["seen"]))
    assert max(map(len, report["seen"])) <= 80


def test_check_that_is_no_plain_function(jail: Jailed):
    """Tests may decorate check or make it otherwise: it is called, without findings."""
    for test in (
        "import functools\n@functools.lru_cache(None)\n" + TWO_LINES,
        "def wrap(g):\n    return lambda c: g(c)\n" + TWO_LINES + "check = wrap(check)\n",
        "class C:\n    def __call__(self, candidate):\n        assert candidate() == 1\ncheck = C()\n",
        "check = lambda candidate: [][candidate() - 1:] or None\n",
    ):
        report = jail.run(jail.job(ONE, test, plan=SHARED)).report
        assert ("passed", []) == (report["status"], report["seen"]), (test, report)
