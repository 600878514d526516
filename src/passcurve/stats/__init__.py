"""Statistics: pure functions on arrays, and Counts -> Estimate in ``estimate``.

In: arrays.  Out: arrays.  Refuses: input outside the definition (ValueError naming the element), IO, global state.
"""

from passcurve.stats.biased import naive_variance, plug_in_at_k, plug_in_bias, unbiased_variance
from passcurve.stats.compare import Paired, holm, mcnemar_exact, paired_difference
from passcurve.stats.dataset import (
    Band,
    Clustered,
    DatasetInterval,
    bootstrap_interval,
    clustered_se,
    dataset_interval,
    simultaneous_band,
)
from passcurve.stats.extrapolate import Extrapolation, Hull, extrapolate, temperature_hull
from passcurve.stats.fit import BetaBinomial, Posterior, beta_binomial_fit, beta_posterior_pass_at_k
from passcurve.stats.intervals import Bounds, clopper_pearson, one_problem_interval, plus_two_t, wilson
from passcurve.stats.passk import (
    exact_pass_at_k,
    fail_at_k,
    jackknife_var_pass_at_k,
    log_fail_at_k,
    pass_at_k,
    pass_curve,
    var_pass_at_k,
)
from passcurve.stats.permutation import MaxT, Tested, max_t_p, sign_flip_p, stratified_permutation_p
from passcurve.stats.planning import Plan, PlanRow, minimum_detectable, plan, problems_needed
from passcurve.stats.relatives import distinct_at_k, expected_attempts, n_at_k, ranked_top_k
from passcurve.stats.sampling import Sampling, sampling_variance
from passcurve.stats.thresholds import cover_at_tau, g_pass_at_k, mg_pass_at_k, pass_hat_k
from passcurve.stats.training import pass_at_k_advantages, pkpo_rewards
from passcurve.stats.values import best_of_k, max_at_k, min_at_k
from passcurve.stats.votes import maj_at_k

__all__ = [
    "Band",
    "BetaBinomial",
    "Bounds",
    "Clustered",
    "DatasetInterval",
    "Extrapolation",
    "Hull",
    "MaxT",
    "Paired",
    "Plan",
    "PlanRow",
    "Posterior",
    "Sampling",
    "Tested",
    "best_of_k",
    "beta_binomial_fit",
    "beta_posterior_pass_at_k",
    "bootstrap_interval",
    "clopper_pearson",
    "clustered_se",
    "cover_at_tau",
    "dataset_interval",
    "distinct_at_k",
    "exact_pass_at_k",
    "expected_attempts",
    "extrapolate",
    "fail_at_k",
    "g_pass_at_k",
    "holm",
    "jackknife_var_pass_at_k",
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
    "plus_two_t",
    "problems_needed",
    "ranked_top_k",
    "sampling_variance",
    "sign_flip_p",
    "simultaneous_band",
    "stratified_permutation_p",
    "temperature_hull",
    "unbiased_variance",
    "var_pass_at_k",
    "wilson",
]
