"""maj@k: against every vote of every subset, and against polynomials of integers."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import subsets

from passcurve.stats import maj_at_k


def by_polynomials(own: int, others: list[int], k: int) -> Fraction:
    """Return maj@k from the number of subsets by samples drawn and answers tied, in integers."""
    total = Fraction(0)
    for s in range(1, min(own, k) + 1):
        ways = Counter({(0, 0): 1})
        for m in others:
            grown: Counter[tuple[int, int]] = Counter()
            for (drawn, tied), number in ways.items():
                for j in range(min(m, s, k - s - drawn) + 1):
                    grown[drawn + j, tied + (j == s)] += number * math.comb(m, j)
            ways = grown
        shares = (Fraction(number, 1 + tied) for (drawn, tied), number in ways.items() if drawn == k - s)
        total += math.comb(own, s) * sum(shares, Fraction(0))
    return total / math.comb(own + sum(others), k)


def test_is_the_mean_over_the_votes_of_all_subsets() -> None:
    """It is the mean credit over all k-subsets, on 200 random sets of up to 8 answers."""
    rng = random.Random(5)
    for _ in range(200):
        n = rng.randint(1, 8)
        answers = [rng.randint(0, 3) for _ in range(n)]
        right, k = rng.randint(0, 3), rng.randint(1, n)
        exact = subsets.over_subsets(n, k, lambda subset, a=answers, r=right: subsets.vote(a, r, subset))
        results = maj_at_k([answers.count(answer) for answer in range(4)], right, k)
        assert subsets.relative_error(results, exact) <= 1e-14


def test_against_integers() -> None:
    """With up to 12 answers of up to 30 samples it is right to 1e-14."""
    rng = random.Random(6)
    for _ in range(25):
        others = [rng.choice([1, 1, 2, 3, 8, 20]) for _ in range(rng.randint(1, 12))]
        own = rng.randint(1, 30)
        k = rng.randint(1, own + sum(others))
        assert subsets.relative_error(maj_at_k([own, *others], 0, k), by_polynomials(own, others, k)) <= 1e-14


def test_equal_answers_have_equal_shares() -> None:
    """Ten answers of 20 samples each get a tenth, for every k."""
    np.testing.assert_allclose(maj_at_k([20] * 10, 3, [1, 2, 7, 50, 200]), 0.1, rtol=1e-14)


def test_at_one_draw_it_is_the_share_of_the_answer() -> None:
    """At k = 1 it is c/n to the last bit."""
    assert [c / 7 for c in (3, 0, 4)] == [maj_at_k([3, 0, 4], i, 1) for i in range(3)]


def test_at_all_draws_it_is_the_vote() -> None:
    """At k = n it is 1, 0, or the share of the tie."""
    assert [1.0, 0.0] == [maj_at_k([5, 4], i, 9) for i in range(2)]
    assert 0.5 == maj_at_k([4, 4, 1], 0, 9)


def test_an_answer_that_never_occurs_cannot_win() -> None:
    """None, and an answer without samples, give 0."""
    assert 0.0 == maj_at_k([5, 4], None, 3)
    assert 0.0 == maj_at_k([5, 0], 1, 3)


def test_broadcasts() -> None:
    """Problems with an answer each, some None, give a row; k across gives a table."""
    counts = [[3, 2, 0], [1, 1, 1], [0, 4, 1]]
    row = np.asarray(maj_at_k(counts, [0, None, 1], 3))
    assert [maj_at_k([3, 2], 0, 3), 0.0, maj_at_k([4, 1], 0, 3)] == row.tolist()
    table = maj_at_k(np.array(counts)[:, None, :], np.array([[0], [None], [1]]), [1, 3])
    assert row.tolist() == np.asarray(table)[:, 1].tolist()
    assert np.float64 is type(maj_at_k([3, 2], 0, 3))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([3, 2], 2, 1), "correct=2 .*2 answers"),
        (([[3, 2], [1, 1]], [0, -1], 1), "element 1: correct=-1 .*2 answers"),
        (([3, 2], 0.5, 1), "correct=0.5"),
        (([3, 2], True, 1), "correct=True"),
        (([3, 2], 0, 6), "k=6 .*n=5"),
        (([3, -2], 0, 1), "element 1: counts=-2"),
        ((3, 0, 1), "counts .*one number"),
    ],
)
def test_refuses(arguments: tuple[object, ...], message: str) -> None:
    """Counts, indices and k that cannot be are a ValueError that says where."""
    with pytest.raises(ValueError, match=rf"^{message}(?!\w)"):
        maj_at_k(*arguments)  # type: ignore[arg-type]
