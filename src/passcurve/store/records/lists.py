"""Arrays with the samples of a problem in each element: LiveCodeBench and ClassEval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from passcurve.store.documents import is_record_row
from passcurve.store.records.sample import MalformedRecordError, Record, ScoredSample, expect, expect_text, find_empty
from passcurve.types.amounts import amount

_SCORED = ("graded_list", "metadata", "pass@1")
_STATUSES = {"-1": "timeout", "-2": "failed", "-3": "timeout", "-4": "failed", "-5": "void"}
"""Error codes of LiveCodeBench."""


def matches(document: Any) -> bool:
    """Tell whether a document is one of these."""
    return is_record_row(next(_rows(document), None))


def _rows(document: Any) -> Iterator[Any]:
    """Yield the rows of an array, or of LiveCodeBench's results by question, as its packaged form writes them."""
    if isinstance(document, list):
        yield from document
    elif isinstance(document, dict) and isinstance(by_question := document.get("eval"), dict):
        for question, row in by_question.items():
            yield {"question_id": question, **row} if isinstance(row, dict) else row


def _is_lcb(row: dict[str, Any]) -> bool:
    return "question_id" in row and not row.keys().isdisjoint(("code_list", "graded_list"))


def _is_classeval(row: dict[str, Any]) -> bool:
    return "task_id" in row and isinstance(row.get("predict"), list)


def read(document: Any) -> Record:
    """Return the record of a document."""
    rows = [expect(row, dict, f"element {index}") for index, row in enumerate(_rows(document))]
    if _is_classeval(rows[0]):
        samples = tuple(sample for row in rows for sample in _classeval(row))
        return Record(
            kind="classeval", samples=samples, empty_tasks=find_empty((row["task_id"] for row in rows), samples)
        )
    samples = tuple(sample for index, row in enumerate(rows) for sample in _lcb(index, row))
    scored = any("graded_list" in row for row in rows)
    plain = all(row.keys() <= {"question_id", "code_list"} for row in rows)
    kind = "livecodebench-scored" if scored else "livecodebench" if plain else "livecodebench-output"
    empty = find_empty((str(row["question_id"]) for row in rows), samples)
    return Record(kind=kind, samples=samples, empty_tasks=empty)


def _classeval(row: dict[str, Any]) -> list[ScoredSample]:
    task = expect(row.get("task_id"), str, "`task_id`")
    fields = {name: value for name, value in row.items() if name not in ("task_id", "predict")}
    texts = expect(row.get("predict"), list, f"`predict` of {task!r}")
    return [
        ScoredSample(task_id=task, text=expect_text(text, f"`predict` of {task!r}"), fields=fields) for text in texts
    ]


def _lcb(index: int, row: dict[str, Any]) -> list[ScoredSample]:
    if not _is_lcb(row):
        raise MalformedRecordError(f"element {index} lacks `question_id`, or `code_list` and `graded_list`")
    task = str(row["question_id"])
    graded = expect(row.get("graded_list") or [], list, f"`graded_list` of {task!r}")
    # Some files have the verdicts alone.  Among programs none stands where nothing could be taken out of an answer.
    texts = expect(row.get("code_list", [None] * len(graded)), list, f"`code_list` of {task!r}")
    no_text = "" if "code_list" in row else None
    metadata = row.get("metadata")
    metadata = metadata if isinstance(metadata, list) and len(metadata) == len(texts) else [None] * len(texts)
    if graded and len(graded) != len(texts):
        raise MalformedRecordError(f"{task!r} has {amount(len(texts), 'program')}, but {amount(len(graded), 'grade')}")
    fields = {name: value for name, value in row.items() if name not in ("question_id", "code_list", *_SCORED)}
    samples = []
    for position, text in enumerate(texts):
        status = ""
        if graded:
            status = "passed" if expect(graded[position], bool, f"a grade of {task!r}") else _reason(metadata[position])
        samples.append(
            ScoredSample(
                task_id=task,
                text=no_text if text is None else expect(text, str, f"`code_list` of {task!r}"),
                status=status,
                details=metadata[position],
                fields=fields,
            )
        )
    return samples


def _reason(metadata: Any) -> str:
    """Return the status of a program that failed, by the error code in what LiveCodeBench says of it."""
    text = metadata if isinstance(metadata, str) else ""
    code = next((code for code in _STATUSES if f'"error_code": {code}' in text), "-2")
    # A failure of its runner counts as wrong there, and so it does here.
    return _STATUSES[code] if _STATUSES[code] != "void" else "failed"


def write_classeval(record: Record) -> list[dict[str, Any]]:
    """Return the rows of ClassEval's output."""
    return [
        {**samples[0].fields, "task_id": task, "predict": [sample.text for sample in samples]}
        for task, samples in record.by_task().items()
    ] + [{"task_id": task, "predict": []} for task in record.empty_tasks]


def write_livecodebench(record: Record) -> list[dict[str, Any]]:
    """Return the rows that LiveCodeBench takes from a user: an id, and programs."""
    return [
        {"question_id": task, "code_list": [sample.text for sample in samples]}
        for task, samples in record.by_task().items()
    ] + [{"question_id": task, "code_list": []} for task in record.empty_tasks]


def write_livecodebench_scored(record: Record) -> list[dict[str, Any]]:
    """Return the rows of LiveCodeBench's file of all results."""
    rows = []
    for task, samples in record.by_task().items():
        graded = [sample.passed for sample in samples]
        rows.append(
            {
                **_question_fields(samples),
                "question_id": task,
                "code_list": [sample.text for sample in samples],
                "graded_list": graded,
                "pass@1": sum(graded) / len(graded),
                "metadata": [sample.details for sample in samples],
            }
        )
    return rows + [{"question_id": task, "code_list": [], "graded_list": []} for task in record.empty_tasks]


def write_livecodebench_output(record: Record) -> list[dict[str, Any]]:
    """Return the rows of LiveCodeBench's output, with what is known of each question."""
    return [
        {**_question_fields(samples), "question_id": task, "code_list": [sample.text for sample in samples]}
        for task, samples in record.by_task().items()
    ] + [{"question_id": task, "code_list": []} for task in record.empty_tasks]


def _question_fields(samples: Sequence[ScoredSample]) -> dict[str, Any]:
    return samples[0].fields
