"""Hostile programs against assertions, and hostile answers, judged by the real command in one run."""

from __future__ import annotations

from typing import Any

import pytest
from corpus.statements import PROBLEMS_OF_KINDS, STATEMENT_ATTACKS


@pytest.fixture(scope="module")
def rows(shell_in, tmp_path_factory) -> list[tuple[Any, Any]]:
    """Return the result of each attack, and of the reference that was judged after it."""
    shell = shell_in(tmp_path_factory.mktemp("statements"))
    shell.write("b.jsonl", list(PROBLEMS_OF_KINDS.values()))
    samples = []
    for kind, _, text in STATEMENT_ATTACKS:
        problem = PROBLEMS_OF_KINDS[kind]
        samples += [{"task_id": problem["id"], "completion": answer} for answer in (text, problem["reference"])]
    shell.write("s.jsonl", samples)
    words = ("--no-dedup", "--accept-input", "--json", "--timeout", "1", "--workers", "1", "--verdict", "referee")
    done = shell("judge", "s.jsonl", "--benchmark", "b.jsonl", *words)
    assert 0 == done.code, done
    results = shell.rows("s.jsonl_results.jsonl")
    return list(zip(results[::2], results[1::2], strict=True))


@pytest.mark.parametrize(
    "number", range(len(STATEMENT_ATTACKS)), ids=[" ".join(item[:2]) for item in STATEMENT_ATTACKS]
)
def test_attack(number: int, rows: list[tuple[Any, Any]]):
    """The attack does not pass, and the reference after it does."""
    attack, honest = rows[number]
    assert not attack["passed"], attack
    assert "void" != attack["status"], attack
    assert honest["passed"], honest


def test_what_stays_with_the_sample_is_asked_for(shell):
    """An iterator among the arguments is read although the function catches what tells it to wait for that."""
    # A bare `except` also catches the BaseException that stops a check.
    code = "def f(g):\n    n = 0\n    try:\n        for _ in g: n += 1\n    except:\n        return -1\n    return n\n"
    fields = {"kind": "expression", "asks": "input", "entry_point": "f", "code": code, "input": "[1, 2]", "output": "2"}
    shell.write("b.jsonl", [{"id": "A/7", **fields, "reference": "f([1, 2])"}])
    answers = ("f(iter([1, 2]))", "f(iter([1]))", "f([3, 4])")
    shell.write("s.jsonl", [{"task_id": "A/7", "completion": answer} for answer in answers])
    assert 0 == shell("judge", "s.jsonl", "--benchmark", "b.jsonl", "--accept-input").code
    assert [True, False, True] == [row["passed"] for row in shell.rows("s.jsonl_results.jsonl")]


def test_a_function_in_question_runs_as_a_program(shell):
    """It nests its calls as deep as a program may, and its time is not that of a tracer."""
    deep = "def g(n): return 0 if n == 0 else g(n - 1)\ndef f(n):\n    try:\n        return g(n)\n"
    deep += "    except RecursionError:\n        return 'deep'\n"
    long = "def f(n):\n    s = 0\n    for i in range(n):\n        s += 1 if i % 2 else -1\n    return s\n"
    problems = {"deep": (deep, "f(3000)", "'deep'"), "long": (long, "f(2)", "0")}
    shell.write(
        "b.jsonl",
        [
            {"id": name, "kind": "expression", "asks": "input", "entry_point": "f", "code": code}
            | {"input": answer[2:-1], "output": output, "reference": answer}
            for name, (code, answer, output) in problems.items()
        ],
    )
    answers = [("deep", "f(3000)"), ("deep", "f(900)"), ("long", "f(4000000)"), ("long", "f(3)")]
    shell.write("s.jsonl", [{"task_id": name, "completion": answer} for name, answer in answers])
    assert 0 == shell("judge", "s.jsonl", "--benchmark", "b.jsonl", "--accept-input", "--timeout", "2").code
    assert [True, False, True, False] == [row["passed"] for row in shell.rows("s.jsonl_results.jsonl")]
