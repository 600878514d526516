"""The plug-in and the variances: against sums over the binomial law and over subsets, in fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import exact_passk as exact
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from passcurve.stats import naive_variance, pass_at_k, plug_in_at_k, plug_in_bias, unbiased_variance, var_pass_at_k

CHANCES = st.one_of(
    st.floats(0, 1), st.floats(1e-12, 1e-3), st.floats(1e-12, 1e-3).map(lambda q: 1 - q), st.sampled_from([0.1, 0.5])
)


@st.composite
def sizes(draw: st.DrawFn) -> tuple[int, int]:
    """Draw n and k within the definition."""
    n = draw(st.integers(1, 40))
    return n, draw(st.integers(1, n))


def close(exact_value: Fraction, result: float, tolerance: float) -> bool:
    """Say whether a float is near a fraction, as a share of it; below 1e-290 a float has no longer all its digits."""
    if abs(exact_value) < Fraction(1, 10**290):
        return abs(result) < 2e-290
    return abs(Fraction(float(result)) / exact_value - 1) <= tolerance


class TestPlugIn:
    """1 - (1 - c/n)^k."""

    def test_is_drawing_with_replacement(self) -> None:
        """It is the share of k-tuples with replacement that hold a pass, counted one by one up to n = 4."""
        for n in range(1, 5):
            for c, k in itertools.product(range(n + 1), range(1, n + 1)):
                tuples = list(itertools.product(range(n), repeat=k))
                share = Fraction(sum(min(subset) < c for subset in tuples), len(tuples))
                assert close(share, plug_in_at_k(n, c, k), 1e-15)

    def test_half_and_half_is_three_quarters_where_the_estimate_is_one(self) -> None:
        """For n = 2, c = 1, k = 2 the plug-in says 3/4, and pass@2 is 1."""
        assert (0.75, 1.0) == (plug_in_at_k(2, 1, 2), pass_at_k(2, 1, 2))

    @pytest.mark.parametrize("n", [7, 300, 10**6])
    def test_against_fractions(self, n: int) -> None:
        """The relative error is below 1e-14 for few passes and few failures, k from 1 to 300."""
        for c in (1, 2, n // 3, n // 2, n - 2, n - 1):
            for k in (1, 2, n // 2, min(n, 300)):
                if k <= 300:
                    assert close(1 - (1 - Fraction(c, n)) ** k, plug_in_at_k(n, c, k), 1e-14)

    def test_at_one_draw_it_is_c_over_n(self) -> None:
        """At k = 1 it is c/n to the last bit."""
        assert [c / 49 for c in range(50)] == plug_in_at_k(49, np.arange(50), 1).tolist()

    def test_ends_are_exact(self) -> None:
        """All wrong is 0 and all right 1."""
        assert "[0.0, 1.0]" == str(plug_in_at_k(9, [0, 9], 4).tolist())


class TestPlugInBias:
    """How far the plug-in is off on average."""

    @given(CHANCES, sizes())
    @example(0.3, (40, 20))
    def test_is_the_expectation_less_the_truth(self, p: float, size: tuple[int, int]) -> None:
        """It is the binomial mean of the plug-in less 1 - (1-p)^k, right to 1e-13."""
        n, k = size
        plug_ins = [1 - (1 - Fraction(c, n)) ** k for c in range(n + 1)]
        bias = exact.binomial_mean(n, Fraction(p), plug_ins) - (1 - (1 - Fraction(p)) ** k)
        assert close(bias, plug_in_bias(p, n, k), 1e-13)

    def test_is_never_above_zero(self) -> None:
        """It is 0 for k = 1 and at both ends of p, and below 0 elsewhere."""
        assert "[0.0, 0.0, 0.0]" == str(plug_in_bias([0.3, 0.0, 1.0], 9, [1, 5, 5]).tolist())
        assert (plug_in_bias(np.arange(1, 10)[:, None] / 10, 9, np.arange(2, 10)) < 0).all()

    def test_approaches_the_second_order_term(self) -> None:
        """At n = 10^6 it is -k (k-1) p q^(k-1) / (2n) to four digits."""
        p, n, k = 0.1, 10**6, 10
        assert -k * (k - 1) * p * (1 - p) ** (k - 1) / (2 * n) == pytest.approx(plug_in_bias(p, n, k), rel=1e-4)

    def test_known_value(self) -> None:
        """At p = 1/2, n = k = 2: E[(F/2)^2] = 3/8, so the bias is 1/4 - 3/8."""
        assert -0.125 == pytest.approx(plug_in_bias(0.5, 2, 2), rel=1e-15)


class TestNaiveVariance:
    """Batches of k."""

    @given(CHANCES, st.integers(1, 500), st.integers(1, 1000))
    def test_is_the_binomial_one(self, p: float, k: int, t: int) -> None:
        """It is q^k (1 - q^k) / t, right to 1e-14."""
        q = 1 - Fraction(p)
        assert close(q**k * (1 - q**k) / t, naive_variance(p, k, t), 1e-14)

    def test_broadcasts(self) -> None:
        """Chances across and k down give a table."""
        table = naive_variance([0.1, 0.2], [[1], [2], [3]], 5)
        assert (3, 2) == table.shape
        assert naive_variance(0.2, 3, 5) == table[2, 1]


class TestUnbiasedVariance:
    """What the unbiased estimate varies."""

    @given(CHANCES, sizes())
    def test_is_the_variance_over_the_binomial_law(self, p: float, size: tuple[int, int]) -> None:
        """It is the variance of the exact estimate over c ~ binomial(n, p), right to 1e-13."""
        n, k = size
        values = [Fraction(math.comb(n - c, k), math.comb(n, k)) for c in range(n + 1)]
        squares = exact.binomial_mean(n, Fraction(p), [value**2 for value in values])
        assert close(squares - (1 - Fraction(p)) ** (2 * k), unbiased_variance(p, n, k), 1e-13)

    def test_at_one_draw_it_is_the_binomial_one(self) -> None:
        """At k = 1 it is p q / n."""
        p = np.arange(1, 10) / 10
        np.testing.assert_allclose(unbiased_variance(p, 50, 1), p * (1 - p) / 50, rtol=1e-15)

    def test_is_what_the_estimate_of_it_expects(self) -> None:
        """The binomial mean of var_pass_at_k is this."""
        results = [Fraction(float(value)) for value in var_pass_at_k(30, np.arange(31), 7)]
        expected = float(exact.binomial_mean(30, Fraction(0.2), results))
        assert expected == pytest.approx(unbiased_variance(0.2, 30, 7), rel=1e-13)

    def test_what_the_same_samples_give(self) -> None:
        """At p = .1, k = 100, 200 samples used in all subsets are 91 times better than two batches of 100."""
        assert 91 == round(float(naive_variance(0.1, 100, 2) / unbiased_variance(0.1, 200, 100)))

    def test_a_million_samples(self) -> None:
        """At n = 10^6, k = 1000, p = 10^-4 it is k^2 p q^(2k-1) / n to three digits, in the time of a few blocks."""
        p, n, k = 1e-4, 10**6, 1000
        assert k * k * p * (1 - p) ** (2 * k - 1) / n == pytest.approx(unbiased_variance(p, n, k), rel=1e-3)


class TestRefusals:
    """Input outside the definition."""

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: plug_in_at_k(5, 1, 6), "k=6 .*n=5"),
            (lambda: plug_in_at_k([5, 5], [1, 6], 2), "element 1: c=6 .*n=5"),
            (lambda: plug_in_bias([0.5, 1.5], 5, 2), "element 1: p=1.5"),
            (lambda: plug_in_bias(math.nan, 5, 2), "p=nan"),
            (lambda: plug_in_bias(0.5, 5, 6), "k=6 .*n=5"),
            (lambda: unbiased_variance(0.5, [5, 3], 4), "k=4 .*n=3 at element 1"),
            (lambda: unbiased_variance(-0.5, 5, 4), "p=-0.5"),
            (lambda: naive_variance(0.5, [1, 0], 4), "element 1: k=0"),
            (lambda: naive_variance(0.5, 1, 0), "t=0"),
            (lambda: naive_variance("x", 1, 1), "p .*str[0-9]*"),
        ],
    )
    def test_name_the_element(self, call: object, message: str) -> None:
        """What cannot be is a ValueError that says where and what."""
        assert callable(call)
        with pytest.raises(ValueError, match=rf"^{message}(?!\w)"):
            call()

    def test_nothing_gives_nothing(self) -> None:
        """Empty arrays give empty arrays."""
        for results in (
            plug_in_at_k([], [], 1),
            plug_in_bias([], 5, 2),
            unbiased_variance([], 5, 2),
            naive_variance([], 1, 1),
        ):
            assert (0,) == results.shape
