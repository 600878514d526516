"""Files of samples as text: the lines of one, a JSON document, and what tells the rows of two tools."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from passcurve.errors import DataError
from passcurve.store.lines import open_unpacked, read_lines
from passcurve.types.files import BOM, describe_file

WHOLE_BYTES = 2 << 30
"""Largest file that must fit into memory as one JSON document, in bytes."""
EXPECTED = "expected rows in JSON lines, with `task_id` and `completion` or `solution`"
TOO_LONG = b'"a line that is too long"'
_RESPONSES = ("resps", "filtered_resps")
_HEAD_BYTES = 4096


def text_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file that are not blank; for one that is too long, a text that is no row."""
    for number, line in enumerate(read_lines(path)):
        text = TOO_LONG if line is None else line.removeprefix(BOM) if number == 0 else line
        if text.strip():
            yield text


def read_document(path: Path) -> bytes:
    """Return a file that holds one JSON document; raises DataError where it is too large."""
    with open_unpacked(path) as file:
        content = file.read(WHOLE_BYTES + 1)
    if len(content) > WHOLE_BYTES:
        raise DataError(f"{str(path)!r} is one JSON document of more than {WHOLE_BYTES >> 30} GiB; {EXPECTED}")
    return content.removeprefix(BOM)


def parse_json(text: bytes) -> Any:
    """Return the value of a text, which may have NaN, infinities and lone surrogates; None where it is no JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def array_elements(content: bytes) -> list[bytes]:
    """Return each element of a JSON array, as JSON.  Raises ValueError, RecursionError where it is no array."""
    try:
        return [bytes(element) for element in msgspec.json.decode(content, type=list[msgspec.Raw])]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    # More than JSON allows, such as NaN.
    return [json.dumps(element).encode() for element in json.loads(content)]


def array_rows(path: Path) -> list[bytes]:
    """Return the elements of a file that is one JSON array; none for any other file, and for a pipe."""
    if not path.is_file():
        return []
    with open_unpacked(path) as file:
        head = file.read(_HEAD_BYTES)
    if not head.removeprefix(BOM).lstrip().startswith(b"["):
        return []
    try:
        return array_elements(read_document(path))
    except (ValueError, RecursionError):
        return []


def is_lm_eval(row: object) -> bool:
    """Tell whether a row is one that lm-eval writes with ``--log_samples``."""
    return isinstance(row, dict) and isinstance(row.get("doc"), dict) and not row.keys().isdisjoint(_RESPONSES)


def is_record_row(row: object) -> bool:
    """Tell whether a row holds several programs, as LiveCodeBench's and ClassEval's outputs do."""
    if not isinstance(row, dict):
        return False
    if "question_id" in row:
        return not row.keys().isdisjoint(("code_list", "graded_list"))
    return "task_id" in row and isinstance(row.get("predict"), list)


def is_record_line(row: object) -> bool:
    """Tell whether the first line of a file is such a row, and none in the usual form."""
    return isinstance(row, dict) and row.keys().isdisjoint(("completion", "solution")) and is_record_row(row)


def explain_outcomes(document: object) -> str:
    """Return what a document of test outcomes by the number of the problem is, and what to do; empty for any other."""
    if isinstance(document, list) and len(document) > 1 and isinstance(first := document[0], dict):
        if "detail" in first and _are_outcomes(document[1]):
            return (
                "has LiveCodeBench's outcomes of tests by the number of the problem (`_eval.json`), without ids and "
                "programs: use the `_eval_all.json` beside it, which `judge` and `show` read"
            )
    elif _are_outcomes(document):
        return (
            "has outcomes of tests by the number of the problem (`all_results.json` of APPS), without ids and "
            "programs: judge the file of generations, with the problems in its order"
        )
    return ""


def explain_outcome_file(path: Path) -> str:
    """Return the same of a file."""
    try:
        return explain_outcomes(parse_json(read_document(path)))
    except DataError:
        return ""


def explain_damage(path: Path) -> str:
    """Return what a file is that holds no JSON, or was cut off, and what to do; empty for rows and for any other."""
    with open_unpacked(path) as file:
        head = file.read(_HEAD_BYTES)
    if what := describe_file(head):
        return what
    if parse_json(next(text_lines(path), b"")) is None and head.removeprefix(BOM).lstrip()[:1] in (b"{", b"["):
        try:
            json.loads(read_document(path))
        except (DataError, ValueError, RecursionError) as error:
            return f"not JSON: {error}; copy or write it again"
    return ""


def _are_outcomes(value: object) -> bool:
    """Tell whether a value has the outcomes of each test of each program by the number of a problem."""
    if not isinstance(value, dict) or not value or not all(str(name).isdecimal() for name in value):
        return False
    # A program that did not compile may have one number in place of a list.
    outcomes = [item for programs in value.values() if isinstance(programs, list) for item in programs]
    tests = [test for item in outcomes for test in (item if isinstance(item, list) else [item])]
    return bool(tests) and all(isinstance(test, bool | int) for test in tests)
