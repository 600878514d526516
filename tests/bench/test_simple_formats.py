"""Tests of the formats that have a file of a few lines: HumanEval-X, HumanEvalPack, MapCoder's MBPP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from passcurve.bench.formats import ReadOptions, read_problems
from passcurve.errors import DataError
from passcurve.types import FunctionTests, Problem

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


def test_other_languages_are_refused(tmp_path: Path) -> None:
    """A row in another language than Python is refused by its name."""
    with pytest.raises(DataError, match="CPP/0"):
        read(tmp_path, X_ROW | {"task_id": "CPP/0"})


def test_mapcoder_row(tmp_path: Path) -> None:
    """A row of MapCoder is known by `name`, and its tests do not call themselves."""
    end = "\ndef test_check():\n    check(one)\n\ntest_check()\n"
    row = {"name": "mbpp_1_one", "language": "py", "prompt": "def one():\n", "entry_point": "one", "test": TEST + end}
    (problem,) = read(tmp_path, row)
    assert ("mbpp_1_one", FunctionTests(source=TEST)) == (problem.id, problem.check)
    with pytest.raises(DataError, match="rb"):
        read(tmp_path, row | {"language": "rb"})
