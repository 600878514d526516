"""Short names and where they live: the only file in which a module is named by a string and loaded on use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from passcurve.errors import UnknownNameError, UsageError, nearest

PUBLIC: dict[str, str] = {
    "Benchmark": "passcurve.types:Benchmark",
    "Counts": "passcurve.types:Counts",
    "Curve": "passcurve.types:Curve",
    "Estimate": "passcurve.types:Estimate",
    "Metric": "passcurve.types:Metric",
    "Limits": "passcurve.types:Limits",
    "Problem": "passcurve.types:Problem",
    "Verdict": "passcurve.types:Verdict",
    "PasscurveError": "passcurve.errors:PasscurveError",
    "Request": "passcurve.judging.run:Request",
    "Result": "passcurve.judging.run:Result",
    "judge": "passcurve.judging.run:judge",
    "evaluate": "passcurve.api:evaluate",
    "Run": "passcurve.analysis.notebook:Run",
    "Table": "passcurve.analysis.notebook:Table",
    "load": "passcurve.analysis.notebook:load",
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
    "best_of_k": "passcurve.stats:best_of_k",
    "cover_at_tau": "passcurve.stats:cover_at_tau",
    "distinct_at_k": "passcurve.stats:distinct_at_k",
    "expected_attempts": "passcurve.stats:expected_attempts",
    "g_pass_at_k": "passcurve.stats:g_pass_at_k",
    "jackknife_var_pass_at_k": "passcurve.stats:jackknife_var_pass_at_k",
    "log_fail_at_k": "passcurve.stats:log_fail_at_k",
    "maj_at_k": "passcurve.stats:maj_at_k",
    "max_at_k": "passcurve.stats:max_at_k",
    "mg_pass_at_k": "passcurve.stats:mg_pass_at_k",
    "min_at_k": "passcurve.stats:min_at_k",
    "n_at_k": "passcurve.stats:n_at_k",
    "naive_variance": "passcurve.stats:naive_variance",
    "pass_at_k_advantages": "passcurve.stats:pass_at_k_advantages",
    "pass_hat_k": "passcurve.stats:pass_hat_k",
    "pkpo_rewards": "passcurve.stats:pkpo_rewards",
    "plug_in_at_k": "passcurve.stats:plug_in_at_k",
    "plug_in_bias": "passcurve.stats:plug_in_bias",
    "ranked_top_k": "passcurve.stats:ranked_top_k",
    "unbiased_variance": "passcurve.stats:unbiased_variance",
    "var_pass_at_k": "passcurve.stats:var_pass_at_k",
    "Extrapolation": "passcurve.stats:Extrapolation",
    "Hull": "passcurve.stats:Hull",
    "extrapolate": "passcurve.stats:extrapolate",
    "temperature_hull": "passcurve.stats:temperature_hull",
}
"""The public names of the package, each with its module and attribute."""


BACKENDS: dict[str, str] = {
    "anthropic": "passcurve.models.anthropic:Anthropic",
    "command": "passcurve.models.command:Command",
    "hf": "passcurve.models.hf:HuggingFace",
    "mutant": "passcurve.models.mutant:Mutant",
    "openai": "passcurve.models.openai:OpenAI",
    "recorded": "passcurve.models.recorded:Recorded",
    "vllm": "passcurve.models.vllm:Vllm",
}
"""What can write samples, by what stands before the colon in ``--model``."""


def backend(spec: str) -> tuple[Any, str]:
    """Return the class that ``--model name:words`` names, and the words.

    Raises UnknownNameError with the names that there are, UsageError when there is no colon.
    """
    name, colon, words = spec.partition(":")
    if name not in BACKENDS:
        known = ", ".join(f"{each}:" for each in BACKENDS)
        hint = nearest(name, BACKENDS) if colon else f"; is it openai:{spec}?"
        raise UnknownNameError(f"--model {spec!r} names no back end{hint} (known: {known})")
    if not colon:
        raise UsageError(f"--model {spec!r} lacks its colon; write it like {name}:")
    return load(BACKENDS[name]), words


def load(target: str) -> object:
    """Return what ``module:attribute`` names."""
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)
