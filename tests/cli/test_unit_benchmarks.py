"""Benchmarks whose tests are modules of ``unittest``, judged by the real command."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[3] / "shared" / "data"

CLASS: dict[str, Any] = {
    "task_id": "ClassEval_0",
    "skeleton": "class A: ...\n",
    "class_name": "A",
    "import_statement": ["import math"],
    "solution_code": "class A:\n    def one(self):\n        return math.ceil(0.5)\n"
    "    def two(self):\n        return 2\n",
    "test_classes": ["TestOne", "TestTwo"],
    "test": "import unittest\n"
    "class TestOne(unittest.TestCase):\n    def test_1(self):\n        self.assertEqual(A().one(), 1)\n"
    "class TestTwo(unittest.TestCase):\n    def test_1(self):\n        self.assertEqual(A().two(), 2)\n"
    "    def test_2(self):\n        A().two()\n",
}
MISSING = {**CLASS, "task_id": "ClassEval_1", "import_statement": ["import no_such_package"]}
GUARDED = {
    **CLASS,
    "task_id": "ClassEval_3",
    "import_statement": ["try:\n    import no_such_package as math\nexcept ImportError:\n    math = None"],
}
VACUOUS = {**CLASS, "test": CLASS["test"].replace("A().one()", "1").replace("A().two()", "2")}
RIGHT = CLASS["solution_code"]
HALF = RIGHT.replace("return 2", "return 3")
WRONG = RIGHT.replace("return 2", "raise KeyError")


@pytest.mark.ci
def test_classes_count_alone(shell):
    """Classes, their functions and their parts have scores; what cannot be judged is excluded with its kind."""
    benchmark = shell.write("b.jsonl", [CLASS, MISSING, GUARDED])
    rows = [{"task_id": "ClassEval_0", "solution": text} for text in (RIGHT, HALF, WRONG)]
    rows += [{"task_id": problem["task_id"], "solution": RIGHT} for problem in (MISSING, GUARDED)]
    samples = shell.write("s.jsonl", rows)
    done = shell("judge", samples, "--benchmark", benchmark, "--json", "--accept-benchmark")
    result = json.loads(done.out)
    assert ["package", "package"] == [problem["kind"] for problem in result["excluded"]]
    assert pytest.approx(1 / 3) == result["pass@1"]["value"]
    assert {"function": 4, "function_partial": 5, "class_partial": 2} == {
        name: suite["passed"] for name, suite in result["suites"].items()
    }
    assert pytest.approx(5 / 6) == result["suites"]["function_partial"]["pass@1"]["value"]
    (_, half, *_) = shell.rows("s.jsonl_results.jsonl")
    assert {"TestOne": True, "TestTwo": False} == half["suites"]
    assert {"tests": 2, "ran": 2, "passed": 1, "first_failed": 0} == half["tests"]["TestTwo"]


@pytest.mark.ci
def test_no_code_counts_in_every_score(shell):
    """A text without a program counts in the scores of classes, functions and parts, also where no other is there."""
    benchmark = shell.write("b.jsonl", [CLASS, CLASS | {"task_id": "ClassEval_1"}])
    rows = [{"task_id": "ClassEval_0", "solution": text} for text in (RIGHT, "", "", "def (")]
    samples = shell.write("s.jsonl", [*rows, *({"task_id": "ClassEval_1", "solution": ""} for _ in range(4))])
    done = shell("judge", samples, "--benchmark", benchmark, "--json", "--accept-input", "--k", "1")
    result = json.loads(done.out)
    assert result["pass@1"]["value"] == 1 / 8
    scores = {name: suite["pass@1"]["value"] for name, suite in result["suites"].items()}
    assert dict.fromkeys(("function", "function_partial", "class_partial"), 1 / 8) == scores
    row = shell.rows("s.jsonl_results.jsonl")[1]
    assert ("no_code", {"TestOne": False, "TestTwo": False}) == (row["status"], row["suites"])


@pytest.mark.ci
def test_a_class_without_a_sample_leaves_no_score(shell):
    """Where a class has no sample there is no score of the others, by functions and parts either, unless asked for."""
    benchmark = shell.write("b.jsonl", [CLASS, CLASS | {"task_id": "ClassEval_1"}])
    samples = shell.write("s.jsonl", [{"task_id": "ClassEval_0", "solution": RIGHT}])
    words = ("judge", samples, "--benchmark", benchmark, "--json", "--k", "1")
    result, subset = (json.loads(shell(*words, *more).out) for more in ((), ("--subset",)))
    assert result["pass@1"]["value"] is None
    assert {"function": 2, "function_partial": 2, "class_partial": 1} == {
        name: suite["passed"] for name, suite in result["suites"].items() if "pass@1" not in suite
    }
    assert {1.0} == {suite["pass@1"]["value"] for suite in subset["suites"].values()}


BOX: dict[str, Any] = {
    "prompt": "Problem: make it twice.",
    "reference_code": "result = 2 * x",
    "code_context": "exec_context = 'x = 3\\n[insert]\\n'\n"
    "def test_execution(solution):\n    names = {}\n    exec(exec_context.replace('[insert]', solution), names)\n"
    "    assert names['result'] == 6\n"
    "def test_string(solution):\n    assert 'for' not in solution\n",
    "metadata": {"problem_id": 7, "library": "None"},
}


@pytest.mark.ci
def test_programs_as_texts(shell):
    """A program of DS-1000 is put into the code of its tests; both of its tests count."""
    benchmark = shell.write("b.jsonl", [BOX])
    texts = ("result = x + x", "result = 7", "for _ in 'a':\n    result = 6", "import os; os._exit(0)", "result =")
    samples = shell.write("s.jsonl", [{"task_id": "7", "solution": text} for text in texts])
    done = shell("judge", samples, "--benchmark", benchmark, "--json")
    assert 0 == done.code, done
    statuses = [row["status"] for row in shell.rows("s.jsonl_results.jsonl")]
    assert ["passed", "failed", "failed", "crash", "failed"] == statuses


@pytest.mark.ci
def test_faults(shell):
    """Tests that check nothing exclude a problem, and so does the mode that a module of unittest cannot have."""
    benchmark = shell.write("b.jsonl", [VACUOUS])
    checked = shell("bench", "check", benchmark)
    assert 2 == checked.code
    assert "1 tests" in checked.out
    samples = shell.write("s.jsonl", [{"task_id": "ClassEval_0", "solution": RIGHT}])
    done = shell("judge", samples, "--benchmark", shell.write("c.jsonl", [CLASS]), "--json", "--verdict", "referee")
    assert ["tests"] == [problem["kind"] for problem in json.loads(done.out)["excluded"]]


@pytest.mark.nightly
def test_published_references(shell):
    """References of ClassEval that need no package pass, but for those that docs/benchmarks.md names."""
    file = DATA / "benchmarks" / "classeval.json.gz"
    if not file.exists():
        pytest.skip("no published problems beside the checkout")
    checked = shell("bench", "check", file, "--json")
    problems = json.loads(checked.out)["checked"]
    named = {"ClassEval_17", "ClassEval_35", "ClassEval_45", "ClassEval_48", "ClassEval_51", "ClassEval_52"}
    faulty = {problem["problem_id"] for problem in problems if problem["faulty"] and problem["kind"] != "package"}
    assert faulty <= named
    assert 100 == len(json.loads(gzip.decompress(file.read_bytes())))


@pytest.mark.nightly
def test_published_verdicts(shell):
    """The verdicts that BigCodeBench gave come out, but for problems that cannot be judged here."""
    python = os.environ.get("PASSCURVE_TEST_PACKAGES")
    samples = DATA / "scored" / "bigcodebench_hard_qwen1.5b.jsonl.gz"
    if not python or not samples.exists():
        pytest.skip("PASSCURVE_TEST_PACKAGES names no interpreter with the packages, or no published data are there")
    recorded = json.loads(gzip.decompress((samples.parent / f"{samples.name[:-9]}_eval_results.json.gz").read_bytes()))
    copy = shell.folder / "s.jsonl"
    copy.write_bytes(gzip.decompress(samples.read_bytes()))
    benchmark = DATA / "benchmarks" / "bigcodebench_hard.json.gz"
    words = ("--benchmark", benchmark, "--python", python, "--accept-benchmark", "--json", "--run", "run")
    done = shell("judge", copy, *words)
    excluded = {problem["task_id"] for problem in json.loads(done.out)["excluded"]}
    passed = {row["task_id"]: row["passed"] for row in shell.rows("s.jsonl_results.jsonl")}
    published = {task_id: rows[0]["status"] == "pass" for task_id, rows in recorded["eval"].items()}
    differences = {task_id for task_id, passes in published.items() if passes != passed[task_id]}
    assert differences <= excluded
    assert len(excluded) < 60
