"""Unit tests beside a program: what passes, what fails first, what each class counts, and what no program can fake."""

from __future__ import annotations

import base64
import itertools
from typing import Any

import pytest
from jailed import LIMITS, Jailed

from passcurve.judging.plan import CheckPlan, make_job
from passcurve.judging.verdict import reach_verdict
from passcurve.types import Problem, SampleKey, Suite, UnitTests, Verdict

HEAD = "import unittest\n"
TESTS = (
    HEAD
    + "class TestCases(unittest.TestCase):\n"
    + "    def test_one(self):\n        self.assertEqual(f(1), 1)\n"
    + "    def test_two(self):\n        self.assertEqual(f(2), 2)\n"
)
RIGHT = "def f(x):\n    return x\n"
WRONG = "def f(x):\n    return 1\n"
_TAGS = itertools.count(1)


def run(
    jail: Jailed, program: str, test: str = TESTS, *, all_tests: bool = False, **fields: Any
) -> tuple[Verdict, dict[str, Any]]:
    """Judge a program by unit tests; return the verdict and the report."""
    check = UnitTests(source=test, **fields)
    problem = Problem(id="T", prompt="", entry_point="f", check=check)
    job = make_job(problem, program, CheckPlan(mode="shared"), LIMITS, 0, next(_TAGS), all_tests=all_tests)
    outcome = jail.run(job)
    return reach_verdict(SampleKey(problem_id="T", sample_index=0), job, outcome), outcome.report or {}


def test_pass_and_fail(jail: Jailed):
    """A right program passes; a wrong one has the first test that failed, with its line and its message."""
    assert run(jail, RIGHT)[0].passed
    verdict, report = run(jail, WRONG)
    assert ("failed", "AssertionError", "shared") == (verdict.status, verdict.exception, verdict.mode)
    assert "TestCases.test_two: self.assertEqual(f(2), 2)" == verdict.test_line
    assert "1 != 2" in verdict.message
    assert [[2, 1, 1]] == report["suites"]


def test_prefix_and_quoted_programs(jail: Jailed):
    """What stands before a program is part of it, and tests can get the program as text."""
    assert run(jail, "    return g(x)\n", prefix="def g(x):\n    return x\ndef f(x):\n    pass\n")[0].passed
    tests = HEAD + "class T(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(eval(code), 3)\n"
    assert run(jail, "1 + 2", tests, quoted="code")[0].passed
    assert run(jail, "'''\\''' + \"", tests, quoted="code")[0].status == "failed"


SUITES = (
    HEAD
    + "class A(unittest.TestCase):\n"
    + "    def test_a(self):\n        self.assertEqual(f(1), 1)\n"
    + "    def test_b(self):\n        self.assertEqual(f(2), 2)\n"
    + "    def test_c(self):\n        self.assertEqual(f(1), 1)\n"
    + "class B(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(1), 1)\n"
    + "class C(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(3), 3)\n"
)


@pytest.mark.parametrize(
    ("is_alone", "suites"), [(True, [[3, 2, 1], [1, 1, -1], [1, 0, 0]]), (False, [[2, 1, 1], [0, 0, -1], [0, 0, -1]])]
)
def test_suites(jail: Jailed, is_alone: bool, suites: list[list[int]]):
    """Classes that count alone all run to their end; others end at the first failure of all."""
    classes = tuple(Suite(name=name, count=count, alone=is_alone) for name, count in (("A", 3), ("B", 1), ("C", 1)))
    verdict, report = run(jail, WRONG, SUITES, suites=classes)
    assert "failed" == verdict.status
    assert suites == report["suites"]
    passed, report = run(jail, RIGHT, SUITES, suites=classes)
    assert passed.passed
    assert [[3, 3, -1], [1, 1, -1], [1, 1, -1]] == report["suites"]


JOB = "import sys\nframe = sys._getframe()\nwhile 'job' not in frame.f_locals:\n    frame = frame.f_back\n"
JOB += "job = frame.f_locals['job']\n"


