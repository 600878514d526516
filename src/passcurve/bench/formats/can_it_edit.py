"""CanItEdit, as published and in the layout of SandboxFusion: a program to change, and statements that check it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import msgspec

from passcurve.bench.formats.rows import Format, Parsed, ReadOptions, Row, shown
from passcurve.types import Assertions, Problem

_REQUIRED = ("id", "content", "canonical_solution", "labels", "test")
_PUBLISHED = ("id", "before", "after", "tests", "instruction_descriptive", "instruction_lazy")
_INSTRUCTIONS = ("instruction_descriptive", "instruction_lazy")


def _matches(fields: Mapping[str, object]) -> bool:
    if set(_PUBLISHED) <= fields.keys():
        return True
    return set(_REQUIRED) <= fields.keys() and "instruction_lazy" in str(fields["labels"])


def _parse(rows: Sequence[Row], _: ReadOptions) -> Parsed:
    return Parsed(tuple(_published(row) if "before" in row.fields else _repacked(row) for row in rows))


FORMAT = Format("can-it-edit", _matches, _parse)


def _published(row: Row) -> Problem:
    row = msgspec.structs.replace(row, expected=_PUBLISHED)
    instruction = next((row.text(name) for name in _INSTRUCTIONS if row.fields.get(name)), "")
    return _problem(row, instruction, row.text("before"), row.text("after"), row.text("tests"))


def _repacked(row: Row) -> Problem:
    row = msgspec.structs.replace(row, expected=_REQUIRED)
    labels, test = _object(row, "labels"), _object(row, "test")
    instruction = next((str(labels[name]) for name in _INSTRUCTIONS if labels.get(name)), "")
    code = test.get("code")
    if not isinstance(code, str) or not code.strip():
        raise row.fault("found no 'code' in 'test'", "the statements that check a program")
    return _problem(row, instruction, row.text("content"), row.text("canonical_solution"), code)


def _problem(row: Row, instruction: str, before: str, after: str, tests: str) -> Problem:
    return Problem(
        id=row.name("id"),
        prompt="",
        statement=f"{instruction}\n\n```python\n{before}\n```\n",
        # The statements use whatever the program defines: classes, mostly.
        entry_point="",
        check=Assertions(tests=(tests,)),
        reference=after if after.strip() else None,
    )


def _object(row: Row, field: str) -> dict[str, object]:
    """Return a field that holds an object, or one as JSON text."""
    value = row.fields.get(field)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise row.fault(f"found {shown(row.text(field))} in {field!r}", "an object as JSON") from None
    if not isinstance(value, dict):
        raise row.fault(f"found no object in {field!r}", "an object as JSON")
    return value
