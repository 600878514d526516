"""Check of one completion against the tests of its problem."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from passcurve.bench.formats import digest_problems, parse_problems
from passcurve.compat.human_eval.data import Row, write_jsonl
from passcurve.compat.human_eval.judging import SAMPLES, judge, temporary_folder
from passcurve.errors import DataError
from passcurve.types import Benchmark

_ID = "problem"
_FIELDS = ("prompt", "entry_point", "test", "canonical_solution")


def check_correctness(
    problem: Mapping[str, Any], completion: str, timeout: float, completion_id: int | None = None
) -> Row:
    """Return ``task_id``, ``passed``, ``result`` ("passed", "timed out" or "failed: ...") and ``completion_id``.

    Each call builds a jail of its own; ``evaluate_functional_correctness`` builds one for a whole file.
    Raises DataError when the problem lacks a field.
    """
    if "task_id" not in problem:
        raise DataError("the problem has no 'task_id'")
    fields = {name: problem[name] for name in _FIELDS if problem.get(name) is not None}
    # Task ids of other tools may be numbers.
    problems = parse_problems(json.dumps({"task_id": _ID, **fields}).encode("ascii"), f"problem {problem['task_id']}")
    benchmark = Benchmark(name=_ID, source=_ID, digest=digest_problems(problems), problems=problems)
    with temporary_folder() as folder:
        write_jsonl(str(Path(folder, SAMPLES)), [{"task_id": _ID, "completion": completion}])
        verdict = next(judge(benchmark, folder, timeout).rows)
    return {
        "task_id": problem["task_id"],
        "passed": verdict["passed"],
        "result": verdict["result"],
        "completion_id": completion_id,
    }
