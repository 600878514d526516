"""Relatives of pass@k for samples with a value and perhaps a score: the best of k, the largest, the smallest.

``values`` are finite numbers (a share of tests passed, a reward, or 0 and 1) of shape (..., n), a row of samples for
each problem; k broadcasts with the leading axes.  A row and a number k give a ``numpy.float64``.  ValueError naming the
element for a value or score that is not a finite number, rows of different lengths, k < 1 and k > n.

All are averages over the k-subsets of the n samples.  In ascending order the i-th sample is the largest of
C(i-1, k-1) of them, so each value is weighted with ``C(i-1, k-1) / C(n, k)``; the weights are right to some 1e-15, and
the result lies between the smallest and the largest value.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from passcurve.stats.counts import IntArray, broadcast, broadcast_shape, check_counts, check_finite
from passcurve.stats.double_double import FloatArray
from passcurve.stats.passk import fail_at_k_flat


def best_of_k(values: ArrayLike, scores: ArrayLike, k: ArrayLike) -> FloatArray | np.float64:
    """Return best-of-k: the expected value of that one of k samples which has the highest score, ties sharing.

    ``sum over groups g of equal score, ascending, of mean(y_g) [C(N<=g, k) - C(N<g, k)] / C(n, k)``, where N<=g samples
    have a score of at most that of g.  values and scores broadcast and share their last axis.
    Shapes, errors and accuracy are those of the module; at k = 1 it is the mean of the values.
    Source: Nakano et al. 2021, "WebGPT", arXiv:2112.09332, appendix I (the unbiased estimate for best-of-n), here with
    ties.
    """
    rows, ranks = broadcast(values=check_finite("values", values), scores=check_finite("scores", scores))
    return _weighted(rows, ranks, k)


def max_at_k(values: ArrayLike, k: ArrayLike) -> FloatArray | np.float64:
    """Return max@k: the expected largest value of k samples, ``sum over i of y_(i) C(i-1, k-1) / C(n, k)``.

    For values 0 and 1 it is pass@k; for the share of tests passed, a soft pass@k.
    Shapes, errors and accuracy are those of the module; at k = 1 it is the mean of the values.
    Source: Walder and Karkhanis 2025, "Pass@K Policy Optimization", arXiv:2505.15201 (maxg@k).
    """
    rows = check_finite("values", values)
    return _weighted(rows, rows, k)


def min_at_k(values: ArrayLike, k: ArrayLike) -> FloatArray | np.float64:
    """Return min@k: the expected smallest value of k samples, ``-max@k`` of the values with their signs turned.

    For values 0 and 1 it is pass^k.  Shapes, errors and accuracy are those of the module; at k = 1 it is the mean of
    the values.  Source: that of ``max_at_k``.
    """
    turned = -check_finite("values", values)
    return -_weighted(turned, turned, k) + 0.0


def largest_weights(n: int, k: int) -> FloatArray:
    """Return C(i-1, k-1) / C(n, k) for i = 1 .. n: how often the i-th in ascending order is the largest of k."""
    i = np.arange(1, n + 1)
    if k == 1:
        return np.full(n, 1.0 / n)
    with np.errstate(under="ignore"):
        weights: FloatArray = k / n * fail_at_k_flat(np.full(n, n - 1), n - i, np.full(n, k - 1))
    return weights


def _weighted(values: FloatArray, scores: FloatArray, k: ArrayLike) -> FloatArray | np.float64:
    if not values.ndim:
        raise ValueError("values must be a row of samples, not one number")
    lead, n = values.shape[:-1], values.shape[-1]
    k_array = check_counts(n, 0, k).k
    shape = broadcast_shape(values=lead, k=k_array.shape)
    if not math.prod(shape):
        return np.empty(shape)
    rows = values.reshape(-1, n)
    means = np.sort(rows, axis=-1) if scores is values else _tied_means(rows, scores.reshape(-1, n))
    ks, k_at = np.unique(k_array, return_inverse=True)
    table = np.empty((ks.size, means.shape[0]))
    for at, k_value in enumerate(ks.tolist()):
        table[at] = means.sum(axis=-1) / n if k_value == 1 else (means * largest_weights(n, k_value)).sum(axis=-1)
    table = np.clip(table, means.min(axis=-1), means.max(axis=-1))
    row_at: IntArray = np.arange(means.shape[0]).reshape(lead)
    result: FloatArray | np.float64 = table[k_at.reshape(k_array.shape), row_at][()]
    return result


def _tied_means(values: FloatArray, scores: FloatArray) -> FloatArray:
    """Return the values of each row in ascending order of score, the mean of its group in place of each tied one."""
    order = np.argsort(scores, axis=-1, kind="stable")
    values, scores = np.take_along_axis(values, order, axis=-1), np.take_along_axis(scores, order, axis=-1)
    new = np.ones(scores.shape, dtype=np.bool_)
    new[:, 1:] = scores[:, 1:] != scores[:, :-1]
    starts = np.flatnonzero(new.ravel())
    sizes = np.diff(starts, append=new.size)
    lowest, highest = (reduce.reduceat(values.ravel(), starts) for reduce in (np.minimum, np.maximum))
    means = np.clip(np.add.reduceat(values.ravel(), starts) / sizes, lowest, highest)
    result: FloatArray = np.repeat(means, sizes).reshape(values.shape)
    return result
