"""A user's file: every public name, with the type that a checker must see; run by mypy, never by pytest."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import passcurve as pc
from passcurve.stats import (
    DatasetInterval,
    Paired,
    cover_at_tau,
    dataset_interval,
    exact_pass_at_k,
    expected_attempts,
    extrapolate,
    fail_at_k,
    g_pass_at_k,
    holm,
    jackknife_var_pass_at_k,
    maj_at_k,
    mcnemar_exact,
    paired_difference,
    pass_at_k,
    pass_curve,
    pass_hat_k,
    pkpo_rewards,
    plan,
    sign_flip_p,
)

assert_type(pc.__version__, str)

run = pc.judge("samples.jsonl", "humaneval", k=(1, 10))
assert_type(run, pc.Run)
assert_type(pc.judge([{"task_id": "a", "completion": ""}], k=1), pc.Run)
assert_type(pc.generate("humaneval", model="openai:NAME", n=20, temperature=0.8), pc.Run)
assert_type(pc.evaluate(lambda prompt: prompt + "    pass", "starter", 2), pc.Run)
assert_type(pc.judge("s.jsonl", level=0.9, prelude="bigcode", all_tests=True, profile="lcb", task="input"), pc.Run)
pc.judge("s.jsonl", leve=0.9)  # type: ignore[call-arg]
assert_type(pc.load("run", [1, 10]), pc.Run)
assert_type(pc.compare(run, "b.passcurve"), pc.Comparison)
assert_type(pc.compare(run, Path("b"))["pass@1"].difference, float)
assert_type(run["pass@1"], pc.Estimate)
assert_type(run["pass@1"].value, float | None)
assert_type(float(run["pass@1"]), float)
assert_type(run.estimates, tuple[pc.Estimate, ...])
assert_type(run.scores, pc.Table)
assert_type(run.problems.columns["n"], list[Any])
assert_type(run.signature, str)
assert_type(run.digest, str)
assert_type(pc.load_benchmark("starter"), pc.Benchmark)
assert_type(pc.load_benchmark("starter").problems, tuple[pc.Problem, ...])

# One number in, one number out; arrays in, arrays out.
assert_type(pc.stats.pass_at_k(10, 3, 1), np.float64)
assert_type(pass_at_k([10, 10], [3, 4], 1), NDArray[np.float64])
assert_type(fail_at_k(10, 3, 1), np.float64)
assert_type(fail_at_k(np.array([10]), np.array([3]), [1, 5]), NDArray[np.float64])
assert_type(pass_curve([10], [3], 10), NDArray[np.float64])
assert_type(exact_pass_at_k(10, 3, 1), Fraction)
assert_type(jackknife_var_pass_at_k(10, 3, 1), np.float64)
assert_type(pass_hat_k(10, [3, 4], 1), NDArray[np.float64])
assert_type(g_pass_at_k(10, 3, 5, Fraction(1, 2)), np.float64)
assert_type(cover_at_tau([10, 10], [3, 4], 0.5), np.float64)
assert_type(expected_attempts(10, 3, 5), np.float64)
assert_type(maj_at_k([3, 4], None, 1), NDArray[np.float64] | np.float64)
assert_type(pkpo_rewards([0, 1], 1), NDArray[np.float64])

counts = [pc.Counts(problem_id="a", n=10, c=3)]
assert_type(counts[0].n, int)
for estimate in pc.estimate(counts, [1, 10]):
    assert_type(estimate, pc.Estimate)
    assert_type(estimate.reason, str)
    if estimate.new_problems is not None:
        assert_type(estimate.new_problems.low, float)
        assert_type(estimate.new_problems.method, str)
    assert_type(estimate.within, float | None)
    assert_type(estimate.warnings, tuple[str, ...])

paired = paired_difference([10], [3], [10], [4], 1)
assert_type(paired, Paired)
assert_type(paired.new_problems.low, float)
assert_type(paired.differences, NDArray[np.float64])
assert_type(sign_flip_p([0.1, -0.2]).p, float)
assert_type(mcnemar_exact(3, 4), np.float64)
assert_type(holm([0.1]), NDArray[np.float64])
assert_type(dataset_interval([10], [3]), DatasetInterval)
assert_type(plan([10], [3]).problems, int | None)
assert_type(extrapolate([10], [3], [20]).high, NDArray[np.float64])


def exit_code() -> int:
    """Judge, and return what a command would end with."""
    try:
        pc.judge("samples.jsonl")
    except pc.PasscurveError as error:
        assert_type(error.exit_code, int)
        return error.exit_code
    return 0


async def in_a_loop() -> float:
    """Judge in an event loop."""
    assert_type(await pc.evaluate_async(lambda prompt: prompt, "starter", 2), pc.Run)
    return float((await pc.judge_async("samples.jsonl"))["pass@1"])
