"""DS-1000 in its new form: a program is a text that the tests put into code of their own and run."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

import msgspec

from passcurve.bench.formats.contest_cases import read_json
from passcurve.bench.formats.imports import find_imports
from passcurve.bench.formats.rows import Format, Parsed, ReadOptions, Row, kind
from passcurve.types import Problem, UnitTests

REQUIRED = ("prompt", "reference_code", "code_context", "metadata")

TIMEOUT_S = 120.0
"""The time limit of its own harness."""

_VARIABLE = "code"
_TEST_STRING = re.compile(r"^def test_string\b", re.MULTILINE)
_CLASS = "TestProgram"
_HEAD = f"\n\nimport unittest\n\n\nclass {_CLASS}(unittest.TestCase):\n"
_METHOD = "    def {0}(self):\n        {0}(" + _VARIABLE + ")\n"


def _matches(fields: Mapping[str, object]) -> bool:
    return {"code_context", "reference_code"} <= fields.keys()


def _parse(rows: Sequence[Row], _: ReadOptions) -> Parsed:
    return Parsed(tuple(_problem(msgspec.structs.replace(row, expected=REQUIRED)) for row in rows))


FORMAT = Format("ds1000", _matches, _parse)


def _problem(row: Row) -> Problem:
    context, reference = row.text("code_context"), row.optional_text("reference_code")
    methods = ["test_execution", *(["test_string"] if _TEST_STRING.search(context) else [])]
    return Problem(
        id=_task_id(row),
        prompt="",
        entry_point="",
        check=UnitTests(
            source=context + _HEAD + "\n".join(_METHOD.format(name) for name in methods),
            classes=(_CLASS,),
            quoted=_VARIABLE,
        ),
        reference=reference if reference.strip() else None,
        statement=row.text("prompt"),
        timeout_s=TIMEOUT_S,
        packages=find_imports(context, reference, *_texts(context)),
    )


def _texts(source: str) -> tuple[str, ...]:
    """Return the texts in some source: the code around a program is one of them."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "import" in node.value
    )


def _task_id(row: Row) -> str:
    """Return the id of a problem: its own, or the number in its metadata."""
    if isinstance(row.fields.get("task_id"), str):
        return row.text("task_id")
    metadata = row.fields.get("metadata")
    if isinstance(metadata, str):
        metadata = read_json(row, "metadata", metadata)
    if not isinstance(metadata, dict):
        raise row.fault(f"found {kind(metadata)} in 'metadata'", "an object with 'problem_id'")
    number = metadata.get("problem_id")
    if isinstance(number, bool) or not isinstance(number, int | str) or number == "":
        raise row.fault("found no problem_id in 'metadata'", "a number")
    return str(number)
