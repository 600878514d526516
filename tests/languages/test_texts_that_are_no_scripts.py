"""Samples in languages without a compiler that are no programs: the findings say it before the score."""

from __future__ import annotations

import pytest
from toolchains import require

import passcurve as pc

FENCED = "```\n{}\n```\n"


def findings(language: str, form: str, **options: object) -> tuple[pc.Run, list[tuple[str, int]]]:
    """Judge the references of a built-in benchmark, of which the first four are written so; return what is found."""
    require(language)
    problems = pc.load_benchmark(f"starter-{language}").problems
    wholes = [problem.prompt + (problem.reference or "") for problem in problems]
    texts = [form.replace("{}", whole) if number < 4 else whole for number, whole in enumerate(wholes)]
    rows = [{"task_id": problem.id, "solution": text} for problem, text in zip(problems, texts, strict=True)]
    run = pc.judge(rows, f"starter-{language}", k=1, **options)
    return run, [(finding.name, finding.rows) for finding in run.findings]


@pytest.mark.parametrize("language", ["js", "sh"])
def test_fenced_scripts_withhold_the_score(language: str) -> None:
    """Backquotes are code in JavaScript and Bash, so such a program fails for what it calls; its policy mends it."""
    run, faults = findings(language, FENCED)
    assert (None, [("fenced", 4)]) == (run["pass@1"].value, faults)
    run, faults = findings(language, FENCED, extract="auto")
    assert (1.0, []) == (run["pass@1"].value, faults)


@pytest.mark.parametrize(
    ("text", "name"), [("I'm sorry, but I cannot help with that.", "refusals"), ("Error: 429", "error_messages")]
)
def test_what_is_no_script_is_named(text: str, name: str) -> None:
    """A text in place of a program is counted in JavaScript as in Python."""
    run, faults = findings("js", text)
    assert (0.6, [(name, 4)]) == (run["pass@1"].value, faults)
