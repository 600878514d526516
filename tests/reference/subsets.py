"""The relatives of pass@k by counting subsets, in fractions: slow, obvious, no code shared with the package."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction


def over_subsets(n: int, k: int, credit: Callable[[tuple[int, ...]], Fraction | int | bool]) -> Fraction:
    """Return the mean credit of all k-subsets of n samples."""
    subsets = list(itertools.combinations(range(n), k))
    return sum((Fraction(credit(subset)) for subset in subsets), Fraction(0)) / len(subsets)


def passes(c: int, subset: Sequence[int]) -> int:
    """Count the passes in a subset when the first c samples passed."""
    return sum(i < c for i in subset)


def hypergeometric(n: int, c: int, k: int, j: int) -> Fraction:
    """Return the chance of j passes among k of n samples of which c passed."""
    if not (0 <= j <= c and 0 <= k - j <= n - c):
        return Fraction(0)
    return Fraction(math.comb(c, j) * math.comb(n - c, k - j), math.comb(n, k))


def at_least(n: int, c: int, k: int, least: int) -> Fraction:
    """Return the chance of at least so many passes."""
    return sum((hypergeometric(n, c, k, j) for j in range(least, k + 1)), Fraction(0))


def vote(answers: Sequence[int], right: int, subset: Sequence[int]) -> Fraction:
    """Return the credit of the right answer in a plurality vote of a subset, ties sharing."""
    votes = [sum(answers[i] == answer for i in subset) for answer in range(max(answers) + 1)]
    if right >= len(votes) or votes[right] < max(votes):
        return Fraction(0)
    return Fraction(1, votes.count(max(votes)))


def relative_error(value: float, exact: Fraction) -> float:
    """Return how far a float is from a fraction as a share of that; 0 must be met exactly."""
    if not exact:
        return 0.0 if value == 0.0 else math.inf
    return float(abs(Fraction(float(value)) / exact - 1))
