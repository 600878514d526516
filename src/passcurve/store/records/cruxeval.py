"""Generations of CRUXEval, with and without scores."""

from __future__ import annotations

import re
from typing import Any

from passcurve.errors import DataError
from passcurve.store.records.sample import MalformedRecordError, Record, ScoredSample, expect, expect_text, find_empty
from passcurve.types.amounts import have, part_of

_TASK = re.compile(r"sample_[0-9]+")


def matches(document: Any) -> bool:
    """Tell whether a document is one of these."""
    if not isinstance(document, dict) or not document:
        return False
    if "raw_generations" in document and "raw_scored_generations" in document:
        return True
    return all(_TASK.fullmatch(name) and isinstance(texts, list) for name, texts in document.items())


def read(document: dict[str, Any]) -> Record:
    """Return the record of a document."""
    if "raw_generations" not in document:
        samples = tuple(_samples(document, {}))
        return Record(kind="cruxeval", samples=samples, empty_tasks=find_empty(document, samples))
    head = {
        name: value for name, value in document.items() if name not in ("raw_generations", "raw_scored_generations")
    }
    texts = expect(document["raw_generations"], dict, "`raw_generations`")
    scores = expect(document["raw_scored_generations"], dict, "`raw_scored_generations`")
    if texts.keys() != scores.keys():
        task = next(iter(texts.keys() ^ scores.keys()))
        raise MalformedRecordError(f"{task!r} is in one of `raw_generations` and `raw_scored_generations` alone")
    short = [
        task
        for task in texts
        if len(expect(scores[task], list, f"the scores of {task!r}"))
        < len(expect(texts[task], list, f"the generations of {task!r}"))
    ]
    samples = tuple(_samples(texts, {task: scores[task] for task in texts if task not in short}))
    if not short:
        empty = find_empty(texts, samples)
        return Record(kind="cruxeval-scored", samples=samples, head=head, empty_tasks=empty)
    verdicts = [sample for sample in samples if sample.task_id not in short]
    for task in short:
        verdicts += [ScoredSample(task_id=task, status=_status(passed, task)) for passed in scores[task]]
    count = len(samples) - len(verdicts)
    note = (
        f"{part_of(len(short), len(texts), 'problem')} {have(len(short))} fewer scores than generations, "
        f"{count} in all: n is the number of scores there, "
        "and which generations they are of is not known; `judge` reads all generations"
    )
    return Record(
        kind="cruxeval-scored",
        samples=samples,
        head=head,
        notes=(note,),
        empty_tasks=find_empty(texts, verdicts),
        verdicts=tuple(verdicts),
    )


def _samples(texts: dict[str, Any], scores: dict[str, Any]) -> list[ScoredSample]:
    """Return the samples, with their verdicts where the scores have their task."""
    samples = []
    for task, answers in texts.items():
        verdicts = scores.get(task, [None] * len(answers))
        if len(verdicts) != len(answers):
            raise MalformedRecordError(f"{task!r} has {len(answers)} generations, but {len(verdicts)} scores")
        for text, passed in zip(answers, verdicts, strict=True):
            status = _status(passed, task) if passed is not None else ""
            answer = expect_text(text, f"a generation of {task!r}")
            samples.append(ScoredSample(task_id=task, form="completion", text=answer, status=status))
    return samples


def _status(passed: Any, task: str) -> str:
    return "passed" if expect(passed, bool, f"a score of {task!r}") else "failed"


def write(record: Record) -> dict[str, Any]:
    """Return the generations; raises DataError for ids that CRUXEval does not have."""
    if strangers := [sample.task_id for sample in record.samples if not _TASK.fullmatch(sample.task_id)]:
        raise DataError(f"CRUXEval's tasks are sample_0, sample_1, ...: {strangers[0]!r} is none of them")
    tasks = {task: [sample.text for sample in samples] for task, samples in record.by_task().items()}
    return tasks | {task: [] for task in record.empty_tasks}


def write_scored(record: Record, pass_at_k: dict[str, float]) -> dict[str, Any]:
    """Return the generations with their scores; CRUXEval states pass@k in percent."""
    return {
        "raw_generations": write(record),
        "raw_scored_generations": {
            task: [sample.passed for sample in samples] for task, samples in record.by_task().items()
        }
        | {task: [] for task in record.empty_tasks},
        **{name.replace("@", "_at_"): 100 * value for name, value in pass_at_k.items()},
    }
