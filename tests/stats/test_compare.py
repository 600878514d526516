"""Two runs on the same problems: by hand, against scipy, and at the edges."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from passcurve.stats import holm, mcnemar_exact, paired_difference, sign_flip_p, stratified_permutation_p


class TestPairedDifference:
    """Difference, intervals and counts."""

    def test_worked_by_hand(self) -> None:
        """Three problems: pass@1 of A 1, 1/2, 1/2, of B 1/2, 1/2, 0; d = 1/2, 0, 1/2 and its paired t interval."""
        result = paired_difference(4, [4, 2, 2], 4, [2, 2, 0])
        assert [0.5, 0.0, 0.5] == result.differences.tolist()
        assert (3, 1, 2, 1, 0) == (result.m, result.k, result.wins, result.ties, result.losses)
        assert 1 / 3 == pytest.approx(result.difference)
        # t(2, .975) = 4.302653 (any t table), s^2 = 1/12, divided by 3 problems.
        reach = 4.302653 * math.sqrt(1 / 36)
        assert [1 / 3 - reach, 1.0] == pytest.approx([*result.paired_t], abs=1e-6)
        # With -1 and 1 appended: mean 1/5, sum of squares 5/2, s^2 = (5/2 - 5/25)/4, t(4, .975) = 2.776445.
        reach = 2.776445 * math.sqrt((2.5 - 0.2) / 4 / 5)
        assert [0.2 - reach, min(1.0, 0.2 + reach)] == pytest.approx([*result.new_problems], abs=1e-6)

    def test_paired_t_is_that_of_scipy(self) -> None:
        """The paired t interval is the one of scipy.stats.ttest_rel."""
        rng = np.random.default_rng(3)
        c_a, c_b = rng.integers(0, 11, 30), rng.integers(0, 11, 30)
        ours = paired_difference(10, c_a, 10, c_b, level=0.9).paired_t
        theirs = stats.ttest_rel(c_a / 10, c_b / 10).confidence_interval(0.9)
        assert [theirs.low, theirs.high] == pytest.approx([*ours], rel=1e-12)

    def test_is_the_interval_of_bonett_and_price_with_t_for_z(self) -> None:
        """For n = k = 1 the centre is (b - c)/(m + 2) and the variance that of b + 1 and c + 1 of m + 2."""
        m, b, c = 40, 9, 4
        verdicts_a = [1] * b + [0] * (m - b)
        verdicts_b = [0] * b + [1] * c + [0] * (m - b - c)
        result = paired_difference(1, verdicts_a, 1, verdicts_b)
        centre = (b - c) / (m + 2)
        variance = ((b + 1 + c + 1) / (m + 2) - centre**2) / (m + 1)
        reach = float(stats.t.ppf(0.975, m + 1)) * math.sqrt(variance)
        assert [centre - reach, centre + reach] == pytest.approx([*result.new_problems], rel=1e-9)

    def test_the_test_is_the_sign_flip_test(self) -> None:
        """The p-value is that of sign_flip_p, and McNemar's stands beside it only where n = k = 1."""
        result = paired_difference(1, [1] * 8 + [0] * 4, 1, [0] * 8 + [1] * 2 + [0] * 2)
        assert sign_flip_p([1.0] * 8 + [-1.0] * 2 + [0.0] * 2) == result.p
        assert result.p.p == pytest.approx(result.mcnemar, rel=1e-12)
        assert math.isnan(paired_difference(2, [1, 2], 2, [0, 1]).mcnemar)

    def test_variance_splits_in_two(self) -> None:
        """The variance of the differences is that between problems and that of fresh samples, added."""
        rng = np.random.default_rng(8)
        c_a, c_b = rng.integers(0, 21, 50), rng.integers(0, 21, 50)
        result = paired_difference(20, c_a, 20, c_b)
        within = np.mean([c / 20 * (1 - c / 20) / 19 for c in [*c_a, *c_b]]) * 2
        assert within == pytest.approx(result.within, rel=1e-12)
        assert float(np.var(result.differences, ddof=1)) == pytest.approx(result.between + result.within, rel=1e-12)

    def test_minimum_detectable_difference(self) -> None:
        """It is 1.959964 + .841621 (any normal table) standard errors of the differences."""
        result = paired_difference(10, [3, 9, 5, 0], 10, [1, 9, 2, 4])
        expected = 2.801585 * float(np.std([0.2, 0.0, 0.3, -0.4], ddof=1)) / 2
        assert expected == pytest.approx(result.minimum_detectable, rel=1e-6)

    def test_swapping_the_runs_mirrors_everything(self) -> None:
        """B against A is minus A against B."""
        one = paired_difference(5, [5, 3, 1, 0], 6, [2, 3, 1, 1], 2)
        other = paired_difference(6, [2, 3, 1, 1], 5, [5, 3, 1, 0], 2)
        assert -one.difference == other.difference
        assert [-one.new_problems.high, -one.new_problems.low] == pytest.approx([*other.new_problems], abs=1e-15)
        assert (one.wins, one.losses, one.p.p) == (other.losses, other.wins, other.p.p)

    def test_equal_runs_keep_a_width(self) -> None:
        """Where every verdict agrees the difference is 0, p is 1, and both intervals have a width and a warning."""
        result = paired_difference(5, [5, 0, 3] * 10, 5, [5, 0, 3] * 10)
        assert (0.0, 1.0, 30) == (result.difference, result.p.p, result.ties)
        assert result.new_problems.high - result.new_problems.low > 2 / 32
        assert result.these_problems.high > 0.0 > result.these_problems.low
        assert math.isnan(result.minimum_detectable)
        assert any("not certainty" in warning for warning in result.warnings)

    def test_rounding_makes_no_difference(self) -> None:
        """9 of 19 and 28 of 58 have pass@2 = 14/19, though not to the last bit, and .1 + .2 - .3 is no lead."""
        result = paired_difference([19, 58], [9, 28], [58, 19], [28, 9], 2)
        assert (0.0, 0, 2, 0) == (result.difference, result.wins, result.ties, result.losses)
        result = paired_difference(10, [1, 2, 0], 10, [0, 0, 3])
        assert (0.0, 2, 0, 1) == (result.difference, result.wins, result.ties, result.losses)

    @pytest.mark.parametrize("passed", [0, 7])
    def test_saturated_runs_keep_a_width(self, passed: int) -> None:
        """Runs in which all samples failed, or passed, are not certain either."""
        result = paired_difference(7, [passed] * 20, 7, [passed] * 20, 3)
        assert result.new_problems.low < 0.0 < result.new_problems.high
        assert result.these_problems.low < 0.0 < result.these_problems.high

    def test_one_sample_of_each_has_no_interval_for_these_problems(self) -> None:
        """With n = 1 sampling noise cannot be told from differences between problems; NaN, and a warning says so."""
        result = paired_difference(1, [1, 0, 1], 1, [0, 0, 1])
        assert [True, True] == np.isnan(result.these_problems).tolist()
        assert any(warning.startswith("no interval for these problems: ") for warning in result.warnings)

    def test_one_problem(self) -> None:
        """One problem has no paired t interval, and a warning."""
        result = paired_difference(10, [9], 10, [1])
        assert [True, True] == np.isnan(result.paired_t).tolist()
        assert 1.0 == result.p.p
        assert any("one problem" in warning for warning in result.warnings)

    def test_unequal_samples(self) -> None:
        """With different numbers of samples p is the larger of the two tests, and it says which and why."""
        warnings_seen = set()
        for n_a, c_a, n_b, c_b in (
            (20, [1, 1, 1, 0, 1, 2, 1, 0, 1, 1], 1, [0] * 10),
            (10, [9, 10, 4, 9, 0, 10, 8, 9], 5, [1, 0, 5, 1, 4, 0, 2, 1]),
        ):
            result = paired_difference(n_a, c_a, n_b, c_b)
            flips = sign_flip_p(result.differences)
            within = stratified_permutation_p(n_a, c_a, n_b, c_b)
            assert max(flips.p, within.p) == result.p.p
            assert ("sign flips" if flips.p >= within.p else "permutation within problems") == result.p_test
            assert any("p is the larger of two tests" in warning for warning in result.warnings)
            warnings_seen.add(result.p_test)
        assert {"sign flips", "permutation within problems"} == warnings_seen

    def test_rare_passes_of_many_against_one_sample(self) -> None:
        """Six lone passes among 20 samples each against none of 1 are no evidence, though all six signs agree."""
        c_a = [1] * 6 + [0] * 14
        result = paired_difference(20, c_a, 1, [0] * 20)
        assert 0.05 > sign_flip_p(result.differences).p
        # A is ahead by 6/20; were one of the six B's, B would be ahead by 1 - 5/20: every outcome is at least as far.
        assert 1.0 == pytest.approx(result.p.p, rel=1e-12)

    @pytest.mark.parametrize(
        ("n_a", "c_a", "n_b", "c_b", "k", "level", "message"),
        [
            ([], [], [], [], 1, 0.95, ".*no problems"),
            (
                [3, 3],
                [1, 2],
                [3],
                [1],
                1,
                0.95,
                "A has 2 .*B has 1",
            ),
            ([3, 3], [1, 4], [3, 3], [1, 1], 1, 0.95, "element 1: n=3, c=4"),
            ([3, 2], [1, 1], [3, 3], [1, 1], 3, 0.95, "element 1: n=2, c=1: k=3"),
            ([3], [1], [3], [1], 0, 0.95, "k=0"),
            ([3], [1], [3], [1], 1, 1.0, "level=1.0"),
            ([3.5], [1], [3], [1], 1, 0.95, "element 0: n=3.5"),
        ],
    )
    def test_refuses(
        self, n_a: object, c_a: object, n_b: object, c_b: object, k: int, level: float, message: str
    ) -> None:
        """Counts that cannot be, other problems, and impossible settings are a ValueError that says where."""
        with pytest.raises(ValueError, match=rf"^{message}(?!\w)"):
            paired_difference(n_a, c_a, n_b, c_b, k, level)  # type: ignore[arg-type]


