"""Attempts, submissions, ranked lists and distinct programs: against subsets and orders counted one by one."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
import subsets

from passcurve.stats import distinct_at_k, expected_attempts, n_at_k, pass_at_k, ranked_top_k


class TestExpectedAttempts:
    """min(T, K)."""

    def test_is_the_mean_over_all_orders(self) -> None:
        """It is the mean over all orders of the samples of the first pass or the budget, up to n = 5."""
        for n in range(6):
            for c, budget in itertools.product(range(n + 1), range(1, n + 2)):
                orders = list(itertools.permutations(range(n)))
                spent = [min(budget, next((at for at, i in enumerate(order, 1) if i < c), n + 1)) for order in orders]
                exact = Fraction(sum(spent), len(orders))
                assert subsets.relative_error(expected_attempts(n, c, budget), exact) <= 1e-15

    @pytest.mark.parametrize(("n", "budget"), [(5, 1), (5, 4), (5, 6), (30, 12), (30, 31)])
    def test_is_unbiased(self, n: int, budget: int) -> None:
        """Its binomial mean is (1 - q^K) / p, for K up to n + 1."""
        p = Fraction(3, 10)
        mean = sum(
            math.comb(n, c) * p**c * (1 - p) ** (n - c) * Fraction(float(expected_attempts(n, c, budget)))
            for c in range(n + 1)
        )
        assert float((1 - (1 - p) ** budget) / p) == pytest.approx(float(mean), rel=1e-14)

    @pytest.mark.parametrize("n", [57, 300, 1000])
    def test_against_fractions(self, n: int) -> None:
        """It is the sum of C(n-c, j) / C(n, j) over j < K, to 1e-14."""
        rng = random.Random(n)
        for _ in range(20):
            c, budget = rng.randint(0, n), rng.randint(1, n + 1)
            exact = sum((Fraction(math.comb(n - c, j), math.comb(n, j)) for j in range(budget)), Fraction(0))
            assert subsets.relative_error(expected_attempts(n, c, budget), exact) <= 1e-14

    def test_ends(self) -> None:
        """One attempt is one, nothing but failures spend the budget, nothing but passes need one attempt."""
        assert [1.0] * 8 == expected_attempts(7, np.arange(8), 1).tolist()
        assert [1.0, 7.0, 1000.0] == expected_attempts(1000, 0, [1, 7, 1000]).tolist()
        assert [1.0, 1.0, 1.0] == expected_attempts(100, 100, [2, 100, 101]).tolist()
        assert 1.0 == expected_attempts(0, 0, 1)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((5, 1, 7), r"budget=7 .*n\+1=6"),
            (([9, 5], 1, 7), r"budget=7 .*n\+1=6 at element 1"),
            ((5, 1, 10**12), r"budget=1000000000000 .*n\+1=6"),
            ((5, 6, 1), "c=6 .*n=5"),
            ((5, 1, 0), "budget=0"),
        ],
    )
    def test_refuses(self, arguments: tuple[object, ...], message: str) -> None:
        """A budget above n + 1 and counts that cannot be are a ValueError."""
        with pytest.raises(ValueError, match=rf"^{message}(?!\w)"):
            expected_attempts(*arguments)  # type: ignore[call-overload]


class TestSubmissions:
    """n@k."""

    @pytest.mark.nightly
    def test_is_the_mean_over_draws_and_submissions(self) -> None:
        """It is the mean over all k-subsets and all choices of what is submitted, for every case up to n = 5."""
        for n in range(1, 6):
            for kept in range(n + 1):
                for right, k, most in itertools.product(range(kept + 1), range(1, n + 1), range(1, n + 2)):

                    def credit(
                        drawn: tuple[int, ...], kept: int = kept, right: int = right, most: int = most
                    ) -> Fraction:
                        passed = [i for i in drawn if i < kept]
                        choices = list(itertools.combinations(passed, min(most, len(passed))))
                        return Fraction(sum(any(i < right for i in choice) for choice in choices), len(choices))

                    exact = subsets.over_subsets(n, k, credit)
                    assert subsets.relative_error(n_at_k(n, kept, right, k, most), exact) <= 1e-15

    def test_against_fractions(self) -> None:
        """At n = 300 it is the hypergeometric sum to 1e-14."""
        rng = random.Random(3)
        for _ in range(30):
            n = 300
            kept = rng.randint(1, n)
            right, k, most = rng.randint(0, kept), rng.randint(1, n), rng.randint(1, 20)
            exact = Fraction(0)
            for f in range(1, k + 1):
                if chance := subsets.hypergeometric(n, kept, k, f):
                    s = min(most, f)
                    exact += chance * (1 - Fraction(math.comb(kept - right, s), math.comb(kept, s)))
            assert subsets.relative_error(n_at_k(n, kept, right, k, most), exact) <= 1e-14

    def test_without_a_limit_it_is_pass_at_k(self) -> None:
        """With at least k submissions it is pass@k to the last bit, and at k = 1 c/n."""
        assert pass_at_k(100, 7, 20) == n_at_k(100, 30, 7, 20, 20)
        assert pass_at_k(100, 7, 20) == n_at_k(100, 30, 7, 20, 10**12)
        assert 7 / 100 == n_at_k(100, 30, 7, 1, 1)

    def test_nothing_kept_is_nothing_solved(self) -> None:
        """Where no sample passes the public tests it is 0."""
        assert 0.0 == n_at_k(10, 0, 0, 5, 2)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((10, 11, 1, 5, 2), "filtered=11 .*n=10"),
            ((10, [5, 3], 4, 5, 2), "element 1: correct=4 .*filtered=3"),
            ((10, 5, 4, 11, 2), "k=11 .*n=10"),
            ((10, 5, 4, 5, 0), "submissions=0"),
        ],
    )
    def test_refuses(self, arguments: tuple[object, ...], message: str) -> None:
        """Counts that cannot be are a ValueError that names them."""
        with pytest.raises(ValueError, match=rf"^{message}(?!\w)"):
            n_at_k(*arguments)  # type: ignore[call-overload]


class TestRanked:
    """A list with an order."""

    def test_is_the_mean_over_the_orders_that_fit_the_ranking(self) -> None:
        """It is the mean over all orders that keep better places first, on 60 random lists of up to 6."""
        rng = random.Random(4)
        for _ in range(60):
            n = rng.randint(1, 6)
            places = [rng.randint(0, 3) for _ in range(n)]
            right = [rng.random() < 0.3 for _ in range(n)]
            k = rng.randint(1, n)
            orders = [
                order
                for order in itertools.permutations(range(n))
                if all(places[i] <= places[j] for i, j in itertools.pairwise(order))
            ]
            hits = Fraction(sum(any(right[i] for i in order[:k]) for order in orders), len(orders))
            sizes = [places.count(place) for place in range(4)]
            correct = [sum(right[i] for i in range(n) if places[i] == place) for place in range(4)]
            assert subsets.relative_error(ranked_top_k(sizes, correct, k), hits) <= 1e-15

    def test_one_place_is_pass_at_k(self) -> None:
        """A list in which all are tied is pass@k, and without ties the first k alone count."""
        assert pass_at_k(20, 3, 5) == ranked_top_k([20], [3], 5)
        assert [0.0, 0.0, 1.0, 1.0] == np.asarray(ranked_top_k([1] * 4, [0, 0, 1, 0], [1, 2, 3, 4])).tolist()

    def test_broadcasts(self) -> None:
        """Problems down and k across give a table."""
        result = ranked_top_k([[[2, 3]], [[1, 4]]], [[[0, 3]], [[1, 0]]], [1, 3, 5])
        assert [[0.0, 1.0, 1.0], [1.0, 1.0, 1.0]] == np.asarray(result).tolist()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (([1, 2], [0, 3], 1), "element 1: correct=3 .*sizes=2"),
            (([1, 2], [0, 1], 4), "k=4 .*n=3"),
            ((3, 1, 1), "sizes .*one number"),
            (([1, -2], [0, 1], 1), "element 1: sizes=-2"),
        ],
    )
    def test_refuses(self, arguments: tuple[object, ...], message: str) -> None:
        """Counts that cannot be and a list that is too short are a ValueError."""
        with pytest.raises(ValueError, match=rf"^{message}(?!\w)"):
            ranked_top_k(*arguments)  # type: ignore[arg-type]


class TestDistinct:
    """Rarefaction."""

    def test_is_the_mean_number_of_groups_seen(self) -> None:
        """It is the mean number of different programs over all k-subsets, on every partition with up to 8 samples."""
        for sizes in itertools.product(range(4), repeat=3):
            n = sum(sizes)
            groups = [group for group, size in enumerate(sizes) for _ in range(size)]
            for k in range(1, n + 1):
                exact = subsets.over_subsets(n, k, lambda subset, groups=groups: len({groups[i] for i in subset}))
                assert subsets.relative_error(distinct_at_k(sizes, k), exact) <= 1e-15

    def test_ends_are_exact(self) -> None:
        """One draw is one program and all draws are all groups that are not empty."""
        sizes = [3, 0, 1, 7, 90, 1, 300]
        assert [1.0, 6.0] == np.asarray(distinct_at_k(sizes, [1, sum(sizes)])).tolist()

    def test_broadcasts(self) -> None:
        """Problems down, short rows filled with 0, and k across give a table."""
        result = np.asarray(distinct_at_k([[[2, 2, 0]], [[1, 1, 2]]], [1, 2]))
        assert (2, 2) == result.shape
        assert distinct_at_k([1, 1, 2], 2) == result[1, 1]

    def test_refuses(self) -> None:
        """More draws than samples, and negative sizes, are a ValueError."""
        with pytest.raises(ValueError, match=r"^k=5 .*n=4 at element 1\b"):
            distinct_at_k([[2, 3], [2, 2]], 5)
        with pytest.raises(ValueError, match=r"^element \(0, 1\): group_sizes=-1\b"):
            distinct_at_k([[2, -1]], 1)
        with pytest.raises(ValueError, match=r"^element 1: group_sizes .*1 .*2 in element 0\b"):
            distinct_at_k([[2, 1], [1]], 1)
