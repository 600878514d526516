"""CRUXEval: a function ``f``, its arguments and its result, of which one is asked for by the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from passcurve.bench.formats.rows import Format, Parsed, ReadOptions, Row
from passcurve.errors import UsageError
from passcurve.types import Expression, Problem

_REQUIRED = ("code", "input", "output", "id")
TASKS = ("input", "output")
_FUNCTION = "f"


def _matches(fields: Mapping[str, object]) -> bool:
    return set(_REQUIRED) <= fields.keys()


def _parse(rows: Sequence[Row], options: ReadOptions) -> Parsed:
    if options.task not in TASKS:
        raise UsageError(
            "CRUXEval has two tasks: choose with --task input (arguments for a result) or --task output (the result); "
            "their names are cruxeval-input and cruxeval-output"
        )
    in_process = options.profile == "cruxeval"
    rows = [msgspec.structs.replace(row, expected=_REQUIRED) for row in rows]
    return Parsed(tuple(_problem(row, options.task == "input", in_process) for row in rows))


FORMAT = Format("cruxeval", _matches, _parse, TASKS)


def _problem(row: Row, asks_input: bool, in_process: bool) -> Problem:
    code, arguments, result = row.text("code"), row.text("input"), row.text("output")
    call = f"{_FUNCTION}({arguments})"
    return Problem(
        id=row.name("id"),
        prompt="",
        statement=code + (f"\n# {_FUNCTION}(??) == {result}\n" if asks_input else f"\n# {call} == ??\n"),
        entry_point=_FUNCTION,
        check=Expression(
            code=code,
            asks="input" if asks_input else "output",
            input=arguments,
            output=result,
            in_process=in_process,
        ),
        reference=call if asks_input else result,
    )
