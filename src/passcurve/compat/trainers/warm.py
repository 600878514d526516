"""The judges that a process keeps for the trainer that calls it, one for each benchmark and its options."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from passcurve.api import AsyncJudge, Judgement
from passcurve.api.judgement import Row
from passcurve.errors import IsolationError, SandboxError
from passcurve.types import Benchmark, task_name

_judges: dict[tuple[int, object], AsyncJudge] = {}
_locks: dict[int, threading.Lock] = {}
"""By process: after a fork nobody may wait for a lock that a thread of the parent held."""


def warm_judge(benchmark: str | Path | Benchmark, options: Mapping[str, Any]) -> AsyncJudge:
    """Return the judge of a benchmark that this process keeps until it ends; the first call starts it.

    A judge that has ended is replaced.  Raises what ``Judge`` raises.
    """
    name = (benchmark.name, benchmark.digest) if isinstance(benchmark, Benchmark) else str(benchmark)
    # A forked process has none of the threads and workers of its parent.
    key = (os.getpid(), (name, repr(sorted(options.items()))))
    with _locks.setdefault(os.getpid(), threading.Lock()):
        judge = _judges.get(key)
        if judge is None or not judge.is_alive:
            judge = AsyncJudge(benchmark, **options)
            judge.__enter__()
            _judges[key] = judge
        return judge


def judge_rows(benchmark: str | Path | Benchmark, options: Mapping[str, Any], rows: Sequence[Row]) -> list[Judgement]:
    """Return what became of each row, by the judge that this process keeps; all are void where its sandbox is lost.

    Raises what ``Judge`` raises, but SandboxError only where this machine can isolate nothing.
    """
    try:
        return warm_judge(benchmark, options)(rows)
    except IsolationError:
        raise
    except SandboxError as error:
        return [_void(index, row, error) for index, row in enumerate(rows)]


async def judge_rows_async(
    benchmark: str | Path | Benchmark, options: Mapping[str, Any], rows: Sequence[Row]
) -> list[Judgement]:
    """Return what ``judge_rows`` returns."""
    try:
        judge = await asyncio.to_thread(warm_judge, benchmark, options)
        return await judge.judge(rows)
    except IsolationError:
        raise
    except SandboxError as error:
        return [_void(index, row, error) for index, row in enumerate(rows)]


def _void(index: int, row: Row, error: SandboxError) -> Judgement:
    return Judgement(task_id=str(row["task_id"]), index=index, status="void", passed=None, message=str(error))


def reward_of(judgement: Judgement, *, share: bool) -> float | None:
    """Return 1 or 0, or with ``share`` the share of tests that passed; None where nobody knows."""
    return judgement.share if share else judgement.reward


def first_id(*candidates: object) -> str | None:
    """Return the first of some values that is an id: tables fill what a row lacks with None."""
    return next((name for one in candidates if (name := task_name(one)) is not None), None)


def describe_void(judgement: Judgement) -> str:
    """Return which problem could not be judged, and why."""
    return f"{judgement.task_id!r} could not be judged: {judgement.excluded or judgement.message}"


def text_of(completion: object) -> str | None:
    """Return the text of a completion: the text itself, or the content of the last of its messages."""
    if isinstance(completion, list | tuple):
        completion = completion[-1] if completion else None
    if isinstance(completion, Mapping):
        completion = completion.get("content")
    if isinstance(completion, list | tuple):
        parts = [part.get("text") for part in completion if isinstance(part, Mapping)]
        completion = "".join(part for part in parts if isinstance(part, str))
    return completion if isinstance(completion, str) else None


def close_judges() -> None:
    """End the judges that this process keeps; the next call starts another."""
    for pid, name in list(_judges):
        judge = _judges.pop((pid, name))
        if pid == os.getpid():
            judge.close()


atexit.register(close_judges)
