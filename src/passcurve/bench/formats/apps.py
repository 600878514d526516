"""APPS: contest problems, judged by scripts or by a function; also in the layout of MapCoder."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence

import msgspec

from passcurve.bench.formats.contest_cases import (
    as_text,
    call_cases,
    choose_references,
    find_function,
    read_json,
    script_cases,
)
from passcurve.bench.formats.livecodebench import with_starter
from passcurve.bench.formats.rows import Format, Parsed, ReadOptions, Row, kind
from passcurve.types import Cases, Problem

REQUIRED = ("question", "input_output")
MAPCODER = ("description", "test_list")
APPS_FORM = "apps-script"
"""Form of a program that runs as APPS runs it."""
_WHOLE = re.compile(r"-?[0-9]{1,4000}")
TEST_S = 4.0
"""Time limit of its own harness for one test."""


def _matches(fields: Mapping[str, object]) -> bool:
    return set(REQUIRED) <= fields.keys() or set(MAPCODER) <= fields.keys()


def _parse(rows: Sequence[Row], options: ReadOptions) -> Parsed:
    return Parsed(tuple(_problem(row, number, options) for number, row in enumerate(rows)), may_repeat=True)


FORMAT = Format("apps", _matches, _parse)


def _problem(row: Row, number: int, options: ReadOptions) -> Problem:
    """Return the problem of a row, whose number among the rows is its id where it has none."""
    is_original = "input_output" in row.fields
    row = msgspec.structs.replace(row, expected=REQUIRED if is_original else MAPCODER)
    starter = row.optional_text("starter_code")
    if is_original:
        entry_point, check = _original_check(row, options.profile)
    else:
        entry_point, check = _mapcoder_check(row, starter, options.profile)
    # TACO's names are titles, of which some are missing and some repeated; its own harness counts the rows.
    fields = ("problem_id", "id") if is_original else ("problem_id", "id", "name")
    field = next((field for field in fields if row.fields.get(field) is not None), "")
    name = row.fields.get(field)
    if isinstance(name, str):
        name = row.text(field)
    elif not isinstance(name, int) or isinstance(name, bool):
        name = number
    first, *others = _references(row.fields.get("solutions")) or (None,)
    return Problem(
        id=str(name),
        prompt="",
        entry_point=entry_point,
        check=check,
        reference=first,
        other_references=tuple(others),
        statement=with_starter(row.text("question" if is_original else "description"), starter),
        timeout_s=(TEST_S + 1) * sum(suite.count for suite in check.suites) + 5,
    )


def _original_check(row: Row, profile: str) -> tuple[str, Cases]:
    value = row.fields["input_output"]
    if isinstance(value, str):
        value = read_json(row, "input_output", row.text("input_output")) if value.strip() else {}
    if value in ({}, None):
        # Many problems of its training part are published so.
        return "", _script_cases([], [], profile)
    inputs, outputs = (value.get(name) for name in ("inputs", "outputs")) if isinstance(value, dict) else (None, None)
    if not isinstance(inputs, list) or not isinstance(outputs, list):
        raise row.fault("found no 'inputs' and 'outputs' in 'input_output'", "both")
    if len(inputs) != len(outputs):
        # Nobody knows which belong together: a problem without tests is excluded, and the others are read.
        inputs = outputs = []
    name = value.get("fn_name") if isinstance(value, dict) else None
    if isinstance(name, str) and name:
        if not all(isinstance(arguments, list) for arguments in inputs):
            raise row.fault("found arguments that are no list in 'input_output'", "a list of arguments for each test")
        arguments = [[*map(_with_whole_keys, values[:1]), *values[1:]] for values in inputs]
        return f"Solution.{name}", _call_cases(arguments, list(map(_with_whole_keys, outputs)), profile)
    texts, results = ([_as_text(row, item) for item in values] for values in (inputs, outputs))
    return "", _script_cases(texts, results, profile)


def _as_text(row: Row, value: object) -> str:
    """Return an input or output of a script, of which some are numbers."""
    return str(value) if type(value) in (int, float) else as_text(row, "input_output", value)


def _with_whole_keys(value: object) -> object:
    """Return a dictionary, or a list that begins with one, with numbers for keys that are whole numbers in texts.

    Keys of JSON are texts: APPS reads those of the first argument and of a result so (``eval/testing_util.py``).
    """
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [_with_whole_keys(value[0]), *value[1:]]
    if isinstance(value, dict) and all(_WHOLE.fullmatch(key) for key in value):
        return {int(key): item for key, item in value.items()}
    return value


def _call_cases(arguments: Sequence[Sequence[object]], results: Sequence[object], profile: str) -> Cases:
    rule = "apps-function" if profile == "apps" else "listed-or-equal"
    return call_cases(arguments, results, rule, timeout_s=TEST_S, as_harness=profile == "apps")


def _script_cases(texts: Sequence[str], results: Sequence[str], profile: str) -> Cases:
    rule, form = ("apps", APPS_FORM) if profile == "apps" else ("close-tokens", "script")
    return script_cases(texts, results, rule, timeout_s=TEST_S, form=form)


def _mapcoder_check(row: Row, starter: str, profile: str) -> tuple[str, Cases]:
    tests = row.array("test_list")
    pairs: list[tuple[str, object]] = []
    for test in tests:
        if not isinstance(test, dict) or "output" not in test:
            raise row.fault(f"found {kind(test)} in 'test_list'", "tests with input and output")
        pairs.append((as_text(row, "test_list", test.get("input")), test["output"]))
    if not pairs:
        raise row.fault("found no test", "at least one")
    entry_point, parameters = find_function(starter) if starter.strip() else ("", 0)
    if not entry_point:
        results = [as_text(row, "test_list", output) for _, output in pairs]
        return "", _script_cases([text for text, _ in pairs], results, profile)
    arguments = _read_arguments([text for text, _ in pairs], parameters)
    wanted = [output for _, output in pairs]
    return entry_point, _call_cases(arguments, wanted, profile)


def _read_arguments(texts: list[str], parameters: int) -> list[list[object]]:
    """Return the arguments of each test, which are written one a line, texts without quotes.

    An argument is a text in all tests if it is no literal in one of them; the first takes the lines too many.
    """
    rows = [_split(text, parameters) for text in texts]
    width = max(len(row) for row in rows)
    is_text = [any(len(row) > place and _literal(row[place]) is None for row in rows) for place in range(width)]
    return [
        [value if is_text[place] else (_literal(value) or (None,))[0] for place, value in enumerate(row)]
        for row in rows
    ]


def _split(text: str, parameters: int) -> list[str]:
    lines = text.split("\n")
    extra = max(0, len(lines) - max(1, parameters))
    return ["\n".join(lines[: extra + 1]), *lines[extra + 1 :]]


def _literal(text: str) -> tuple[object] | None:
    """Return the value of a text in Python or JSON in a 1-tuple; None where it is none."""
    for read in (ast.literal_eval, json.loads):
        try:
            return (read(text.strip()),)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            continue
    return None


def _references(solutions: object) -> tuple[str, ...]:
    """Return the references among the solutions: a list, or a text with a list in JSON."""
    if isinstance(solutions, str):
        try:
            solutions = json.loads(solutions) if solutions.strip() else []
        except (ValueError, RecursionError):
            return ()
    texts = [text for text in solutions if isinstance(text, str)] if isinstance(solutions, list) else []
    return choose_references(texts)
