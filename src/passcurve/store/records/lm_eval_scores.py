"""Verdicts in the rows that lm-eval writes with ``--log_samples``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from passcurve.store.documents import array_rows, text_lines
from passcurve.store.foreign.lm_eval import form_of
from passcurve.store.foreign.values import flatten, parse_object
from passcurve.store.records.sample import MalformedRecordError, Record, ScoredSample, shorten
from passcurve.types.amounts import amount

_METRICS = ("pass@1", "pass_at_1")


def read(path: Path) -> Record:
    """Return the record of a file of such rows, in lines or as an array.

    Raises MalformedRecordError for rows with answers through several filters.
    """
    samples: list[ScoredSample] = []
    filters: set[str] = set()
    undecided = 0
    for number, line in enumerate(array_rows(path) or text_lines(path), start=1):
        row = parse_object(line)
        if row is None or not isinstance(row.get("doc"), dict):
            raise MalformedRecordError(f"line {number} is no row of lm-eval")
        filters.add(str(row.get("filter")))
        answers = flatten(row["resps"]) if "resps" in row else []
        texts = flatten(row["filtered_resps"]) if "filtered_resps" in row else answers
        form = form_of(row["doc"], texts, answers)
        value = _value(row, number)
        status = _status(value)
        undecided += len(texts) * (value is not None and not status)
        samples += [
            ScoredSample(task_id=_task(row), form=form, text=text if isinstance(text, str) else None, status=status)
            for text in texts
        ]
    if len(filters) > 1:
        first, second = sorted(filters)[:2]
        raise MalformedRecordError(
            f"it has each answer once for each of the filters {first!r} and {second!r}; keep the rows of one of them"
        )
    note = "a row has one pass@1 for all of its answers, which does not say which of them passed"
    return Record(
        kind="lm-eval", samples=tuple(samples), notes=(f"{amount(undecided, 'sample')}: {note}",) if undecided else ()
    )


def _task(row: dict[str, Any]) -> str:
    task = row["doc"].get("task_id", row.get("doc_id"))
    return str(task)


def _value(row: dict[str, Any], number: int) -> float | None:
    """Return pass@1 of a row; None where it has none, or NaN."""
    value = next((row[name] for name in _METRICS if name in row), None)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool | int | float) and 0 <= value <= 1:
        return value
    raise MalformedRecordError(f"line {number}: pass@1 must be a number from 0 to 1, got {shorten(value)}")


def _status(value: float | None) -> str:
    if value is None or 0 < value < 1:
        return ""
    return "passed" if value == 1 else "failed"
