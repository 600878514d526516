"""Short names and where they live: the only file in which a module is named by a string and loaded on use."""

from __future__ import annotations

from importlib import import_module

PUBLIC: dict[str, str] = {
    "Benchmark": "passcurve.types:Benchmark",
    "Counts": "passcurve.types:Counts",
    "Estimate": "passcurve.types:Estimate",
    "Limits": "passcurve.types:Limits",
    "Problem": "passcurve.types:Problem",
    "Verdict": "passcurve.types:Verdict",
    "PasscurveError": "passcurve.errors:PasscurveError",
    "Request": "passcurve.pipeline:Request",
    "Result": "passcurve.pipeline:Result",
    "judge": "passcurve.pipeline:judge",
    "estimate": "passcurve.stats.estimate:estimate",
    "exact_pass_at_k": "passcurve.stats:exact_pass_at_k",
    "fail_at_k": "passcurve.stats:fail_at_k",
    "load_benchmark": "passcurve.bench.resolve:load",
    "pass_at_k": "passcurve.stats:pass_at_k",
    "pass_curve": "passcurve.stats:pass_curve",
    "Paired": "passcurve.stats:Paired",
    "holm": "passcurve.stats:holm",
    "mcnemar_exact": "passcurve.stats:mcnemar_exact",
    "paired_difference": "passcurve.stats:paired_difference",
    "MaxT": "passcurve.stats:MaxT",
    "Tested": "passcurve.stats:Tested",
    "max_t_p": "passcurve.stats:max_t_p",
    "sign_flip_p": "passcurve.stats:sign_flip_p",
    "stratified_permutation_p": "passcurve.stats:stratified_permutation_p",
    "BetaBinomial": "passcurve.stats:BetaBinomial",
    "Posterior": "passcurve.stats:Posterior",
    "beta_binomial_fit": "passcurve.stats:beta_binomial_fit",
    "beta_posterior_pass_at_k": "passcurve.stats:beta_posterior_pass_at_k",
    "Plan": "passcurve.stats:Plan",
    "PlanRow": "passcurve.stats:PlanRow",
    "minimum_detectable": "passcurve.stats:minimum_detectable",
    "plan": "passcurve.stats:plan",
    "problems_needed": "passcurve.stats:problems_needed",
    "Sampling": "passcurve.stats:Sampling",
    "sampling_variance": "passcurve.stats:sampling_variance",
    "Band": "passcurve.stats:Band",
    "Clustered": "passcurve.stats:Clustered",
    "DatasetInterval": "passcurve.stats:DatasetInterval",
    "bootstrap_interval": "passcurve.stats:bootstrap_interval",
    "clustered_se": "passcurve.stats:clustered_se",
    "dataset_interval": "passcurve.stats:dataset_interval",
    "simultaneous_band": "passcurve.stats:simultaneous_band",
    "one_problem_interval": "passcurve.stats:one_problem_interval",
}
"""The public names of the package, each with its module and attribute."""


def load(target: str) -> object:
    """Return what ``module:attribute`` names."""
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)
