"""BigCodeBench: a function described by its prompt or in words, tested by the class ``TestCases`` of ``unittest``."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

import msgspec

from passcurve.bench.formats.human_eval import read_entry_point
from passcurve.bench.formats.imports import find_imports, third_party
from passcurve.bench.formats.rows import Format, Parsed, ReadOptions, Row, shown
from passcurve.errors import UsageError, nearest
from passcurve.types import Problem, UnitTests

REQUIRED = ("task_id", "complete_prompt", "code_prompt", "test", "entry_point")
TASKS = ("complete", "instruct")

TIMEOUT_S = 241.0
"""The time limit of its own harness, of which it allows no lower one."""

_CLASS = "TestCases"
_NAMES = "import os, sys\nfrom os import environ\n"
"""Names that its harness puts into the module of program and tests."""


def _matches(fields: Mapping[str, object]) -> bool:
    return {"complete_prompt", "code_prompt"} <= fields.keys()


def _parse(rows: Sequence[Row], options: ReadOptions) -> Parsed:
    """Return the problems, as completions of their prompts or, with the task ``instruct``, as whole programs."""
    task = options.task or TASKS[0]
    if task not in TASKS:
        raise UsageError(
            f"--task {task!r} is no task of BigCodeBench{nearest(task, TASKS)} (known: {', '.join(TASKS)})"
        )
    return Parsed(tuple(_problem(msgspec.structs.replace(row, expected=REQUIRED), task, options) for row in rows))


FORMAT = Format("bigcodebench", _matches, _parse, TASKS)


def _problem(row: Row, task: str, options: ReadOptions) -> Problem:
    task_id = row.text("task_id")
    if not task_id.strip():
        raise row.fault(f"found task_id {shown(task_id)}", "a name for the problem")
    code_prompt, test = row.text("code_prompt"), row.text("test")
    prompt, solution = _with_newline(row.text("complete_prompt")), row.optional_text("canonical_solution")
    reference = solution if solution.strip() else None
    statement = row.optional_text("instruct_prompt")
    if task == "instruct":
        prompt, reference = "", None if reference is None else _with_newline(code_prompt) + reference
    return Problem(
        id=task_id,
        prompt=prompt,
        entry_point=read_entry_point(row),
        check=UnitTests(
            source=test,
            classes=(_CLASS,),
            # "Calibrated": a completion that leaves out the imports of the prompt has them all the same.
            prefix=f"{_NAMES}{code_prompt}\n    pass\n",
            processes=True,
            any_skip=options.profile == "bigcodebench",
        ),
        reference=reference,
        statement=statement,
        timeout_s=TIMEOUT_S,
        packages=tuple(sorted({*find_imports(f"{code_prompt}\n{solution}", test), *_libraries(row)})),
    )


def _with_newline(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"


def _libraries(row: Row) -> tuple[str, ...]:
    """Return the packages that a row declares: an array, or one written as Python or JSON."""
    value = row.fields.get("libs")
    if isinstance(value, str):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return ()
    return third_party(name for name in value if isinstance(name, str)) if isinstance(value, list) else ()
