"""The four estimators: exact moments against exact sums over all outcomes, simulations within their stated error."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from passcurve.errors import UsageError
from passcurve.lab.estimators import estimators, plug_in_variance


def over_all_outcomes(p, n, k, estimator):
    """Return expectation and variance of an estimator of (n, c, k), summed over c in fractions."""
    weights = [math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    values = [estimator(n, c, k) for c in range(n + 1)]
    mean = sum(w * v for w, v in zip(weights, values, strict=True))
    return mean, sum(w * (v - mean) ** 2 for w, v in zip(weights, values, strict=True))


def plug_in(n, c, k):
    """1 - (1 - c/n)^k."""
    return 1 - Fraction(n - c, n) ** k


def unbiased(n, c, k):
    """1 - C(n-c, k) / C(n, k)."""
    return 1 - Fraction(math.comb(n - c, k), math.comb(n, k))


@pytest.mark.parametrize(("p", "k", "n"), [(0.1, 10, 10), (0.1, 10, 25), (0.5, 3, 40), (0.015625, 7, 60), (0.9, 2, 5)])
def test_the_moments_are_those_of_the_formulas(p, k, n):
    """Expectation and variance of each estimator agree with sums over all outcomes in fractions, to 1e-12."""
    (row,) = estimators(p, k, [n], draws=2).rows
    exact = Fraction(p)  # the float as it is
    hit = 1 - (1 - exact) ** k
    wanted = {
        "first_k": (hit, hit * (1 - hit)),
        "repeated": (hit, hit * (1 - hit) / (n // k)),
        "plug_in": over_all_outcomes(exact, n, k, plug_in),
        "unbiased": over_all_outcomes(exact, n, k, unbiased),
    }
    for name, (mean, variance) in wanted.items():
        result = getattr(row, name)
        assert float(mean) == pytest.approx(result.expectation, rel=1e-12)
        assert float(variance) == pytest.approx(result.variance, rel=1e-12)
        assert float(mean - hit) == pytest.approx(result.bias, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(("p", "k"), [(0.1, 10), (0.4, 3), (0.01, 50)])
def test_simulations_agree_within_their_stated_error(p, k):
    """Every simulated mean lies within 4.5 standard errors of the exact expectation: 84 comparisons, one seed."""
    for row in estimators(p, k, seed=7).rows:
        for results in (row.first_k, row.repeated, row.plug_in, row.unbiased):
            assert abs(results.simulated - results.expectation) <= 4.5 * results.simulated_se + 1e-12


def test_a_simulation_is_its_seed():
    """The same seed gives the same numbers, another gives others."""
    one, same, other = (estimators(0.3, 2, [10], seed=seed) for seed in (1, 1, 2))
    assert one == same
    assert one.rows != other.rows


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_where_nothing_is_left_to_chance_nothing_varies(p):
    """With p = 0 or 1 every estimator is p, without variance."""
    (row,) = estimators(p, 3, [7], draws=5).rows
    for results in (row.first_k, row.repeated, row.plug_in, row.unbiased):
        assert (p, 0.0, p) == (results.expectation, results.variance, results.simulated)


def test_the_variance_of_the_plug_in_of_many_samples_is_the_one_of_the_delta_method():
    """For n = 10,000 it is k^2 q^(2k-2) p q / n but for terms of higher order."""
    p, k, n = 0.2, 4, 10_000
    assert k**2 * (1 - p) ** (2 * k - 2) * p * (1 - p) / n == pytest.approx(plug_in_variance(p, n, k), rel=2e-3)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((1.5, 10, [10]), "p=1.5 "),
        ((0.1, 0, []), "k=0 "),
        ((0.1, 10, [9]), "n=9 .*k=10"),
        ((0.1, 10, [20_000]), "n=20000 "),
        ((0.1, 20_000, []), "n=20000 "),
    ],
)
def test_what_cannot_be_is_refused(words, message):
    """What lies outside the definition is a usage error that names the number."""
    with pytest.raises(UsageError, match=message):
        estimators(*words)
