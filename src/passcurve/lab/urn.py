"""The urn: pass@k as balls drawn from an urn without putting them back, in exact fractions, step by step.

The urn holds the n samples of one problem, c of them right.  k are drawn blindly; pass@k is the chance that one of them
is right (Chen et al. 2021, arXiv:2107.03374, equation 1).
"""

from __future__ import annotations

import math
from fractions import Fraction

import msgspec
import numpy as np

from passcurve.errors import UsageError
from passcurve.stats import exact_pass_at_k, pass_at_k

MOST_SAMPLES = 1000
"""Largest urn; fractions of larger ones have hundreds of digits."""
_TRIED = ((6, 3, 1), (200, 2, 100), (2000, 2, 1000))
"""Cases in which the formulas differ: in the last bit, in range, and beyond the largest float."""


class Exact(msgspec.Struct, frozen=True):
    """A rational number: as it is, and rounded once."""

    fraction: str
    value: float


class UrnDraw(msgspec.Struct, frozen=True, kw_only=True):
    """One draw, given that all before it were wrong."""

    draw: int
    """Number of the draw, from 1."""
    wrong: int
    """Wrong balls that are left."""
    left: int
    """Balls that are left."""
    chance: Exact
    """Chance that this draw is wrong too."""
    all_wrong: Exact
    """Chance that this draw and all before it are wrong."""


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """pass@k for one number of right samples."""

    c: int
    passes: Exact
    """Value without replacement: pass@k."""
    replaced: Exact
    """Value with replacement, ``1 - ((n-c)/n)^k``: the biased plug-in."""


class FloatResults(msgspec.Struct, frozen=True, kw_only=True):
    """pass@k of one urn by three formulas in floating point, and the exact value."""

    n: int
    c: int
    k: int
    exact: float
    """The fraction, rounded once."""
    ratio: float | None
    """``1 - C(n-c, k) / C(n, k)`` with binomials as floats; None where both are infinite."""
    product: float
    """``1 - prod(1 - k / i)`` for i from n-c+1 to n, as Chen et al. print it."""
    ours: float
    """Result of ``passcurve.pass_at_k``."""


class Urn(msgspec.Struct, frozen=True, kw_only=True):
    """Every step of pass@k for one urn."""

    n: int
    c: int
    k: int
    subsets: str
    """Number of k-subsets, C(n, k), in digits."""
    failing: str
    """Number of k-subsets without a right sample, C(n-c, k), in digits."""
    steps: tuple[UrnDraw, ...]
    """Draws, until no wrong ball is left or k are drawn."""
    fails: Exact
    passes: Exact
    replaced: Exact
    table: tuple[Share, ...]
    """Rows for c = n .. 0."""
    reckoned: tuple[FloatResults, ...]


def urn(n: int, c: int, k: int) -> Urn:
    """Return every step of pass@k for n samples, c of them right, k drawn.

    Raises UsageError for counts that cannot be, for k > n, and for n above ``MOST_SAMPLES``.
    """
    if n > MOST_SAMPLES:
        raise UsageError(f"n={n} exceeds {MOST_SAMPLES}, the largest urn")
    try:
        passes = exact_pass_at_k(n, c, k)
    except ValueError as error:
        raise UsageError(str(error)) from None
    return Urn(
        n=n,
        c=c,
        k=k,
        subsets=str(math.comb(n, k)),
        failing=str(math.comb(n - c, k)),
        steps=_steps(n, c, k),
        fails=_exact(1 - passes),
        passes=_exact(passes),
        replaced=_exact(_with_replacement(n, c, k)),
        table=tuple(
            Share(c=right, passes=_exact(exact_pass_at_k(n, right, k)), replaced=_exact(_with_replacement(n, right, k)))
            for right in range(n, -1, -1)
        ),
        reckoned=tuple(_float_results(*example) for example in dict.fromkeys(((n, c, k), *_TRIED))),
    )


def _exact(value: Fraction) -> Exact:
    return Exact(f"{value.numerator}/{value.denominator}" if value.denominator > 1 else str(value), float(value))


def _with_replacement(n: int, c: int, k: int) -> Fraction:
    return 1 - Fraction(n - c, n) ** k


def _steps(n: int, c: int, k: int) -> tuple[UrnDraw, ...]:
    steps = []
    so_far = Fraction(1)
    for draw in range(k):
        wrong, left = n - c - draw, n - draw
        chance = Fraction(wrong, left)
        so_far *= chance
        steps.append(UrnDraw(draw=draw + 1, wrong=wrong, left=left, chance=_exact(chance), all_wrong=_exact(so_far)))
        if not wrong:
            break
    return tuple(steps)


def _float_results(n: int, c: int, k: int) -> FloatResults:
    from scipy.special import comb

    failing, every = float(comb(n - c, k)), float(comb(n, k))
    return FloatResults(
        n=n,
        c=c,
        k=k,
        exact=float(exact_pass_at_k(n, c, k)),
        ratio=None if math.isinf(every) and math.isinf(failing) else 1.0 - failing / every,
        product=float(1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1))) if n - c >= k else 1.0,
        ours=float(pass_at_k(n, c, k)),
    )
