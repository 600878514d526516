"""Assertions and answers about a function: what passes, what counts, and what no program can fake."""

from __future__ import annotations

import itertools
from typing import Any, Literal

import msgspec
import pytest
from jailed import LIMITS, Jailed

from passcurve.judging.plan import CheckPlan, make_job
from passcurve.judging.verdict import reach_verdict
from passcurve.types import Assertions, Check, Expression, Problem, SampleKey, Suite, Verdict

_TAGS = itertools.count(1)
TESTS = Assertions(tests=("assert f(1) == 1", "assert f(2) == base", "assert f(3) == 3"), setup="base = 2")
RIGHT = "def f(x):\n    return x\n"
CODE = "def f(x, y=0):\n    while x == 7:\n        pass\n    return [x + y]\n"
OUTPUT = Expression(code=CODE, asks="output", input="1, 2", output="[3]")
INPUT = msgspec.structs.replace(OUTPUT, asks="input")


def judge(
    jail: Jailed,
    program: str,
    check: Check = TESTS,
    *,
    mode: Literal["referee", "shared"] = "referee",
    all_tests: bool = False,
) -> Verdict:
    """Judge a program or an answer."""
    # Compiled tests are kept by the id of their problem.
    problem = Problem(id=f"S{next(_TAGS)}", prompt="", entry_point="f", check=check)
    limits = msgspec.structs.replace(LIMITS, timeout_s=0.5)
    job = make_job(problem, program, CheckPlan(mode=mode), limits, 0, next(_TAGS), all_tests=all_tests)
    return reach_verdict(SampleKey(problem_id=problem.id, sample_index=0), job, jail.run(job))


@pytest.mark.parametrize("mode", ["referee", "shared"])
def test_assertions_are_counted(jail: Jailed, mode: Literal["referee", "shared"]):
    """Each assertion is a test; the first that fails is named, and others run only where all are wanted."""
    verdict = judge(jail, RIGHT, mode=mode)
    assert ("passed", 3, 3, -1) == counts(verdict)
    wrong = "def f(x):\n    return 1 if x == 2 else x\n"
    verdict = judge(jail, wrong, mode=mode)
    assert ("failed", 2, 1, 1) == counts(verdict)
    assert "assert f(2) == base" == verdict.test_line
    verdict = judge(jail, wrong, mode=mode, all_tests=True)
    assert ("failed", 3, 2, 1) == counts(verdict)
    assert "oA==" == verdict.suites[0].outcomes


@pytest.mark.parametrize("all_tests", [False, True])
def test_no_program_goes_on_with_the_assertions(jail: Jailed, all_tests: bool):
    """A program finds no iterator over them: one that it used up would end the tests early."""
    program = (
        "import gc\ndef f(x):\n    for found in gc.get_objects():\n        if type(found) is type(iter(())):\n"
        "            if any(type(one) is tuple and f.__code__.__class__ in map(type, one)"
        " for one in gc.get_referents(found)):\n"
        "                list(found)\n    return 1\n"
    )
    assert ("failed", 1) == counts(judge(jail, program, mode="shared", all_tests=all_tests))[::3]


def counts(verdict: Verdict) -> tuple[str, int, int, int]:
    """Return the status of a verdict and the counts of its only suite."""
    (suite,) = verdict.suites
    return verdict.status, suite.ran, suite.right, suite.first_failed


def test_suites_of_assertions(jail: Jailed):
    """Assertions stand in suites, in their order; a suite after a failure has no test that ran."""
    check = msgspec.structs.replace(TESTS, suites=(Suite(name="base", count=1), Suite(name="plus", count=2)))
    assert {"base": True, "plus": False} == judge(jail, "def f(x):\n    return 1\n", check).suite_passes()
    last = judge(jail, "def f(x):\n    return 0\n", check).suites[1]
    assert (0, 0) == (last.ran, last.right)


@pytest.mark.parametrize(
    "program",
    [
        "x = 1\n",
        "import os\nos._exit(0)\n",
        "def f(x):\n    raise SystemExit\n",
        "class E:\n    def __eq__(self, other):\n        return True\ndef f(x):\n    return E()\n",
        "class E(int):\n    def __eq__(self, other):\n        return True\ndef f(x):\n    return E(9)\n",
        "import sys\ndef f(x):\n    return sys._getframe(2).f_locals.get('base', 0)\n",
        "import builtins\nbuiltins.exec = lambda *a: None\ndef f(x):\n    return 0\n",
        "def f(x):\n    import gc\n    return next((o for o in gc.get_objects() if o == [3]), 0)\n",
    ],
    ids=["no function", "early exit", "SystemExit", "equal to all", "an int equal to all", "frames", "exec", "objects"],
)
def test_assertions_are_not_faked(jail: Jailed, program: str):
    """No trick passes assertions in referee mode."""
    assert not judge(jail, program).passed


@pytest.mark.parametrize("answer", ["[3]", " [1 + 2] \n", "list(range(3, 4))"])
def test_right_results(jail: Jailed, answer: str):
    """A result is any expression of the right value."""
    verdict = judge(jail, answer, OUTPUT)
    assert verdict.passed, verdict


@pytest.mark.parametrize("answer", ["f(3)", "f(x=1, y=2)", "f(f(3)[0])", "f(*[2, 1])"])
def test_right_arguments(jail: Jailed, answer: str):
    """Arguments are any call of the function that has the right result."""
    verdict = judge(jail, answer, INPUT)
    assert verdict.passed, verdict


FAKES = {
    "equal to all": "type('E', (), {'__eq__': lambda *_: True})()",
    "a list equal to all": "type('E', (list,), {'__eq__': lambda *_: True})([9])",
    "early exit": "__import__('os')._exit(0)",
    "SystemExit": "exit()",
    "more than an expression": "[3], 'text'",
    "an alternative": "[4] or True",
    "statements": "[3]\nimport os",
    "nothing": "",
    "frames": "__import__('sys')._getframe(3).f_locals['expected']",
    "output on the line": "[__import__('os').write(n, b'x' * 64) for n in range(3, 9)]",
}


@pytest.mark.parametrize("name", FAKES)
def test_answers_are_not_faked(jail: Jailed, name: str):
    """No expression passes as a result or as arguments but one of the right value."""
    text = FAKES[name]
    assert not judge(jail, text, OUTPUT).passed
    assert not judge(jail, f"f({text})", INPUT).passed
    assert not judge(jail, text, INPUT).passed


def test_the_function_is_not_there_for_results(jail: Jailed):
    """An answer that calls the function of the question has no result."""
    assert not judge(jail, "f(1, 2)", OUTPUT).passed


@pytest.mark.ci
def test_arguments_without_end(jail: Jailed):
    """A function that does not end on the arguments is a timeout of the sample, not of ours."""
    assert "timeout" == judge(jail, "f(7)", INPUT).status


@pytest.mark.parametrize(
    ("asks", "answer", "status"),
    [
        ("output", "[3]", "passed"),
        ("output", "f(1, 2)", "failed"),
        ("output", "f(1,2)", "passed"),
        ("output", "[4] or True", "passed"),
        ("input", "f(3)", "passed"),
        ("input", "[3]", "failed"),
        ("input", "f(3), 'text'", "passed"),
        ("input", "f(3) or (", "compile"),
    ],
)
def test_the_rule_of_cruxeval(jail: Jailed, asks: Any, answer: str, status: str):
    """In the process of the sample an answer is what stands behind `==` in an assertion, whatever else it does."""
    check = msgspec.structs.replace(OUTPUT, asks=asks, in_process=True)
    assert status == judge(jail, answer, check, mode="shared").status
