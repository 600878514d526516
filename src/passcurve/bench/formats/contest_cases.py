"""Checks of contest problems, which several formats share: inputs and outputs of scripts, or arguments and results."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence
from itertools import islice

from passcurve.bench.formats.json_text import read_json_text
from passcurve.bench.formats.rows import Row
from passcurve.types import WITH_TYPING, Cases, Suite, pack_values

_MOST_SOLUTIONS = 100
"""Number of solutions that are looked at."""
_MOST_REFERENCES = 5
OWN_LIMITS = re.compile(r"\s*import sys; *sys\.exit\(0\)\s*")
"""A program that stands for a reference solution where there is none."""


def script_cases(
    inputs: Sequence[str], outputs: Sequence[str], comparator: str, *, timeout_s: float | None, form: str = "script"
) -> Cases:
    """Return the check of a whole program, each of whose tests is a text to read and the text to write."""
    return Cases(
        suites=(Suite(name="tests", count=len(inputs)),),
        inputs=pack_values([(text,) for text in inputs]),
        expected=pack_values(list(outputs)),
        comparator=comparator,
        via="stdin",
        timeout_s=timeout_s,
        form=form,
        floats="equal",
    )


def call_cases(
    arguments: Sequence[Sequence[object]],
    results: Sequence[object],
    comparator: str,
    *,
    timeout_s: float | None,
    as_harness: bool = False,
) -> Cases:
    """Return the check of a function, each of whose tests is its arguments and the result.

    ``as_harness``: results that are no plain data compare as they do where program and tests share a process.
    """
    return Cases(
        suites=(Suite(name="tests", count=len(arguments)),),
        inputs=pack_values([tuple(values) for values in arguments]),
        expected=pack_values(list(results)),
        comparator=comparator,
        timeout_s=timeout_s,
        form=WITH_TYPING,
        floats="equal",
        flattened="equal" if as_harness else "plain",
    )


def choose_references(solutions: Sequence[str]) -> tuple[str, ...]:
    """Return the first different solutions that compile, five at most; only the first where none compiles.

    Some of those that are published are in Python 2, and some fail their own tests.
    """
    different = dict.fromkeys(solutions[:_MOST_SOLUTIONS])
    return tuple(islice(filter(_compiles, different), _MOST_REFERENCES)) or tuple(solutions[:1])


def _compiles(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def limit_of_all(check: Cases) -> float | None:
    """Return a limit for all tests that none of them can exceed within its own; None where they have none."""
    if check.timeout_s is None:
        return None
    return (check.timeout_s + 1) * sum(suite.count for suite in check.suites) + 5


def read_json(row: Row, field: str, text: str) -> object:
    """Return the value of a JSON text in a field; raise DataError where it is none."""
    try:
        return read_json_text(text)
    except (ValueError, RecursionError):
        raise row.fault(f"found no JSON in the text of {field!r}", "JSON") from None


def read_arguments(row: Row, field: str, text: str) -> list[object]:
    """Return the arguments that a text holds as one JSON value a line."""
    return [read_json(row, field, line) for line in text.split("\n") if line.strip()]


def as_text(row: Row, field: str, value: object) -> str:
    """Return an input or output of a script, which may be a list of its lines."""
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "\n".join(str(line) for line in value)
    if not isinstance(value, str):
        raise row.fault(f"found an input or output in {field!r} that is no text", "a text, or a list of lines")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise row.fault(f"found a lone surrogate in {field!r}", "text that UTF-8 can encode") from None
    return value


def find_function(starter: str) -> tuple[str, int]:
    """Return the entry point that a starter code shows, with the number of its parameters; "" where it shows none."""
    try:
        tree = ast.parse(starter.rstrip() + "\n" if _has_body(starter) else _with_body(starter))
    except (SyntaxError, ValueError, RecursionError):
        match = re.search(r"(?:class\s+(\w+)[\s\S]*?)?def\s+(\w+)\s*\(([^)]*)", starter)
        if match is None:
            return "", 0
        names = [name for name in match[3].split(",") if name.strip() and name.strip() != "self"]
        return (f"{match[1]}.{match[2]}" if match[1] else match[2]), len(names)
    for node in reversed(tree.body):
        if isinstance(node, ast.FunctionDef):
            return node.name, len(node.args.args)
        if isinstance(node, ast.ClassDef):
            methods = [item for item in node.body if isinstance(item, ast.FunctionDef)]
            if methods:
                return f"{node.name}.{methods[-1].name}", len(methods[-1].args.args) - 1
    return "", 0


def _has_body(starter: str) -> bool:
    return not starter.rstrip().endswith(":")


def _with_body(starter: str) -> str:
    return starter.rstrip() + " pass\n"
