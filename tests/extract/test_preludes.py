"""Tests of import preludes: what is put in front of a program, and what the signature calls it."""

from __future__ import annotations

import builtins

import pytest

from passcurve.errors import UnknownNameError, UsageError
from passcurve.extract import extract, find_policy, fit_to_packages, prelude_names, split_policy, with_prelude
from passcurve.extract.preludes import prelude_bindings, prelude_lines
from passcurve.extract.source import unbound_names
from passcurve.types import Completion, FunctionTests, Problem, SampleKey

KEY = SampleKey(problem_id="own/0", sample_index=0)
PROBLEM = Problem(id="own/0", prompt="", entry_point="one", check=FunctionTests(source=""))
LIMIT = "import sys\nsys.setrecursionlimit(50000)\n"


def program(text: str, policy: str) -> str:
    """Return the program of a solution."""
    completion = Completion(key=KEY, row=0, line=1, digest="d", form="solution", text=text)
    return extract(PROBLEM, completion, policy).text or ""


@pytest.mark.parametrize("prelude", prelude_names())
@pytest.mark.parametrize("policy", ["raw", "auto", "fence-last"])
def test_a_program_that_needs_no_import_gets_none(prelude: str, policy: str) -> None:
    """A program that looks up its own and Python's names only is the same, but for a limit that the prelude sets."""
    text = "import os\nLEVEL = 3\n\n\ndef one(x):\n    y = len(os.sep)\n    return max(x, y, LEVEL)\n"
    expected = LIMIT + text if prelude == "livecodebench" else text
    assert expected == program(text, with_prelude(policy, prelude))


@pytest.mark.parametrize(
    "text",
    [
        "def one():\n    return math.pi\n",
        'def one():\n    return eval("math" + ".pi")\n',
        "from os import *\n\n\ndef one():\n    return Counter()\n",
        "def one(x: List):\n    return x\n",
        "def one(:\n",
        "from __future__ import annotations\n\n\ndef one():\n    return 1\n",
    ],
)
def test_all_lines_stand_in_front_of_the_others(text: str) -> None:
    """A program that may look up another name, cannot be read or imports the future gets every line but numpy's."""
    lines = [line for line in prelude_lines("humaneval-x") if "numpy" not in line]
    assert "\n".join([*lines, text]) == program(text, "raw+prelude:humaneval-x")


@pytest.mark.parametrize("name", ["np", "numpy"])
def test_numpy_is_imported_where_it_is_named(name: str) -> None:
    """A program that names numpy, by either name, gets its lines."""
    text = f"def one():\n    return {name}.zeros(1)\n"
    assert "\n".join([*prelude_lines("bigcode"), text]) == program(text, "raw+prelude:bigcode")


def test_the_step_is_recorded() -> None:
    """The steps name the prelude where it changed the program."""
    completion = Completion(key=KEY, row=0, line=1, digest="d", form="solution", text="def one():\n    return math.e\n")
    steps = extract(PROBLEM, completion, "raw+prelude:livecodebench").steps
    assert ("taken as a whole program", "put in front: the imports of livecodebench") == steps


@pytest.mark.parametrize(
    ("packages", "expected"),
    [
        (("numpy==2.0",), "auto+prelude:humaneval-x"),
        (("pandas==2.0",), "auto+prelude:humaneval-x-without-numpy"),
        ((), "auto+prelude:humaneval-x-without-numpy"),
    ],
)
def test_a_missing_numpy_is_named(packages: tuple[str, ...], expected: str) -> None:
    """Where samples may not import numpy the policy says so, imports the rest, and is fitted only once."""
    fitted = fit_to_packages("auto+prelude:humaneval-x", packages)
    assert expected == fitted == fit_to_packages(fitted, packages)
    find_policy(fitted)
    text = "def one():\n    return np.zeros(1)\n"
    assert ("import numpy" in program(text, fitted)) == (expected == "auto+prelude:humaneval-x")
    assert "import math\n" in program(text, fitted)
    assert "auto" == fit_to_packages("auto", packages)


@pytest.mark.parametrize("prelude", prelude_names())
def test_the_lines_run_and_define_what_is_said(prelude: str) -> None:
    """The lines run in this interpreter, and define the names that an autopsy looks for."""
    names: dict[str, object] = {}
    exec("\n".join(prelude_lines(f"{prelude}-without-numpy")).replace("sys.setrecursionlimit(50000)", ""), names)
    assert set(names) - {"__builtins__"} - set(dir(builtins)) == {
        name for name in prelude_bindings(f"{prelude}-without-numpy") if name not in dir(builtins)
    }


def test_unknown_and_repeated_preludes() -> None:
    """An unknown prelude is refused wherever it is named, and so is a second one."""
    for name in ("humanevalx", "humaneval-x-without-pandas"):
        with pytest.raises(UnknownNameError):
            with_prelude("auto", name)
        with pytest.raises(UnknownNameError):
            find_policy(f"auto+prelude:{name}")
    with pytest.raises(UsageError):
        with_prelude("auto+prelude:bigcode", "humaneval-x")
    assert ("auto", "bigcode") == split_policy(with_prelude("auto+prelude:bigcode", "bigcode"))
    assert ("auto", "none") == split_policy(with_prelude("auto", "none"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1\ndef f(a):\n    b = a + x + c\n    return [d for d in b]\n", {"c"}),
        ("def f():\n    global x\n    x = 1\ndef g():\n    return x\n", set()),
        ("class A(B):\n    y = 1\n    def f(self):\n        return y, self\n", {"B", "y"}),
        ("import a.b as c, d.e\nc, d, a\n", {"a"}),
        ("def f(x: T = U) -> V:\n    def g():\n        return x\n    return g\n", {"T", "U", "V"}),
    ],
)
def test_unbound_names(text: str, expected: set[str]) -> None:
    """The names that a module looks up and does not bind are those that its scopes leave to it."""
    assert expected == unbound_names(text)
