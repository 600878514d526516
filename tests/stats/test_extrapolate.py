"""Past n, and over temperatures: by hand, against scipy, and where nothing can be said."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import optimize, stats

from passcurve.stats import beta_binomial_fit, extrapolate, pass_at_k, temperature_hull
from passcurve.stats.rows import check_row
from passcurve.stats.zero_inflated import fit_zero_inflated


def drawn(seed: int, impossible: float, m: int = 164, n: int = 20) -> np.ndarray:
    """Draw counts of problems of which a share is impossible and the rest uniform."""
    rng = np.random.default_rng(seed)
    return rng.binomial(n, rng.random(m) * (rng.random(m) >= impossible))


class TestExtrapolate:
    """Four models."""

    def test_beta_binomial_is_a_ratio_of_beta_functions(self) -> None:
        """At k = 3 it is 1 - b(b+1)(b+2) / ((a+b)(a+b+1)(a+b+2))."""
        c = drawn(1, 0.0)
        a, b, _ = beta_binomial_fit(20, c)
        by_hand = 1 - math.prod((b + j) / (a + b + j) for j in range(3))
        assert by_hand == pytest.approx(extrapolate(20, c, 3).beta_binomial[0], rel=1e-10)

    def test_zero_inflated_is_the_maximum_that_another_minimiser_finds(self) -> None:
        """Its likelihood is that of a global search by scipy's differential evolution over the same model."""
        c = drawn(2, 0.5, m=80)
        ours = fit_zero_inflated(check_row(20, c))
        constant = sum(math.log(math.comb(20, x)) for x in c.tolist())

        def loss(x: np.ndarray) -> float:
            chance = (1 - x[0]) * stats.betabinom.pmf(c, 20, math.exp(x[1]), math.exp(x[2])) + x[0] * (c == 0)
            return -float(np.log(chance).sum())

        theirs = optimize.differential_evolution(loss, [(0.001, 0.99), (-4, 4), (-4, 4)], seed=1, tol=1e-8)
        assert -theirs.fun == pytest.approx(ours.log_likelihood + constant, abs=1e-4)
        assert theirs.x[0] == pytest.approx(ours.impossible, abs=1e-3)

    @pytest.mark.parametrize("c", [[0, 41, 43], [0, 0, 30, 31, 33], [0, 0, 0, 50]])
    def test_zero_inflated_where_the_likelihood_is_flat(self, c: list[int]) -> None:
        """Problems that are alike but for some that never passed: the share of those is what no k goes beyond."""
        passed = sum(x > 0 for x in c) / len(c)
        assert extrapolate(100, c, [200, 1000]).zero_inflated.tolist() == pytest.approx([passed, passed], abs=1e-6)

    def test_zero_inflated_goes_to_the_end_of_a_flat_likelihood(self) -> None:
        """One pass on each of 3 of 12 problems: all are alike, and k draws find one with 1 - (1 - p)^k, p = 1/20."""
        result = extrapolate(5, [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0], [10, 50])
        assert result.zero_inflated.tolist() == pytest.approx([1 - 0.95**10, 1 - 0.95**50], abs=1e-4)

    def test_power_law_goes_through_a_power_law(self) -> None:
        """With two samples of each it is the line through pass@1 and pass@2: hand computed at k = 4."""
        c = [0, 1, 1, 2, 0]
        one, two = (float(pass_at_k(2, c, k).mean()) for k in (1, 2))
        slope = math.log(math.log(two) / math.log(one), 2)
        assert math.exp(math.log(one) * 4**slope) == pytest.approx(extrapolate(2, c, 4).power_law[0], rel=1e-10)

    def test_chao2_worked_by_hand(self) -> None:
        """With n = 10, 8 of 20 problems passed, 3 of them once, 2 twice: Q0 = .9 * 9/4 = 2.025, and 5 samples more."""
        c = [1, 1, 1, 2, 2, 5, 7, 9] + [0] * 12
        expected = (8 + 2.025 * (1 - (1 - 3 / (10 * 2.025 + 3)) ** 5)) / 20
        result = extrapolate(10, c, [10, 15])
        assert [8 / 20, expected] == pytest.approx(result.chao2.tolist(), rel=1e-12)

    def test_chao2_without_a_problem_passed_twice(self) -> None:
        """With Q2 = 0 the bias-corrected form is used: Q0 = .9 * 3 * 2 / 2."""
        c = [1, 1, 1, 5] + [0] * 6
        assert (4 + 2.7 * (1 - (1 - 3 / 30) ** 10)) / 10 == pytest.approx(extrapolate(10, c, 20).chao2[0], rel=1e-12)

    def test_each_model_finds_its_own(self) -> None:
        """On 3,000 problems drawn from it the zero-inflated model is right at 10 n, and the plain one is not."""
        result = extrapolate(20, drawn(3, 0.4, m=3000), 200)
        truth = 0.6 * (1 - 1 / 201)
        assert truth == pytest.approx(result.zero_inflated[0], abs=0.03)
        assert abs(result.beta_binomial[0] - truth) > 0.05

    def test_the_spread_is_that_of_the_models(self) -> None:
        """Low and high are the least and largest of the four, and every value is labelled as a model's."""
        result = extrapolate(20, drawn(4, 0.3), [20, 40, 100])
        four = np.stack([result.beta_binomial, result.zero_inflated, result.power_law, result.chao2])
        assert four.min(axis=0).tolist() == result.low.tolist()
        assert four.max(axis=0).tolist() == result.high.tolist()
        assert any(warning.startswith("model-based") for warning in result.warnings)
        assert any("far beyond" in warning for warning in result.warnings)

    @pytest.mark.parametrize("passed", [0, 4])
    def test_saturated_data_have_no_continuation(self, passed: int) -> None:
        """Where all failed or all passed every value is NaN and the reason says so."""
        result = extrapolate(4, [passed] * 9, 8)
        assert np.isnan([*result.low, *result.high, *result.chao2]).all()
        assert result.reasons[0].startswith("every sample ")

    def test_a_model_without_a_word_says_why(self) -> None:
        """With one sample of each no model but none speaks, each with its reason; unequal n silence Chao2."""
        result = extrapolate(1, [0, 1, 1], 2)
        assert np.isnan(result.high).all()
        assert 4 == len(result.reasons)
        assert any(reason.startswith("Chao2: ") for reason in extrapolate([4, 5, 5], [1, 2, 0], 8).reasons)

    def test_ten_times_n_only_when_asked(self) -> None:
        """Past 10 n it is a ValueError unless far is said."""
        with pytest.raises(ValueError, match=r"^k=101 .*100.*far=True"):
            extrapolate(10, drawn(5, 0.2, 30, 10), 101)
        assert extrapolate(10, drawn(5, 0.2, 30, 10), 101, far=True).high[0] <= 1.0

    def test_refuses(self) -> None:
        """A k below 1 and counts that cannot be are a ValueError."""
        with pytest.raises(ValueError, match=r"^k "):
            extrapolate(4, [1, 2], [0])
        with pytest.raises(ValueError, match=r"^element 1: n=4, c=5\b"):
            extrapolate(4, [1, 5], 8)


