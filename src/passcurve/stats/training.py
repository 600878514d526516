"""Transforms of the rewards of a group of samples for training on pass@k, as pure functions on arrays.

The group is the last axis, shape (..., n): the n samples of one problem.  k broadcasts with the leading axes, 1 <= k <=
n.  ValueError naming the element for a reward that is not a finite number, rows of different lengths and a k outside.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from passcurve.stats.counts import IntArray, broadcast_shape, check_counts, check_finite, element_label, first_index
from passcurve.stats.double_double import FloatArray
from passcurve.stats.passk import fail_at_k_flat, pass_at_k_flat
from passcurve.stats.values import largest_weights

Baseline = Literal["loo", "loo_minus_one"]


def pkpo_rewards(rewards: ArrayLike, k: ArrayLike, baseline: Baseline | None = None) -> FloatArray:
    """Return the rewards that make a policy gradient unbiased for max@k (pass@k where the rewards are 0 and 1).

    ``s_i = 1/C(n, k) sum over the k-subsets I with i of max over I of the rewards``: k/n times the mean over these
    subsets.  For rewards 0 and 1 it is k/n for a right sample and ``(k/n) pass@(k-1)`` of the others for a wrong one.
    A baseline that does not depend on sample i is taken off, which leaves the gradient unbiased:

    - ``None``: nothing.
    - ``"loo"``: ``k/(n-1) max@k`` of the n-1 others, which is the mean over them of their s_j without i.  Needs k < n.
    - ``"loo_minus_one"``: ``k/n max@(k-1)`` of the n-1 others, so that s_i becomes what i adds to the k-1 others in its
      subset.  Needs k > 1.

    rewards has shape (..., n), in any order; the result has that shape, broadcast with that of k, in the unit of the
    rewards.  Tied samples get the same value to the last bit.  Errors are those of the module, and ValueError for a
    baseline that is none of the three or that k does not allow.  At k = 1 without a baseline it is the rewards / n.
    Source: Walder and Karkhanis 2025, "Pass@K Policy Optimization", arXiv:2505.15201: s, s^(loo) and s^(loo-1).
    """
    groups, ks = _check_groups("rewards", rewards, k)
    n = groups.shape[-1]
    if baseline not in (None, "loo", "loo_minus_one"):
        raise ValueError(f"baseline={baseline!r} is none of None, 'loo', 'loo_minus_one'")
    for name, broken, requirement in (
        ("loo", ks == n, f"needs k < n={n}: no k of the others are left"),
        ("loo_minus_one", ks == 1, "needs k > 1: there are no others in a subset of one"),
    ):
        if baseline == name and broken.any():
            place = first_index(broken)
            raise ValueError(f"{element_label(place)}k={ks[place]}: the baseline {name!r} {requirement}")
    result = np.empty(groups.shape)
    for k_value in np.unique(ks).tolist():
        rows = ks == k_value
        result[rows] = _pkpo(groups[rows], k_value, baseline)
    return result


def pass_at_k_advantages(correct: ArrayLike, k: ArrayLike) -> FloatArray:
    """Return the advantages of right and wrong samples when a group of k is rewarded for holding a right one.

    With N samples, c of them right, R = pass@k of the group and sigma = sqrt(R (1-R)):
    ``A+ = (1-R) / sigma`` for each right sample and ``A- = (1 - R - C(N-c-1, k-1)/C(N-1, k-1)) / sigma`` for each wrong
    one, which is ``-(c/(N-c)) A+``, so that they sum to 0.  At k = 1 these are the standardised rewards.

    correct has shape (..., N) and holds 0 and 1 or truth values; the result has that shape, broadcast with that of k,
    without a unit.  NaN throughout a group in which every k-subset holds a right sample, or none does: sigma is 0, and
    such a group says nothing (leave it out).  Errors are those of the module, and ValueError naming the element for
    a value that is neither 0 nor 1.
    Source: Chen et al. 2025, "Pass@k Training", arXiv:2508.10751, its analytical derivation.
    """
    groups, k_array = _check_groups("correct", correct, k)
    if (broken := (groups != 0.0) & (groups != 1.0)).any():
        place = first_index(broken)
        raise ValueError(f"{element_label(place)}correct={groups[place]} is neither 0 nor 1")
    n = np.full(k_array.size, groups.shape[-1], dtype=np.int64)
    c = groups.sum(axis=-1).astype(np.int64).ravel()
    right = np.full(n.size, np.nan)
    wrong = np.full(n.size, np.nan)
    some = (c > 0) & (k_array.ravel() <= n - c)
    n, c, ks = n[some], c[some], k_array.ravel()[some]
    with np.errstate(under="ignore"):
        right[some] = np.sqrt(fail_at_k_flat(n, c, ks) / pass_at_k_flat(n, c, ks))
    wrong[some] = -(c / (n - c)) * right[some]
    lead = (*k_array.shape, 1)
    result: FloatArray = np.where(groups == 1.0, right.reshape(lead), wrong.reshape(lead))
    return result


def _check_groups(name: str, values: ArrayLike, k: ArrayLike) -> tuple[FloatArray, IntArray]:
    """Return the values and k, broadcast to one another."""
    groups = check_finite(name, values)
    if not groups.ndim:
        raise ValueError(f"{name} must be a row with one entry for each sample, not one number")
    n = groups.shape[-1]
    ks = check_counts(n, 0, k).k
    shape = broadcast_shape(**{name: groups.shape[:-1], "k": ks.shape})
    return np.broadcast_to(groups, (*shape, n)), np.broadcast_to(ks, shape)


def _pkpo(rewards: FloatArray, k: int, baseline: Baseline | None) -> FloatArray:
    """Transform rows of shape (rows, n), one k for all."""
    n = rewards.shape[-1]
    order = np.argsort(rewards, axis=-1, kind="stable")
    ascending = np.take_along_axis(rewards, order, axis=-1)
    # i is the largest of its subset, or some j above it is, with i and k - 2 others below j.
    own = ascending * largest_weights(n, k)
    above = np.zeros_like(own)
    if k > 1:
        shared = np.zeros(n)
        shared[1:] = k / n * largest_weights(n - 1, k - 1)
        above[..., :-1] = _sums_above(ascending * shared)
    values = own + above
    if baseline == "loo":
        values = values - k / (n - 1) * _max_of_others(ascending, k)
    elif baseline == "loo_minus_one":
        values = values - k / n * _max_of_others(ascending, k - 1)
    values = _share_ties(ascending, values)
    result = np.empty_like(values)
    np.put_along_axis(result, order, values, axis=-1)
    return result


def _sums_above(terms: FloatArray) -> FloatArray:
    """Return for each but the last the sum of all terms after it."""
    result: FloatArray = np.cumsum(terms[..., :0:-1], axis=-1)[..., ::-1]
    return result


def _max_of_others(ascending: FloatArray, k: int) -> FloatArray:
    """Return max@k of each row without its i-th entry, for each i."""
    n = ascending.shape[-1]
    weights = largest_weights(n - 1, k)
    below, above = np.zeros_like(ascending), np.zeros_like(ascending)
    below[..., 1:] = np.cumsum(ascending[..., :-1] * weights, axis=-1)
    shifted = np.concatenate([[0.0], weights])
    above[..., :-1] = _sums_above(ascending * shifted)
    return below + above


def _share_ties(ascending: FloatArray, values: FloatArray) -> FloatArray:
    """Return the values with every sample of a tie set to that of the last."""
    n = ascending.shape[-1]
    last = np.ones(ascending.shape, dtype=np.bool_)
    last[..., :-1] = ascending[..., 1:] != ascending[..., :-1]
    at = np.where(last, np.arange(n), n - 1)
    at = np.minimum.accumulate(at[..., ::-1], axis=-1)[..., ::-1]
    return np.take_along_axis(values, at, axis=-1)
