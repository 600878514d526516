"""Tests of the shipped benchmark: its format, its references and its wrong solutions."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter
from importlib.resources import files
from typing import Any

import pytest

STARTER = files("passcurve.bench") / "starter"
SECONDS_EACH = 5

# Reads jobs as JSON, runs each in a namespace of its own, and writes one report for each.  Only programs that
# were written for this repository go through it; samples of unknown origin need the jail.
RUNNER = """
import contextlib, doctest, io, json, signal, sys

def late(signum, frame):
    raise TimeoutError("the program did not end in time")

def run(job):
    calls = 0
    space = {"__name__": "program"}
    exec(job["program"], space)
    entry_point = space[job["entry_point"]]

    def counted(*args, **kwargs):
        nonlocal calls
        calls += 1
        return entry_point(*args, **kwargs)

    if job["examples"]:
        for test in doctest.DocTestFinder().find(entry_point, job["entry_point"], globs=space):
            results = doctest.DocTestRunner(verbose=False).run(test)
            if results.failed or not results.attempted:
                raise AssertionError(f"{results.failed} of {results.attempted} examples fail")
    else:
        exec(job["test"], space)
        space["check"](counted)
    return calls

signal.signal(signal.SIGALRM, late)
reports = []
for job in json.load(sys.stdin):
    report = {"calls": 0, "error": ""}
    signal.alarm(job["seconds"])
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            report["calls"] = run(job)
    except BaseException as error:
        report["error"] = type(error).__name__
    finally:
        signal.alarm(0)
    reports.append(report)
json.dump(reports, sys.stdout)
"""


def read(name: str) -> list[dict[str, Any]]:
    """Parse a shipped file of JSON lines."""
    return [json.loads(line) for line in (STARTER / name).read_text(encoding="utf-8").splitlines()]


PROBLEMS = read("problems.jsonl")
BY_ID = {problem["task_id"]: problem for problem in PROBLEMS}


def run(completions: list[tuple[str, str]], *, examples: bool = False) -> list[dict[str, Any]]:
    """Run the tests, or the docstring's examples, on completions given as (task id, text)."""
    jobs = [
        {
            "program": BY_ID[task_id]["prompt"] + text,
            "entry_point": BY_ID[task_id]["entry_point"],
            "test": BY_ID[task_id]["test"],
            "examples": examples,
            "seconds": SECONDS_EACH,
        }
        for task_id, text in completions
    ]
    done = subprocess.run(
        [sys.executable, "-I", "-c", RUNNER],
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS_EACH * 20,
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def references() -> dict[str, dict[str, Any]]:
    """Report on the reference solution of each problem."""
    completions = [(problem["task_id"], problem["canonical_solution"]) for problem in PROBLEMS]
    return dict(zip(BY_ID, run(completions), strict=True))


def test_number_of_problems() -> None:
    """There are at least forty problems."""
    assert len(PROBLEMS) >= 40


def test_ids_are_consecutive() -> None:
    """The problems are numbered from 0 in file order."""
    assert [f"starter/{i}" for i in range(len(PROBLEMS))] == [problem["task_id"] for problem in PROBLEMS]


def test_keys() -> None:
    """A problem has the five fields of the HumanEval format and no others."""
    expected = {"task_id", "prompt", "entry_point", "canonical_solution", "test"}
    assert not [problem["task_id"] for problem in PROBLEMS if problem.keys() != expected]


def test_entry_points_differ() -> None:
    """No two problems have the same entry point."""
    assert len(PROBLEMS) == len({problem["entry_point"] for problem in PROBLEMS})


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem["task_id"])
def test_prompt_is_a_program(problem: dict[str, Any]) -> None:
    """A prompt parses by itself, and its last statement is a function with only a docstring as body."""
    function = ast.parse(problem["prompt"]).body[-1]
    assert isinstance(function, ast.FunctionDef)
    assert problem["entry_point"] == function.name
    assert len(function.body) == 1
    assert ">>> " in (ast.get_docstring(function) or "")
    assert problem["prompt"].endswith('"""\n')


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem["task_id"])
def test_test_is_one_function(problem: dict[str, Any]) -> None:
    """A test is two empty lines and check(candidate), which never uses the name of the entry point."""
    (check,) = ast.parse(problem["test"]).body
    assert isinstance(check, ast.FunctionDef)
    assert problem["test"].startswith("\n\ndef check(candidate):\n")
    assert problem["entry_point"] not in {node.id for node in ast.walk(check) if isinstance(node, ast.Name)}


def test_references_pass(references: dict[str, dict[str, Any]]) -> None:
    """Every reference solution passes its test."""
    assert not {task_id: report["error"] for task_id, report in references.items() if report["error"]}


def test_number_of_calls(references: dict[str, dict[str, Any]]) -> None:
    """Every test calls the candidate at least eight times."""
    assert not {task_id: report["calls"] for task_id, report in references.items() if report["calls"] < 8}


def test_docstring_examples() -> None:
    """The reference solution satisfies the examples in its docstring."""
    completions = [(problem["task_id"], problem["canonical_solution"]) for problem in PROBLEMS]
    reports = run(completions, examples=True)
    # From 3.14 on a number minus a complex one has a zero with another sign, which is equal and looks otherwise.
    signed = {25} if sys.version_info >= (3, 14) else set()
    assert signed == {i for i, report in enumerate(reports) if report["error"]}


def test_wrong_solutions_fail() -> None:
    """Every wrong solution raises an exception well within the time limit."""
    wrong = read("wrong.jsonl")
    reports = run([(row["task_id"], row["completion"]) for row in wrong])
    unseen = [
        (row["task_id"], row["why"], report["error"])
        for row, report in zip(wrong, reports, strict=True)
        if report["error"] in ("", "TimeoutError", "SyntaxError")
    ]
    assert not unseen


def test_wrong_solutions_of_each_problem() -> None:
    """Each problem has at least two wrong solutions, and all of them differ."""
    wrong = read("wrong.jsonl")
    counts = Counter(row["task_id"] for row in wrong)
    assert set(BY_ID) == set(counts)
    assert min(counts.values()) >= 2
    assert len(wrong) == len({(row["task_id"], row["completion"]) for row in wrong})


def test_wrong_solutions_say_why() -> None:
    """Each wrong solution has a reason that starts with a lower-case letter, to follow a colon."""
    wrong = read("wrong.jsonl")
    assert {("completion", "task_id", "why")} == {tuple(sorted(row)) for row in wrong}
    assert not [row["why"] for row in wrong if not row["why"][:1].islower()]


def test_examples_form() -> None:
    """Each row of the samples file is a completion or a whole program, and both forms occur."""
    forms = {tuple(sorted(row)) for row in read("examples.jsonl")}
    assert {("completion", "task_id"), ("solution", "task_id")} == forms


def test_examples_of_each_problem() -> None:
    """The samples file has ten samples for each problem, grouped in the order of the problems."""
    expected = [task_id for task_id in BY_ID for _ in range(10)]
    assert expected == [row["task_id"] for row in read("examples.jsonl")]
