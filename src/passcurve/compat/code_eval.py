"""The metric ``code_eval`` of Hugging Face's evaluate, with programs judged in the jail."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from passcurve.api import Judge
from passcurve.bench.formats.entry_points import find_entry_point
from passcurve.config import checked_ks
from passcurve.errors import DataError, SandboxError
from passcurve.types import DEFAULT_TIMEOUT_S, Assertions, Benchmark, FunctionTests, Problem

_CHECK_CALL = re.compile(r"^check\((\w+)\)\s*\Z", re.MULTILINE)

Results = dict[int, list[tuple[int, dict[str, Any]]]]


def compute(
    predictions: Sequence[Sequence[str]],
    references: Sequence[str],
    k: Sequence[int] = (1, 10, 100),
    num_workers: int = 4,
    timeout: float = DEFAULT_TIMEOUT_S,
) -> tuple[dict[str, float], Results]:
    """Return pass@k of the programs of each task on the tests of its reference, and what became of each program.

    A k is there only if every task has k programs.  Raises DataError where lists and references are not as many, a
    text stands in place of a list, or a reference tests nothing, UsageError for a wrong k, and SandboxError where a
    program was not judged: code_eval has no word for that.
    """
    ks = checked_ks(k)
    _check_lists(predictions, references)
    if len(predictions) != len(references) or not all(predictions) or not references:
        raise DataError(
            f"{len(predictions)} lists of programs for {len(references)} references: each needs one that is not empty"
        )
    problems = tuple(_make_problem(str(task), test) for task, test in enumerate(references))
    digest = hashlib.sha256("\0".join(references).encode("utf-8", "surrogatepass")).hexdigest()
    benchmark = Benchmark(name="code_eval", source="references", digest=digest, problems=problems)
    rows = [{"task_id": str(task), "solution": text} for task, texts in enumerate(predictions) for text in texts]
    with Judge(benchmark, workers=num_workers, timeout_s=timeout) as judge:
        judgements = judge(rows)
    results: Results = {task: [] for task in range(len(references))}
    for judgement in judgements:
        if judgement.excluded:
            raise DataError(f"reference {judgement.task_id} cannot judge a program: {judgement.excluded}")
        if judgement.passed is None:
            raise SandboxError(f"a program of task {judgement.task_id} was not judged: {judgement.message}; try again")
        result = {"passed": "passed", "timeout": "timed out"}.get(judgement.status, f"failed: {judgement.message}")
        task = int(judgement.task_id)
        at = len(results[task])
        outcome = {"task_id": task, "passed": judgement.passed, "result": result, "completion_id": at}
        results[task].append((at, outcome))
    return _pass_at_k(results, ks), results


def _check_lists(predictions: Sequence[Sequence[str]], references: Sequence[str]) -> None:
    """Raise DataError for a text in place of a list, whose characters would be judged as programs or tests."""
    if isinstance(references, str) or not all(isinstance(test, str) for test in references):
        raise DataError("references must be a list with a text of tests for each task")
    wrong = [task for task, texts in enumerate(predictions) if isinstance(texts, str | bytes)]
    if wrong or isinstance(predictions, str):
        where = f"predictions[{wrong[0]}]" if wrong else "predictions"
        raise DataError(f"{where} is a text, and must be a list of programs; for one program write [program]")


def _make_problem(task: str, test: str) -> Problem:
    """Return the problem of a reference: statements, or a function ``check`` and its call."""
    if match := _CHECK_CALL.search(test):
        return Problem(
            id=task, prompt="", entry_point=match[1], check=FunctionTests(source=test[: match.start()] + "\n")
        )
    return Problem(id=task, prompt="", entry_point=find_entry_point((test,), test), check=Assertions(tests=(test,)))


def _pass_at_k(results: Results, ks: Sequence[int]) -> dict[str, float]:
    from passcurve.stats import pass_at_k

    totals = [len(rows) for rows in results.values()]
    correct = [sum(row["passed"] for _, row in rows) for rows in results.values()]
    return {f"pass@{k}": float(pass_at_k(totals, correct, k).mean()) for k in ks if k <= min(totals)}
