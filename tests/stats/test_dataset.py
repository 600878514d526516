"""Intervals of a data set: by hand, against scipy, by exact coverage, and where there is none."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest
from scipy import stats

from passcurve.stats import (
    bootstrap_interval,
    clopper_pearson,
    clustered_se,
    dataset_interval,
    one_problem_interval,
    pass_at_k,
    plus_two_t,
    simultaneous_band,
    wilson,
)


class TestOneProblem:
    """A single problem."""

    def test_transforms_the_limits_of_the_chance(self) -> None:
        """The limits are 1 - (1-p)^k at the Clopper-Pearson limits of p; 0 of 10 reaches 1 - (.025)^(k/10)."""
        low, high = one_problem_interval([10, 10], [3, 0], [4, 10])
        ends = clopper_pearson(3, 10)
        assert [1 - (1 - ends.low) ** 4, 0.0] == pytest.approx(low.tolist(), rel=1e-12)
        assert [1 - (1 - ends.high) ** 4, 0.975] == pytest.approx(high.tolist(), rel=1e-12)

    def test_all_passed_ends_at_1(self) -> None:
        """All of n passed gives an upper limit of exactly 1, beyond n too."""
        assert 1.0 == one_problem_interval(5, 5, 20).high

    @pytest.mark.parametrize(("n", "k"), [(5, 1), (12, 4), (6, 30)])
    def test_covers(self, n: int, k: int) -> None:
        """Over p = .005 .. .995 the exact coverage is never below .95."""
        p = np.arange(1, 200) / 200
        low, high = one_problem_interval(n, np.arange(n + 1), k)
        theta = 1 - (1 - p[:, None]) ** k
        inside = (low - 1e-12 <= theta) & (theta <= high + 1e-12)
        assert (stats.binom.pmf(np.arange(n + 1), n, p[:, None]) * inside).sum(axis=1).min() >= 0.95

    def test_refuses(self) -> None:
        """A k below 1 is a ValueError."""
        with pytest.raises(ValueError, match=r"^k "):
            one_problem_interval(5, 1, 0)


class TestClusters:
    """Problems that belong together."""

    def test_worked_by_hand(self) -> None:
        """Five pairs with sums of deviations 1, -1, 1, -1, 0: SE^2 = 5/4 * 4 / 100."""
        values = [1, 1, 0, 0, 1, 1, 0, 0, 1, 0]
        result = clustered_se(values, list("aabbccddee"))
        assert (0.5, 5, 4) == (result.mean, result.clusters, result.freedom)
        assert math.sqrt(0.05) == pytest.approx(result.se)
        assert result.warning.startswith("5 clusters")

    def test_clusters_of_one_are_the_ordinary_standard_error(self) -> None:
        """With every problem a cluster of its own it is s / sqrt(m), and 20 clusters bring no warning."""
        values = np.random.default_rng(0).random(20)
        result = clustered_se(values, range(20))
        assert float(stats.sem(values)) == pytest.approx(result.se, rel=1e-12)
        assert "" == result.warning

    def test_refuses(self) -> None:
        """Fewer than 5 clusters and rows of different lengths are a ValueError."""
        with pytest.raises(ValueError, match=r"^4 clusters .*5 "):
            clustered_se([0, 1, 0, 1], "abcd")
        with pytest.raises(ValueError, match=r"^2 values .*3$"):
            clustered_se([0, 1], ["a", "b", "c"])


class TestNewProblems:
    """Target A."""

    def test_the_default_is_plus_two_t(self) -> None:
        """Without a method the bounds are those of plus_two_t of the scores."""
        result = dataset_interval(10, [0, 3, 10, 7], 3)
        assert (*plus_two_t(pass_at_k(10, [0, 3, 10, 7], 3)), "plus-two t", None) == (
            result.low,
            result.high,
            result.method,
            result.seed,
        )

    def test_t_is_that_of_scipy(self) -> None:
        """The plain t interval is that of scipy.stats.ttest_1samp."""
        scores = np.array([2, 3, 9, 7, 5]) / 10
        theirs = stats.ttest_1samp(scores, 0).confidence_interval(0.9)
        result = dataset_interval(10, [2, 3, 9, 7, 5], level=0.9, method="t")
        assert [theirs.low, theirs.high] == pytest.approx([result.low, result.high], rel=1e-10)

    def test_wilson_is_for_one_sample_of_each(self) -> None:
        """With n = 1 it is wilson of the passes, else a ValueError."""
        result = dataset_interval(1, [1, 0, 1, 1], method="wilson")
        assert tuple(wilson(3, 4)) == (result.low, result.high)
        with pytest.raises(ValueError, match=r"'wilson'.*one sample"):
            dataset_interval(2, [1, 0], method="wilson")

    def test_clusters_choose_the_clustered_t(self) -> None:
        """With clusters the default is t with G - 1 degrees of freedom on the clustered standard error."""
        c = [4, 4, 1, 0, 2, 3, 0, 0, 4, 1]
        result = dataset_interval(4, c, level=0.9, clusters=list("aabbccddee"))
        error = clustered_se(np.array(c) / 4, list("aabbccddee"))
        # t(4, .95) = 2.131847 (any t table).
        assert error.mean - 2.131847 * error.se == pytest.approx(result.low, abs=1e-6)
        assert "clustered t" == result.method
        assert any(warning.startswith("5 clusters") for warning in result.warnings)

    def test_bootstrap_carries_its_seed(self) -> None:
        """The same seed gives the same limits, another seed others, and the result names it."""
        c = [0, 1, 5, 9, 10, 3, 2, 8]
        one, same, other = (dataset_interval(10, c, method="bootstrap", seed=seed) for seed in (1, 1, 2))
        assert (one.low, one.high, 1) == (same.low, same.high, same.seed)
        assert (one.low, one.high) != (other.low, other.high)

    def test_bootstrap_limits_lie_near_the_exact_ones(self) -> None:
        """For four scores the exact distribution over 4^4 draws has its quantiles within the limits of chance."""
        scores = [0.0, 0.2, 0.7, 1.0]
        means = np.sort([np.mean(draw) for draw in itertools.product(scores, repeat=4)])
        low, high = bootstrap_interval(scores, 0.9, 9_999, 3)
        assert means[int(0.04 * 256)] <= low <= means[int(0.06 * 256)]
        assert means[int(0.94 * 256)] <= high <= means[int(0.96 * 256)]

    @pytest.mark.parametrize("method", ["t", "bootstrap"])
    @pytest.mark.parametrize("c", [0, 5])
    def test_no_width_is_not_certainty(self, method: str, c: int) -> None:
        """A method without width on saturated data gives NaN and the reason, never a point."""
        result = dataset_interval(5, [c] * 10, method=method)  # type: ignore[arg-type]
        assert math.isnan(result.low)
        assert math.isnan(result.high)
        assert "not certainty" in result.reason

    def test_one_problem(self) -> None:
        """One problem has no t interval; the default is nearly everything, with a warning."""
        assert "one problem alone" in dataset_interval([9], [4], method="t").reason
        result = dataset_interval([9], [4])
        assert result.high - result.low > 0.9
        assert result.warnings[0].startswith("one problem: ")


class TestTheseProblems:
    """Target B."""

    def test_one_sample_of_each_is_bounded(self) -> None:
        """With n = 1 the limits are those of a proportion of m, and within is NaN."""
        result = dataset_interval(1, [1, 0, 0, 1, 0], target="these_problems")
        assert tuple(clopper_pearson(2, 5)) == (result.low, result.high)
        assert ("bound", "none") == (result.method, result.within_from)
        assert math.isnan(result.within)

    def test_one_problem_has_its_own_limits(self) -> None:
        """A single problem gets those of one_problem_interval, and several do not."""
        result = dataset_interval([9], [4], 3, "these_problems")
        low, high = one_problem_interval(9, 4, 3)
        assert (low, high, "one problem") == (result.low, result.high, result.method)
        with pytest.raises(ValueError, match=r"'one problem' .*2"):
            dataset_interval(9, [4, 5], 3, "these_problems", method="one problem")

    def test_the_interval_of_one_problem_holds_its_estimate(self) -> None:
        """With k > n - c the estimate is 1, and no chance below 1 reaches it: the upper limit is 1 then."""
        for n, c, k in ((10, 3, 10), (10, 1, 10), (28, 15, 18)):
            result = dataset_interval([n], [c], k, "these_problems")
            assert (1.0, 1.0) == (result.mean, result.high)
            assert one_problem_interval(n, c, k).low == result.low < 1.0

    @pytest.mark.parametrize("k", [1, 3, 8])
    def test_all_failed_is_bounded_by_equal_chances(self, k: int) -> None:
        """After m n failures the limit is 1 - (.025)^(k/mn), that of equal chances, and no others do worse."""
        m, n = 6, 8
        result = dataset_interval(n, [0] * m, k, "these_problems")
        assert (0.0, 1 - 0.025 ** (k / (m * n))) == (result.low, pytest.approx(result.high, rel=1e-12))
        rng = np.random.default_rng(0)
        y = rng.dirichlet([0.3] * m, 2000) * -math.log(0.025) / n
        assert (1 - np.exp(-k * y)).mean(axis=1).max() <= result.high + 1e-12

    @pytest.mark.parametrize("k", [1, 2, 5])
    def test_all_passed_is_bounded_whatever_the_chances(self, k: int) -> None:
        """No chances under which all pass .025 of the time or more have a mean below the limit; some come near."""
        m, n = 6, 5
        result = dataset_interval(n, [n] * m, k, "these_problems")
        total = -math.log(0.025) / n
        rng = np.random.default_rng(0)
        y = np.concatenate([rng.dirichlet([a] * m, 3000) for a in (0.05, 0.3, 1, 30)]) * total
        y = np.concatenate([y, [np.pad(np.full(j, total / j), (0, m - j)) for j in range(1, m + 1)]])
        least = (1 - (1 - np.exp(-y)) ** k).mean(axis=1).min()
        assert result.low <= least <= result.low + 0.03
        assert 1.0 == result.high

    @pytest.mark.parametrize(("k", "least"), [(1, 0.968), (2, 0.912), (5, 0.832)])
    def test_three_problems_hold_what_the_page_says(self, k: int, least: float) -> None:
        """All outcomes of three problems with 5 samples each, on a grid of chances; the page names the worst."""
        n, cells = 5, (6, 6, 6)
        chances = np.array([0, 0.001, 0.01, 0.03, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 0.999, 1])
        low, high = np.empty(cells), np.empty(cells)
        for c in itertools.combinations_with_replacement(range(n + 1), 3):
            limits = dataset_interval(n, c, k, "these_problems")
            for cell in itertools.permutations(c):
                low[cell], high[cell] = limits.low, limits.high
        outcomes = stats.binom.pmf(np.arange(n + 1), n, chances[:, None])
        worst = 1.0
        for at in map(list, itertools.combinations_with_replacement(range(chances.size), 3)):
            truth = np.mean(1.0 - (1.0 - chances[at]) ** k)
            is_held = (low <= truth + 1e-12) & (truth - 1e-12 <= high)
            worst = min(worst, float(np.einsum("i,j,k,ijk->", *outcomes[at], is_held)))
        assert worst == pytest.approx(least, abs=0.001)

    def test_the_mean_lies_inside_and_the_limits_mirror(self) -> None:
        """For k = 1 the limits of failures are 1 minus those of passes."""
        c = np.array([0, 3, 10, 7, 2, 9])
        one, other = (dataset_interval(10, item, target="these_problems") for item in (c, 10 - c))
        assert one.low < one.mean < one.high
        assert [1 - one.high, 1 - one.low] == pytest.approx([other.low, other.high], rel=1e-6)

    def test_unbiased_is_the_mean_and_its_standard_error(self) -> None:
        """By hand for k = 1: V_i = (c/n)(1 - c/n)/(n - 1), and 1.959964 standard errors (any normal table)."""
        c = np.array([0, 3, 10, 7]) / 10
        result = dataset_interval(10, c * 10, target="these_problems", method="unbiased")
        reach = 1.959964 * math.sqrt((c * (1 - c) / 9).sum()) / 4
        assert [0.5 - reach, 0.5 + reach] == pytest.approx([result.low, result.high], rel=1e-6)

    def test_the_variance_splits_in_two(self) -> None:
        """Between is the variance of the scores less within, and may be negative."""
        result = dataset_interval(4, [2, 2, 2])
        assert (-1 / 12, 1 / 12) == pytest.approx((result.between, result.within))

    @pytest.mark.nightly
    def test_covers_within_the_limits_of_simulation(self) -> None:
        """In 1,500 draws of samples for 20 given problems, k = 5 of n = 10, at least 93 % of the intervals cover."""
        rng = np.random.default_rng(12)
        p = rng.beta(0.2, 0.8, 20)
        truth = float((1 - (1 - p) ** 5).mean())
        results = [dataset_interval(10, rng.binomial(10, p), 5, "these_problems") for _ in range(1500)]
        assert sum(item.low <= truth <= item.high for item in results) / 1500 >= 0.93

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"n": [], "c": []}, "no problems"),
            ({"n": 3, "c": [1, 2], "k": 4}, "element 0: n=3, c=1: k=4"),
            ({"n": 3, "c": [1, 2], "target": "both"}, "target .*'both'"),
            ({"n": 3, "c": [1, 2], "method": "beta-binomial"}, "'beta-binomial'"),
            ({"n": 3, "c": [1, 2], "method": "t", "target": "these_problems"}, "'t'"),
            (
                {"n": 3, "c": [1, 2], "k": 2, "method": "unbiased", "target": "these_problems"},
                "2k = 4 samples",
            ),
        ],
    )
    def test_refuses(self, arguments: dict[str, object], message: str) -> None:
        """No problem, k > n, and methods that do not fit are a ValueError."""
        with pytest.raises(ValueError, match=message):
            dataset_interval(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("n", "c", "k", "start"),
    [
        (5, [0, 0], 1, "saturated: .*failed"),
        (5, [5, 5], 1, "saturated: .*passed"),
        (5, [5, 0, 5], 1, ".*always or never"),
        (5, [2, 3], 5, "k = n = 5: "),
        (5, [2, 3], 3, "k=3 .*n=5"),
        ([5, 9], [2, 3], 1, ".*5 to 9"),
    ],
)
def test_warnings(n: object, c: list[int], k: int, start: str) -> None:
    """Saturated data, copies, large k and unequal n each bring their warning."""
    assert any(re.match(start, warning) for warning in dataset_interval(n, c, k).warnings)  # type: ignore[arg-type]


class TestBand:
    """A curve."""

    def test_pointwise_is_plus_two_t(self) -> None:
        """Each pointwise interval is plus_two_t of its k, and the band is at least as wide."""
        c = [0, 1, 3, 7, 10, 10, 2]
        result = simultaneous_band(10, c, [1, 2, 5, 10])
        for i, k in enumerate([1, 2, 5, 10]):
            assert [*plus_two_t(pass_at_k(10, c, k))] == pytest.approx(
                [result.pointwise.low[i], result.pointwise.high[i]], rel=1e-12
            )
        assert (result.simultaneous.low <= result.pointwise.low).all()
        assert (result.simultaneous.high >= result.pointwise.high).all()
        assert (9_999, 0) == (result.draws, result.seed)

    def test_holds_its_own_mean_at_every_level(self) -> None:
        """Level .5 reaches less far than the made-up problems move the middle: the mean is inside still."""
        for c, mean in ((10, 1.0), (0, 0.0)):
            band = simultaneous_band(10, [c] * 30, [1, 10], level=0.5, draws=499)
            for low, high in (band.pointwise, band.simultaneous):
                assert (low <= mean).all()
                assert (high >= mean).all()

    def test_one_k_needs_no_more_than_t(self) -> None:
        """For a single k the critical value is that of t, to the accuracy of the draws."""
        result = simultaneous_band(10, [0, 1, 3, 7, 10, 10, 2], [3], draws=40_000, seed=1)
        assert float(stats.t.ppf(0.975, 8)) == pytest.approx(result.critical, rel=0.03)

    def test_covers_the_whole_curve(self) -> None:
        """Over 600 data sets of 40 problems at least 92 % of the bands hold the whole true curve."""
        rng = np.random.default_rng(5)
        ks = np.array([1, 2, 5, 10, 20])
        truth = 1 - 1 / (1 + ks)  # uniform chances: the mean of (1-p)^k is 1 / (k+1)
        hits = 0
        for _ in range(600):
            band = simultaneous_band(20, rng.binomial(20, rng.random(40)), ks, draws=499).simultaneous
            hits += bool(((band.low <= truth) & (truth <= band.high)).all())
        assert hits / 600 >= 0.92

    def test_refuses(self) -> None:
        """A k above n and a table of k are a ValueError."""
        with pytest.raises(ValueError, match=r"^element 1: n=4, c=2: k=5\b"):
            simultaneous_band([5, 4], [1, 2], [1, 5])
        with pytest.raises(ValueError, match=r"^ks "):
            simultaneous_band([5, 4], [1, 2], [[1, 2]])
