"""The reward function for slime's ``--custom-rm-path``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from passcurve.compat.trainers.warm import describe_void, first_id, judge_rows_async, reward_of
from passcurve.errors import SandboxError, UsageError
from passcurve.types import Benchmark


def make_reward(
    benchmark: str | Path | Benchmark, *, share: bool = False, void_reward: float | None = None, **options: Any
) -> Callable[..., Awaitable[float | list[float]]]:
    """Return a function of slime's arguments and a sample, or a list of samples: 1 or 0 for each.

    The problem is ``task_id`` of the sample's metadata, else its label.  With ``share`` a reward is the share of tests
    that passed; the other options are those of ``Judge``.  Where nobody knows, SandboxError is raised; with
    ``void_reward`` that number is the reward, and ``remove_sample`` takes the sample out of the loss.
    """
    settings = {"extract": "auto", "all_tests": share, **options}

    async def passcurve_reward(_: object, samples: Any, **__: object) -> float | list[float]:
        """Return the reward of a sample, or those of a list."""
        many = samples if isinstance(samples, list) else [samples]
        rows = [{"task_id": _problem_of(sample), "completion": sample.response} for sample in many]
        rewards = []
        for sample, judgement in zip(many, await judge_rows_async(benchmark, settings, rows), strict=True):
            reward = reward_of(judgement, share=share)
            if reward is None:
                if void_reward is None:
                    raise SandboxError(f"{describe_void(judgement)}; void_reward is a reward for that")
                sample.remove_sample = True
                reward = void_reward
            rewards.append(reward)
        return rewards if isinstance(samples, list) else rewards[0]

    return passcurve_reward


def _problem_of(sample: Any) -> str:
    task = first_id((sample.metadata or {}).get("task_id"), sample.label)
    if task is None:
        raise UsageError("a sample has neither a task_id in its metadata nor a label that names a problem")
    return task
