"""CodeContests: contest problems with public, private and generated tests, and time limits of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from passcurve.bench.formats.contest_cases import as_text, choose_references, script_cases
from passcurve.bench.formats.rows import Format, Parsed, ReadOptions, Row, kind, shown
from passcurve.types import Problem

REQUIRED = ("name", "description", "public_tests", "private_tests", "generated_tests")
_PYTHON3 = (3, "PYTHON3")
LEAST_S = 1.0
"""Least time limit of a test: those of the contests are for compiled languages."""
_FACTOR = 3.0
"""Times its limit that a program in Python may take."""


def _matches(fields: Mapping[str, object]) -> bool:
    return {"description", "public_tests", "private_tests"} <= fields.keys()


def _parse(rows: Sequence[Row], _: ReadOptions) -> Parsed:
    problems = tuple(_problem(msgspec.structs.replace(row, expected=REQUIRED)) for row in rows)
    with_files = [problem.id for row, problem in zip(rows, problems, strict=True) if _has_files(row)]
    if not with_files:
        return Parsed(problems)
    some = "a problem reads or writes" if len(with_files) == 1 else f"{len(with_files):,} problems read or write"
    note = f"{some} a file by name, which is not judged: its tests are left out (first {with_files[0]!r})"
    return Parsed(problems, (note,))


FORMAT = Format("code-contests", _matches, _parse)


def _problem(row: Row) -> Problem:
    name = row.text("name")
    if not name.strip():
        raise row.fault(f"found name {shown(name)}", "a name for the problem")
    pairs = [pair for field in REQUIRED[2:] for pair in _tests(row, field)]
    if _has_files(row):
        pairs = []
    limit_s = max(LEAST_S, _seconds(row.fields.get("time_limit")) * _FACTOR)
    inputs, outputs = [text for text, _ in pairs], [text for _, text in pairs]
    first, *others = _references(row.fields.get("solutions")) or (None,)
    return Problem(
        id=name,
        prompt="",
        entry_point="",
        check=script_cases(inputs, outputs, "float-tokens", timeout_s=limit_s),
        reference=first,
        other_references=tuple(others),
        statement=row.text("description"),
        timeout_s=(limit_s + 1) * len(pairs) + 5,
    )


def _has_files(row: Row) -> bool:
    """Tell whether a problem names the files that its programs read and write in place of the standard streams."""
    return any(row.fields.get(field) for field in ("input_file", "output_file"))


def _tests(row: Row, field: str) -> list[tuple[str, str]]:
    """Return inputs and outputs of a field: a list of pairs, or a pair of lists."""
    tests = row.fields.get(field) or []
    if isinstance(tests, dict):
        inputs, outputs = tests.get("input"), tests.get("output")
        if not isinstance(inputs, list) or not isinstance(outputs, list) or len(inputs) != len(outputs):
            raise row.fault(f"found no lists of one length in {field!r}", "input and output")
        tests = [{"input": one, "output": other} for one, other in zip(inputs, outputs, strict=True)]
    if not isinstance(tests, list) or not all(isinstance(test, dict) for test in tests):
        raise row.fault(f"found {kind(tests)} in {field!r}", "tests with input and output")
    return [(as_text(row, field, test.get("input")), as_text(row, field, test.get("output"))) for test in tests]


def _seconds(limit: object) -> float:
    """Return a time limit in seconds: a number, a text as ``2s``, or seconds and nanoseconds; 0 where there is none."""
    if isinstance(limit, dict):
        return _number(limit.get("seconds")) + _number(limit.get("nanos")) / 1e9
    if isinstance(limit, str):
        return _number(limit.strip().removesuffix("s"))
    return _number(limit)


def _number(value: object) -> float:
    try:
        return float(value) if isinstance(value, int | float | str) else 0.0
    except ValueError:
        return 0.0


def _references(solutions: object) -> tuple[str, ...]:
    """Return the references among the solutions in Python 3."""
    if isinstance(solutions, dict):
        languages, texts = solutions.get("language") or [], solutions.get("solution") or []
        solutions = [{"language": one, "solution": text} for one, text in zip(languages, texts, strict=False)]
    return choose_references(
        [
            str(item["solution"])
            for item in (solutions if isinstance(solutions, list) else [])
            if isinstance(item, dict) and item.get("language") in _PYTHON3 and isinstance(item.get("solution"), str)
        ]
    )