class TestMcNemar:
    """One verdict of each problem from each of two runs."""

    @pytest.mark.parametrize(("b", "c"), [(0, 0), (1, 0), (3, 3), (2, 9), (15, 4), (40, 61)])
    def test_is_a_fair_coin(self, b: int, c: int) -> None:
        """It is min(1, 2 P(X <= min(b, c))) of b + c fair coins, in exact fractions."""
        below = Fraction(sum(math.comb(b + c, i) for i in range(min(b, c) + 1)), 2 ** (b + c))
        assert float(min(Fraction(1), 2 * below)) == pytest.approx(mcnemar_exact(b, c), rel=1e-12)

    def test_is_the_binomial_test_of_scipy(self) -> None:
        """It is scipy.stats.binomtest with chance 1/2, and broadcasts."""
        table = mcnemar_exact([0, 3, 10], [[4], [25]])
        theirs = [[stats.binomtest(b, b + c).pvalue for b in (0, 3, 10)] for c in (4, 25)]
        assert np.allclose(theirs, table, rtol=1e-10)

    def test_refuses(self) -> None:
        """Negative counts and fractions are a ValueError."""
        with pytest.raises(ValueError, match=r"^c=-1\b"):
            mcnemar_exact(1, -1)
        with pytest.raises(ValueError, match=r"^b=0.5\b"):
            mcnemar_exact(0.5, 1)  # type: ignore[call-overload]


class TestHolm:
    """p-values adjusted for their number."""

    def test_published(self) -> None:
        """The example of R's documentation of p.adjust, method holm, computed by its definition by hand."""
        # sorted .01, .02, .03, .04 times 4, 3, 2, 1 = .04, .06, .06, .04 -> .04, .06, .06, .06
        assert [0.06, 0.04, 0.06, 0.06] == pytest.approx(holm([0.04, 0.01, 0.03, 0.02]).tolist())

    def test_is_cut_at_1_and_leaves_one_alone(self) -> None:
        """No p exceeds 1, and a single one stays."""
        assert [1.0, 1.0] == holm([0.9, 0.6]).tolist()
        assert [0.3] == holm([0.3]).tolist()

    @pytest.mark.parametrize("p", [[0.1, math.nan], [1.1], []])
    def test_refuses(self, p: list[float]) -> None:
        """What is no row of p-values is a ValueError."""
        with pytest.raises(ValueError, match="p"):
            holm(p)
