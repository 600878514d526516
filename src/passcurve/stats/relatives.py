"""Relatives of pass@k that spend a budget: attempts to the first pass, submissions, a ranked list, distinct programs.

Counts are integers and broadcast; numbers without a shape give a ``numpy.float64``; ValueError naming the element for
what lies outside the definition.  Where a function takes one row for each problem, the row is the last axis.
"""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from passcurve.stats.counts import (
    IntArray,
    apply_rule,
    apply_to_distinct,
    broadcast,
    broadcast_shape,
    check_counts,
    check_integers,
    check_not_above,
    element_label,
    first_index,
)
from passcurve.stats.double_double import FloatArray
from passcurve.stats.hypergeometric import expectation
from passcurve.stats.passk import fail_at_k_flat, pass_at_k_flat


@overload
def expected_attempts(n: int, c: int, budget: int) -> np.float64: ...
@overload
def expected_attempts(n: ArrayLike, c: ArrayLike, budget: ArrayLike) -> FloatArray: ...
def expected_attempts(n: ArrayLike, c: ArrayLike, budget: ArrayLike) -> FloatArray | np.float64:
    """Return the expected number of attempts E[min(T, K)], where T is the first that passes and K the budget.

    ``sum over j < K of Q(n, c, j)``, Q being ``fail_at_k`` and Q(n, c, 0) = 1: unbiased for ``(1 - q^K) / p``.  In
    closed form it is ``(K Q(n, c, K) + (n+1) pass@K) / (c+1)``, by which it is computed; ``(n+1) / (c+1)`` for K = n+1.
    Unit: attempts, from 1 to K.  It is K where nothing passed, which is the budget spent and not the time to a pass.

    n, c and budget broadcast, 0 <= c <= n and 1 <= budget <= n + 1 (beyond, no unbiased estimator exists); ValueError
    naming the element otherwise.  The relative error is some 1e-15.
    Source: the tail sum of an expectation, with Chen et al. 2021, arXiv:2107.03374, equation 1 for each term.
    """
    samples, passed, most = (
        check_integers("n", n),
        check_integers("c", c),
        check_integers("budget", budget, least=1, capped=False),
    )
    check_not_above("c", passed, "n", samples)
    if (over := np.greater(most, samples + 1)).any():
        place = first_index(over)
        attempts, size = (values[place] for values in np.broadcast_arrays(most, samples))
        which = f"budget={attempts} exceeds n+1={size + 1}"
        raise ValueError(f"{which}{element_label(place, ' at element {}')}: no unbiased estimator exists")
    return apply_rule(_attempts, samples + 1, passed, most)


@overload
def n_at_k(n: int, filtered: int, correct: int, k: int, submissions: int) -> np.float64: ...
@overload
def n_at_k(
    n: ArrayLike, filtered: ArrayLike, correct: ArrayLike, k: ArrayLike, submissions: ArrayLike
) -> FloatArray: ...
def n_at_k(
    n: ArrayLike, filtered: ArrayLike, correct: ArrayLike, k: ArrayLike, submissions: ArrayLike
) -> FloatArray | np.float64:
    """Return n@k: the chance of a pass among at most ``submissions`` of k samples, those that pass the public tests.

    Of n samples, ``filtered`` pass the public tests and ``correct`` of these pass all.  k are drawn, f of them pass the
    public tests, and min(submissions, f) of those are submitted at random:
    ``sum over f of C(F, f) C(n-F, k-f) / C(n, k) [1 - C(F-c, s) / C(F, s)]``, F = filtered, c = correct,
    s = min(submissions, f).  With submissions >= k it is pass@k.  (The n of the name is ``submissions`` here, and n is
    the number of samples, as everywhere.)

    All broadcast, correct <= filtered <= n, 1 <= k <= n, submissions >= 1; ValueError naming the element otherwise.  It
    is 0 where nothing passes the public tests: nothing is submitted then.  Accuracy and cost are those of
    ``g_pass_at_k``; at k = 1 it is correct/n to the last bit.
    Source: Li et al. 2022, "Competition-level code generation with AlphaCode", arXiv:2203.07814 (n@k); the
    average over all subsets in place of its repeated draws is ours.
    """
    candidates, right = check_integers("filtered", filtered), check_integers("correct", correct)
    samples, _, ks = check_counts(n, 0, k)
    most = check_integers("submissions", submissions, least=1, capped=False)
    check_not_above("filtered", candidates, "n", samples)
    check_not_above("correct", right, "filtered", candidates)
    return apply_to_distinct(_submitted, samples, candidates, right, ks, most)


