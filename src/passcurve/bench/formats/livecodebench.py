"""LiveCodeBench: contest problems with dates, judged by scripts or by the method of a class."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence

import msgspec

from passcurve.bench.choose import is_date
from passcurve.bench.formats.contest_cases import as_text, call_cases, read_arguments, read_json, script_cases
from passcurve.bench.formats.packed_tests import unpack_tests
from passcurve.bench.formats.rows import Format, Parsed, ReadOptions, Row, kind
from passcurve.types import Cases, Problem

REQUIRED = ("question_content", "question_id", "public_test_cases", "private_test_cases", "metadata")
TEST_S = 6.0
"""Time limit of its own harness for one test."""

QUIRKS = "livecodebench-script"
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ].*)?")
_METHOD = re.compile(r"^[ \t]+(?:async )?def (?!__)(\w+)", re.MULTILINE)
_OWNER = "Solution"


def _matches(fields: Mapping[str, object]) -> bool:
    return {"question_id", "public_test_cases", "private_test_cases"} <= fields.keys()


def _parse(rows: Sequence[Row], options: ReadOptions) -> Parsed:
    return Parsed(tuple(_problem(msgspec.structs.replace(row, expected=REQUIRED), options) for row in rows))


FORMAT = Format("livecodebench", _matches, _parse)


def _problem(row: Row, options: ReadOptions) -> Problem:
    question = row.name("question_id")
    tests = [test for field in ("public_test_cases", "private_test_cases") for test in _read_tests(row, field)]
    metadata = row.fields.get("metadata") or {}
    if isinstance(metadata, str):
        metadata = read_json(row, "metadata", metadata)
    name = metadata.get("func_name") if isinstance(metadata, dict) else None
    starter = row.optional_text("starter_code")
    is_call = any(test.get("testtype") == "functional" for test in tests)
    if is_call and not isinstance(name, str):
        name = _find_method(row, starter)
    check = make_check(
        row,
        "private_test_cases",
        [test.get("input") for test in tests],
        [test.get("output") for test in tests],
        is_call=is_call,
        profile=options.profile,
    )
    return Problem(
        id=question,
        prompt="",
        entry_point=f"{_OWNER}.{name}" if is_call else "",
        check=check,
        statement=with_starter(row.text("question_content"), starter),
        date=_date(row),
        timeout_s=time_for_all(len(tests)),
    )


def _date(row: Row) -> str:
    """Return the day of the contest; empty where it is not known.  A table may have it in milliseconds since 1970."""
    value = row.fields.get("contest_date")
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return dt.datetime.fromtimestamp(value / 1000, dt.UTC).date().isoformat()
        except (OverflowError, ValueError, OSError):
            return ""
    date = _DATE.fullmatch(row.optional_text("contest_date").strip())
    return date[1] if date and is_date(date[1]) else ""


def _find_method(row: Row, starter: str) -> str:
    """Return the name of the method that functional tests call, where 'metadata' does not have it."""
    methods = _METHOD.findall(starter)
    if len(methods) != 1:
        raise row.fault("found functional tests, and no 'func_name' in 'metadata'", "the method that they call")
    return str(methods[0])


def make_check(
    row: Row, field: str, inputs: list[object], outputs: list[object], *, is_call: bool, profile: str
) -> Cases:
    """Return the check of inputs and outputs, which are one JSON value a line where a function is called."""
    texts, results = ([as_text(row, field, value) for value in values] for values in (inputs, outputs))
    if is_call:
        arguments = [read_arguments(row, field, text) for text in texts]
        values = [read_json(row, field, text) for text in results]
        return call_cases(arguments, values, "equal-json", timeout_s=TEST_S, as_harness=profile == "lcb")
    form = QUIRKS if profile == "lcb" else "script"
    return script_cases(texts, results, "livecodebench", timeout_s=TEST_S, form=form)


def time_for_all(tests: int) -> float:
    """Return the time limit of its own harness for all tests of a program."""
    return (TEST_S + 1) * tests + 5


def with_starter(statement: str, starter: str) -> str:
    """Return the task in words with the code to start with, if any."""
    return f"{statement.rstrip()}\n\n```python\n{starter.rstrip()}\n```\n" if starter.strip() else statement


def _read_tests(row: Row, field: str) -> list[dict[str, object]]:
    value = row.fields.get(field)
    if value is None or (isinstance(value, str) and not value.strip()):
        return []
    if isinstance(value, str):
        text = row.text(field)
        try:
            value = read_json(row, field, text) if text.lstrip()[:1] == "[" else unpack_tests(text)
        except (ValueError, RecursionError) as error:
            raise row.fault(
                f"{field!r} cannot be read: {error}", "JSON, or base64 of zlib of a pickle of a text"
            ) from None
    if not isinstance(value, list) or not all(isinstance(test, dict) for test in value):
        raise row.fault(f"found {kind(value)} in {field!r}", "tests with input and output")
    return value
