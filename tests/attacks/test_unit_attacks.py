"""Hostile programs beside a module of ``unittest``, judged by the real command in one run."""

from __future__ import annotations

from typing import Any

import pytest
from corpus.unit_tests import PROBLEM, RIGHT, UNIT_TEST_ATTACKS


@pytest.fixture(scope="module")
def rows(shell_in, tmp_path_factory) -> dict[str, tuple[Any, Any]]:
    """Return the result of each attack, and of the honest program that was judged after it."""
    shell = shell_in(tmp_path_factory.mktemp("unit"))
    # What the tests of two problems import, each program finds imported.
    shell.write("b.jsonl", [PROBLEM, {**PROBLEM, "task_id": "U/2"}])
    programs = [program for attack in UNIT_TEST_ATTACKS.values() for program in (attack, RIGHT)]
    shell.write("s.jsonl", [{"task_id": PROBLEM["task_id"], "solution": program} for program in programs])
    words = ("--no-dedup", "--json", "--timeout", "5", "--workers", "1", "--subset")
    done = shell("judge", "s.jsonl", "--benchmark", "b.jsonl", *words)
    assert 0 == done.code, done
    results = shell.rows("s.jsonl_results.jsonl")
    return dict(zip(UNIT_TEST_ATTACKS, zip(results[::2], results[1::2], strict=True), strict=True))


@pytest.mark.parametrize("name", UNIT_TEST_ATTACKS)
def test_attack(name: str, rows: dict[str, tuple[Any, Any]]):
    """The attack does not pass, and the honest program after it does."""
    attack, honest = rows[name]
    assert not attack["passed"], attack
    assert attack["status"] in ("failed", "crash", "compile"), attack
    assert honest["passed"], honest
