"""HumanEval-X and HumanEvalPack: HumanEval in six languages; tests that run themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from passcurve.bench.formats.human_eval import read_entry_point
from passcurve.bench.formats.human_eval_scripts import LANGUAGES, make_check, make_prompt
from passcurve.bench.formats.rows import Format, Parsed, ReadOptions, Row, listed, shown
from passcurve.bench.writing import find_writing
from passcurve.types import FunctionTests, Problem
from passcurve.types.amounts import amount

_REQUIRED = ("task_id", "prompt", "declaration", "canonical_solution", "test")
_PYTHON = "Python/"
_LAST_CALL = re.compile(r"\s*^check\((\w+)\)\s*\Z", re.MULTILINE)
"""The tests call themselves at their end, which names the function and would run each of them twice."""

_PACK_S = 10.0
"""The limit of bigcode-evaluation-harness: ``LANGUAGE_TO_TIMEOUT`` in its humanevalpack.py."""

_LAST_FUNCTION = re.compile(r"^def\s+(\w+)", re.MULTILINE)

ANSWER_FIELD = "generation"
"""The field in which published samples have their text."""


def _matches(fields: Mapping[str, object]) -> bool:
    return set(_REQUIRED) <= fields.keys()


def _parse(rows: Sequence[Row], options: ReadOptions) -> Parsed:
    problems = tuple(_problem(msgspec.structs.replace(row, expected=_REQUIRED), options.profile) for row in rows)
    count = sum(1 for row in rows if row.fields.get("buggy_solution"))
    notes = (f"'buggy_solution' of {amount(count, 'problem')} is not judged (--field buggy_solution does)",)
    return Parsed(problems, notes if count else ())


FORMAT = Format("humaneval-x", _matches, _parse)


def _problem(row: Row, profile: str) -> Problem:
    task_id, test = row.text("task_id"), row.text("test")
    reference = row.text("canonical_solution")
    statement = row.optional_text("instruction")
    if task_id.startswith(_PYTHON):
        return Problem(
            id=task_id,
            prompt=row.text("prompt"),
            entry_point=_entry_point(row, test),
            check=FunctionTests(source=_LAST_CALL.sub("\n", test)),
            reference=reference if reference.strip() else None,
            statement=statement,
            answer_field=ANSWER_FIELD,
            timeout_s=_PACK_S if profile == "bigcode" else None,
        )
    language = LANGUAGES.get(task_id.partition("/")[0])
    if language is None:
        raise row.fault(f"found task_id {shown(task_id)}", f"one of {listed((_PYTHON[:-1], *LANGUAGES))} and a number")
    return Problem(
        id=task_id,
        prompt=make_prompt(row, language),
        entry_point="",
        check=make_check(row, language),
        reference=reference if reference.strip() else None,
        statement=statement,
        answer_field=ANSWER_FIELD,
        timeout_s=10.0,
        stop=find_writing(language).stops,
    )


def _entry_point(row: Row, test: str) -> str:
    """Return the function that the tests check: it is named, or stands in their call, or is declared last."""
    if row.fields.get("entry_point") is not None:
        return read_entry_point(row)
    if call := _LAST_CALL.search(test):
        return str(call[1])
    declared = _LAST_FUNCTION.findall(row.text("declaration"))
    if not declared:
        raise row.fault("found no function in 'declaration', and no 'entry_point'", "one of them")
    return str(declared[-1])
