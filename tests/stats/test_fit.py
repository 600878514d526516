"""The beta-binomial model: against scipy, quadrature and exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from passcurve.stats import beta_binomial_fit, beta_posterior_pass_at_k


def sample(a: float, b: float, n: list[int], seed: int) -> np.ndarray:
    """Draw counts from the model."""
    rng = np.random.default_rng(seed)
    return rng.binomial(n, rng.beta(a, b, len(n)))


class TestFit:
    """The maximum of the likelihood."""

    @pytest.mark.parametrize(
        ("a", "b", "n"),
        [(1, 1, [20] * 164), (0.2, 0.8, [10] * 164), (0.3, 0.3, [200] * 60), (5, 2, [2, 3, 5, 9] * 25)],
    )
    def test_is_the_maximum_that_scipy_finds(self, a: float, b: float, n: list[int]) -> None:
        """Value and place agree with a minimiser of scipy on the log-probabilities of scipy.stats.betabinom."""
        c = sample(a, b, n, 11)
        result = beta_binomial_fit(n, c)
        theirs = optimize.minimize(
            lambda x: -stats.betabinom.logpmf(c, n, *np.exp(x)).sum(),
            [0.0, 0.0],
            method="Nelder-Mead",
            options={"xatol": 1e-7, "fatol": 1e-9, "maxiter": 4000},
        )
        assert -theirs.fun == pytest.approx(result.log_likelihood, abs=1e-7)
        assert np.exp(theirs.x).tolist() == pytest.approx([result.a, result.b], rel=1e-4)

    def test_log_likelihood_is_that_of_scipy(self) -> None:
        """At the values returned the log-likelihood is the sum that scipy.stats.betabinom gives."""
        n, c = [5, 8, 8, 3, 10], [1, 8, 0, 2, 5]
        a, b, value = beta_binomial_fit(n, c)
        assert stats.betabinom.logpmf(c, n, a, b).sum() == pytest.approx(value, rel=1e-10)

    def test_ends_where_the_likelihood_is_flat(self) -> None:
        """Problems more alike than chance end at a + b = 10^6, problems that always or never pass at .001."""
        alike, different = beta_binomial_fit([10] * 30, [3] * 30), beta_binomial_fit([10] * 30, [0, 10, 0] * 10)
        assert [1e6, 0.3] == pytest.approx([alike.a + alike.b, alike.a / (alike.a + alike.b)], rel=1e-6)
        assert [1e-3, 1 / 3] == pytest.approx(
            [different.a + different.b, different.a / (different.a + different.b)], rel=1e-3
        )

    @pytest.mark.parametrize(
        ("n", "c", "message"),
        [
            ([5, 5], [0, 0], ".*10 samples failed"),
            ([5, 6], [5, 6], ".*11 samples passed"),
            ([1, 1, 1], [0, 1, 1], ".*one sample"),
            ([], [], ".*no problems"),
        ],
    )
    def test_refuses_where_nothing_can_be_fitted(self, n: list[int], c: list[int], message: str) -> None:
        """Saturated counts, one sample of each, and no problem are a ValueError."""
        with pytest.raises(ValueError, match=rf"^{message}(?!\w)"):
            beta_binomial_fit(n, c)


class TestPosterior:
    """What the model says of one problem."""

    @pytest.mark.parametrize(("n", "c", "k"), [(10, 0, 10), (10, 3, 1), (5, 5, 20), (7, 2, 3)])
    def test_is_exact_for_a_uniform_prior(self, n: int, c: int, k: int) -> None:
        """With a = b = 1 the moments of 1-p are ratios of factorials; 0 of 10 at k = 10 gives .476."""

        def moment(t: int) -> Fraction:
            x, y = 1 + c, 1 + n - c
            return math.prod((Fraction(y + j, x + y + j) for j in range(t)), start=Fraction(1))

        result = beta_posterior_pass_at_k([n], [c], k, 1, 1)
        assert float(1 - moment(k)) == pytest.approx(result.mean[0], rel=1e-13)
        assert float(moment(2 * k) - moment(k) ** 2) == pytest.approx(result.variance[0], rel=1e-12)
        if (n, c, k) == (10, 0, 10):
            assert 0.476 == round(float(result.mean[0]), 3)

    def test_agrees_with_quadrature(self) -> None:
        """Mean and variance are those of 1 - (1-p)^k over the beta density, by scipy's quadrature."""
        law = stats.beta(0.7 + 3, 1.9 + 5)
        result = beta_posterior_pass_at_k([8], [3], 4, 0.7, 1.9)
        mean = integrate.quad(lambda p: (1 - (1 - p) ** 4) * law.pdf(p), 0, 1)[0]
        square = integrate.quad(lambda p: (1 - (1 - p) ** 4) ** 2 * law.pdf(p), 0, 1)[0]
        assert [mean, square - mean**2] == pytest.approx([result.mean[0], result.variance[0]], rel=1e-8)

    def test_large_k_has_finite_moments(self) -> None:
        """At k = 20,000 of n = 100,000, where the quotient of the moments exceeds any float, the variance is 0."""
        result = beta_posterior_pass_at_k([100_000], [40_000], 20_000, 0.2, 0.8)
        assert [1.0, 0.0] == [result.mean[0], result.variance[0]]

    def test_refuses_a_prior_that_is_none(self) -> None:
        """Both a and b must be positive and finite."""
        with pytest.raises(ValueError, match=r"^b=0\b"):
            beta_posterior_pass_at_k([3], [1], 1, 1, 0)
