"""Tests of the formats that have a file of a few lines: HumanEval-X, HumanEvalPack, MBPP, CanItEdit, CRUXEval."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from passcurve.bench.formats import ReadOptions, read_problems
from passcurve.bench.resolve import load
from passcurve.errors import DataError, UsageError
from passcurve.types import Assertions, Expression, FunctionTests, Problem

TEST = "def check(one):\n    assert one() == 1\n"
X_ROW = {
    "task_id": "Python/0",
    "prompt": "def two():\n    return 2\n\n\ndef one():\n",
    "declaration": "def two():\n    return 2\n\n\ndef one():\n",
    "canonical_solution": "    return 1\n",
    "test": f"{TEST}\ncheck(one)",
    "example_test": "check(one)",
}


def read(folder: Path, *rows: dict[str, Any], options: ReadOptions | None = None) -> tuple[Problem, ...]:
    """Return the problems of a file with these rows."""
    path = folder / "problems.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_problems(path, None, options or ReadOptions())


@pytest.mark.parametrize(
    "fields",
    [{}, {"entry_point": "one", "test": TEST}, {"test": TEST}],
    ids=["in the call", "named", "declared last"],
)
def test_entry_point_of_humaneval_x(tmp_path: Path, fields: dict[str, str]) -> None:
    """The function of a row is named, or stands in the last call of its tests, or is declared last."""
    (problem,) = read(tmp_path, X_ROW | fields)
    assert "one" == problem.entry_point


def test_tests_of_humaneval_x_do_not_call_themselves(tmp_path: Path) -> None:
    """The call at the end of the tests is left out, so that each test runs once."""
    (problem,) = read(tmp_path, X_ROW)
    assert FunctionTests(source=TEST) == problem.check


def test_a_language_without_a_row_is_refused(tmp_path: Path) -> None:
    """A row in a language that nothing can run is refused by its name."""
    with pytest.raises(DataError, match="COBOL/0"):
        read(tmp_path, X_ROW | {"task_id": "COBOL/0"})


def test_mapcoder_row(tmp_path: Path) -> None:
    """A row of MapCoder is known by `name`, and its tests do not call themselves."""
    end = "\ndef test_check():\n    check(one)\n\ntest_check()\n"
    row = {"name": "mbpp_1_one", "language": "py", "prompt": "def one():\n", "entry_point": "one", "test": TEST + end}
    (problem,) = read(tmp_path, row)
    assert ("mbpp_1_one", FunctionTests(source=TEST)) == (problem.id, problem.check)
    with pytest.raises(DataError, match="rb"):
        read(tmp_path, row | {"language": "rb"})


MBPP_ROW = {
    "task_id": 11,
    "text": "Write a function to double a number.",
    "code": "import math\ndef halve(x):\n    return x / 2\ndef double(x):\n    return math.floor(2 * x)\n",
    "test_list": ["assert double(1) == 2", "assert math.isclose(double(2), 4)"],
    "test_setup_code": "",
    "challenge_test_list": ["assert double(0) == 0"],
}
PLUS_TEST = """import numpy as np
from math import inf

def is_floats(x) -> bool:
    return isinstance(x, np.ndarray)

def assertion(out, exp, atol):
    if out != exp and atol != 0:
        assert np.allclose(out, exp, rtol=1e-07, atol=atol)
    else:
        assert out == exp

inputs = [[1], [2], [3]]
results = [2, 4, 6]
for i, (inp, exp) in enumerate(zip(inputs, results)):
    assertion(double(*inp), exp, 0)
