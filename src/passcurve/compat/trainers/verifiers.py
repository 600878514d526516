"""A reward for tasks of verifiers (and prime-rl); the only file that imports verifiers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from passcurve.compat.trainers.warm import describe_void, first_id, judge_rows_async, reward_of
from passcurve.errors import UsageError
from passcurve.types import Benchmark


def make_reward(
    benchmark: str | Path | Benchmark, *, share: bool = False, **options: Any
) -> Callable[..., Awaitable[float]]:
    """Return a function that verifiers calls with ``task`` and ``trace``: 1 or 0 for the last reply.

    The problem is the task's ``task_id``, else its ``id``.  With ``share`` a reward is the share of tests that passed.
    The other options are those of ``Judge``.  Where nobody knows, the function raises verifiers' own SandboxError,
    which marks the trace.  Raises UsageError without verifiers.
    """
    try:
        from verifiers.v1 import SandboxError
    except ImportError:
        install = "pip install 'verifiers>=0.4'"
        raise UsageError(f"passcurve.compat.trainers.verifiers needs verifiers: {install}") from None
    settings = {"extract": "auto", "all_tests": share, **options}

    async def passcurve_reward(task: Any, trace: Any) -> float:
        """Return the reward of a trace."""
        problem = first_id(getattr(task, "task_id", None) or task.id)
        if problem is None:
            raise UsageError("the task has neither a task_id nor an id that names a problem")
        row = {"task_id": problem, "completion": trace.last_reply}
        (judgement,) = await judge_rows_async(benchmark, settings, [row])
        reward = reward_of(judgement, share=share)
        if reward is None:
            raise SandboxError(describe_void(judgement))
        return reward

    return passcurve_reward
