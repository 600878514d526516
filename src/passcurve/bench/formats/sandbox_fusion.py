"""CodeContests and LiveCodeBench in the layout of SandboxFusion: content, labels and tests in texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from passcurve.bench.formats.contest_cases import (
    OWN_LIMITS,
    as_text,
    find_function,
    limit_of_all,
    read_json,
    script_cases,
)
from passcurve.bench.formats.livecodebench import make_check
from passcurve.bench.formats.packed_tests import unpack_tests
from passcurve.bench.formats.rows import Format, Parsed, ReadOptions, Row
from passcurve.types import Problem
from passcurve.types.amounts import have, part_of

REQUIRED = ("id", "content", "test", "labels")
TEST_S = 10.0
"""Time limit of SandboxFusion for one run."""

_FENCE = re.compile(r"```python\n(.*?)```", re.DOTALL)


def _matches(fields: Mapping[str, object]) -> bool:
    return {"id", "content", "test", "labels"} <= fields.keys() and _is_contest(fields["test"])


def _is_contest(test: object) -> bool:
    if not isinstance(test, str):
        return False
    # The first bytes of zlib, in base64.
    return ('"stdin"' in test and test.lstrip()[:1] == "[") or test.startswith(("eJ", "eN", "eA", "eF"))


def _parse(rows: Sequence[Row], options: ReadOptions) -> Parsed:
    rows = [msgspec.structs.replace(row, expected=REQUIRED) for row in rows]
    count = sum(OWN_LIMITS.fullmatch(row.optional_text("canonical_solution")) is not None for row in rows)
    part = part_of(count, len(rows), "problem")
    notes = (f"{part} {have(count)} no reference solution: the program there only exits",) if count else ()
    return Parsed(tuple(_problem(row, options) for row in rows), notes)


FORMAT = Format("sandbox-fusion", _matches, _parse)


def _problem(row: Row, options: ReadOptions) -> Problem:
    number, content, test = row.fields.get("id"), row.text("content"), row.text("test")
    if not isinstance(number, int | str) or isinstance(number, bool):
        raise row.fault("found no number or name in 'id'", "the name of the problem")
    number = row.text("id") if isinstance(number, str) else number
    solution = row.optional_text("canonical_solution")
    reference = solution if solution.strip() and not OWN_LIMITS.fullmatch(solution) else None
    if test.lstrip()[:1] == "[":
        tests = read_json(row, "test", test)
        pairs = [_pair(row, item) for item in tests] if isinstance(tests, list) else []
        if not pairs:
            raise row.fault("found no test", "at least one")
        inputs, outputs = zip(*pairs, strict=True)
        check = script_cases(inputs, outputs, "float-tokens", timeout_s=TEST_S)
        entry_point = ""
    else:
        values = _unpack(row, test)
        name = values.get("fn_name")
        fences = _FENCE.findall(content)
        in_starter = find_function(fences[-1])[0] if fences else ""
        entry_point = f"Solution.{name}" if isinstance(name, str) and name else in_starter
        texts, results = values.get("inputs"), values.get("outputs")
        if not isinstance(texts, list) or not isinstance(results, list) or len(texts) != len(results):
            raise row.fault("found no 'inputs' with as many 'outputs' in 'test'", "both")
        check = make_check(row, "test", texts, results, is_call=bool(entry_point), profile=options.profile)
    return Problem(
        id=str(number),
        prompt="",
        entry_point=entry_point,
        check=check,
        reference=reference,
        statement=content,
        timeout_s=limit_of_all(check),
    )


def _pair(row: Row, item: object) -> tuple[str, str]:
    try:
        read, wanted = item["input"]["stdin"], item["output"]["stdout"]  # type: ignore[index]
    except (TypeError, KeyError):
        raise row.fault("found a test without stdin and stdout in 'test'", "both in each test") from None
    return as_text(row, "test", read), as_text(row, "test", wanted)


def _unpack(row: Row, text: str) -> dict[str, object]:
    try:
        value = unpack_tests(text)
    except (ValueError, RecursionError) as error:
        raise row.fault(f"'test' cannot be read: {error}", "base64 of zlib of a pickle of texts") from None
    if isinstance(value, dict) and isinstance(value.get("input_output"), str):
        value = read_json(row, "test", value["input_output"])
    if not isinstance(value, dict):
        raise row.fault("found no object in 'test'", "inputs and outputs")
    return value
