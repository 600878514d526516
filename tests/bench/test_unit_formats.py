"""Formats whose tests are modules of ``unittest``: BigCodeBench, ClassEval and DS-1000."""

from __future__ import annotations

import json
from typing import Any

import pytest

from passcurve.bench.formats import ReadOptions, parse_problems
from passcurve.errors import DataError, UsageError
from passcurve.types import Problem, Suite, UnitTests

BIGCODEBENCH: dict[str, Any] = {
    "task_id": "BigCodeBench/1",
    "complete_prompt": 'import os\ndef task_func(x):\n    """Twice x."""',
    "instruct_prompt": "Return twice x.",
    "canonical_solution": "    return 2 * x\n",
    "code_prompt": "import os\ndef task_func(x):\n",
    "test": "import unittest\nimport sklearn.svm\nclass TestCases(unittest.TestCase):\n    def test_it(self):\n"
    "        self.assertEqual(task_func(1), 2)\n",
    "entry_point": "task_func",
    "libs": "['os', 'pandas']",
}
CLASSEVAL: dict[str, Any] = {
    "task_id": "ClassEval_1",
    "skeleton": "class A:\n    def one(self): ...\n",
    "solution_code": "class A:\n    def one(self):\n        return 1\n",
    "import_statement": ["import docx", "import re"],
    "test": "import unittest\nclass ATestOne(unittest.TestCase):\n    def test_1(self):\n        pass\n"
    "    def test_2(self):\n        pass\n    def helper(self):\n        pass\n",
    "class_name": "A",
    "test_classes": [" ATestOne"],
    "methods_info": [],
}
DS1000: dict[str, Any] = {
    "prompt": "Problem: make it twice.",
    "reference_code": "result = 2 * x",
    "code_context": 'exec_context = """\nimport numpy as np\nx = 1\n[insert]\n"""\n'
    "def test_execution(solution):\n    names = {}\n    exec(exec_context.replace('[insert]', solution), names)\n"
    "    assert names['result'] == 2\n"
    "def test_string(solution):\n    assert '*' in solution\n",
    "metadata": {"problem_id": 7, "library": "Numpy"},
}


def read(row: dict[str, Any], **options: Any) -> Problem:
    """Return the problem of one row."""
    (problem,) = parse_problems(json.dumps(row).encode(), "b.jsonl", options=ReadOptions(**options))
    return problem


def check_of(problem: Problem) -> UnitTests:
    """Return what is checked of a problem, which is a module of unittest."""
    assert isinstance(problem.check, UnitTests)
    return problem.check


def test_bigcodebench():
    """Programs continue the long prompt or are whole; the short prompt stands before each; packages are declared."""
    problem = read(BIGCODEBENCH)
    assert ("task_func", 241.0) == (problem.entry_point, problem.timeout_s)
    assert problem.prompt.endswith('"""\n')
    assert ("pandas", "sklearn.svm") == problem.packages
    check = check_of(problem)
    assert check.prefix.endswith("def task_func(x):\n\n    pass\n")
    assert ("TestCases",) == check.classes
    assert not check.any_skip
    assert check_of(read(BIGCODEBENCH, profile="bigcodebench")).any_skip
    whole = read(BIGCODEBENCH, task="instruct")
    assert ("", "Return twice x.") == (whole.prompt, whole.statement)
    assert "import os\ndef task_func(x):\n    return 2 * x\n" == whole.reference
    with pytest.raises(UsageError, match="instruct"):
        read(BIGCODEBENCH, task="instruc")
    with pytest.raises(DataError, match="line 1"):
        read({**BIGCODEBENCH, "test": 5})


def test_a_document_of_rows():
    """One JSON object of rows is read as the same rows in lines."""
    data = json.dumps({BIGCODEBENCH["task_id"]: BIGCODEBENCH}).encode()
    assert (read(BIGCODEBENCH),) == parse_problems(data, "b.json")


def test_classeval():
    """Each class of tests is a suite by itself; imports stand before a program, and names are cleaned."""
    problem = read(CLASSEVAL)
    check = check_of(problem)
    assert (Suite(name="ATestOne", count=2, alone=True),) == check.suites
    assert ("import docx\nimport re\n", 5.0) == (check.prefix, check.timeout_s)
    assert ("docx",) == problem.packages
    for field, value in (("test_classes", []), ("class_name", "a b"), ("import_statement", [1])):
        with pytest.raises(DataError, match="line 1"):
            read({**CLASSEVAL, field: value})


def test_ds1000():
    """A program is a text for the tests, which are one or two; ids are numbers."""
    problem = read(DS1000)
    check = check_of(problem)
    assert ("7", "", 120.0) == (problem.id, problem.entry_point, problem.timeout_s)
    assert "code" == check.quoted
    assert 2 == check.source.count("    def test_")
    assert ("numpy",) == problem.packages
    with pytest.raises(DataError, match="problem_id"):
        read({**DS1000, "metadata": {}})
