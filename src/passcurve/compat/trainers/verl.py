"""The function ``compute_score`` for verl's ``reward.custom_reward_function``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from passcurve.compat.trainers.warm import describe_void, first_id, judge_rows, reward_of, text_of
from passcurve.errors import SandboxError, UsageError


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: object,
    extra_info: Mapping[str, Any] | None = None,
    *,
    benchmark: str = "",
    share: bool = False,
    void_score: float | None = None,
    options: Mapping[str, Any] | None = None,
    **_: object,
) -> dict[str, float]:
    """Return ``score``, and whether it passed and is ``void``, for one answer; all tests of it are one request.

    The problem is ``task_id`` of ``extra_info``, else the ground truth.  ``reward_kwargs`` sets the rest: ``benchmark``
    (else the data source), ``share`` for the share of tests that passed, ``options`` of ``Judge``.  verl cannot leave
    an answer out: where the judging itself failed, ``void_score`` is its score; without one SandboxError is raised.
    """
    task = first_id((extra_info or {}).get("task_id"), ground_truth)
    if task is None:
        raise UsageError("extra_info has no task_id, and the ground truth is no id of a problem")
    settings = {"extract": "auto", "all_tests": share, **(options or {})}
    row = {"task_id": task, "completion": text_of(solution_str)}
    (judgement,) = judge_rows(benchmark or data_source, settings, [row])
    earned = reward_of(judgement, share=share)
    score = void_score if earned is None else earned
    if score is None:
        raise SandboxError(f"{describe_void(judgement)}; reward_kwargs.void_score is a score for that")
    return {"score": float(score), "passed": float(bool(judgement.passed)), "void": float(earned is None)}
