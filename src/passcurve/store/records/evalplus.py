"""Results of EvalPlus, in the form of today and in the older one, and those of BigCodeBench."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from passcurve.store.records.sample import (
    MalformedRecordError,
    Record,
    ScoredSample,
    SuiteRecord,
    expect,
    find_empty,
    shorten,
)

_READ = {
    "pass": "passed",
    "fail": "failed",
    "timeout": "timeout",
    # Before release 0.3.
    "success": "passed",
    "failed": "failed",
    "timed out": "timeout",
}
_SUITES = ("base", "plus")
_KNOWN = {"task_id", "solution", "status", "details"} | {
    f"{suite}_{name}" for suite in _SUITES for name in ("status", "fail_tests")
}


def matches(document: Any) -> bool:
    """Tell whether a document is one of these."""
    return isinstance(document, dict) and isinstance(document.get("eval"), dict)


def read(document: dict[str, Any]) -> Record:
    """Return the record of a document."""
    tasks: dict[str, Any] = document["eval"]
    samples = [sample for task, entry in tasks.items() for sample in _task(task, entry)]
    is_legacy = any(isinstance(entry, dict) and not _is_sample(entry) for entry in tasks.values())
    has_suites = any(sample.suites for sample in samples)
    kind = "evalplus-legacy" if is_legacy else "evalplus" if has_suites else "bigcodebench-results"
    head = {name: value for name, value in document.items() if name != "eval"}
    record = _decide(samples, kind, head) if has_suites else Record(kind=kind, samples=tuple(samples), head=head)
    return msgspec.structs.replace(record, empty_tasks=find_empty(tasks, samples))


def _task(task: str, entry: Any) -> Iterable[ScoredSample]:
    if isinstance(entry, dict):
        # One sample may stand there without its array.
        return [_sample(task, entry)] if _is_sample(entry) else _legacy_task(task, entry)
    return [
        _sample(task, expect(sample, dict, f"`eval`, {task!r}: a sample"))
        for sample in expect(entry, list, f"{task!r}")
    ]


def _is_sample(entry: dict[str, Any]) -> bool:
    return "base_status" in entry or "status" in entry


def _sample(task: str, sample: dict[str, Any]) -> ScoredSample:
    solution = sample.get("solution")
    suites = tuple(
        SuiteRecord(
            name=name,
            status=_status(sample.get(f"{name}_status"), task),
            failed_inputs=tuple(inputs) if isinstance(inputs := sample.get(f"{name}_fail_tests"), list) else None,
        )
        for name in _SUITES
        if f"{name}_status" in sample
    )
    if "plus_status" in sample and "base_status" not in sample:
        raise MalformedRecordError(f"a sample of {task!r} has `plus_status` and no `base_status`")
    if all(not suite.status for suite in suites) and sample.get("status") is None:
        raise MalformedRecordError(f"a sample of {task!r} has neither `base_status` nor `status`")
    return ScoredSample(
        task_id=task,
        text=expect(solution, str, f"`solution` of {task!r}") if solution is not None else None,
        status=_status(sample.get("status"), task),
        message=_message(sample.get("details")),
        suites=suites,
        details=sample.get("details"),
        fields={name: value for name, value in sample.items() if name not in _KNOWN},
    )


def _message(details: Any) -> str:
    """Return the last line of each traceback that BigCodeBench keeps by the name of a test, and what holds for all."""
    texts = details.items() if isinstance(details, dict) else ()
    return "; ".join(
        text if name == "ALL" else f"{name}: {text.strip().rpartition(chr(10))[2]}"
        for name, text in texts
        if isinstance(text, str)
    )


def _legacy_task(task: str, entry: dict[str, Any]) -> Iterable[ScoredSample]:
    results = {name: expect(entry.get(name) or [], list, f"`{name}` of {task!r}") for name in _SUITES}
    if not {"nfiles", "files", "base"} & entry.keys():
        raise MalformedRecordError(f"{task!r} has neither samples nor `base`")
    count = entry.get("nfiles", entry.get("files", len(results["base"])))
    count = len(count) if isinstance(count, list) else count
    if type(count) is not int:
        raise MalformedRecordError(f"`nfiles` of {task!r}: expected a number, got {shorten(count)}")
    for name, verdicts in results.items():
        if verdicts and len(verdicts) != count:
            raise MalformedRecordError(f"{task!r} has {count} samples, but {len(verdicts)} results of `{name}`")
    if not results["base"] and count:
        raise MalformedRecordError(f"{task!r} has {count} samples, but no results of `base`")
    for index in range(len(results["base"])):
        suites = (_legacy_suite(task, name, results[name][index]) for name in _SUITES if results[name])
        yield ScoredSample(task_id=task, suites=tuple(suites))


def _legacy_suite(task: str, name: str, result: Any) -> SuiteRecord:
    if not isinstance(result, list) or len(result) != 2:
        raise MalformedRecordError(f"`{name}` of {task!r}: expected [status, outcomes], got {shorten(result)}")
    status, outcomes = result
    return SuiteRecord(
        name=name,
        status=_status(status, task),
        outcomes=tuple(map(bool, outcomes)) if isinstance(outcomes, list) else None,
    )


def _status(status: Any, task: str) -> str:
    if status is None:
        return ""
    if not isinstance(status, str) or status not in _READ:
        raise MalformedRecordError(f"{task!r}: unknown status {shorten(status)}")
    return _READ[status]


def _decide(samples: list[ScoredSample], kind: str, head: dict[str, Any]) -> Record:
    """Return the record with a status for each sample: by the base tests where any sample lacks the added ones."""
    # A sample that fails the base tests fails both, whether the others were run or not.
    lacks = [_find(sample, "base") == "passed" and not _find(sample, "plus") for sample in samples]
    base_only = any(lacks) or not any(_find(sample, "plus") for sample in samples)
    decided = tuple(_with_status(sample, base_only=base_only) for sample in samples)
    record = Record(kind=kind, samples=decided, head=head, tests="base" if base_only else "base and plus")
    counts = record.suite_counts()
    if base_only:
        without = sum(not _find(sample, "plus") for sample in samples)
        note = f"passed: the base tests; the added ones (plus) were not run on {without} of {len(samples)} samples"
    else:
        note = (
            f"passed: the base tests and the added ones; base {counts['base']}, base and plus {counts['plus']} of "
            f"{len(samples)} samples"
        )
    return msgspec.structs.replace(record, notes=(note,))


def _with_status(sample: ScoredSample, *, base_only: bool) -> ScoredSample:
    statuses = [suite.status for suite in sample.suites if suite.status and (suite.name == "base" or not base_only)]
    statuses += [sample.status] if sample.status else []
    status = next((status for status in statuses if status != "passed"), "passed" if statuses else "")
    return msgspec.structs.replace(sample, status=status)


def _find(sample: ScoredSample, name: str) -> str:
    return next((suite.status for suite in sample.suites if suite.name == name), "")


def write(record: Record, head: dict[str, Any]) -> dict[str, Any]:
    """Return the document in the form of today; ``head`` has what stands beside the samples."""
    tasks = {task: [_written(sample) for sample in samples] for task, samples in record.by_task().items()}
    tasks |= {task: [] for task in record.empty_tasks}
    return _around(head, tasks)


def _around(head: dict[str, Any], tasks: dict[str, Any]) -> dict[str, Any]:
    before = {name: value for name, value in head.items() if name != "pass_at_k"}
    after = {"pass_at_k": head["pass_at_k"]} if "pass_at_k" in head else {}
    return {**before, "eval": tasks, **after}


def _written(sample: ScoredSample) -> dict[str, Any]:
    row: dict[str, Any] = {"task_id": sample.task_id, "solution": sample.text}
    suites = {suite.name: suite for suite in _suites(sample)}
    for name in _SUITES:
        row[f"{name}_status"] = _word(suites[name].status) if name in suites else None
    for name in _SUITES:
        inputs = suites[name].failed_inputs if name in suites else None
        row[f"{name}_fail_tests"] = list(inputs or ())
    return row | sample.fields


def _suites(sample: ScoredSample) -> tuple[SuiteRecord, ...]:
    """Return the suites of a sample; of one that has others the verdict on all its tests is that of ``base``."""
    suites = tuple(suite for suite in sample.suites if suite.name in _SUITES)
    return suites or (SuiteRecord(name="base", status=sample.status),)


def _word(status: str) -> str | None:
    return {"passed": "pass", "timeout": "timeout", "": None}.get(status, "fail")


def write_legacy(record: Record, head: dict[str, Any]) -> dict[str, Any]:
    """Return the document in the older form."""
    tasks: dict[str, Any] = {}
    names = {suite.name for sample in record.samples for suite in _suites(sample) if suite.status}
    for task, samples in record.by_task().items():
        tasks[task] = {"nfiles": len(samples)} | {
            # One for each sample, in order: a suite that was not run after a failure has failed too.
            name: [_legacy(_find_suite(sample, name)) for sample in samples] if name in names else []
            for name in _SUITES
        }
    tasks |= {task: {"nfiles": 0, "base": [], "plus": []} for task in record.empty_tasks}
    return _around({name: value for name, value in head.items() if name != "pass_at_k"}, tasks)


def _find_suite(sample: ScoredSample, name: str) -> SuiteRecord:
    return next((suite for suite in _suites(sample) if suite.name == name), SuiteRecord(name=name, status=""))


def _legacy(suite: SuiteRecord) -> list[Any]:
    status = {"passed": "success", "timeout": "timeout"}.get(suite.status, "failed")
    return [status, [int(outcome) for outcome in suite.outcomes or ()]]


def write_bigcodebench(record: Record, head: dict[str, Any]) -> dict[str, Any]:
    """Return the document of BigCodeBench: one status for each sample."""
    tasks = {
        task: [
            {
                "task_id": task,
                "solution": sample.text,
                "status": _word(sample.status),
                "details": sample.details if sample.details is not None else _reason(sample),
            }
            | sample.fields
            for sample in samples
        ]
        for task, samples in record.by_task().items()
    }
    tasks |= {task: [] for task in record.empty_tasks}
    return _around({name: value for name, value in head.items() if name not in ("hash", "pass_at_k")}, tasks)


def _reason(sample: ScoredSample) -> dict[str, str]:
    return {"ALL": sample.message} if sample.message and not sample.passed else {}
