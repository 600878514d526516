"""Functions that lm-evaluation-harness' task ``humaneval`` calls by ``!function``, with programs judged in the jail.

A task's own ``utils.py`` imports them: ``from passcurve.compat.lm_eval import build_predictions, pass_at_k``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from passcurve.compat.code_eval import compute
from passcurve.errors import DataError, SandboxError, UsageError
from passcurve.types import DEFAULT_TIMEOUT_S


def pass_at_k(
    references: Sequence[str],
    predictions: Sequence[Sequence[str]],
    k: int | Sequence[int] | None = None,
    *,
    timeout: float = DEFAULT_TIMEOUT_S,
    num_workers: int = 1,
    void: Literal["raise", "nan"] = "raise",
) -> dict[str, float]:
    """Return pass@k of the programs of each task on the tests of its reference.

    Where nobody knows, SandboxError or DataError is raised, or with ``void: nan`` each value is NaN, which the
    aggregation ``nanmean`` leaves out.  Raises UsageError without k, and for another ``void``.
    """
    if k is None or void not in ("raise", "nan"):
        raise UsageError(f"the metric needs `k`, as in [1], and `void` raise or nan; got k={k!r} and void={void!r}")
    ks = (k,) if isinstance(k, int) else tuple(k)
    try:
        scores, _ = compute(predictions, references, ks, num_workers, timeout)
    except (DataError, SandboxError):
        if void == "raise":
            raise
        return {f"pass@{one}": math.nan for one in ks}
    return scores


def build_predictions(resps: Sequence[Sequence[str]], docs: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return each response as a program: the prompt of its problem, and what continues it."""
    return [[doc["prompt"] + text for text in texts] for texts, doc in zip(resps, docs, strict=True)]


def build_predictions_instruct(resps: Sequence[Sequence[str]], docs: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return the same of responses that go on in a fenced block which the prompt has opened, and end with it."""
    bodies = [[text.partition("```")[0] for text in texts] for texts in resps]
    return build_predictions(bodies, docs)
