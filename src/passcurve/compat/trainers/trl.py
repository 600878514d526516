"""The reward function that TRL's trainers call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from passcurve.compat.trainers.warm import judge_rows_async, reward_of, text_of
from passcurve.errors import UsageError
from passcurve.types import Benchmark


def make_reward(
    benchmark: str | Path | Benchmark, *, share: bool = False, column: str = "task_id", **options: Any
) -> Callable[..., Awaitable[list[float | None]]]:
    """Return a reward function for ``reward_funcs``: 1 or 0 for each completion, None where nobody knows.

    ``column`` of the dataset names the problem; a row without one there, of another kind, has None.  With ``share`` a
    reward is the share of tests that passed.  The other options are those of ``Judge``; texts become programs by the
    policy ``auto`` unless ``extract`` says otherwise.
    """
    settings = {"extract": "auto", "all_tests": share, **options}

    async def passcurve_reward(*, completions: Sequence[object], **columns: Any) -> list[float | None]:
        """Return a reward for each completion."""
        tasks = columns.get(column)
        if tasks is None:
            raise UsageError(f"the dataset has no column {column!r} with the ids of problems; name it with column=")
        pairs = list(zip(tasks, completions, strict=True))
        rows = [{"task_id": task, "completion": text_of(text)} for task, text in pairs if task is not None]
        judgements = iter(await judge_rows_async(benchmark, settings, rows))
        return [None if task is None else reward_of(next(judgements), share=share) for task, _ in pairs]

    return passcurve_reward
