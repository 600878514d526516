"""The schema of passcurve's own, for new benchmarks: rows whose ``kind`` says what is checked, in JSON or in TOML."""

from __future__ import annotations

import ast
import datetime as dt
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from passcurve.bench.choose import is_date
from passcurve.bench.formats.contest_cases import limit_of_all
from passcurve.bench.formats.human_eval import is_name
from passcurve.bench.formats.rows import Format, Parsed, ReadOptions, Row, excerpt, kind, listed, shown
from passcurve.bench.languages import languages, with_confirmation
from passcurve.bench.writing import find_writing
from passcurve.errors import DataError, nearest
from passcurve.types import (
    Assertions,
    Cases,
    Check,
    Expression,
    FunctionTests,
    Problem,
    Script,
    Suite,
    UnitTests,
    pack_values,
)

COMPARATORS = "equal same-set same-truth anything equal-or-zero polynomial-root".split()
"""Rules of ``harness/comparators.py`` for results of calls that an author can name."""

TEXT_COMPARATORS = "lines tokens close-tokens float-tokens any-case-lines livecodebench apps".split()
"""Rules of ``harness/output_comparators.py`` for what a program writes, that an author can name."""

_WITHOUT_TOLERANCE = frozenset("same-truth anything lines tokens livecodebench apps".split())
"""Rules that no tolerance changes."""

_LARGEST = 1_000_000
"""Largest limit of time in s, and largest tolerance."""

_VALUES = ("json", "python")
_COMMON = "id kind prompt statement entry_point reference suffix date timeout_s".split()


def parse_toml(text: bytes, source: str) -> Iterator[Row]:
    """Yield the tables ``[[problem]]`` of a file in TOML; raise DataError for what is none."""
    try:
        table = tomllib.loads(text.decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"{source!r} is not TOML: {error}") from error
    others, rows = [key for key in table if key != "problem"], table.get("problem")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        but = f" but {others[0]!r}" if others else ""
        raise DataError(f"{source!r}: found no tables [[problem]]{but}; expected one for each problem")
    if others:
        raise DataError(f"{source!r}: found {others[0]!r} beside the tables [[problem]]; everything belongs into one")
    for number, fields in enumerate(rows, start=1):
        yield Row(place=f"{source!r}, problem {number}", line=number, fields=_as_json(fields))


