"""Profiles: the harnesses whose rules can be followed, by name; ``docs/profiles.md`` has the rules."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from passcurve.bench.formats.human_eval_x import ANSWER_FIELD
from passcurve.bench.formats.rows import ReadOptions
from passcurve.bench.writing import language_name
from passcurve.errors import UnknownNameError, UsageError, nearest
from passcurve.types import Benchmark, Cases, FunctionTests, Problem

NATIVE = "native"
TASKS = ("input", "output", "complete", "instruct")


class TaskRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of a harness that are others in one of its tasks."""

    extract: str
    prelude: str = "none"


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of a harness that do not depend on the benchmark; those that do are in ``formats/``."""

    title: str
    extract: str = "raw"
    """The policy by which texts become programs, where the user names none."""
    prelude: str = "none"
    """The imports in front of each program, where the user names none."""
    timeout_s: float | None = None
    """Time limit, where neither the user nor the benchmark sets one."""
    kinds: frozenset[str] = frozenset()
    """The kinds of problems that its harness has, as ``_kind_of`` names them; empty for all."""
    tasks: dict[str, TaskRules] = {}
    """Rules of single tasks, as ``_task_of`` names them."""


_FUNCTIONS = frozenset({"function", "assertions", "call"})
_CONTESTS = frozenset({"stdin", "contest"})
_ASSERTIONS, _PACK = "assertions", "humanevalpack"

PROFILES: dict[str, Profile] = {
    NATIVE: Profile(title="each benchmark's own rule, where that is sound"),
    "human-eval": Profile(title="openai/human-eval", timeout_s=3.0, kinds=frozenset({"function"})),
    "evalplus": Profile(title="EvalPlus, as it was at the time of the data", kinds=frozenset({"call"})),
    "bigcode": Profile(
        title="bigcode-evaluation-harness",
        extract="stop-words:bigcode",
        timeout_s=3.0,
        kinds=_FUNCTIONS,
        tasks={
            _ASSERTIONS: TaskRules(extract="stop-words:bigcode-mbpp"),
            _PACK: TaskRules(extract="stop-words:bigcode-humanevalpack", prelude="bigcode"),
        },
    ),
    "lm-eval": Profile(
        title="lm-evaluation-harness",
        extract="stop-words:lm-eval",
        timeout_s=3.0,
        kinds=_FUNCTIONS,
        tasks={_ASSERTIONS: TaskRules(extract="stop-words:lm-eval-mbpp")},
    ),
    "lcb": Profile(title="LiveCodeBench", prelude="livecodebench", kinds=_CONTESTS),
    "apps": Profile(title="APPS", prelude="apps", kinds=_CONTESTS),
    "bigcodebench": Profile(title="BigCodeBench", kinds=frozenset({"unittest"})),
    "cruxeval": Profile(title="CRUXEval", timeout_s=3.0, kinds=frozenset({"expression"})),
    "classeval": Profile(title="ClassEval", kinds=frozenset({"unittest"})),
    "multipl-e": Profile(
        title="MultiPL-E, as the published verdicts of Qwen's models were reached", kinds=frozenset({"script"})
    ),
    "multipl-e-upstream": Profile(title="MultiPL-E", kinds=frozenset({"script"})),
}


def find_profile(name: str) -> Profile:
    """Return the profile of a name; raise UnknownNameError where there is none."""
    if name not in PROFILES:
        raise UnknownNameError(f"unknown profile {name!r}{nearest(name, PROFILES)} (known: {', '.join(PROFILES)})")
    return PROFILES[name]


def find_rules(name: str, benchmark: Benchmark) -> Profile:
    """Return a profile with its rules for the task of a benchmark; raise UnknownNameError for an unknown name.

    Of a benchmark that its harness does not have, programs are taken as they are.
    """
    profile = find_profile(name)
    if not _has_all(profile, benchmark.problems):
        return msgspec.structs.replace(profile, extract="raw")
    tasks = {_task_of(problem) for problem in benchmark.problems} if profile.tasks else set()
    rules = profile.tasks.get(tasks.pop()) if len(tasks) == 1 else None
    if rules is None:
        return profile
    return msgspec.structs.replace(profile, extract=rules.extract, prelude=rules.prelude)


def fitting_profiles(problems: Iterable[Problem]) -> tuple[str, ...]:
    """Return the profiles whose harnesses have the kinds of these problems."""
    chosen = tuple(problems)
    return tuple(name for name, profile in PROFILES.items() if _has_all(profile, chosen))


def _has_all(profile: Profile, problems: Iterable[Problem]) -> bool:
    return not profile.kinds or profile.kinds.issuperset(map(_kind_of, problems))


def _kind_of(problem: Problem) -> str:
    """Return the kind of a problem: that of its check; cases are named by how they reach a program.

    Contests call a function that no prompt begins, and edits have no function.  Contests in other languages than Python
    are of a kind that no harness has.
    """
    check = problem.check
    if isinstance(check, Cases):
        return "contest" if check.via == "call" and not problem.prompt else check.via
    kind = str(check.__struct_config__.tag)
    return "edit" if kind == _ASSERTIONS and not problem.entry_point else kind


def _task_of(problem: Problem) -> str:
    """Return the kind of a problem, or the task that has rules of its own."""
    if isinstance(problem.check, FunctionTests) and problem.answer_field == ANSWER_FIELD:
        return _PACK
    kind = _kind_of(problem)
    # MBPP+ of EvalPlus, whose tests are data, has the prompt of MBPP.
    return _ASSERTIONS if kind == "call" and problem.prompt.startswith('"""') else kind


def reading_options(profile: str = NATIVE, task: str = "", language: str = "") -> ReadOptions:
    """Return the options by which a file of problems is read; raise UnknownNameError or UsageError for unknown ones."""
    find_profile(profile)
    if task and task not in TASKS:
        raise UsageError(f"--task {task!r} is neither {' nor '.join(TASKS)}")
    return ReadOptions(profile=profile, task=task, language=language_name(language) if language else "")