class TestHull:
    """Several temperatures."""

    def test_curves_and_upper_hull(self) -> None:
        """Each curve is the mean of pass_at_k, the upper hull their maximum, and best the temperature that has it."""
        c = [[10, 10, 0, 0], [4, 3, 3, 5]]
        result = temperature_hull([0.2, 1.0], 10, c, [1, 5], splits=20)
        assert np.allclose([[pass_at_k(10, row, k).mean() for k in (1, 5)] for row in c], result.curves)
        assert result.curves.max(axis=0).tolist() == result.upper.tolist()
        assert [0.2, 1.0] == result.best.tolist()
        assert (20, 0) == (result.splits, result.seed)

    @pytest.mark.nightly
    def test_the_honest_value_has_no_bias(self) -> None:
        """With five equal temperatures the honest value is right on average, and the plain hull is too high."""
        rng = np.random.default_rng(6)
        p = rng.random(60)
        truth = float(p.mean())
        results = [
            temperature_hull(np.arange(5), 10, rng.binomial(10, p, (5, 60)), [1], splits=10, seed=i) for i in range(400)
        ]
        honest, upper = (np.array([getattr(item, name)[0] for item in results]) for name in ("honest", "upper"))
        assert abs(honest.mean() - truth) < 4 * honest.std() / 20
        # The largest of five independent normal numbers is 1.163 standard deviations up (Tippett 1925).
        se = math.sqrt((p * (1 - p) / 10).sum()) / 60
        assert 1.163 == pytest.approx((upper.mean() - truth) / se, abs=0.15)

    def test_a_clear_winner_is_always_chosen(self) -> None:
        """Where one temperature is far better it is chosen in every split, and the choice costs nothing at all."""
        result = temperature_hull([0.0, 1.0], 10, [[0] * 6, [9, 7, 9, 6, 10, 5]], [1, 2])
        assert [[0.0, 0.0], [1.0, 1.0]] == result.chosen.tolist()
        assert [0.0, 0.0] == result.optimism.tolist()

    def test_the_honest_value_is_that_of_all_splits(self) -> None:
        """It strays little from the mean over all ways to halve the samples of two problems at two temperatures."""
        c = np.array([[2, 2], [1, 3]])
        total = weights = 0.0
        for first in product(range(3), repeat=4):
            halves = np.array(first).reshape(2, 2)
            weight = math.prod(
                math.comb(passed, own) * math.comb(4 - passed, 2 - own)
                for passed, own in zip(c.ravel().tolist(), first, strict=True)
            )
            if weight:
                chosen = pass_at_k(2, halves, 1).mean(axis=1).argmax()
                total += weight * float(pass_at_k(2, c - halves, 1).mean(axis=1)[chosen])
                weights += weight
        result = temperature_hull([0.2, 1.0], 4, c, [1], splits=5000)
        assert total / weights == pytest.approx(result.honest[0], abs=0.01)

    def test_refuses(self) -> None:
        """A k above half of n and a table of another shape are a ValueError."""
        with pytest.raises(ValueError, match=r"^k=3 .*6 .*5$"):
            temperature_hull([0.2, 1.0], 5, [[1, 2], [3, 4]], [3])
        with pytest.raises(ValueError, match=r"^c .*\(2, m\).*\(1, 2\)$"):
            temperature_hull([0.2, 1.0], 5, [[1, 2]], [1])
