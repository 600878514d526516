"""passcurve: what a code-generation model can really do.

Importing the package loads the standard library only; each public name is loaded when it is first used.
"""

from __future__ import annotations

__version__ = "0.1.0"

# What type checkers take for true; the module that has it takes ten times as long to load as this one.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from passcurve.analysis.notebook import Run, Table, load
    from passcurve.api import evaluate
    from passcurve.bench.resolve import load as load_benchmark
    from passcurve.errors import PasscurveError
    from passcurve.judging.run import Request, Result, judge
    from passcurve.stats import (
        Band,
        BetaBinomial,
        Clustered,
        DatasetInterval,
        Extrapolation,
        Hull,
        MaxT,
        Paired,
        Plan,
        PlanRow,
        Posterior,
        Sampling,
        Tested,
        best_of_k,
        beta_binomial_fit,
        beta_posterior_pass_at_k,
        bootstrap_interval,
        clustered_se,
        cover_at_tau,
        dataset_interval,
        distinct_at_k,
        exact_pass_at_k,
        expected_attempts,
        extrapolate,
        fail_at_k,
        g_pass_at_k,
        holm,
        jackknife_var_pass_at_k,
        log_fail_at_k,
        maj_at_k,
        max_at_k,
        max_t_p,
        mcnemar_exact,
        mg_pass_at_k,
        min_at_k,
        minimum_detectable,
        n_at_k,
        naive_variance,
        one_problem_interval,
        paired_difference,
        pass_at_k,
        pass_at_k_advantages,
        pass_curve,
        pass_hat_k,
        pkpo_rewards,
        plan,
        plug_in_at_k,
        plug_in_bias,
        problems_needed,
        ranked_top_k,
        sampling_variance,
        sign_flip_p,
        simultaneous_band,
        stratified_permutation_p,
        temperature_hull,
        unbiased_variance,
        var_pass_at_k,
    )
    from passcurve.stats.estimate import estimate
    from passcurve.types import Benchmark, Counts, Curve, Estimate, Limits, Metric, Problem, Verdict

__all__ = [
    "Band",
    "Benchmark",
    "BetaBinomial",
    "Clustered",
    "Counts",
    "Curve",
    "DatasetInterval",
    "Estimate",
    "Extrapolation",
    "Hull",
    "Limits",
    "MaxT",
    "Metric",
    "Paired",
    "PasscurveError",
    "Plan",
    "PlanRow",
    "Posterior",
    "Problem",
    "Request",
    "Result",
    "Run",
    "Sampling",
    "Table",
    "Tested",
    "Verdict",
    "__version__",
    "best_of_k",
    "beta_binomial_fit",
    "beta_posterior_pass_at_k",
    "bootstrap_interval",
    "clustered_se",
    "cover_at_tau",
    "dataset_interval",
    "distinct_at_k",
    "estimate",
    "evaluate",
    "exact_pass_at_k",
    "expected_attempts",
    "extrapolate",
    "fail_at_k",
    "g_pass_at_k",
    "holm",
    "jackknife_var_pass_at_k",
    "judge",
    "load",
    "load_benchmark",
    "log_fail_at_k",
    "maj_at_k",
    "max_at_k",
    "max_t_p",
    "mcnemar_exact",
    "mg_pass_at_k",
    "min_at_k",
    "minimum_detectable",
    "n_at_k",
    "naive_variance",
    "one_problem_interval",
    "paired_difference",
    "pass_at_k",
    "pass_at_k_advantages",
    "pass_curve",
    "pass_hat_k",
    "pkpo_rewards",
    "plan",
    "plug_in_at_k",
    "plug_in_bias",
    "problems_needed",
    "ranked_top_k",
    "sampling_variance",
    "sign_flip_p",
    "simultaneous_band",
    "stratified_permutation_p",
    "temperature_hull",
    "unbiased_variance",
    "var_pass_at_k",
]


def __getattr__(name: str) -> object:
    from passcurve.registry import PUBLIC, load

    if name not in PUBLIC:
        raise AttributeError(f"module 'passcurve' has no attribute {name!r}")
    return load(PUBLIC[name])


def __dir__() -> list[str]:
    return __all__
