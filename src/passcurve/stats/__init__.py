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

__all__ = [
    "Bounds",
    "clopper_pearson",
    "exact_pass_at_k",
    "fail_at_k",
    "jackknife_var_pass_at_k",
    "log_fail_at_k",
    "pass_at_k",
    "pass_curve",
    "plus_two_t",
    "var_pass_at_k",
    "wilson",
]
