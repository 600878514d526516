"""Findings on samples of BigCodeBench and DS-1000, whose tests share a process with the program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import passcurve as pc

HEAD = "import os\ndef task_func(x):\n"
TEST = """import unittest
class TestCases(unittest.TestCase):
    def test_value(self):
        self.assertEqual(task_func(1), {})
"""


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write four problems in the format of BigCodeBench."""
    path = tmp_path_factory.mktemp("benchmark") / "bigcodebench.jsonl"
    rows = [
        {
            "task_id": f"BigCodeBench/{number}",
            "complete_prompt": f'{HEAD}    """Add {number}."""\n',
            "instruct_prompt": f"Add {number} in task_func.",
            "canonical_solution": f"    return x + {number}\n",
            "code_prompt": HEAD,
            "test": TEST.format(number + 1),
            "entry_point": "task_func",
            "libs": "['os']",
        }
        for number in range(4)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def judge(benchmark: Path, solution: str, **options: object) -> tuple[float | None, list[tuple[str, int]]]:
    """Judge a program for each problem, with its number for N; return pass@1 and the findings."""
    rows = [
        {"task_id": f"BigCodeBench/{number}", "solution": solution.replace("N", str(number))} for number in range(4)
    ]
    run = pc.judge(rows, benchmark, k=1, **options)
    return run["pass@1"].value, [(finding.name, finding.rows) for finding in run.findings]


@pytest.mark.parametrize("task", ["complete", "instruct"])
def test_bodies_that_pass_lack_nothing(benchmark: Path, task: str) -> None:
    """The benchmark puts the first lines of the function before each program, so its body alone passes."""
    assert (1.0, []) == judge(benchmark, "    return x + N\n", task=task)
    assert (0.0, [("lacks_function", 4)]) == judge(benchmark, "    return y\n", task=task)


def test_an_end_that_raises_is_told(benchmark: Path) -> None:
    """A program that raises before the tests run has no line of theirs in its verdict; the policy named mends it."""
    program = f"{HEAD}    return x + N\n\nprint(task_func())\n"
    assert (0.0, [("runs_on", 4)]) == judge(benchmark, program)
    assert (1.0, []) == judge(benchmark, program, extract="pruned")


def test_a_function_that_raises_does_not_run_on(benchmark: Path) -> None:
    """A function that raises in a test is no end that raises: the finding names the exception."""
    assert (0.0, [("one_reason", 4)]) == judge(benchmark, f"{HEAD}    return undefined(x)\n\nprint(N)\n")


DS1000 = """
def test_execution(solution):
    names = {"x": 1}
    exec(solution, names)
    assert names["result"] == 1 + N
"""
PROGRAM = "y = x\nresult = y + N\n"


@pytest.mark.parametrize("form", ["```python\n{}```\n", "<code>\n{}</code>\n", "{}</code>\nEND SOLUTION\n"])
def test_a_program_that_the_tests_run_as_a_text(tmp_path: Path, form: str) -> None:
    """In DS-1000 the tests themselves compile a program: its SyntaxError is no failure like others."""
    path = tmp_path / "ds.jsonl"
    problems = [
        {
            "prompt": f"Add {number}.",
            "reference_code": f"result = x + {number}",
            "code_context": DS1000.replace("N", str(number)),
            "metadata": {"problem_id": number},
        }
        for number in range(6)
    ]
    path.write_text("".join(f"{json.dumps(problem)}\n" for problem in problems), "utf-8")
    programs = [PROGRAM.replace("N", str(number)) for number in range(6)]
    rows = [
        {"task_id": str(number), "solution": form.format(program) if number < 2 else program}
        for number, program in enumerate(programs)
    ]
    run = pc.judge(rows, path, k=1)
    assert (None, [("fenced", 2)]) == (run["pass@1"].value, [(finding.name, finding.rows) for finding in run.findings])
    run = pc.judge(rows, path, k=1, extract="auto")
    assert (1.0, ()) == (run["pass@1"].value, run.findings)
