"""Planning a comparison: the formula, its inverse, and whether the promised power is met."""

from __future__ import annotations

import math

import numpy as np
import pytest

from passcurve.stats import minimum_detectable, plan, problems_needed, sign_flip_p

# z(.025) + z(.2) = 1.959964 + 0.841621 (any normal table).
Z = 1.959963985 + 0.841621234


def test_worked_by_hand() -> None:
    """A variance of .04 and a difference of .05 need (2.8016)^2 * 16 = 125.6, so 126 problems."""
    assert 126 == problems_needed(0.05, 0.04)
    assert Z * 0.2 / math.sqrt(126) == pytest.approx(minimum_detectable(126, 0.04), rel=1e-8)


@pytest.mark.parametrize("variance", [0.001, 0.04, 0.25])
def test_the_two_are_inverse(variance: float) -> None:
    """The problems needed detect the difference, and one fewer do not."""
    m = problems_needed(0.03, variance, 0.9, 0.9)
    assert minimum_detectable(m, variance, 0.9, 0.9) <= 0.03 < minimum_detectable(m - 1, variance, 0.9, 0.9)


class TestPlan:
    """From a pilot."""

    def pilot(self, n: int = 20, m: int = 164) -> tuple[np.ndarray, np.ndarray]:
        """Draw two runs whose true chances differ by about .05 and vary."""
        rng = np.random.default_rng(7)
        p = rng.beta(1, 1, m)
        other = np.clip(p + 0.05 + rng.normal(0, 0.1, m), 0, 1)
        return rng.binomial(n, other), rng.binomial(n, p)

    def test_follows_the_formula(self) -> None:
        """Between, within, detectable difference, floor and problems are those of the formula of the module."""
        c_a, c_b = self.pilot()
        result = plan(20, c_a, 20, c_b, difference=0.05)
        within = [float(np.mean(c / 20 * (1 - c / 20) / 19)) for c in (c_a, c_b)]
        between = float(np.var((c_a - c_b) / 20, ddof=1)) - sum(within)
        assert [*within, between] == pytest.approx([result.within_a, result.within_b, result.between])
        assert Z * math.sqrt((between + sum(within)) / 164) == pytest.approx(result.minimum_detectable)
        assert Z * math.sqrt(between / 164) == pytest.approx(result.floor)
        assert problems_needed(0.05, between + sum(within)) == result.problems

    def test_rows_fall_with_the_samples_towards_the_floor(self) -> None:
        """More samples need fewer problems and detect less, never less than the floor; rows below k are left out."""
        result = plan(20, self.pilot()[0], 20, self.pilot()[1], 5, difference=0.05)
        assert [5, 10, 20] == [row.n for row in result.rows][:3]
        detectable = [row.minimum_detectable for row in result.rows]
        assert sorted(detectable, reverse=True) == detectable
        assert detectable[-1] > result.floor
        assert [row.problems for row in result.rows] == sorted((row.problems or 0 for row in result.rows), reverse=True)

    def test_samples_are_the_fewest_that_do(self) -> None:
        """The samples named detect the difference and one fewer do not."""
        c_a, c_b = self.pilot()
        needed = plan(20, c_a, 20, c_b, difference=0.05).samples
        assert needed is not None
        rows = plan(20, c_a, 20, c_b, samples=(needed - 1, needed)).rows
        assert rows[1].minimum_detectable <= 0.05 < rows[0].minimum_detectable

    def test_says_when_only_more_problems_help(self) -> None:
        """Below the floor no number of samples is named, and the warning says to take more problems."""
        result = plan(20, self.pilot()[0], 20, self.pilot()[1], difference=0.01)
        assert result.samples is None
        assert any("164 problems" in warning and "0.01" in warning for warning in result.warnings)

    def test_one_run_and_a_guess(self) -> None:
        """From one run omega^2 is 2 (1 - correlation) times the variance between its problems, and it says so."""
        c = self.pilot()[0]
        unrelated, close = plan(20, c), plan(20, c, correlation=0.9)
        assert 0.1 * unrelated.between == pytest.approx(close.between)
        assert unrelated.warnings[0].startswith("planned from one run")

    def test_the_power_is_met(self) -> None:
        """With the problems and samples of the plan a true difference is found in about 80 % of 600 tries."""
        rng = np.random.default_rng(21)
        m, n, shift = problems_needed(0.05, (0.4 * 0.6 + 0.45 * 0.55) / 10), 10, 0.05
        results = 0
        for _ in range(600):
            a, b = rng.binomial(n, 0.4 + shift, m), rng.binomial(n, 0.4, m)
            results += sign_flip_p((a - b) / n).p <= 0.05
        assert 0.75 < results / 600 < 0.85

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"n_a": 5, "c_a": [1]}, "2 problems"),
            ({"n_a": 1, "c_a": [1, 0], "n_b": 4, "c_b": [1, 2]}, "sampling noise"),
            ({"n_a": 5, "c_a": [0, 0], "difference": 0.05}, "no variance"),
            ({"n_a": 5, "c_a": [5, 0], "n_b": 5, "c_b": [5, 0]}, "no variance"),
            ({"n_a": 5, "c_a": [1, 2], "n_b": 5}, "n_b and c_b"),
            ({"n_a": 5, "c_a": [1, 2], "difference": 0.0}, "difference=0.0"),
            ({"n_a": 5, "c_a": [1, 2], "correlation": 2.0}, "correlation=2.0"),
            ({"n_a": 5, "c_a": [1, 2], "power": 1.0}, "power=1.0"),
        ],
    )
    def test_refuses(self, arguments: dict[str, object], message: str) -> None:
        """A pilot that tells nothing and settings that cannot be are a ValueError."""
        with pytest.raises(ValueError, match=message):
            plan(**arguments)  # type: ignore[arg-type]
