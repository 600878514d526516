"""Statistics: pure functions on arrays, and Counts -> Estimate in ``estimate``.

In: arrays.  Out: arrays.  Refuses: input outside the definition (ValueError naming the element), IO, global state.
"""

from passcurve.stats.intervals import Bounds, clopper_pearson, plus_two_t, wilson
from passcurve.stats.passk import (
    exact_pass_at_k,
    fail_at_k,
    jackknife_var_pass_at_k,
    log_fail_at_k,
    pass_at_k,
    pass_curve,
    var_pass_at_k,
)
from passcurve.stats.shown import naive_variance, plug_in_at_k, plug_in_bias, unbiased_variance

__all__ = [
    "Bounds",
    "clopper_pearson",
    "exact_pass_at_k",
    "fail_at_k",
    "jackknife_var_pass_at_k",
    "log_fail_at_k",
    "naive_variance",
    "pass_at_k",
    "pass_curve",
    "plug_in_at_k",
    "plug_in_bias",
    "plus_two_t",
    "unbiased_variance",
    "var_pass_at_k",
    "wilson",
]
