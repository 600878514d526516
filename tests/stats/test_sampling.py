"""The variance of fresh samples: against enumeration over every outcome."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest

from passcurve.stats import exact_pass_at_k, sampling_variance, var_pass_at_k
from passcurve.stats.sampling import largest_variance, overlap_probabilities


def exact_variance(n: int, k: int, p: Fraction) -> Fraction:
    """Variance of the unbiased estimate, over all outcomes c = 0 .. n with their binomial chances."""
    law = [math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    values = [exact_pass_at_k(n, c, k) for c in range(n + 1)]
    mean = sum(w * v for w, v in zip(law, values, strict=True))
    return sum((w * (v - mean) ** 2 for w, v in zip(law, values, strict=True)), Fraction(0))


@pytest.mark.parametrize(("n", "k"), [(1, 1), (6, 1), (6, 3), (7, 5), (9, 9)])
def test_overlap_gives_the_variance(n: int, k: int) -> None:
    """The sum of h(j) q^(2k-j) less q^(2k) is the variance over all outcomes."""
    p = Fraction(3, 10)
    q = float(1 - p)
    formula = sum(h * q ** (2 * k - j) for j, h in enumerate(overlap_probabilities(n, k))) - q ** (2 * k)
    assert float(exact_variance(n, k, p)) == pytest.approx(formula, rel=1e-11)


@pytest.mark.parametrize(("n", "k", "at"), [(6, 3, 4), (8, 2, 20), (5, 1, 1), (10, 4, 4)])
def test_is_unbiased_for_any_number_of_samples(n: int, k: int, at: int) -> None:
    """Its mean over all outcomes of n samples is the variance that ``at`` samples would have."""
    p = Fraction(2, 5)
    chances = [float(math.comb(n, c) * p**c * (1 - p) ** (n - c)) for c in range(n + 1)]
    result = sampling_variance(n, np.arange(n + 1), k, at)
    assert float(exact_variance(at, k, p)) == pytest.approx(float(result.variance @ chances), rel=1e-10)
    assert ("unbiased", "") == result[1:]


def test_is_var_pass_at_k_for_the_samples_at_hand() -> None:
    """Without ``at`` and with 2k <= n it is var_pass_at_k."""
    assert var_pass_at_k(10, [0, 3, 10], 5).tolist() == sampling_variance(10, [0, 3, 10], 5).variance.tolist()


def test_comes_from_the_model_where_nothing_unbiased_exists() -> None:
    """At 2k > n it is the model's, the reason says so, and it lies near the truth for data from the model."""
    rng = np.random.default_rng(1)
    p = rng.beta(1, 2, 2000)
    result = sampling_variance(5, rng.binomial(5, p), 5)
    q = 1 - p
    assert float(np.mean(q**5 - q**10)) == pytest.approx(float(result.variance.mean()), rel=0.05)
    assert "beta-binomial" == result.method
    assert re.search(r"unbiased.*2k = 10 .*5$", result.reason)


@pytest.mark.parametrize(("n", "c"), [(1, [0, 1, 1]), (4, [0, 0]), (4, [4, 4])])
def test_says_where_there_is_none(n: int, c: list[int]) -> None:
    """One sample of each problem, or all alike, leave NaN and a reason."""
    result = sampling_variance(n, c, n)
    assert np.isnan(result.variance).all()
    assert "none" == result.method
    assert "no model can be fitted either" in result.reason


def test_largest_variance_bounds_all() -> None:
    """No chance p varies more than the largest variance, which some p reaches within a thousandth."""
    for n, k in ((5, 1), (10, 5), (4, 4), (100, 10)):
        of = [float(exact_variance(n, k, Fraction(i, 200))) for i in range(201)] if n < 50 else [0.0]
        assert max(of) <= largest_variance(n, k) * 1.001
        if n < 50:
            assert max(of) == pytest.approx(largest_variance(n, k), rel=1e-3)


def test_refuses_unbiased_where_it_does_not_exist() -> None:
    """Asked for by name it is a ValueError with the reason; so are fewer samples than k."""
    with pytest.raises(ValueError, match=r"unbiased.*2k = 4 "):
        sampling_variance(3, [1, 2], 2, method="unbiased")
    with pytest.raises(ValueError, match=r"^at=1 .*k=2\b"):
        sampling_variance(4, [1, 2], 2, at=1)
