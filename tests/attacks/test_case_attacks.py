"""Hostile programs against tests that are data, judged by the real command in one run for each jail."""

from __future__ import annotations

from typing import Any

import pytest
from corpus.cases import CASE_ATTACKS, HONEST, PROBLEMS_OF_RULES

pytestmark = pytest.mark.ci

RUNS = (
    ("full", "rewind"),
    pytest.param(("full", "fork"), marks=pytest.mark.nightly),
    pytest.param(("restricted", "rewind"), marks=pytest.mark.nightly),
    ("restricted", "fork"),
)


@pytest.fixture(scope="module", params=RUNS, ids=", ".join)
def rows(request: pytest.FixtureRequest, shell_in, tmp_path_factory) -> dict[tuple[str, str], tuple[Any, Any]]:
    """Return the result of each attack by each rule, and of the honest program that was judged after it."""
    level, reuse = request.param
    shell = shell_in(tmp_path_factory.mktemp("cases"))
    shell.write("b.jsonl", list(PROBLEMS_OF_RULES.values()))
    names = [(rule, name) for rule in PROBLEMS_OF_RULES for name in CASE_ATTACKS]
    samples = []
    for rule, name in names:
        texts = (CASE_ATTACKS[name], HONEST[rule])
        samples += [{"task_id": PROBLEMS_OF_RULES[rule]["id"], "solution": text} for text in texts]
    shell.write("s.jsonl", samples)
    words = ("--no-dedup", "--accept-input", "--timeout", "1", "--isolation", level, "--reuse", reuse)
    done = shell("judge", "s.jsonl", "--benchmark", "b.jsonl", *words)
    if done.code == 2 and "isolation" in done.err:
        pytest.skip(done.err)
    assert 0 == done.code, done
    results = shell.rows("s.jsonl_results.jsonl")
    return dict(zip(names, zip(results[::2], results[1::2], strict=True), strict=True))


def test_attacks(rows: dict[tuple[str, str], tuple[Any, Any]]):
    """No attack passes, none is void, and the honest program after each passes."""
    assert [] == [(name, one) for name, (one, _) in rows.items() if one["passed"] or one["status"] == "void"]
    assert [] == [(name, one) for name, (_, one) in rows.items() if not one["passed"]]
