"""Rows with the verdict on each sample, as inspect's ``precomputed_scores`` reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from passcurve.store.documents import text_lines
from passcurve.store.foreign.values import parse_object
from passcurve.store.records.sample import MalformedRecordError, Record, ScoredSample, SuiteRecord
from passcurve.types import STATUSES

_FIELDS = {"id", "epoch", "value"}
_PASSED = {"C": True, "I": False, 1: True, 0: False}


def is_row(row: Any) -> bool:
    """Tell whether the first row of a file is one of these."""
    return isinstance(row, dict) and row.keys() >= _FIELDS and "task_id" not in row


def read(path: Path) -> Record:
    """Return the record of a file of such rows.

    Raises MalformedRecordError for other rows, and for a value that is neither right nor wrong.
    """
    samples = []
    for number, line in enumerate(text_lines(path), start=1):
        row = parse_object(line)
        if row is None or not is_row(row) or not isinstance(row["value"], str | int | float):
            raise MalformedRecordError(f"line {number} has no `id`, `epoch` and `value`")
        passed = _PASSED.get(row["value"])
        if passed is None:
            raise MalformedRecordError(f"line {number}: `value` is neither C nor I, but {row['value']!r:.40}")
        samples.append(_sample(row, passed=passed))
    return Record(kind="inspect-scores", samples=tuple(samples))


def _sample(row: dict[str, Any], *, passed: bool) -> ScoredSample:
    answer, explanation, metadata = row.get("answer"), row.get("explanation"), row.get("metadata")
    facts = metadata if isinstance(metadata, dict) else {}
    status, suites = facts.get("status"), facts.get("suites")
    if status not in STATUSES or (status == "passed") != passed:
        status = "passed" if passed else "failed"
    return ScoredSample(
        task_id=str(row["id"]),
        form="solution" if facts.get("form") == "solution" else "completion",
        text=answer if isinstance(answer, str) else None,
        status=str(status),
        message=explanation if isinstance(explanation, str) else "",
        suites=tuple(
            SuiteRecord(name=name, status="passed" if holds is True else "failed")
            for name, holds in (suites.items() if isinstance(suites, dict) else ())
        ),
    )


def write(record: Record) -> list[dict[str, Any]]:
    """Return the rows that inspect's ``precomputed_scores`` reads; a sample without a verdict has no row."""
    rows = []
    for task, samples in record.by_task().items():
        for epoch, sample in enumerate(samples, start=1):
            if not sample.status:
                continue
            row: dict[str, Any] = {"id": task, "epoch": epoch, "value": "C" if sample.passed else "I"}
            if sample.text is not None:
                row["answer"] = sample.text
            if sample.message:
                row["explanation"] = sample.message
            row["metadata"] = {"status": sample.status, "form": sample.form} | (
                {"suites": {suite.name: suite.status == "passed" for suite in sample.suites}} if sample.suites else {}
            )
            rows.append(row)
    return rows
