"""How many of k pass: against subsets counted one by one, and against sums of fractions."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import subsets
from hypothesis import given
from hypothesis import strategies as st

from passcurve.stats import (
    beta_binomial_fit,
    cover_at_tau,
    fail_at_k,
    g_pass_at_k,
    mg_pass_at_k,
    pass_at_k,
    pass_hat_k,
)


@st.composite
def counts(draw: st.DrawFn, most: int = 300) -> tuple[int, int, int]:
    """Draw n, c and k within the definition."""
    n = draw(st.integers(1, most))
    return n, draw(st.integers(0, n)), draw(st.integers(1, n))


def every(largest: int) -> list[tuple[int, int, int]]:
    """List every (n, c, k) with n up to the largest."""
    return [(n, c, k) for n in range(1, largest + 1) for c in range(n + 1) for k in range(1, n + 1)]


class TestPassHat:
    """All of k pass."""

    def test_is_the_share_of_subsets_that_are_all_right(self) -> None:
        """It is what counting all k-subsets gives, for every c and k up to n = 8."""
        for n, c, k in every(8):
            share = subsets.over_subsets(n, k, lambda subset, c=c, k=k: subsets.passes(c, subset) == k)
            assert float(share) == pass_hat_k(n, c, k)

    def test_five_of_five(self) -> None:
        """5 of 5 pass is 1 and 4 of 5 is 0: that is pass^5, while pass@5 is 1 for both."""
        assert [1.0, 0.0] == pass_hat_k(5, [5, 4], 5).tolist()
        assert [1.0, 1.0] == pass_at_k(5, [5, 4], 5).tolist()

    @given(counts())
    def test_is_fail_with_passes_and_failures_exchanged(self, count: tuple[int, int, int]) -> None:
        """It equals fail@k of n - c to the last bit."""
        n, c, k = count
        assert fail_at_k(n, n - c, k) == pass_hat_k(n, c, k)

    def test_at_one_draw_it_is_c_over_n(self) -> None:
        """At k = 1 it is c/n to the last bit."""
        assert [c / 199 for c in range(200)] == pass_hat_k(199, np.arange(200), 1).tolist()


class TestGPass:
    """At least tau k of k pass."""

    @pytest.mark.nightly
    def test_is_the_share_of_subsets_with_enough_passes(self) -> None:
        """It is what counting all k-subsets gives, for every c, k and threshold up to n = 7."""
        for n, c, k in every(7):
            for i in range(k + 1):
                share = subsets.over_subsets(n, k, lambda subset, c=c, i=i: subsets.passes(c, subset) >= max(1, i))
                assert subsets.relative_error(g_pass_at_k(n, c, k, Fraction(i, k)), share) <= 1e-15

    @pytest.mark.ci
    @given(counts(), st.fractions(0, 1, max_denominator=200))
    def test_against_fractions(self, count: tuple[int, int, int], tau: Fraction) -> None:
        """The relative error is below 1e-14 where a float has all its digits."""
        n, c, k = count
        exact = subsets.at_least(n, c, k, max(1, math.ceil(tau * k)))
        if exact == 0 or exact > Fraction(1, 10**290):
            assert subsets.relative_error(g_pass_at_k(n, c, k, tau), exact) <= 1e-14

    def test_tau_is_not_rounded(self) -> None:
        """.28 of 25 is 7 and not 8, and i/k of k is i for every i and k up to 60, as fractions and as floats."""
        assert math.ceil(0.28 * 25) == 8
        exact = float(subsets.at_least(50, 20, 25, 7))
        for tau in (0.28, Fraction(7, 25), Decimal("0.28"), np.float64(0.28)):
            assert exact == pytest.approx(g_pass_at_k(50, 20, 25, tau), rel=1e-14)
        for k in range(1, 61):
            steps = [Fraction(i, k) for i in range(k + 1)]
            floats = g_pass_at_k(60, 30, k, np.array([float(step) for step in steps]))
            np.testing.assert_array_equal(g_pass_at_k(60, 30, k, np.array(steps, dtype=object)), floats)

    @pytest.mark.ci
    @given(counts())
    def test_its_ends(self, count: tuple[int, int, int]) -> None:
        """Tau = 0 is pass@k and tau = 1 pass^k, to the last bit."""
        assert pass_at_k(*count) == g_pass_at_k(*count, 0)
        assert pass_hat_k(*count) == g_pass_at_k(*count, 1)

    def test_certain_and_impossible_are_exact(self) -> None:
        """It is exactly 1 where even the worst subset has enough passes and exactly 0 where the best has not."""
        assert [1.0, 0.0] == g_pass_at_k(1000, [900, 40], 100, [0, 0.5]).tolist()
        assert 1.0 == g_pass_at_k(200, 190, 20, 0.5)

    def test_a_million_samples(self) -> None:
        """At n = 10^6 half of the half is 1/2 and half a chance of a tie, by symmetry."""
        n = 10**6
        tie = 2 * g_pass_at_k(n, n // 2, n // 2, 0.5) - 1
        assert math.sqrt(8 / (math.pi * n)) == pytest.approx(tie, rel=1e-5)

    def test_broadcasts(self) -> None:
        """Problems down and taus across give a table of the single values."""
        table = g_pass_at_k([[10], [20]], [[4], [11]], 10, [0.1, 0.5, 1.0])
        assert (2, 3) == table.shape
        assert g_pass_at_k(20, 11, 10, 0.5) == table[1, 1]
        assert np.float64 is type(g_pass_at_k(20, 11, 10, Fraction(1, 2)))
        assert (0,) == g_pass_at_k([], [], 1, 0.5).shape

    @pytest.mark.parametrize(
        ("tau", "message"),
        [
            ([0.5, 1.5], "element 1: tau=1.5"),
            (-0.1, "tau=-0.1"),
            (math.nan, "tau=nan"),
            ("1/2", "tau='1/2'"),
            (True, "tau=True"),
        ],
    )
    def test_refuses_what_is_no_share(self, tau: object, message: str) -> None:
        """A tau outside [0, 1] or not a number is a ValueError that says which."""
        with pytest.raises(ValueError, match=rf"^{message}(?!\w)"):
            g_pass_at_k(5, [1, 2], 3, tau)  # type: ignore[call-overload]


class TestMeanGPass:
    """The mean over tau from 1/2 to 1."""

    @given(counts(most=120))
    def test_published_is_the_published_sum(self, count: tuple[int, int, int]) -> None:
        """It is 2/k times the sum of G-Pass@k(i/k) over i = ceil(k/2)+1 .. k."""
        n, c, k = count
        steps = range(math.ceil(Fraction(k, 2)) + 1, k + 1)
        exact = Fraction(2, k) * sum((subsets.at_least(n, c, k, i) for i in steps), Fraction(0))
        assert subsets.relative_error(mg_pass_at_k(n, c, k), exact) <= 1e-14

    @pytest.mark.ci
    @given(counts(most=120))
    def test_exact_is_the_integral(self, count: tuple[int, int, int]) -> None:
        """It is 2 times the sum of G-Pass@k over the steps of ceil(tau k), each as wide as it is within [1/2, 1]."""
        n, c, k = count
        exact = Fraction(0)
        for i in range(1, k + 1):
            width = Fraction(i, k) - max(Fraction(i - 1, k), Fraction(1, 2))
            exact += 2 * max(width, Fraction(0)) * subsets.at_least(n, c, k, i)
        assert subsets.relative_error(mg_pass_at_k(n, c, k, exact=True), exact) <= 1e-14

    def test_they_differ_for_odd_k_only(self) -> None:
        """With nothing but passes the integral is 1, the sum 1 for even k and (k-1)/k for odd."""
        k = np.arange(1, 8)
        assert [1.0] * 7 == mg_pass_at_k(9, 9, k, exact=True).tolist()
        assert [0, 1, 2 / 3, 1, 4 / 5, 1, 6 / 7] == mg_pass_at_k(9, 9, k).tolist()

    def test_the_integral_at_one_draw_is_c_over_n(self) -> None:
        """At k = 1 the integral is c/n to the last bit."""
        assert [c / 49 for c in range(50)] == mg_pass_at_k(49, np.arange(50), 1, exact=True).tolist()


class TestCover:
    """The share of problems with a chance of at least tau."""

    def test_under_the_uniform_prior_it_is_a_binomial_tail(self) -> None:
        """With a = b = 1, P(p >= tau) after c of n is P(binomial(n+1, tau) <= c): a fraction."""
        tau = Fraction(3, 8)
        for n, c in itertools.chain.from_iterable([[(n, c) for c in range(n + 1)] for n in range(7)]):
            terms = (math.comb(n + 1, i) * tau**i * (1 - tau) ** (n + 1 - i) for i in range(c + 1))
            exact = float(sum(terms, Fraction(0)))
            assert exact == pytest.approx(cover_at_tau([n], [c], float(tau), a=1, b=1), rel=1e-13)

    def test_is_the_mean_over_problems(self) -> None:
        """Several problems give the mean of their posterior chances, each tau its own."""
        single = [cover_at_tau(10, c, [0.2, 0.7], a=0.5, b=2) for c in (0, 3, 3, 10)]
        result = cover_at_tau(10, [0, 3, 3, 10], [0.2, 0.7], a=0.5, b=2)
        np.testing.assert_allclose(np.mean(single, axis=0), result, rtol=1e-14)
        assert np.float64 is type(cover_at_tau(10, [0, 3], 0.5, a=1, b=1))

    def test_fits_the_prior_to_the_problems(self) -> None:
        """Without a and b they are those of the beta-binomial fit."""
        n, c = np.full(20, 10), np.array([0] * 12 + [1, 2, 5, 7, 9, 10, 10, 10])
        a, b, _ = beta_binomial_fit(n, c)
        assert cover_at_tau(n, c, 0.3, a=a, b=b) == cover_at_tau(n, c, 0.3)

    def test_is_nearer_to_the_truth_than_the_indicator(self) -> None:
        """200 problems of Beta(1, 1), 10 samples each: a mean error within .01, the indicator's is .045."""
        rng = np.random.default_rng(7)
        errors = []
        for _ in range(100):
            p = rng.random(200)
            c = rng.binomial(10, p)
            true = (p >= 0.5).mean()
            errors.append((cover_at_tau(10, c, 0.5) - true, (c / 10 >= 0.5).mean() - true))
        ours, indicator = np.mean(errors, axis=0)
        assert abs(ours) < 0.01
        assert 0.03 < indicator < 0.06

    def test_ends(self) -> None:
        """Every chance is at least 0, and none is 1 under a continuous law."""
        assert [1.0, 0.0] == cover_at_tau([5, 5], [0, 5], [0, 1], a=1, b=1).tolist()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (([], [], 0.5), ".*no problems"),
            (([5, 5], [1, 6], 0.5), "element 1: c=6 .*n=5"),
            (([5, 5], [1, 2], [0.5, 2]), "element 1: tau=2.0"),
            (([5, 5], [1, 2], 0.5, 1.0), "a=1.0, b=None"),
            (([5, 5], [1, 2], 0.5, 1.0, -1.0), "b=-1.0"),
            (([5, 5], [0, 0], 0.5), ".*10 samples failed"),
        ],
    )
    def test_refuses(self, arguments: tuple[object, ...], message: str) -> None:
        """What cannot be, and what cannot be fitted, is a ValueError that says why."""
        with pytest.raises(ValueError, match=rf"^{message}(?!\w)"):
            cover_at_tau(*arguments)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "function", [pass_hat_k, mg_pass_at_k, lambda n, c, k: g_pass_at_k(n, c, k, 0.5)], ids=["hat", "mean", "g"]
)
class TestAll:
    """What the three share."""

    def test_refuse_more_draws_than_samples(self, function: object) -> None:
        """A k above n is refused with the element."""
        assert callable(function)
        with pytest.raises(ValueError, match=r"^k=6 .*n=5 at element 1\b"):
            function([9, 5], 1, 6)

    def test_say_which_count_is_wrong(self, function: object) -> None:
        """A c above n is refused with the element."""
        assert callable(function)
        with pytest.raises(ValueError, match=r"^element 1: c=6 .*n=5\b"):
            function([9, 5], [1, 6], 2)
