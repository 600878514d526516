"""passcurve: what a code-generation model can really do.

Importing the package loads the standard library only; each public name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from passcurve.bench.resolve import load as load_benchmark
    from passcurve.errors import PasscurveError
    from passcurve.pipeline import Request, Result, judge
    from passcurve.stats import (
        Band,
        BetaBinomial,
        Clustered,
        DatasetInterval,
        MaxT,
        Paired,
        Plan,
        PlanRow,
        Posterior,
        Sampling,
        Tested,
        beta_binomial_fit,
        beta_posterior_pass_at_k,
        bootstrap_interval,
        clustered_se,
        dataset_interval,
        exact_pass_at_k,
        fail_at_k,
        holm,
        max_t_p,
        mcnemar_exact,
        minimum_detectable,
        one_problem_interval,
        paired_difference,
        pass_at_k,
        pass_curve,
        plan,
        problems_needed,
        sampling_variance,
        sign_flip_p,
        simultaneous_band,
        stratified_permutation_p,
    )
    from passcurve.stats.estimate import estimate
    from passcurve.types import Benchmark, Counts, Estimate, Limits, Problem, Verdict

__all__ = [
    "Band",
    "Benchmark",
    "BetaBinomial",
    "Clustered",
    "Counts",
    "DatasetInterval",
    "Estimate",
    "Limits",
    "MaxT",
    "Paired",
    "PasscurveError",
    "Plan",
    "PlanRow",
    "Posterior",
    "Problem",
    "Request",
    "Result",
    "Sampling",
    "Tested",
    "Verdict",
    "__version__",
    "beta_binomial_fit",
    "beta_posterior_pass_at_k",
    "bootstrap_interval",
    "clustered_se",
    "dataset_interval",
    "estimate",
    "exact_pass_at_k",
    "fail_at_k",
    "holm",
    "judge",
    "load_benchmark",
    "max_t_p",
    "mcnemar_exact",
    "minimum_detectable",
    "one_problem_interval",
    "paired_difference",
    "pass_at_k",
    "pass_curve",
    "plan",
    "problems_needed",
    "sampling_variance",
    "sign_flip_p",
    "simultaneous_band",
    "stratified_permutation_p",
]


def __getattr__(name: str) -> object:
    from passcurve.registry import PUBLIC, load

    if name not in PUBLIC:
        raise AttributeError(f"module 'passcurve' has no attribute {name!r}")
    return load(PUBLIC[name])


def __dir__() -> list[str]:
    return __all__
