"""pass@k of the data set from the counts of each problem, or the reason why it has no value."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from passcurve.stats.counts import IntArray, distinct_pairs
from passcurve.stats.dataset import DatasetInterval, dataset_interval
from passcurve.stats.double_double import FloatArray
from passcurve.stats.intervals import plus_two_t
from passcurve.stats.passk import pass_at_k
from passcurve.stats.rows import check_integer
from passcurve.types import Counts, Estimate, Interval
from passcurve.types.amounts import amount, have, part_of

LEVEL = 0.95
"""Default level of every interval."""

COPIES = "all samples of a problem are copies, so n is 1 in effect"
"""Reason why k > 1 has no value for copies."""

_EXACT_N = 1000
_EXACT_PAIRS = 4096
"""Up to these sizes the mean is computed as an exact fraction; beyond, that takes too long."""

_NAMED = 3
"""Largest number of problems that a reason names."""


def estimate(
    counts: Iterable[Counts],
    ks: Sequence[int],
    level: float = LEVEL,
    owed: int = 0,
    *,
    deterministic: bool = False,
    tuned: bool = False,
) -> tuple[Estimate, ...]:
    """Return pass@k of the data set for each of ``ks``, in their order.

    The value is the mean over problems, equally weighted, of the unbiased estimate (Chen et al. 2021, arXiv:2107.03374,
    equation 1).  It is correctly rounded up to n = 1000 (and 4096 distinct counts), and for k = 1 whenever all problems
    have the same n; elsewhere it is within a few units in the last place.  ``new_problems`` is the plus-two t interval
    of the per-problem estimates at ``level``.  ``these_problems`` is the default ``dataset_interval`` for fresh samples
    of the same problems.  ``between``, ``within`` and ``warnings`` are those of ``dataset_interval``.

    ``deterministic``: the samples of a problem are copies of one (temperature 0).  Then n is 1 in effect, k > 1 has no
    value, and fresh samples would be the same.  ``tuned``: a setting such as the temperature was chosen on these data;
    this adds a warning.

    The value is None, with a ``reason``, if ``owed`` samples have no verdict, if there are no problems, if a problem
    has no sample or fewer than k, and for k > 1 of copies.

    Raises ValueError for invalid counts (c > n, below 0, two for one problem), k < 1, owed < 0 and a level outside
    (0, 1).
    """
    problems = tuple(counts) if isinstance(counts, Iterable) else (counts,)
    k_values = [check_integer(k, "k") for k in (ks if isinstance(ks, Iterable) else (ks,))]
    _check(problems, level, owed)
    n, c = np.asarray([problem.n for problem in problems]), np.asarray([problem.c for problem in problems])
    return tuple(
        _estimate(problems, n, c, int(k), level, owed, deterministic=deterministic, tuned=tuned) for k in k_values
    )


def _estimate(
    problems: Sequence[Counts],
    n: IntArray,
    c: IntArray,
    k: int,
    level: float,
    owed: int,
    *,
    deterministic: bool,
    tuned: bool,
) -> Estimate:
    reason = unavailable_reason(problems, k, owed)
    if not reason and deterministic and k > 1:
        reason = copies_reason(k)
    if reason:
        return Estimate(k=k, value=None, reason=reason)
    scores = pass_at_k(n, c, [k])
    value, (low, high) = _mean(n, c, scores, k), plus_two_t(scores, level)
    fresh = dataset_interval(n, c, k, "these_problems", level)
    warnings = list(fresh.warnings)
    if deterministic:
        warnings = [warning for warning in warnings if "duplicate samples" not in warning]
        warnings.append("copies, as at temperature 0: fresh samples of these would be equal, n is 1 in effect")
        if split := int(((c > 0) & (c < n)).sum()):
            warnings.append(
                f"copies of one program have different verdicts on {amount(split, 'problem')}: judge them again"
            )
    if tuned:
        warnings.append("a setting was chosen on these data: the value is too high, as the best of several tries is")
    return Estimate(
        k=k,
        value=value,
        # The value is rounded once, and the ends are not.
        new_problems=Interval(low=min(low, value), high=max(high, value), level=level, method="plus-two t"),
        these_problems=None if deterministic else _interval(fresh),
        between=None if deterministic else _number_or_none(fresh.between),
        within=None if deterministic else _number_or_none(fresh.within),
        within_from="none" if deterministic else fresh.within_from,
        warnings=tuple(warnings),
    )


def _interval(interval: DatasetInterval) -> Interval:
    return Interval(low=interval.low, high=interval.high, level=interval.level, method=interval.method)


def _number_or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def copies_reason(k: int) -> str:
    """Return the reason why k > 1 has no value for copies."""
    return f"k={k}: {COPIES}"


def unavailable_reason(problems: Sequence[Counts], k: int, owed: int, *, beyond: int = 0) -> str:
    """Return the reason why no unbiased estimate exists; the empty string if one does.

    ``beyond`` is how far k may exceed the samples of a problem.
    """
    if owed:
        return (
            f"{owed} {'sample is' if owed == 1 else 'samples are'} owed: "
            "not judged yet, and a score without them would not be the score of this run"
        )
    if not problems:
        return "there are no problems"
    if empty := [problem.problem_id for problem in problems if problem.n == 0]:
        named = ", ".join(map(repr, empty[:_NAMED])) + (", ..." if len(empty) > _NAMED else "")
        return f"{part_of(len(empty), len(problems), 'problem')} {have(len(empty))} no sample: {named}"
    if short := [problem for problem in problems if problem.n < k - beyond]:
        least = min(short, key=lambda problem: problem.n)
        return (
            f"k={k} needs {k - beyond} samples of every problem; {len(short)} of {len(problems)} "
            f"{'has' if len(short) == 1 else 'have'} fewer (least {least.n}, {least.problem_id!r})"
        )
    return ""


def _mean(n: IntArray, c: IntArray, scores: FloatArray, k: int) -> float:
    """Return the mean over problems, rounded once at the end wherever that is cheap."""
    pairs = distinct_pairs(n, c)
    weights = np.bincount(pairs.which, minlength=pairs.n.size).tolist()
    sizes = set(pairs.n.tolist())
    if pairs.n.size <= _EXACT_PAIRS and (max(sizes) <= _EXACT_N or (k == 1 and len(sizes) == 1)):
        failed: defaultdict[int, int] = defaultdict(int)
        for samples, passed, weight in zip(pairs.n.tolist(), pairs.c.tolist(), weights, strict=True):
            failed[samples] += weight * math.comb(samples - passed, k)
        lost = sum((Fraction(total, math.comb(samples, k)) for samples, total in failed.items()), Fraction(0))
        return float(1 - lost / n.size)
    values = np.empty(pairs.n.size)
    values[pairs.which] = scores
    return math.fsum(weight * value for weight, value in zip(weights, values.tolist(), strict=True)) / n.size


def _check(problems: Sequence[Counts], level: float, owed: int) -> None:
    """Raise ValueError for invalid arguments, TypeError for what are no counts."""
    if not all(isinstance(problem, Counts) for problem in problems):
        raise TypeError("counts must be Counts records, one for each problem; pass_at_k(n, c, k) takes plain numbers")
    if not 0.0 < level < 1.0:
        raise ValueError(f"level={level} is not between 0 and 1")
    if owed < 0:
        raise ValueError(f"owed={owed} is negative")
    ids: set[str] = set()
    for problem in problems:
        if not 0 <= problem.c <= problem.n:
            raise ValueError(f"problem {problem.problem_id!r}: c={problem.c} is not between 0 and n={problem.n}")
        if problem.problem_id in ids:
            raise ValueError(f"problem {problem.problem_id!r} is counted twice")
        ids.add(problem.problem_id)
