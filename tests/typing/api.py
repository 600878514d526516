"""A user's file: every public name, with the type that a checker must see; run by mypy, never by pytest."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import passcurve
from passcurve import (
    Benchmark,
    Counts,
    DatasetInterval,
    Estimate,
    Limits,
    Paired,
    PasscurveError,
    Problem,
    Request,
    Result,
    Verdict,
    cover_at_tau,
    dataset_interval,
    estimate,
    evaluate,
    exact_pass_at_k,
    expected_attempts,
    extrapolate,
    fail_at_k,
    g_pass_at_k,
    holm,
    jackknife_var_pass_at_k,
    judge,
    load,
    load_benchmark,
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

assert_type(passcurve.__version__, str)

assert_type(evaluate(lambda prompt: prompt + "    pass", "starter", 2), Result)

# One number in, one number out; arrays in, arrays out.
assert_type(pass_at_k(10, 3, 1), np.float64)
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

counts = [Counts(problem_id="a", n=10, c=3)]
assert_type(counts[0].n, int)
for each in estimate(counts, [1, 10]):
    assert_type(each, Estimate)
    assert_type(each.value, float | None)
    assert_type(each.reason, str)
    if each.new_problems is not None:
        assert_type(each.new_problems.low, float)
        assert_type(each.new_problems.method, str)

    assert_type(each.within, float | None)
    assert_type(each.warnings, tuple[str, ...])

found = paired_difference([10], [3], [10], [4], 1)
assert_type(found, Paired)
assert_type(found.new_problems.low, float)
assert_type(found.differences, NDArray[np.float64])
assert_type(sign_flip_p([0.1, -0.2]).p, float)
assert_type(mcnemar_exact(3, 4), np.float64)
assert_type(holm([0.1]), NDArray[np.float64])
assert_type(dataset_interval([10], [3]), DatasetInterval)
assert_type(plan([10], [3]).problems, int | None)
assert_type(extrapolate([10], [3], [20]).high, NDArray[np.float64])

run = load("run", [1, 10])
assert_type(run, passcurve.Run)
assert_type(run.estimates, tuple[Estimate, ...])
assert_type(run.scores, passcurve.Table)
assert_type(run.problems.columns["n"], list[Any])

benchmark = load_benchmark("starter", Path("cache"))
assert_type(benchmark, Benchmark)
assert_type(benchmark.problems, tuple[Problem, ...])
assert_type(benchmark.problems[0].reference, str | None)

request = Request(
    samples=Path("samples.jsonl"),
    benchmark=benchmark,
    run=Path("run"),
    results=None,
    limits=Limits(timeout_s=1.0, clock="wall"),
    workers=2,
    ks=(1, 10),
)


def judged() -> Result:
    """Judge, and look at what came of it."""
    try:
        result = judge(request)
    except PasscurveError as error:
        assert_type(error.exit_code, int)
        raise
    assert_type(result, Result)
    assert_type(result.estimates, tuple[Estimate, ...])
    assert_type(result.owed, int)
    assert_type(result.exit_code, int)
    return result


def told(verdict: Verdict) -> str:
    """Say what a verdict says."""
    assert_type(verdict.passed, bool)
    assert_type(verdict.key.sample_index, int)
    assert_type(verdict.call.arguments if verdict.call else None, str | None)
    return verdict.message


# What must not be accepted: each line is an error that a checker has to see.
Counts("a", 10, 3)  # type: ignore[call-arg]
Limits(timeout=3)  # type: ignore[call-arg]
Limits(clock="sun")  # type: ignore[arg-type]
