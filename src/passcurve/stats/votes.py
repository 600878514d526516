"""maj@k: whether the plurality of k answers is the right one, averaged over all k-subsets of the samples.

Theory of the sum.  Let the right answer occur s times among the k, a hypergeometric chance; r = k - s of the N other
samples are drawn.  The vote is lost if another answer occurs more than s times, and shared with t that occur s times,
for a credit of 1/(1+t).  Answers with fewer than s samples in all can do neither; together they are one group.  The
rest is counted by a product of polynomials in (samples drawn, ties), one factor for each answer.  In place of C(m, j),
which would overflow, stands ``C(m, j) r^j (N-r)^(m-j) / N^m``, a binomial chance; what that adds is the same for all
r-subsets and is divided out.  All terms are positive, so nothing cancels.
"""

from __future__ import annotations

import functools
import math
import operator
import reprlib

import numpy as np
from numpy.typing import ArrayLike, NDArray

from passcurve.stats.counts import IntArray, broadcast_shape, check_integers, element_label
from passcurve.stats.counts import check_counts as within
from passcurve.stats.double_double import FloatArray, log_factorial, log_integer, minus, plus, times
from passcurve.stats.hypergeometric import pmf

_EXACT_N = 500
"""Largest number of other samples for which C(m, j) is a rounded integer without underflow in the product."""

_NOTHING = 1e-18
"""Share of the sum at which it ends."""


def maj_at_k(counts: ArrayLike, correct: ArrayLike | None, k: ArrayLike) -> FloatArray | np.float64:
    """Return maj@k, the chance that the plurality of k samples gives the right answer, ties sharing their vote.

    ``counts`` are the samples of each answer, shape (..., answers), n their sum; ``correct`` is the index of the right
    answer, or None if it never occurs (maj@k is 0 then: no vote can find it), or an array of these, which with k
    broadcasts with the leading axes of counts; 1 <= k <= n.  Answers without a sample change nothing: fill short rows
    with 0.  If t answers share the most votes with the right one, it gets 1/(1+t).  At k = 1 it is pass@1, the share of
    right samples, to the last bit; for no k is it above pass@k.

    ValueError naming the element for counts that are no integers of at least 0, an index that is none, k < 1, k > n.
    The relative error is some 1e-14; the cost grows with n k, some 10 ms a distinct row at n = 200 and k = 100.
    Source: Wang et al. 2022, "Self-consistency", arXiv:2203.11171, and Lewkowycz et al. 2022, "Minerva",
    arXiv:2206.14858 (maj1@k); the average over all subsets in place of draws is ours.
    """
    votes = _check_rows(counts)
    right = _indices(correct, votes.shape[-1])
    lead = broadcast_shape(counts=votes.shape[:-1], correct=right.shape)
    ks = within(votes.sum(axis=-1), 0, k).k
    shape = broadcast_shape(counts=lead, k=ks.shape)
    votes = np.broadcast_to(votes, (*shape, votes.shape[-1]))
    right, ks = np.broadcast_to(right, shape), np.broadcast_to(ks, shape)
    credit_by_vote: dict[tuple[int, tuple[int, ...], int], float] = {}
    result = np.zeros(shape)
    for place in np.ndindex(shape):
        if right[place] >= 0:
            row = votes[place].tolist()
            own = row.pop(right[place])
            key = own, tuple(sorted(filter(None, row))), int(ks[place])
            if key not in credit_by_vote:
                credit_by_vote[key] = _vote(*key)
            result[place] = credit_by_vote[key]
    value: FloatArray | np.float64 = result[()]
    return value


def _check_rows(values: ArrayLike) -> IntArray:
    rows = check_integers("counts", values)
    if not rows.ndim:
        raise ValueError("counts must be a row with the samples of each answer, not one number")
    return rows