@pytest.mark.parametrize(
    "change",
    [
        "del job['suites'][1:]",
        "job['suites'][:] = job['suites'][:1] * 2",
        "job['suites'].clear(); job['classes'] += 'B'",
    ],
)
def test_no_program_chooses_its_tests(jail: Jailed, change: str):
    """The harness reads the job before a program begins, which finds it in the frames above and may change it."""
    classes = (Suite(name="B", count=1), Suite(name="C", count=1))
    late = f"def f(x):\n    {change}\n    return 1\n"
    for program in (f"{change}\n{WRONG}", late):
        verdict, report = run(jail, JOB + program, SUITES, suites=classes)
        assert ("failed", [[1, 1, -1], [1, 0, 0]]) == (verdict.status, report["suites"])
    assert run(jail, f"{JOB}{change}\n{RIGHT}", SUITES, suites=classes)[0].passed


def test_all_tests(jail: Jailed):
    """The tests go on after a failure, and the outcome of each is kept, of those that passed as well."""
    classes = (Suite(name="A", count=3), Suite(name="B", count=1), Suite(name="C", count=1))
    for program, bits in ((WRONG, (0b101, 0b1, 0b0)), (RIGHT, (0b111, 0b1, 0b1))):
        verdict, _ = run(jail, program, SUITES, suites=classes, all_tests=True)
        outcomes = [base64.b64decode(suite.outcomes)[0] for suite in verdict.suites]
        shifts = (5, 7, 7)
        assert [bit << shift for bit, shift in zip(bits, shifts, strict=True)] == outcomes
        assert [3, 1, 1] == [suite.ran for suite in verdict.suites]


ODD = (
    HEAD
    + "class T(unittest.TestCase):\n"
    + "    def test_a(self):\n        with self.subTest(1):\n            self.assertEqual(f(1), 1)\n"
    + "        with self.subTest(2):\n            self.assertEqual(f(2), 2)\n"
    + "    @unittest.expectedFailure\n    def test_b(self):\n        self.assertEqual(f(1), 5)\n"
    + "    @unittest.expectedFailure\n    def test_c(self):\n        self.assertEqual(f(1), 1)\n"
    + "    def test_d(self):\n        self.skipTest('no')\n"
    + "    @unittest.skip('never')\n    def test_e(self):\n        raise ValueError\n"
)
FIXTURES = TESTS.replace(
    "    def test_one", "    @classmethod\n    def setUpClass(cls):\n        f(0)\n    def test_one"
)


def test_odd_tests(jail: Jailed):
    """Subtests count, expected failures and unexpected successes are right, and tests may skip themselves."""
    assert run(jail, RIGHT, ODD)[0].passed
    verdict, report = run(jail, WRONG, ODD)
    assert "failed" == verdict.status
    assert [1, 0, 0] == report["suites"][0]
    assert run(jail, RIGHT, FIXTURES)[0].passed
    assert "ZeroDivisionError" == run(jail, "def f(x):\n    return x and x or 1 / 0\n", FIXTURES)[0].exception


SKIPPING = {
    "raised": "def f(x):\n    raise unittest.SkipTest\n",
    "raised by a text": "def f(x):\n    exec('raise unittest.SkipTest')\n",
    "raised in a file of unittest": "def f(x):\n"
    "    exec(compile('raise unittest.SkipTest', unittest.case.__file__, 'exec'))\n",
    "a decorator": "@unittest.skip('never')\ndef f(x):\n    pass\n",
    "a decorated class": "class f:\n    @unittest.skip('never')\n    def __init__(self, x):\n        pass\n",
    "another test": "def f(x):\n    unittest.TestCase().skipTest('no')\n",
    "the test itself": "import sys\ndef f(x):\n    sys._getframe(1).f_locals['self'].skipTest('no')\n",
    "functions of C": "import asyncio, functools, operator\nclass Loop:\n    def get_debug(self):\n"
    "        return False\nfuture = asyncio.Future(loop=Loop())\nfuture.set_exception(unittest.SkipTest())\n"
    "f = functools.partial(next, map(operator.methodcaller('result'), [future] * 2))\n",
    "a mark on the class": "import sys\ndef f(x):\n"
    "    type(sys._getframe(1).f_locals['self']).__unittest_skip__ = True\n    return 1\n",
    "the code of a skip": "import types\n"
    "skip = types.FunctionType(unittest.TestCase.skipTest.__code__, {'SkipTest': unittest.SkipTest}, 'f', (0, 0))\n"
    "class F:\n    __call__ = property(skip)\nf = F()\n",
    "a skip of another test": "f = unittest.TestCase().skipTest\n",
    "a skip of the test that runs": "import functools, sys\nclass F:\n    @property\n    def __call__(self):\n"
    "        return sys._getframe(1).f_locals['self'].skipTest\nf = F()\n",
    "another end": "def f(x):\n    raise unittest.case._ShouldStop\n",
}


