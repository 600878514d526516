"""Tests of the shipped problems in other languages than Python: references pass, wrong programs fail."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest

from passcurve.bench.languages import find_language
from passcurve.bench.resolve import find_examples, load
from passcurve.judging.scripts import missing_tools
from passcurve.types import Script

STARTER = files("passcurve.bench") / "starter"
LANGUAGES = ("cpp", "java", "js", "php", "sh")


def examples(language: str) -> list[dict[str, Any]]:
    """Return the shipped samples of a language: for each problem its reference, and a wrong program."""
    lines = (STARTER / f"{language}_examples.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("language", LANGUAGES)
def test_form(language: str) -> None:
    """There are ten problems, each with a reference, tests that confirm their end, and a wrong program with its why."""
    problems = load(f"starter-{language}", cache_dir=None).problems
    assert [f"starter-{language}/{number}" for number in range(10)] == [problem.id for problem in problems]
    checks = [problem.check for problem in problems]
    assert [("token", language)] * 10 == [
        (check.accepts, check.language) for check in checks if isinstance(check, Script)
    ]
    rows = examples(language)
    assert [problem.id for problem in problems for _ in range(2)] == [row["task_id"] for row in rows]
    assert [problem.reference for problem in problems] == [row["completion"] for row in rows[::2]]
    assert not [row for row in rows[1::2] if not row["why"][:1].islower()]
    assert find_examples(f"starter-{language}:examples") is not None


@pytest.mark.ci
@pytest.mark.parametrize(
    "language",
    [pytest.param(name, marks=[] if name == "js" else [pytest.mark.nightly]) for name in LANGUAGES],
)
def test_references_pass_and_wrong_programs_fail(shell, language: str) -> None:
    """Each reference passes, and each wrong program compiles, ends, and fails its tests."""
    if missing := missing_tools(find_language(language)):
        pytest.skip(f"needs {', '.join(missing)}: apt install {' '.join(find_language(language).packages)}")
    done = shell("judge", f"starter-{language}:examples", "--k", "1", "--json", "--results", "r.jsonl")
    assert 0 == done.code, done.err
    assert ["passed", "failed"] * 10 == [row["status"] for row in shell.rows("r.jsonl")]
