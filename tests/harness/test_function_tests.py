"""The tests in ``check(candidate)``: which statements count, and what is counted for a sample."""

from __future__ import annotations

import itertools
from typing import Any, Literal

import msgspec
import pytest
from jailed import LIMITS, Jailed

from passcurve.harness.function_tests import find_tests
from passcurve.judging.plan import CheckPlan, make_job, suites_of
from passcurve.judging.verdict import reach_verdict
from passcurve.types import FunctionTests, Problem, SampleKey, Verdict

_TAGS = itertools.count(1)
TESTS = """import math
def check(candidate):
    # four tests
    assert candidate(1) == 1
    base = 2
    assert candidate(
        2) == [base, 0][0]
    for number in (3, 4):
        assert candidate(number) == number
    assert math.isclose(candidate(5.0), 5)
"""
TWICE = "def check(candidate):\n" + "".join(f"    assert {n} == candidate({n})\n" for n in (1, 2, 3, 4))
RIGHT = "def f(x):\n    return x\n"
WRONG = "def f(x):\n    return 9 if x in (1, 3) else x\n"


def judge(
    jail: Jailed,
    program: str,
    tests: str = TESTS,
    *,
    mode: Literal["referee", "shared"] = "referee",
    all_tests: bool = False,
    timeout_s: float = 0.5,
    test_timeout_s: float | None = None,
) -> Verdict:
    """Judge a program."""
    problem = Problem(id=f"F{next(_TAGS)}", prompt="", entry_point="f", check=FunctionTests(source=tests))
    limits = msgspec.structs.replace(LIMITS, timeout_s=timeout_s, test_timeout_s=test_timeout_s)
    job = make_job(problem, program, CheckPlan(mode=mode), limits, 0, next(_TAGS), all_tests=all_tests)
    return reach_verdict(SampleKey(problem_id=problem.id, sample_index=0), job, jail.run(job))


def counts(verdict: Verdict) -> tuple[str, int, int, int]:
    """Return the status of a verdict and the counts of its tests."""
    (suite,) = verdict.suites
    assert 4 == suite.tests
    return verdict.status, suite.ran, suite.right, suite.first_failed


@pytest.mark.parametrize("mode", ["referee", "shared"])
def test_statements_that_assert_are_counted(jail: Jailed, mode: Literal["referee", "shared"]):
    """A statement of check with an assertion is a test, a loop is one; they have no score of their own."""
    right = judge(jail, RIGHT, mode=mode)
    assert ("passed", 4, 4, -1) == counts(right)
    assert {} == right.suite_passes()
    assert ("failed", 1, 0, 0) == counts(judge(jail, WRONG, mode=mode))
    assert ("failed", 3, 2, 2) == counts(judge(jail, "def f(x):\n    return min(x, 3)\n", mode=mode))
    assert ("failed", 0, 0, -1) == counts(judge(jail, "x = 1\n", mode=mode))
    assert ("compile", 0, 0, -1) == counts(judge(jail, "def f(", mode=mode))


def test_the_first_failure_is_told(jail: Jailed):
    """The call that failed has its arguments, what came back, and what was expected where that is a literal."""
    call = judge(jail, WRONG).call
    assert call is not None
    assert ("f(1)", "returned 9", "1") == (call.arguments, call.outcome, call.expected)
    other = judge(jail, "def f(x):\n    return min(x, 1)\n").call
    assert other is not None
    assert ("f(2)", "") == (other.arguments, other.expected)


@pytest.mark.ci
def test_all_tests_run(jail: Jailed):
    """With all tests wanted the next goes on after a failure; the first that failed is the one reported."""
    verdict = judge(jail, WRONG, all_tests=True)
    assert ("failed", 4, 2, 0) == counts(verdict)
    assert "UA==" == verdict.suites[0].outcomes
    assert "assert candidate(1) == 1" == verdict.test_line
    assert ("passed", 4, 4, -1) == counts(judge(jail, RIGHT, all_tests=True))
    # What no test can go on after: the process ends, or time does.
    ended = judge(jail, "import os\ndef f(x):\n    return os._exit(0) if x == 3 else 0\n", all_tests=True)
    assert ("crash", 2, 0, 0) == counts(ended)
    endless = judge(jail, "def f(x):\n    while x == 3:\n        pass\n    return 0\n", all_tests=True)
    assert ("timeout", 2, 0, 0) == counts(endless)


@pytest.mark.ci
@pytest.mark.parametrize("all_tests", [False, True])
def test_each_test_has_a_limit(jail: Jailed, all_tests: bool):
    """A limit for a test is that of each: three that keep to it may take longer together."""
    limits: dict[str, Any] = {"all_tests": all_tests, "timeout_s": 20.0, "test_timeout_s": 0.3}
    short = judge(jail, "import time\ndef f(x):\n    time.sleep(0.11)\n    return x\n", TWICE, **limits)
    assert ("passed", 4, 4, -1) == counts(short)
    long = judge(jail, "import time\ndef f(x):\n    time.sleep(9 * (x == 3))\n    return x\n", TWICE, **limits)
    assert ("timeout", 2) == (long.status, long.suites[0].right)


@pytest.mark.parametrize(
    "program",
    [
        "def f(x):\n    raise AssertionError\n",
        "class E(int):\n    def __eq__(self, other):\n        return True\ndef f(x):\n    return E(9)\n",
        "import sys\ndef f(x):\n    sys._getframe(2).f_locals['__test_failed__'] = print\n    return 0\n",
        "def __test_failed__(number): pass\ndef f(x):\n    return 0\n",
    ],
)
def test_no_program_passes_by_going_on(jail: Jailed, program: str):
    """The list of failures is in the tests' process, so no program empties it."""
    assert "failed" == judge(jail, program, all_tests=True).status


def test_shared_mode_ends_at_the_first_failure(jail: Jailed):
    """A list of failures would be within reach of the program there."""
    assert ("failed", 1, 0, 0) == counts(judge(jail, WRONG, mode="shared", all_tests=True))


@pytest.mark.parametrize(
    "tests",
    [
        "def check(candidate):\n    assert candidate(1) == 1\n    return\n    assert candidate(2) == 2\n",
        "def check(candidate):\n    assert candidate(1) == 1\ncheck = check\n",
        "@staticmethod\ndef check(candidate):\n    assert candidate(1) == 1\n",
        "def check(candidate):\n    yield\n    assert candidate(1) == 1\n",
        "def test(f):\n    assert f(1) == 1\ndef check(candidate):\n    test(candidate)\n",
        "from tests import check\ndef check(candidate):\n    assert candidate(1) == 1\n",
        "def check(:",
    ],
)
def test_tests_that_do_not_show(tests: str):
    """Where statements do not show what runs, nothing is counted."""
    assert [] == find_tests(tests)
    assert () == suites_of(Problem(id="F", prompt="", entry_point="f", check=FunctionTests(source=tests)))


def test_places_and_literals():
    """Each test has its first and last line, and what it expects where that is a literal."""
    assert [(4, 4, "1"), (6, 7, ""), (8, 9, ""), (10, 10, "")] == find_tests(TESTS)
