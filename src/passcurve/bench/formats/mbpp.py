"""MBPP: a task in words, and assertions that call the function; full, sanitized, and as EvalPlus extends it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from passcurve.bench.formats.entry_points import find_entry_point, needed_imports
from passcurve.bench.formats.plus_tests import split_tests
from passcurve.bench.formats.rows import Format, Parsed, ReadOptions, Row, kind
from passcurve.bench.unread_tests import unused_tests
from passcurve.types import Assertions, Problem, Suite
from passcurve.types.amounts import amount

_REQUIRED = ("task_id", "test_list")
_BASE, _PLUS = "base", "plus"
_PLUS_S = 60.0
"""The limit of EvalPlus for all tests."""
_BIGCODE_PLUS_S = 10.0
"""That of bigcode-evaluation-harness, in its mbppplus.py."""


def _matches(fields: Mapping[str, object]) -> bool:
    return "test_list" in fields and "entry_point" not in fields


def _parse(rows: Sequence[Row], options: ReadOptions) -> Parsed:
    rows = [msgspec.structs.replace(row, expected=_REQUIRED) for row in rows]
    notes = []
    if unused := sum(1 for row in rows if unused_tests(row.fields)):
        notes.append(
            f"'challenge_test_list' of {amount(unused, 'problem')} is not used, as in the score of MBPP itself"
        )
    plus_s = _BIGCODE_PLUS_S if options.profile == "bigcode" else _PLUS_S
    return Parsed(tuple(_problem(row, plus_s) for row in rows), tuple(notes))


FORMAT = Format("mbpp", _matches, _parse)


def _problem(row: Row, plus_s: float) -> Problem:
    # LBPP's, whose reference is no `code` that would fail without it.
    if row.optional_text("test_setup").strip():
        raise row.fault(
            "found code in 'test_setup', which would not be run",
            "it in 'test_setup_code', without the lines that import the program",
        )
    code, plus = row.optional_text("code"), row.optional_text("test")
    tests = tuple(test for test in row.texts("test_list") if test.strip())
    setup = "\n".join((*_imports(row), row.optional_text("test_setup_code"))).strip()
    entry_point = find_entry_point(tests, setup, code)
    statement = row.optional_text("prompt") or row.optional_text("text")
    suites: tuple[Suite, ...] = ()
    if plus.strip():
        plus_setup, plus_tests = split_tests(plus)
        suites = (Suite(name=_BASE, count=len(tests)), Suite(name=_PLUS, count=len(plus_tests)))
        setup, tests = f"{setup}\n{plus_setup}".strip(), (*tests, *plus_tests)
    setup = "\n".join((*needed_imports((setup, *tests), code), setup)).strip()
    return Problem(
        id=row.name("task_id"),
        prompt="",
        statement=statement,
        entry_point=entry_point,
        check=Assertions(tests=tests, setup=setup, suites=suites),
        reference=code if code.strip() else None,
        timeout_s=plus_s if suites else None,
    )


def _imports(row: Row) -> tuple[str, ...]:
    value = row.fields.get("test_imports")
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list):
        raise row.fault(f"found {kind(value)} in 'test_imports'", "an array of import statements")
    return row.texts("test_imports")