def _indices(correct: ArrayLike | None, answers: int) -> NDArray[np.intp]:
    """Return the index of the right answer for each problem, -1 for None."""
    indices = np.asarray(correct, dtype=object)
    result = np.full(indices.shape, -1, dtype=np.intp)
    for place in np.ndindex(indices.shape):
        result[place] = _index(indices[place], answers, place)
    return result


def _index(value: object, answers: int, place: tuple[int, ...]) -> int:
    if value is None:
        return -1
    try:
        index = operator.index(None if isinstance(value, bool) else value)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(f"{element_label(place)}correct={reprlib.repr(value)} is neither an index nor None") from None
    if not 0 <= index < answers:
        raise ValueError(
            f"{element_label(place)}correct={reprlib.repr(index)} is not the index of one of {answers} answers"
        )
    return index


def _vote(own: int, others: tuple[int, ...], k: int) -> float:
    """Return the mean credit of an answer with ``own`` samples against the others."""
    rest = sum(others)
    n = own + rest
    if not own or k == 1:
        return own / n
    s = np.arange(max(1, k - rest), min(own, k) + 1)
    ones = np.ones_like(s)
    probabilities = pmf(n * ones, own * ones, k * ones, s)
    order = np.argsort(-probabilities, kind="stable")
    left = np.cumsum(probabilities[order][::-1])[::-1]
    total = 0.0
    for rank, at in enumerate(order.tolist()):
        if left[rank] <= _NOTHING * total:
            break
        total += float(probabilities[at]) * _credit(others, rest, int(s[at]), k - int(s[at]))
    return min(1.0, total)


def _credit(others: tuple[int, ...], rest: int, s: int, r: int) -> float:
    """Return the mean of 1/(1+t), or 0 where the vote is lost, over the r-subsets of the other samples."""
    if r in (0, rest):
        most = max(others, default=0) if r else 0
        return 0.0 if most > s else 1.0 / (1 + (others.count(s) if r else 0))
    rivals = [m for m in others if m >= s]
    harmless = rest - sum(rivals)
    if r > harmless + s * len(rivals):
        return 0.0
    ways = np.zeros((min(len(rivals), r // s) + 1, r + 1))
    start = _shares(harmless, min(harmless, r), r, rest)
    ways[0, : start.size] = start
    for m in rivals:
        share = _shares(m, min(s, r), r, rest)
        grown = np.zeros_like(ways)
        for j, weight in enumerate(share[:s]):
            grown[:, j:] += weight * ways[:, : r + 1 - j]
        if s <= r:
            grown[1:, s:] += share[s] * ways[:-1, : r + 1 - s]
        ways = grown
    shared = ways[:, r] / np.arange(1, len(ways) + 1)
    return float(shared.sum() / _shares(rest, r, r, rest)[r])


@functools.lru_cache(maxsize=_EXACT_N)
def _binomials(m: int) -> FloatArray:
    """Return C(m, 0) .. C(m, m)."""
    row = np.array([float(math.comb(m, j)) for j in range(m + 1)])
    row.setflags(write=False)
    return row


def _shares(m: int, most: int, r: int, n: int) -> FloatArray:
    """Return C(m, j) r^j (n-r)^(m-j) / n^m for j = 0 .. most."""
    j = np.arange(most + 1, dtype=np.float64)
    if n <= _EXACT_N:
        # r/n and (n-r)/n are rounded, but in the end each stands to the same power above and below the line.
        quick: FloatArray = _binomials(m)[: most + 1] * (r / n) ** j * ((n - r) / n) ** (m - j)
        return quick
    whole = np.full(j.size, float(m))
    log_r, log_left, log_n = (log_integer(np.full(j.size, float(value))) for value in (r, n - r, n))
    total = minus(log_factorial(whole), plus(log_factorial(j), log_factorial(whole - j)))
    total = plus(total, plus(times(log_r, j), minus(times(log_left, whole - j), times(log_n, whole))))
    scale = np.exp(total.high)
    result: FloatArray = scale + scale * total.low
    return result
