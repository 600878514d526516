"""An environment for SkyRL Gym, with one step: the answer; the only file that imports skyrl_gym."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from passcurve.compat.trainers.warm import describe_void, first_id, judge_rows, reward_of, text_of
from passcurve.errors import SandboxError, UsageError


def make_env(
    benchmark: str,
    env_config: object = None,  # noqa: ARG001 - the gym hands it over
    extras: Mapping[str, Any] | None = None,
    *,
    share: bool = False,
    void_reward: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Return the environment of one problem, as ``skyrl_gym.make`` does by an entry point.

    The problem is ``task_id`` of the row, or of its ``extra_info``, else the ground truth of its ``reward_spec``.  With
    ``share`` a reward is the share of tests that passed; ``options`` are those of ``Judge``.  SkyRL cannot leave an
    answer out: where nobody knows, ``void_reward`` is its reward; without one the step raises SandboxError.
    Raises UsageError without skyrl_gym, and for a row that names no problem.
    """
    row = extras or {}
    nested = ((row.get("extra_info"), "task_id"), (row.get("reward_spec"), "ground_truth"))
    ids = [row.get("task_id"), *(part.get(name) for part, name in nested if isinstance(part, Mapping))]
    task = first_id(*ids)
    if task is None:
        raise UsageError("the row has no task_id, and the ground truth of its reward_spec is no id of a problem")
    settings = {"extract": "auto", "all_tests": share, **(options or {})}

    def judge_answer(text: str) -> tuple[float, dict[str, Any]]:
        (judgement,) = judge_rows(benchmark, settings, [{"task_id": task, "completion": text_of(text)}])
        earned = reward_of(judgement, share=share)
        reward = void_reward if earned is None else earned
        if reward is None:
            raise SandboxError(f"{describe_void(judgement)}; void_reward is a reward for that")
        facts = {"passed": float(bool(judgement.passed)), "void": float(earned is None), "status": judgement.status}
        return reward, facts

    return _env_class()(judge_answer)


def _aggregate_metrics(metrics: list[dict[str, Any]]) -> Any:
    """Return the means over many episodes."""
    return _env_class().aggregate_metrics(metrics)


# The gym looks for it at the entry point, which it takes for a class; the type of a function has no such attribute.
make_env.aggregate_metrics = _aggregate_metrics  # type: ignore[attr-defined]


@cache
def _env_class() -> Any:
    try:
        from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput
    except ImportError:
        raise UsageError("passcurve.compat.trainers.skyrl needs skyrl_gym: pip install skyrl-gym") from None

    # The base is untyped where the gym is not installed.
    class PasscurveEnv(BaseTextEnv):  # type: ignore[misc]
        """The answer of the model is judged, and the episode ends."""

        def __init__(self, judge_answer: Callable[[str], tuple[float, dict[str, Any]]]) -> None:
            super().__init__()
            self._judge_answer = judge_answer
            self._facts: dict[str, Any] = {}

        def step(self, action: str) -> Any:
            """Return the reward of an answer."""
            self.turns += 1
            reward, self._facts = self._judge_answer(action)
            return BaseTextEnvStepOutput(observations=[], reward=reward, done=True, metadata=dict(self._facts))

        def get_metrics(self) -> dict[str, Any]:
            """Return whether it passed, and whether nobody knows."""
            return {name: value for name, value in self._facts.items() if isinstance(value, float)}

    return PasscurveEnv
