"""The best, the largest and the smallest of k: against subsets counted one by one, and against fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import subsets
from hypothesis import given
from hypothesis import strategies as st

from passcurve.stats import best_of_k, max_at_k, min_at_k, pass_at_k, pass_hat_k

VALUES = st.sampled_from([0.0, 1.0, 0.5, 0.25, 3.0])


class TestBestOf:
    """The sample with the highest score."""

    @given(st.lists(st.tuples(VALUES, st.integers(0, 2)), min_size=1, max_size=8), st.data())
    def test_is_the_mean_over_subsets(self, samples: list[tuple[float, int]], data: st.DataObject) -> None:
        """It is the mean over all k-subsets of the mean value of those with the highest score."""
        n = len(samples)
        k = data.draw(st.integers(1, n))

        def credit(subset: tuple[int, ...]) -> Fraction:
            highest = max(samples[i][1] for i in subset)
            tied = [Fraction(samples[i][0]) for i in subset if samples[i][1] == highest]
            return sum(tied, Fraction(0)) / len(tied)

        results = best_of_k([value for value, _ in samples], [score for _, score in samples], k)
        assert subsets.relative_error(results, subsets.over_subsets(n, k, credit)) <= 1e-14

    def test_a_useless_score_is_the_mean(self) -> None:
        """With all scores equal it is the mean of the values, for every k."""
        result = np.asarray(best_of_k([1, 0, 0, 1, 1], [7] * 5, [1, 2, 3, 4, 5]))
        np.testing.assert_allclose(result, 0.6, rtol=1e-15)

    def test_values_may_be_negative(self) -> None:
        """Rewards below 0 are taken as they are."""
        assert Fraction(-1) == pytest.approx(best_of_k([-1.0, -1.0, 5.0], [2, 3, 1], 2), rel=1e-15)


class TestLargestAndSmallest:
    """max@k and min@k."""

    @pytest.mark.parametrize("n", [1, 2, 30, 300])
    def test_against_fractions(self, n: int) -> None:
        """They are the weighted sums of the sorted values, to 1e-14, for shares of tests passed."""
        rng = np.random.default_rng(n)
        values = rng.integers(0, 9, n) / 8
        for k in {1, min(2, n), (n + 1) // 2, n}:
            for results, ordered in ((max_at_k, np.sort(values)), (min_at_k, np.sort(values)[::-1])):
                total = sum(Fraction(float(y)) * math.comb(i, k - 1) for i, y in enumerate(ordered))
                assert subsets.relative_error(results(values, k), total / math.comb(n, k)) <= 1e-14

    def test_for_passes_they_are_pass_at_k_and_pass_hat_k(self) -> None:
        """For values 0 and 1 they are pass@k and pass^k, and at k = 1 both are c/n to the last bit."""
        ks = np.array([1, 2, 3, 10, 57, 100, 150, 199, 200])
        for c in (0, 1, 37, 199, 200):
            values = np.repeat([0, 1], [200 - c, c])
            np.testing.assert_allclose(max_at_k(values, ks), pass_at_k(200, c, ks), rtol=1e-14)
            np.testing.assert_allclose(min_at_k(values, ks), pass_hat_k(200, c, ks), rtol=1e-14)
            assert c / 200 == max_at_k(values, 1) == min_at_k(values, 1)

    def test_stay_between_the_smallest_and_the_largest_value(self) -> None:
        """Equal values come back to the last bit, whatever k."""
        assert [0.3] * 99 == np.asarray(max_at_k(np.full(99, 0.3), np.arange(1, 100))).tolist()
        assert "0.0" == str(min_at_k([0, 0], 2))

    def test_broadcast(self) -> None:
        """Problems in rows and k across give a table; k alone gives one number for each problem."""
        values = np.arange(12).reshape(3, 4) / 11
        assert (3,) == np.shape(max_at_k(values, 2))
        assert (3, 2) == np.shape(max_at_k(values[:, None, :], [2, 3]))
        assert np.float64 is type(max_at_k(values[0], 2))
        assert (0,) == np.shape(max_at_k(np.zeros((0, 4)), 2))
        assert max_at_k(values[1], 3) == np.asarray(max_at_k(values[:, None, :], [2, 3]))[1, 1]


@pytest.mark.parametrize(
    ("values", "k", "message"),
    [
        ([1.0, math.nan], 1, "element 1: values=nan"),
        ([[1.0, 0.0], [0.0, math.inf]], 1, r"element \(1, 1\): values=inf"),
        ([[1, 0], [1]], 1, "element 1: values .*1 .*2 in element 0"),
        ([1, 0], 3, "k=3 .*n=2"),
        ([1, 0], [1, 3], "k=3 .*n=2 at element 1"),
        ([1, 0], 0, "k=0"),
        ([], 1, "k=1 .*n=0"),
        (1.0, 1, "values .*one number"),
        (["a"], 1, "values .*str[0-9]*"),
    ],
)
@pytest.mark.parametrize("function", [max_at_k, min_at_k, lambda values, k: best_of_k(values, 0, k)])
def test_refusals_name_the_element(function: object, values: object, k: object, message: str) -> None:
    """What is no row of finite numbers, or too short for k, is a ValueError that says where."""
    assert callable(function)
    with pytest.raises(ValueError, match=rf"^{message}(?!\w)"):
        function(values, k)