@pytest.mark.parametrize("name", SKIPPING)
def test_a_program_skips_the_tests(jail: Jailed, name: str):
    """A test is skipped by its own code alone, or by its mark."""
    program = "import unittest\n" + SKIPPING[name]
    assert "failed" == run(jail, program)[0].status
    assert run(jail, program, any_skip=True)[0].passed == ("end" not in name)


@pytest.mark.parametrize(
    "line",
    ["with self.subTest(1): self.assertEqual(f(2), 2)", "self.assertEqual(f(2), 2)"],
)
@pytest.mark.parametrize("base", ["TestCase", "IsolatedAsyncioTestCase"])
def test_a_program_ends_the_tests(jail: Jailed, base: str, line: str):
    """No program passes by the exception with which `unittest` stops a test, in any part of the test."""
    start = "async def" if "Async" in base else "def"
    tests = HEAD + f"class T(unittest.{base}):\n    {start} test_it(self):\n        {line}\n"
    for end in ("unittest.case._ShouldStop", "type('Stop', (unittest.case._ShouldStop,), {})"):
        assert "failed" == run(jail, f"import unittest\ndef f(x):\n    raise {end}\n", tests)[0].status
    own = (
        "import contextlib, unittest\nclass O:\n    result_supports_subtests = success = expectedFailure = True\n"
        "    result = None\n    def testPartExecutor(self, *a, **k): return contextlib.nullcontext()\n"
        "def f(x):\n    t = unittest.TestCase()\n    t._outcome = O()\n    with t.subTest(): pass\n    return 0\n"
    )
    assert "failed" == run(jail, own, tests)[0].status
    assert run(jail, RIGHT, tests)[0].passed


BUILD = """
import builtins
real = builtins.__build_class__
def build(code, name, *bases, **names):
    cls = real(code, name, *bases, **names)
    cls.assertEqual = lambda *_: None
    return cls
class Equal(dict):
    __eq__ = lambda *_: True
    __hash__ = None
__builtins__ = Equal({**vars(builtins), "__build_class__": build})
"""


def test_the_builtins_of_the_module_are_put_back(jail: Jailed):
    """Tests find theirs by the same name."""
    verdict, report = run(jail, BUILD + WRONG)
    assert ("failed", True) == (verdict.status, "builtins replaced" in report["seen"])


def test_a_text_that_the_tests_execute_skips_them(jail: Jailed):
    """A program in the form of DS-1000 is no module of its own."""
    tests = HEAD + "class T(unittest.TestCase):\n    def test_it(self):\n        exec(code, {})\n"
    assert run(jail, "x = 1", tests, quoted="code")[0].passed
    assert "failed" == run(jail, "import unittest\nraise unittest.SkipTest", tests, quoted="code")[0].status


ITSELF = (
    "self.skipTest('no')",
    "[self][0].skipTest('no')",
    "(self\n            .skipTest('no'))",
    "self . skipTest ('no')",
    "größe = self; größe.skipTest('ü')",
    "raise unittest.SkipTest",
    "helper(self)",
    "with self.subTest(1): self.skipTest('no')",
    "self.assertRaises(ValueError, int, 'x'); raise unittest.SkipTest('no')",
)


@pytest.mark.parametrize(
    ("place", "line"),
    [
        *((place, line) for place in ("test_one(self)", "setUp(self)") for line in ITSELF),
        ("setUpClass(cls)", "raise unittest.SkipTest"),
    ],
)
def test_tests_skip_themselves(jail: Jailed, place: str, line: str):
    """A skip of the tests is right wherever it stands."""
    mark = "    @classmethod\n" if "Class" in place else ""
    tests = (
        HEAD
        + "def helper(test):\n    test.skipTest('no')\n"
        + f"class T(unittest.TestCase):\n{mark}    def {place}:\n        {line}\n"
        + "    def test_two(self):\n        self.assertEqual(1, 1)\n"
    )
    assert run(jail, WRONG, tests)[0].passed


def test_no_tests(jail: Jailed):
    """A module without tests is a fault of the benchmark, never a pass."""
    verdict, _ = run(jail, RIGHT, HEAD + "class T(unittest.TestCase):\n    pass\n")
    assert verdict.message.startswith("benchmark: ")
    assert not run(jail, RIGHT, "")[0].passed