def ranked_top_k(sizes: ArrayLike, correct: ArrayLike, k: ArrayLike) -> FloatArray | np.float64:
    """Return ranked top-k: whether a correct program is among the first k of a ranked list, averaged over its ties.

    ``sizes`` are the numbers of programs that share each place of the ranking, best place first (all 1 in a list
    without ties), ``correct`` how many of them are correct.  Places that fit into k are taken whole; of the one at the
    border, m programs with c correct, the r that still fit are drawn at random: 1 if a whole place holds a correct
    program, else ``1 - C(m-c, r) / C(m, r)``.  A list with an order is not exchangeable: this is another metric than
    pass@k, and equals it only where all programs share one place.

    sizes and correct have shape (..., places) and broadcast; k broadcasts with the leading axes, 1 <= k <= the length
    of the list; places of size 0 change nothing.  ValueError naming the element otherwise.
    Source: McSherry and Najork 2008, "Computing information retrieval performance measures efficiently in the presence
    of tied scores", ECIR, for the average over ties.
    """
    members, right = broadcast(sizes=_check_rows("sizes", sizes), correct=_check_rows("correct", correct))
    check_not_above("correct", right, "sizes", members)
    ks = check_counts(members.sum(axis=-1), 0, k).k[..., None]
    before = np.cumsum(members, axis=-1) - members
    taken = np.clip(ks - before, 0, members)
    members, right, taken = np.broadcast_arrays(members, right, taken)
    flat = [values.reshape(-1) for values in (members, right, taken)]
    hit = np.zeros(taken.size)
    some = flat[2] > 0
    hit[some] = pass_at_k_flat(*(values[some] for values in flat))
    # At most one place is cut, and a whole place counts 0 or 1: the largest is the chance of any.
    result: FloatArray | np.float64 = hit.reshape(taken.shape).max(axis=-1, initial=0.0)[()]
    return result


def distinct_at_k(group_sizes: ArrayLike, k: ArrayLike) -> FloatArray | np.float64:
    """Return the expected number of distinct programs among k of n samples, given how many samples share each program.

    ``sum over groups j of 1 - C(n-m_j, k) / C(n, k)`` with n the sum of the group sizes m_j: rarefaction.  Unit:
    programs, from 1 to the number of groups.  At k = 1 it is 1 and at k = n the number of groups that are not empty,
    both exactly.  It says nothing of programs that were never seen.

    group_sizes has shape (..., groups), integers of which 0 are allowed (fill short rows with 0); k broadcasts with the
    leading axes, 1 <= k <= n.  ValueError naming the element otherwise.
    Source: Hurlbert 1971, "The nonconcept of species diversity", Ecology 52:577.
    """
    members = _check_rows("group_sizes", group_sizes)
    samples, _, ks = check_counts(members.sum(axis=-1), 0, k)
    shape = broadcast_shape(group_sizes=samples.shape, k=ks.shape)
    expected = np.asarray(apply_rule(pass_at_k_flat, samples[..., None], members, ks[..., None]))
    result: FloatArray | np.float64 = np.where(np.broadcast_to(ks, shape) == 1, 1.0, expected.sum(axis=-1))[()]
    return result


# --- the rules ------------------------------------------------------------------------------------------------------


def _check_rows(name: str, values: ArrayLike) -> IntArray:
    rows = check_integers(name, values)
    if not rows.ndim:
        raise ValueError(f"{name} must be a row of counts, not one number")
    return rows


def _attempts(above: IntArray, c: IntArray, budget: IntArray) -> FloatArray:
    """Take n + 1, so that no budget exceeds the first argument."""
    result = above / (c + 1)
    inner = budget < above
    n, passed, most = above[inner] - 1, c[inner], budget[inner]
    spent = most * fail_at_k_flat(n, passed, most) + (n + 1) * pass_at_k_flat(n, passed, most)
    result[inner] = spent / (passed + 1)
    result[budget == 1] = 1.0
    return result


def _submitted(n: IntArray, candidates: IntArray, right: IntArray, k: IntArray, most: IntArray) -> FloatArray:
    def weight(row: IntArray, f: IntArray) -> FloatArray:
        return pass_at_k_flat(candidates[row], right[row], np.minimum(most[row], f))

    result = np.minimum(expectation(n, candidates, k, np.ones_like(n), weight), 1.0)
    free = most >= np.minimum(candidates, k)
    result[free] = pass_at_k_flat(n[free], right[free], k[free])
    return result
