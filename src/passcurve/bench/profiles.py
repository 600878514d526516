"""Profiles: the harnesses whose rules can be followed, by name; ``docs/profiles.md`` has the rules."""

from __future__ import annotations

import msgspec

from passcurve.bench.formats.rows import ReadOptions
from passcurve.errors import UnknownNameError, UsageError, nearest

NATIVE = "native"
TASKS = ("input", "output", "complete", "instruct")


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of a harness that do not depend on the benchmark; those that do are in ``formats/``."""

    title: str
    extract: str = "raw"
    """The policy by which texts become programs, where the user names none."""
    prelude: str = "none"
    """The imports in front of each program, where the user names none."""
    timeout_s: float | None = None
    """Time limit, where neither the user nor the benchmark sets one."""


PROFILES: dict[str, Profile] = {
    NATIVE: Profile(title="each benchmark's own rule, where that is sound"),
    "human-eval": Profile(title="openai/human-eval", timeout_s=3.0),
    "evalplus": Profile(title="EvalPlus, as it was at the time of the data"),
    "bigcode": Profile(title="bigcode-evaluation-harness", extract="stop-words:bigcode", timeout_s=3.0),
    "lm-eval": Profile(title="lm-evaluation-harness", extract="stop-words:lm-eval", timeout_s=3.0),
    "lcb": Profile(title="LiveCodeBench", prelude="livecodebench"),
    "bigcodebench": Profile(title="BigCodeBench"),
    "cruxeval": Profile(title="CRUXEval", timeout_s=3.0),
    "classeval": Profile(title="ClassEval"),
}


def find_profile(name: str) -> Profile:
    """Return the profile of a name; raise UnknownNameError where there is none."""
    if name not in PROFILES:
        raise UnknownNameError(f"unknown profile {name!r}{nearest(name, PROFILES)} (known: {', '.join(PROFILES)})")
    return PROFILES[name]


def reading_options(profile: str = NATIVE, task: str = "") -> ReadOptions:
    """Return the options by which a file of problems is read; raise UnknownNameError or UsageError for unknown ones."""
    find_profile(profile)
    if task and task not in TASKS:
        raise UsageError(f"--task {task!r} is neither {' nor '.join(TASKS)}")
    return ReadOptions(profile=profile, task=task)