@pytest.mark.ci
def test_time_of_a_class(jail: Jailed):
    """A class that goes over its time ends as a timeout, also where a test catches every exception."""
    tests = HEAD + "class T(unittest.TestCase):\n    def test_it(self):\n        f(1)\n"
    for loop in ("while True: pass", "import time; time.sleep(9)"):
        verdict, report = run(jail, f"def f(x):\n    {loop}\n", tests, timeout_s=0.2)
        assert "timeout" == verdict.status
        assert [[1, 0, 0]] == report["suites"]
    caught = "def f(x):\n    try:\n        while True: pass\n    except BaseException:\n        return\n"
    assert "timeout" == run(jail, caught, tests, timeout_s=0.2)[0].status


def test_clocks_of_its_own(jail: Jailed):
    """A program that puts its own clocks and timer in place of those of Python has no more time."""
    tests = HEAD + "class T(unittest.TestCase):\n    def test_it(self):\n        f(1)\n"
    start = "import signal, time\nburnt = time.process_time\n"
    end = "def f(x):\n    end = burnt() + 0.6\n    while burnt() < end: pass\n"
    for change in (
        "time.monotonic = time.process_time = lambda: 0.0\n",
        "signal.setitimer = lambda *_: None\n",
        f"{JOB}job['class_s'] = 0.0\n",
    ):
        verdict, report = run(jail, start + change + end, tests, timeout_s=0.2)
        assert "timeout" == verdict.status, verdict
        assert [[1, 0, 0]] == report["suites"]


LATE = TESTS.replace("self.assertEqual(f(1), 1)", "got = f(1)\n        self.assertEqual(got, 1)").replace(
    "self.assertEqual(f(2), 2)", "got = f(2)\n        self.assertEqual(got, 2)"
)
"""Tests that look an assertion up when the program has been called."""

KNOWN = {
    "a result that equals everything": "class E:\n    def __eq__(self, _): return True\ndef f(x):\n    return E()\n",
    "values read from the tests": "import sys\n"
    "def f(x):\n    return [c for c in sys._getframe(1).f_code.co_consts if isinstance(c, int)][-1]\n",
    "a change that is undone": "import unittest\nkeep = unittest.TestCase.assertEqual\n"
    "def once(self, *_):\n    unittest.TestCase.assertEqual = keep\n"
    "def f(x):\n    unittest.TestCase.assertEqual = once\n",
    "an attribute of the test": "import sys\n"
    "def f(x):\n    sys._getframe(1).f_locals['self'].assertEqual = lambda *_: None\n",
    "an attribute of a test that is still to come": "import sys\ndef f(x):\n    frame = sys._getframe(1)\n"
    "    while 'suite' not in frame.f_locals:\n        frame = frame.f_back\n"
    "    for test in frame.f_locals['suite']:\n        test.test_two = lambda: None\n    return 1\n",
    "the result of the tests": "import sys\ndef f(x):\n    frame = sys._getframe()\n"
    "    while 'result' not in frame.f_locals:\n        frame = frame.f_back\n    result = frame.f_locals['result']\n"
    "    result.addFailure = lambda test, _: result.addSuccess(test)\n    return 1\n",
    "what the harness keeps": "import sys, unittest\ndef f(x):\n    raise unittest.SkipTest\n"
    "sys._getframe(1).f_locals['own_skips']._codes.append(f.__code__)\n",
    "a class of the harness": "import sys\nframe = sys._getframe()\nwhile 'SuiteRun' not in frame.f_globals:\n"
    "    frame = frame.f_back\nframe.f_globals['SuiteRun'].has_passed = True\ndef f(x):\n    return 1\n",
    "a failure that is expected": "import sys\ndef f(x):\n"
    "    type(sys._getframe(1).f_locals['self']).__unittest_expecting_failure__ = True\n    return 1\n",
}
"""The ways that docs/verdicts.md lists: each passes, so that the list stays true."""


@pytest.mark.parametrize("name", KNOWN)
def test_known_ways(jail: Jailed, name: str):
    """What tests and program in one process cannot prevent; a way that is closed leaves the list."""
    tests = LATE if name in ("a change that is undone", "an attribute of the test") else TESTS
    assert run(jail, KNOWN[name], tests)[0].passed
