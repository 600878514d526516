"""MBPP in the layout of MapCoder: rows of MultiPL-E, with a prompt in Python and tests that define ``check``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from passcurve.bench.formats.human_eval import read_entry_point
from passcurve.bench.formats.rows import Format, Parsed, ReadOptions, Row, shown
from passcurve.types import FunctionTests, Problem

_REQUIRED = ("name", "language", "prompt", "entry_point", "test")


def _matches(fields: Mapping[str, object]) -> bool:
    return set(_REQUIRED) <= fields.keys() and "task_id" not in fields


def _parse(rows: Sequence[Row], _: ReadOptions) -> Parsed:
    return Parsed(tuple(_problem(msgspec.structs.replace(row, expected=_REQUIRED)) for row in rows))


FORMAT = Format("mapcoder", _matches, _parse)


def _problem(row: Row) -> Problem:
    if (language := row.text("language")) not in ("py", "python"):
        raise row.fault(f"found language {shown(language)}", "'py': other languages are not judged yet")
    entry_point, test = read_entry_point(row), row.text("test")
    # These run the tests once more.
    end = f"\ndef test_check():\n    check({entry_point})\n\ntest_check()\n"
    return Problem(
        id=row.text("name"),
        prompt=row.text("prompt"),
        entry_point=entry_point,
        check=FunctionTests(source=test.removesuffix(end)),
    )
