"""Plans of runs with one sample of each problem, against an enumeration of all outcomes in fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from passcurve.stats import paired_difference, plan
from passcurve.stats.mcnemar import (
    OUTCOME_CORRELATION,
    discordance,
    mcnemar_detectable,
    mcnemar_power,
    mcnemar_problems,
)


def p_of(ahead: int, discordant: int) -> Fraction:
    """Return the two-sided p of a split, by counting the sequences of a fair coin that are as uneven."""
    off = abs(2 * ahead - discordant)
    return Fraction(sum(comb(discordant, i) for i in range(discordant + 1) if abs(2 * i - discordant) >= off)) / (
        2**discordant
    )


def exact_power(m: int, discordant: Fraction, difference: Fraction, alpha: Fraction) -> Fraction:
    """Return the power by listing every number of discordant problems and every split."""
    one, other = (discordant + difference) / 2, (discordant - difference) / 2
    return sum(
        (
            comb(m, d) * comb(d, a) * one**a * other ** (d - a) * (1 - discordant) ** (m - d)
            for d in range(m + 1)
            for a in range(d + 1)
            if p_of(a, d) <= alpha
        ),
        Fraction(0),
    )


@pytest.mark.parametrize(
    ("m", "discordant", "difference", "alpha"),
    [
        (4, "1/2", "1/4", "1/20"),
        (10, "1/2", "3/10", "1/20"),
        (25, "2/5", "1/4", "1/20"),
        (30, "1", "1/5", "1/10"),
        (12, "1/3", "1/3", "1/20"),
        (20, "1/2", "0", "1/20"),
    ],
)
def test_power_is_exact(m, discordant, difference, alpha):
    """The power equals that of the enumeration."""
    expected = exact_power(m, Fraction(discordant), Fraction(difference), Fraction(alpha))
    got = mcnemar_power(m, float(Fraction(discordant)), float(Fraction(difference)), 1 - float(Fraction(alpha)))
    assert got == pytest.approx(float(expected), rel=1e-9, abs=1e-15)


def test_the_test_is_that_of_compare():
    """A split of discordant problems has the p that comparing such runs reports."""
    a, b = [1] * 9 + [0] * 2 + [1] * 5, [0] * 9 + [1] * 2 + [1] * 5
    assert float(p_of(9, 11)) == pytest.approx(paired_difference(1, a, 1, b, 1, 0.95).p.p, rel=1e-12)


@pytest.mark.parametrize(("discordant", "difference"), [("2/5", "1/4"), ("1", "3/5"), ("1/2", "1/2")])
def test_problems_needed(discordant, difference):
    """The problems needed reach the power by enumeration, and one fewer does not."""
    share, wanted = Fraction(discordant), Fraction(difference)
    needed = mcnemar_problems(float(share), float(wanted))
    assert exact_power(needed, share, wanted, Fraction(1, 20)) >= Fraction(4, 5)
    assert exact_power(needed - 1, share, wanted, Fraction(1, 20)) < Fraction(4, 5)


def test_detectable_difference():
    """The detectable difference reaches the power, and a smaller one does not."""
    least = mcnemar_detectable(164, lambda _: 0.3, 0.3)
    assert mcnemar_power(164, 0.3, least) >= 0.8 > mcnemar_power(164, 0.3, least - 1e-5)
    assert math.isnan(mcnemar_detectable(4, lambda _: 0.5, 0.5))


def test_discordance():
    """The share of discordant problems has the given correlation, as far as the pass rates allow."""
    share = discordance(0.5, 0.4, 0.25)
    both = (0.5 + 0.4 - share) / 2
    assert (both - 0.5 * 0.4) / math.sqrt(0.25 * 0.24) == pytest.approx(0.25)
    assert discordance(0.5, 0.4, 1.0) == pytest.approx(0.1)
    assert discordance(0.9, 0.9, -1.0) == pytest.approx(0.2)
    assert 0.0 == discordance(0.7, 0.7, 1.0)


def test_plan_from_one_greedy_run():
    """A greedy run plans with the default correlation; a higher one asks for fewer problems."""
    c = [1] * 120 + [0] * 44
    made = plan(1, c, difference=0.05)
    assert made.correlation == OUTCOME_CORRELATION
    rate = 120 / 164
    assert made.discordant == pytest.approx(discordance(rate, rate - 0.05, OUTCOME_CORRELATION))
    assert made.problems == mcnemar_problems(made.discordant, 0.05)
    close = plan(1, c, difference=0.05, correlation=0.7).problems
    assert close is not None
    assert close < made.problems
    assert (None, True) == (made.samples, math.isnan(made.floor))


def test_plan_from_two_greedy_runs():
    """Two greedy runs tell the share of discordant problems; no correlation is assumed."""
    a, b = [1] * 60 + [0] * 40, [1] * 50 + [0] * 20 + [1] * 10 + [0] * 20
    made = plan(1, a, 1, b, difference=0.1)
    assert (0.2, None) == (made.discordant, made.correlation)
    assert made.problems == mcnemar_problems(0.2, 0.1)


def test_the_power_is_met():
    """With the problems of the plan greedy runs of that correlation are told apart in about 80 % of 600 tries."""
    rng = np.random.default_rng(5)
    share = discordance(0.6, 0.5, OUTCOME_CORRELATION)
    m = mcnemar_problems(share, 0.1)
    tries = rng.multinomial(m, [(share + 0.1) / 2, (share - 0.1) / 2, 1 - share], size=600)
    rejections = sum(p_of(int(ahead), int(ahead + behind)) <= 0.05 for ahead, behind, _ in tries)
    assert 0.75 < rejections / 600 < 0.85


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_a": 1, "c_a": [1]}, "2 problems"),
        ({"n_a": 1, "c_a": [1, 0], "n_b": 1, "c_b": [1, 0]}, "agree"),
        ({"n_a": 1, "c_a": [1, 0], "difference": 0.9}, "0.9"),
        ({"n_a": 1, "c_a": [1, 0], "correlation": 2.0}, "correlation=2.0"),
        ({"n_a": 1, "c_a": [1, 0], "power": 1.0}, "power=1.0"),
    ],
)
def test_refuses(arguments, message):
    """What cannot be planned is a ValueError."""
    with pytest.raises(ValueError, match=message):
        plan(**arguments)
