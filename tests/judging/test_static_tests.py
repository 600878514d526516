"""Tests of what is found in the tests of a problem without running them."""

from __future__ import annotations

import pytest

from passcurve.judging.static_tests import (
    NO_CHECK,
    NO_TESTS,
    find_fault,
    find_undefined_names,
    never_calls,
    uses_own_objects,
)
from passcurve.types import Assertions, FunctionTests, Problem

PROMPT = "import math\nPOINTS = [1]\n\ndef helper(x):\n    return x\n\ndef f(x):\n"


def problem(test: str, prompt: str = PROMPT) -> Problem:
    """Return a problem with these tests."""
    return Problem(id="T/0", prompt=prompt, entry_point="f", check=FunctionTests(source=test))


def in_check(body: str) -> str:
    """Return tests whose check has this body."""
    return f"def check(candidate):\n    {body}\n"


@pytest.mark.parametrize(
    ("test", "fault"),
    [
        ("", NO_TESTS),
        ("\n \n", NO_TESTS),
        ("assert f(1) == 2\n", NO_CHECK),
        ("def test(candidate):\n    assert candidate(1)\n", NO_CHECK),
        (in_check("pass"), None),
        (in_check("assert True"), None),
        (in_check("x = 1\n    assert x == 1"), None),
        (in_check("assert candidate(1) == 2"), ""),
        (in_check("assert f(1) == 2"), ""),
        (in_check("assert another(1) == 2"), ""),
        ("from here import *\n" + in_check("assert another(1)"), ""),
        (in_check("assert helper(1) == 1"), None),
        (in_check("assert eval('candidate(1)') == 2"), ""),
        (in_check("assert [candidate(x) for x in (1, 2)]"), ""),
        (in_check("def inner():\n        return candidate(1)\n    assert inner()"), ""),
        ("def check(g):\n    assert g(1) == 2\n", ""),
        ("def check(*functions):\n    assert functions[0](1) == 2\n", ""),
        ("check = lambda g: g(1)\n", ""),
        ("from here import *\n", ""),
        ("from here import run as check\n", ""),
        ("def make():\n    global check\n    def check(g): g(1)\nmake()\n", ""),
    ],
)
def test_tests_that_check_nothing(test: str, fault: str) -> None:
    """Tests that are not there, that have no check, or that never use the function (None) are at fault."""
    assert (fault or "", fault is None) == (find_fault(problem(test)), never_calls(problem(test)))


def test_tests_that_do_not_compile() -> None:
    """Tests that do not compile are at fault, and the reason has the error."""
    assert find_fault(problem("def check(:\n")).startswith("the tests do not compile: ")
    assert find_fault(problem("return 3\n")).startswith("the tests do not compile: ")


@pytest.mark.parametrize(
    ("test", "names"),
    [
        (in_check("assert candidate(1) == 2"), ()),
        (in_check("assert f(len([1])) == helper(POINTS[0]) + math.pi"), ()),
        (in_check("assert g(1) == h(2)"), ("g", "h")),
        (in_check("for x in (1, 2):\n        assert candidate(x) == y"), ("y",)),
        ("def g(x):\n    return x\n" + in_check("assert candidate(1) == g(2)"), ()),
        ("import re as g\nfrom os import path\n" + in_check("assert g.x and path"), ()),
        (in_check("import g\n    assert g.x(candidate)"), ()),
        (in_check("try:\n        candidate(1)\n    except ValueError as error:\n        assert error"), ()),
        (in_check("assert candidate(lambda g: g + 1) and [g for g in candidate(1)]"), ()),
        (in_check("global g\n    g = candidate(1)\n    assert g"), ()),
        ("class A:\n    x = 1\n    y = x\n" + in_check("assert candidate(A.y)"), ()),
        ("def one():\n    g = 1\n\ndef check(candidate):\n    assert candidate(g)\n", ("g",)),
        ("from here import *\n" + in_check("assert g(1)"), ()),
        ("def check(:\n", ()),
        (in_check("assert candidate(__name__)"), ()),
        (in_check("match candidate(1):\n        case [g, *rest]:\n            assert g and rest"), ()),
    ],
)
def test_names_that_only_a_program_can_define(test: str, names: tuple[str, ...]) -> None:
    """A name counts that the tests look up in the module, and that neither prompt, tests nor Python define."""
    assert names == find_undefined_names(problem(test))


def test_a_prompt_that_ends_where_a_body_begins() -> None:
    """What a prompt defines is known with and without the body of its last function."""
    test = in_check("assert candidate(helper(1))")
    assert () == find_undefined_names(problem(test, "def helper(x):\n    return x\n\nclass A:\n    def f(self):\n"))
    assert () == find_undefined_names(problem(test, "def helper(x):\n    return x\n\ndef f(x): ..."))
    assert ("helper",) == find_undefined_names(problem(test, "def helper(x:\n"))


def test_warnings_are_not_shown(recwarn: pytest.WarningsRecorder) -> None:
    """Python's warnings about the source of a benchmark are not for a user."""
    find_undefined_names(problem(in_check("assert candidate('\\d')"), "def f(x):\n    '\\d'\n"))
    find_fault(problem(in_check("assert candidate('\\d') is 1"), "def f(x):\n    '\\d'\n"))
    assert [] == [str(warning.message) for warning in recwarn]


@pytest.mark.parametrize(
    ("statement", "is_own"),
    [
        ("assert f(1) == 2", False),
        ("assert f('a').upper() == 'A'", False),
        ("got = f([1])\nassert got.count(1) == 1", False),
        ("import math\nassert math.isclose(f(1), 2)", False),
        ("assert f().area() == 1", True),
        ("a = f(1)\na.push(2)\nassert a.size == 1", True),
        ("assert f.limit == 3", True),
        ("assert f(", False),
    ],
)
def test_objects_of_the_program(statement: str, is_own: bool) -> None:
    """Attributes that plain data has not show that the tests need live objects."""
    check = Assertions(tests=(statement,))
    assert is_own == uses_own_objects(Problem(id="T/0", prompt="", entry_point="f", check=check))
