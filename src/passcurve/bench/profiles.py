"""Profiles: the harnesses whose rules can be followed, by name; ``docs/profiles.md`` has the rules."""

from __future__ import annotations

from passcurve.bench.formats.rows import ReadOptions
from passcurve.errors import UnknownNameError, UsageError, nearest

NATIVE = "native"
PROFILES: dict[str, str] = {
    NATIVE: "each benchmark's own rule, where that is sound",
    "human-eval": "openai/human-eval",
    "evalplus": "EvalPlus: each suite is run, whatever came before",
    "bigcode": "bigcode-evaluation-harness",
    "lm-eval": "lm-evaluation-harness",
    "lcb": "LiveCodeBench",
    "bigcodebench": "BigCodeBench",
    "cruxeval": "CRUXEval",
    "classeval": "ClassEval",
}
"""Names, each with what it follows."""

TASKS = ("input", "output", "complete", "instruct")


def reading_options(profile: str = NATIVE, task: str = "") -> ReadOptions:
    """Return the options by which a file of problems is read; raise UnknownNameError or UsageError for unknown ones."""
    if profile not in PROFILES:
        raise UnknownNameError(
            f"unknown profile {profile!r}{nearest(profile, PROFILES)} (known: {', '.join(PROFILES)})"
        )
    if task and task not in TASKS:
        raise UsageError(f"--task {task!r} is neither {' nor '.join(TASKS)}")
    return ReadOptions(profile=profile, task=task)
