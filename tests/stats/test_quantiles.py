"""Quantiles, beside scipy, closed forms and the probabilities that they must have."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.special import betainc, betaincinv, ndtri, stdtrit

from passcurve.stats.quantiles import beta_quantile, beta_quantiles, normal_quantile, t_quantile

TAILS = (1e-12, 1e-6, 0.0005, 0.005, 0.025, 0.05, 0.1, 0.25, 0.4)


@pytest.mark.parametrize("tail", [*TAILS, 0.5, 0.9])
def test_normal_quantile_is_that_of_scipy(tail: float) -> None:
    """The normal quantile is that of scipy."""
    assert normal_quantile(tail) == pytest.approx(-ndtri(tail), rel=1e-14, abs=1e-15)


@pytest.mark.parametrize("freedom", [1, 1.5, 2, 3, 5, 9.5, 30, 165, 399, 1e3, 1e4, 1e6, 1e12, math.inf])
@pytest.mark.parametrize("tail", TAILS)
def test_t_quantile_is_that_of_scipy(freedom: float, tail: float) -> None:
    """The quantile of Student's t is that of scipy, on both sides."""
    assert t_quantile(freedom, tail) == pytest.approx(-stdtrit(freedom, tail), rel=1e-12)
    assert t_quantile(freedom, 1.0 - tail) == pytest.approx(-t_quantile(freedom, tail), rel=1e-4)


@pytest.mark.parametrize("tail", [1e-100, *TAILS, 0.49, 0.4999])
def test_t_quantile_has_its_closed_forms(tail: float) -> None:
    """One degree of freedom makes a Cauchy variable; with two, t / sqrt(2 + t * t) is uniform."""
    share = 1.0 - 2.0 * tail
    assert t_quantile(1, tail) == pytest.approx(1.0 / math.tan(math.pi * tail), rel=1e-12)
    assert t_quantile(2, tail) == pytest.approx(share / math.sqrt(2.0 * tail * (1.0 - tail)), rel=1e-12)


def test_t_quantile_does_not_jump_where_the_expansion_begins() -> None:
    """Both ways of computing it agree where they meet."""
    z = normal_quantile(0.025)
    border = 1000.0 * (1.0 + z * z)
    assert t_quantile(border * (1 - 1e-9), 0.025) == pytest.approx(t_quantile(border * (1 + 1e-9), 0.025), rel=1e-12)


def test_half_of_all_is_above_zero() -> None:
    """Student's t is symmetric."""
    assert t_quantile(7, 0.5) == 0.0


@pytest.mark.parametrize(("freedom", "tail"), [(0.5, 0.025), (math.nan, 0.025), (3, 0.0), (3, 1.0), (3, math.nan)])
def test_t_quantile_refuses_what_has_none(freedom: float, tail: float) -> None:
    """Nothing is returned for freedom or tails without a quantile."""
    with pytest.raises(ValueError, match="no quantile of Student's t"):
        t_quantile(freedom, tail)


@pytest.mark.parametrize("a", [0.01, 0.5, 1.0, 3.0, 17.5, 400.0, 1e4, 1e6])
@pytest.mark.parametrize("b", [0.5, 1.0, 2.0, 33.0, 1500.5, 1e5])
def test_beta_quantile_has_its_probability(a: float, b: float) -> None:
    """The probability below the quantile is the one asked for, says scipy."""
    for tail in (1e-9, 0.005, 0.025, 0.5, 0.975):
        x = beta_quantile(a, b, tail)
        if 1e-290 < x < 1.0 - 1e-9:
            # Its slope in x magnifies the last digit of x.
            slope = 4e-16 * max(a, b, 1.0) / min(x, 1.0 - x, 0.1)
            assert float(betainc(a, b, x)) == pytest.approx(tail, rel=1e-11 + slope), (tail, x)


def test_beta_quantile_has_its_closed_forms() -> None:
    """P(X < x) is x ** a for Beta(a, 1), and 1 - (1 - x) ** b for Beta(1, b)."""
    for shape, tail in itertools.product((0.3, 1.0, 7.0, 1e5), TAILS):
        assert beta_quantile(shape, 1.0, tail) == pytest.approx(tail ** (1.0 / shape), rel=1e-12)
        assert beta_quantile(1.0, shape, tail) == pytest.approx(-math.expm1(math.log1p(-tail) / shape), rel=1e-11)
    # By symmetry.
    assert beta_quantile(12.5, 12.5, 0.5) == pytest.approx(0.5, rel=1e-15)


def test_a_quantile_too_small_for_a_float_is_zero() -> None:
    """The search ends where no float is small enough."""
    assert beta_quantile(1e-9, 2.0, 0.025) == 0.0


def test_quantiles_broadcast_and_long_arrays_are_like_short_ones() -> None:
    """Shapes are those of numpy, and both ways of computing agree."""
    a = np.arange(1.0, 101.0)[:, None]
    b = np.arange(1.0, 101.0)[None, :]
    long = beta_quantiles(a, b, 0.025)
    short = beta_quantiles(a[:3], b, 0.025)
    assert long.shape == (100, 100)
    assert short.shape == (3, 100)
    np.testing.assert_allclose(short, long[:3], rtol=1e-12)
    np.testing.assert_allclose(long, betaincinv(a, b, 0.025), rtol=1e-12)
    assert beta_quantiles(2.0, 3.0, 0.5).shape == ()


def test_huge_arguments_end() -> None:
    """Counts of any size end in time."""
    huge = float(2**53)
    assert beta_quantiles(huge, huge, 0.025) == pytest.approx(0.5, rel=1e-7)


def test_what_is_no_number_stays_none() -> None:
    """NaN ends in NaN, and in time."""
    assert np.isnan(beta_quantiles([1.0, math.nan], 2.0, 0.025)[1])
