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