def _as_json(value: Any) -> Any:
    """Return a value of TOML as JSON has it: dates and times, which JSON has not, as texts."""
    if isinstance(value, dict):
        return {name: _as_json(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    return value.isoformat() if isinstance(value, (dt.date, dt.time)) else value


def _matches(fields: Mapping[str, object]) -> bool:
    name = fields.get("kind")
    return {"id", "kind"} <= fields.keys() or (isinstance(name, str) and name in _KINDS)


def _parse(rows: Sequence[Row], _: ReadOptions) -> Parsed:
    problems = tuple(_problem(msgspec.structs.replace(row, expected=("id", "kind"))) for row in rows)
    hidden = sum(bool(problem.prompt and problem.statement.strip()) for problem in problems)
    note = f"'statement' of {hidden} problems is shown to no model, for they have a 'prompt': write the task into that"
    return Parsed(problems, (note,) if hidden else ())


FORMAT = Format("passcurve", _matches, _parse)


def _problem(row: Row) -> Problem:
    name = row.text("kind")
    if name not in _KINDS:
        raise row.fault(f"found kind {shown(name)}{nearest(name, _KINDS)}", f"one of {listed(tuple(_KINDS))}")
    make, needed, others = _KINDS[name]
    row = msgspec.structs.replace(row, expected=("id", "kind", *needed))
    _check_fields(row, tuple(dict.fromkeys((*_COMMON, *needed, *others))))
    reference, check = row.fields.get("reference"), make(row)
    timeout_s = _number(row, "timeout_s")
    if timeout_s is None and isinstance(check, Cases):
        timeout_s = limit_of_all(check)
    return Problem(
        id=row.name("id"),
        check=check,
        reference=row.text("reference") if reference is not None else None,
        timeout_s=timeout_s,
        prompt=row.optional_text("prompt"),
        statement=row.optional_text("statement"),
        entry_point=_entry_point(row, name) if "entry_point" in needed else row.optional_text("entry_point"),
        suffix=row.optional_text("suffix"),
        date=_date(row),
        stop=find_writing(check.language).stops if isinstance(check, Script) else (),
    )


def _entry_point(row: Row, kind_of_tests: str) -> str:
    """Return the name of a function or ``Class.method``; empty for statements that use whatever a program defines."""
    name = row.text("entry_point").strip()
    parts = name.split(".") if name or kind_of_tests != "assertions" else ()
    if not all(map(is_name, parts)):
        raise row.fault(f"found entry_point {shown(name)}", "the name of a function")
    return name


def _date(row: Row) -> str:
    text = row.optional_text("date")
    if text and not is_date(text):
        raise row.fault(f"found date {shown(text)}", "a day like 2024-05-31")
    return text


def _check_fields(row: Row, names: tuple[str, ...]) -> None:
    for field in row.fields:
        if field not in names:
            raise row.fault(f"found {field!r}{nearest(field, names)}", f"the fields of its kind: {listed(names)}")
    for field in row.expected:
        if field not in row.fields:
            raise row.fault(f"found no {field!r}", f"{listed(row.expected)} in a problem of this kind")


def _function(row: Row) -> Check:
    return FunctionTests(source=row.text("test"))


def _assertions(row: Row) -> Check:
    tests = row.texts("tests")
    return Assertions(tests=tests, setup=row.optional_text("setup"), suites=_suites(row, len(tests)))


def _cases(row: Row) -> Check:
    if row.fields.get("values") not in (None, *_VALUES):
        raise row.fault(f"found values {excerpt(row.fields['values'])}", f"one of {listed(_VALUES)}")
    read = _read_literal if row.fields.get("values") == "python" else _read_json
    inputs = [read(row, value) for value in row.array("inputs")]
    if wrong := [value for value in inputs if not isinstance(value, (list, tuple))]:
        raise row.fault(f"found {excerpt(wrong[0])} in 'inputs'", "an array of arguments for each test")
    results = [read(row, value) for value in row.array("expected")] if "expected" in row.fields else []
    if "expected" in row.fields and len(results) != len(inputs):
        raise row.fault(f"found {len(inputs)} inputs and {len(results)} expected results", "one for each input")
    return Cases(
        suites=_suites(row, len(inputs)) or (Suite(name="tests", count=len(inputs)),),
        inputs=pack_values([tuple(value) for value in inputs]),
        expected=pack_values(results) if results else b"",
        comparator=_comparator(row, COMPARATORS),
        tolerance=_number(row, "tolerance") or 0.0,
        timeout_s=_number(row, "test_timeout_s"),
    )


def _stdin(row: Row) -> Check:
    inputs, outputs = row.texts("inputs"), row.texts("outputs")
    if len(inputs) != len(outputs):
        raise row.fault(f"found {len(inputs)} inputs and {len(outputs)} outputs", "one for each input")
    return Cases(
        suites=_suites(row, len(inputs)) or (Suite(name="tests", count=len(inputs)),),
        inputs=pack_values([(text,) for text in inputs]),
        expected=pack_values(list(outputs)),
        comparator=_comparator(row, TEXT_COMPARATORS),
        tolerance=_number(row, "tolerance") or 0.0,
        via="stdin",
        timeout_s=_number(row, "test_timeout_s"),
    )


def _unit_tests(row: Row) -> Check:
    return UnitTests(source=row.text("test"), timeout_s=_number(row, "class_timeout_s"))


def _expression(row: Row) -> Check:
    asks = row.text("asks")
    if asks not in ("input", "output"):
        raise row.fault(f"found asks {shown(asks)}", "'input' or 'output'")
    return Expression(
        code=row.text("code"),
        asks="input" if asks == "input" else "output",
        input=row.text("input"),
        output=row.text("output"),
    )


def _script(row: Row) -> Check:
    name, table = row.text("language"), languages()
    if name not in table:
        raise row.fault(f"found language {shown(name)}{nearest(name, table)}", f"one of {listed(tuple(table))}")
    language, tests = table[name], row.text("tests")
    if not tests.strip():
        raise row.fault("found no 'tests'", "statements that check the program")
    confirmed = with_confirmation(language, tests)
    if confirmed is None:
        braces = "}" * language.confirm_inside
        raise row.fault(
            f"found 'tests' that do not end with {braces!r}", f"the end of the main program of {language.title}"
        )
    return Script(
        language=name,
        tests=confirmed,
        before=row.optional_text("before"),
        compile_s=_number(row, "compile_s") or 60.0,
    )


_KINDS: dict[str, tuple[Callable[[Row], Check], tuple[str, ...], tuple[str, ...]]] = {
    "function": (_function, ("entry_point", "test"), ()),
    "assertions": (_assertions, ("entry_point", "tests"), ("setup", "suites")),
    "cases": (
        _cases,
        ("entry_point", "inputs"),
        ("expected", "values", "comparator", "tolerance", "test_timeout_s", "suites"),
    ),
    "stdin": (_stdin, ("inputs", "outputs"), ("comparator", "tolerance", "test_timeout_s", "suites")),
    "unittest": (_unit_tests, ("test",), ("class_timeout_s",)),
    "expression": (_expression, ("code", "asks", "input", "output"), ()),
    "script": (_script, ("language", "tests"), ("before", "compile_s")),
}
"""For each kind what reads it, the fields that it needs, and those that it may have."""


def _suites(row: Row, count: int) -> tuple[Suite, ...]:
    """Return the suites of a row, which are an object of names and numbers of tests."""
    value = row.fields.get("suites")
    if value is None:
        return ()
    if not isinstance(value, dict) or not all(type(size) is int and size > 0 for size in value.values()):
        raise row.fault(f"found {excerpt(value)} in 'suites'", "names with numbers of tests")
    if sum(value.values()) != count:
        raise row.fault(f"found suites of {sum(value.values())} tests", f"{count}, as there are tests")
    return tuple(Suite(name=str(name), count=size) for name, size in value.items())


def _comparator(row: Row, names: Sequence[str]) -> str:
    """Return the rule that a row names, by default the first."""
    name = row.optional_text("comparator") or names[0]
    if name not in names:
        raise row.fault(f"found comparator {shown(name)}{nearest(name, names)}", f"one of {listed(tuple(names))}")
    if name in _WITHOUT_TOLERANCE and row.fields.get("tolerance") is not None:
        close = tuple(other for other in names if other not in _WITHOUT_TOLERANCE)
        raise row.fault(f"found 'tolerance', which comparator {name!r} does not use", f"it with one of {listed(close)}")
    return name


def _number(row: Row, field: str) -> float | None:
    value = row.fields.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= _LARGEST:
        raise row.fault(f"found {excerpt(value)} in {field!r}", f"a positive number of at most {_LARGEST:,}")
    return float(value)


def _read_json(_: Row, value: Any) -> Any:
    return value


def _read_literal(row: Row, value: Any) -> Any:
    """Return a value that is written as in Python, for what JSON has not."""
    if not isinstance(value, str):
        raise row.fault(f"found {kind(value)}", "values as Python text, for `values` is 'python'")
    try:
        return ast.literal_eval(value)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise row.fault(f"found {shown(value)}", "a value as in Python") from None
