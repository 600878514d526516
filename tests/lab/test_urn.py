"""The urn: fractions by counting subsets, and where floating point fails."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import pytest

from passcurve.errors import UsageError
from passcurve.lab.urn import MOST_SAMPLES, urn


def counted(n, c, k):
    """Return the share of k-subsets of n balls, c of them right, that hold a right one."""
    subsets = list(combinations(range(n), k))
    return Fraction(sum(min(subset) < c for subset in subsets), len(subsets))


@pytest.mark.parametrize(("n", "c", "k"), [(10, 2, 3), (7, 0, 2), (7, 7, 3), (5, 4, 5), (1, 1, 1)])
def test_the_answer_is_the_share_of_subsets(n, c, k):
    """pass@k, its complement and the numbers of subsets are what listing every subset gives."""
    result = urn(n, c, k)
    wanted = counted(n, c, k)
    assert wanted == Fraction(result.passes.fraction)
    assert 1 - wanted == Fraction(result.fails.fraction)
    assert wanted == 1 - Fraction(int(result.failing), int(result.subsets))


def test_the_steps_multiply_to_the_answer():
    """Each step is wrong balls over balls left, and their product so far stands beside it."""
    steps = urn(10, 2, 3).steps
    assert [(8, 10), (7, 9), (6, 8)] == [(step.wrong, step.left) for step in steps]
    assert ["4/5", "28/45", "7/15"] == [step.all_wrong.fraction for step in steps]


def test_the_steps_end_where_no_wrong_ball_is_left():
    """With one wrong ball of three the second draw is right for certain, and there is no third step."""
    assert ["1/3", "0"] == [step.chance.fraction for step in urn(3, 2, 3).steps]


def test_the_table_of_ten_samples_and_two_draws():
    """For n = 10 and k = 2 the table is 1, 1, 44/45, 14/15, 13/15, 7/9, 2/3, 8/15, 17/45, 1/5, 0."""
    table = urn(10, 2, 2).table
    assert "1 1 44/45 14/15 13/15 7/9 2/3 8/15 17/45 1/5 0".split() == [row.passes.fraction for row in table]
    assert list(range(10, -1, -1)) == [row.c for row in table]
    # The last is the answer to drawing with replacement: 1 - (9/10)^2.
    assert "19/100" == table[9].replaced.fraction


def test_floating_point_ratios_overflow_where_the_product_stands():
    """The ratio of binomials is infinite over infinite at n = 2000; what passcurve gives is the fraction, rounded."""
    results = {(item.n, item.c, item.k): item for item in urn(10, 2, 3).reckoned}
    assert results[2000, 2, 1000].ratio is None
    assert all(item.exact == item.ours for item in results.values())
    # 1 - (1 - 1/4)(1 - 1/5)(1 - 1/6) in floats, whose exact value is 1/2.
    assert 0.5 - math.ulp(0.5) / 2 >= results[6, 3, 1].product


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((10, 2, 11), "k=11 .*n=10"),
        ((10, 11, 2), "c=11 .*n=10"),
        ((MOST_SAMPLES + 1, 2, 3), "n=1001 "),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments, message):
    """Counts that cannot be, and urns that nobody could read, are usage errors that name the number."""
    with pytest.raises(UsageError, match=message):
        urn(*arguments)