"""


def test_mbpp(tmp_path: Path) -> None:
    """A row of MBPP has the function that its assertions call, and the imports of its solution that they use."""
    notes: list[str] = []
    path = tmp_path / "problems.json"
    path.write_text(json.dumps([MBPP_ROW]))
    (problem,) = read_problems(path, notes)
    assert ("11", "double", "", MBPP_ROW["text"]) == (
        problem.id,
        problem.entry_point,
        problem.prompt,
        problem.statement,
    )
    assert Assertions(tests=tuple(MBPP_ROW["test_list"]), setup="import math") == problem.check
    assert "challenge_test_list" in notes[0]


def test_mbpp_sanitized_without_a_solution(tmp_path: Path) -> None:
    """Imports come first, and without a solution the function is the one that nothing else defines."""
    row = {"task_id": 2, "prompt": "p", "test_imports": ["import math"], "test_list": ["assert set(g(1)) == {1}"]}
    (problem,) = read(tmp_path, row)
    assert ("g", Assertions(tests=("assert set(g(1)) == {1}",), setup="import math")) == (
        problem.entry_point,
        problem.check,
    )


def test_mbpp_with_a_test_that_is_none(tmp_path: Path) -> None:
    """An item that is no text is refused, wherever it stands: as a statement null would pass whatever the program."""
    for tests in ([None], ["assert f(1) == 1", None], [0, "assert f(1) == 1"]):
        with pytest.raises(DataError, match=r"found (null|a number) in the array 'test_list'; expected str"):
            read(tmp_path, {"task_id": 2, "text": "p", "test_list": tests})


def test_mbpp_with_setup_code_elsewhere(tmp_path: Path) -> None:
    """Code of LBPP that its assertions need is refused by its name: without a reference nothing shows that it lacks."""
    row = {"task_id": "lbpp/0", "instruction": "Write f.", "completion": "def f(x):\n    return x\n"}
    row |= {"test_list": ["assert f(math.pi) > 3"], "test_setup": "from code import f\nimport math\n"}
    with pytest.raises(DataError, match=r"line 1: found code in 'test_setup', .* expected it in 'test_setup_code'"):
        read(tmp_path, row)
    (problem,) = read(tmp_path, row | {"test_setup": "\n", "test_setup_code": "import math"})
    assert isinstance(problem.check, Assertions)
    assert "import math" == problem.check.setup


def test_tests_of_evalplus_are_taken_apart(tmp_path: Path) -> None:
    """Each input of the loop is a test of the suite `plus`, and numpy is not needed."""
    (problem,) = read(tmp_path, MBPP_ROW | {"test": PLUS_TEST})
    check = problem.check
    assert isinstance(check, Assertions)
    assert [("base", 2), ("plus", 3)] == [(suite.name, suite.count) for suite in check.suites]
    assert "import numpy" not in check.setup
    names: dict[str, Any] = {"double": lambda x: 2 * x}
    exec(check.setup, names)
    for test in check.tests:
        exec(test, names)
    names["double"] = lambda x: 7
    with pytest.raises(AssertionError):
        exec(check.tests[-1], names)


def test_tests_of_another_form_are_one_test(tmp_path: Path) -> None:
    """A module that ends otherwise is one test, as it stands."""
    (problem,) = read(tmp_path, MBPP_ROW | {"test": "assert double(3) == 6\n"})
    assert isinstance(problem.check, Assertions)
    assert "assert double(3) == 6\n" == problem.check.tests[-1]


def test_can_it_edit(tmp_path: Path) -> None:
    """The labels and the tests of a row are JSON as text."""
    row = {
        "id": 3,
        "content": "x = 1",
        "canonical_solution": "x = 2",
        "labels": json.dumps({"instruction_descriptive": "Make it two.", "instruction_lazy": "two"}),
        "test": json.dumps({"asset": None, "code": "assert x == 2"}),
    }
    (problem,) = read(tmp_path, row)
    assert ("3", "", Assertions(tests=("assert x == 2",))) == (problem.id, problem.entry_point, problem.check)
    assert "Make it two." in problem.statement
    with pytest.raises(DataError, match="'test'"):
        read(tmp_path, row | {"test": "no JSON"})
    published = {
        "id": 3,
        "name": "two",
        "full_name": "3_two",
        "before": "x = 1",
        "after": "x = 2",
        "tests": "assert x == 2",
        "instruction_descriptive": "Make it two.",
        "instruction_lazy": "two",
        "taxonomy": {},
    }
    assert (problem,) == read(tmp_path, published)


CRUX_ROW = {"code": "def f(x):\n    return [x]\n", "input": "1", "output": "[1]", "id": "sample_0"}


@pytest.mark.parametrize(("task", "reference"), [("input", "f(1)"), ("output", "[1]")])
def test_cruxeval(tmp_path: Path, task: str, reference: str) -> None:
    """A task asks for the arguments or the result; its profile compares in the process of the sample."""
    (problem,) = read(tmp_path, CRUX_ROW, options=ReadOptions(task=task))
    assert isinstance(problem.check, Expression)
    assert (task, False, reference) == (problem.check.asks, problem.check.in_process, problem.reference)
    (native,) = read(tmp_path, CRUX_ROW, options=ReadOptions(task=task, profile="cruxeval"))
    assert isinstance(native.check, Expression)
    assert native.check.in_process


def test_cruxeval_needs_a_task(tmp_path: Path) -> None:
    """A file of CRUXEval without a task is refused by one line that names both."""
    with pytest.raises(UsageError, match=r"--task input.*--task output"):
        read(tmp_path, CRUX_ROW)


def test_names_of_tasks(tmp_path: Path) -> None:
    """A published benchmark with tasks has a name for each, which excludes another task."""
    path = tmp_path / "cruxeval.jsonl"
    path.write_text(json.dumps(CRUX_ROW) + "\n")
    file = load(str(path), tmp_path, ReadOptions(task="output"))
    assert ("cruxeval-output", "output") == (file.name, file.task)
    with pytest.raises(UsageError):
        load("cruxeval-input", tmp_path, ReadOptions(task="output"))
    with pytest.raises(DataError, match="bench fetch cruxeval"):
        load("cruxeval-input", tmp_path)
