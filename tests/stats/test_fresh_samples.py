"""The noise of fresh samples: the mixture without a model, and what is added for what no sample shows."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from passcurve.stats import beta_binomial_fit, dataset_interval, exact_pass_at_k, paired_difference
from passcurve.stats.fresh_samples import total_noise
from passcurve.stats.mixture import grid_chances, mixture_variance, variance_at
from passcurve.stats.rows import check_row
from passcurve.stats.sampling import largest_variance, sampling_variance


@pytest.mark.parametrize(("n", "k"), [(1, 1), (6, 3), (9, 9)])
def test_variance_at_a_chance_is_that_of_all_outcomes(n: int, k: int) -> None:
    """It equals the variance over c = 0 .. n in exact fractions, also where passes or failures are rare."""
    chances = [Fraction(1, 10**6), Fraction(3, 10), Fraction(999, 1000)]
    exact = []
    for p in chances:
        law = [math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
        values = [exact_pass_at_k(n, c, k) for c in range(n + 1)]
        mean = sum(w * v for w, v in zip(law, values, strict=True))
        exact.append(float(sum(w * (v - mean) ** 2 for w, v in zip(law, values, strict=True))))
    assert exact == pytest.approx(variance_at(np.array([float(p) for p in chances]), n, k).tolist(), rel=1e-9)


def test_the_grid_mirrors_and_is_fine() -> None:
    """The grid is its own mirror image, and two neighbours are less than a standard deviation apart, 1 / (2 sqrt n)."""
    for n in (1, 20, 1000):
        chances = grid_chances(n)
        assert (1 - chances[::-1]).tolist() == pytest.approx(chances.tolist(), rel=1e-9)
        angles = np.arcsin(np.sqrt(chances))
        assert np.diff(angles).max() < 1 / (2 * math.sqrt(n))


@pytest.mark.parametrize("k", [10, 20])
@pytest.mark.parametrize(("low", "high"), [(0.02, 0.98), (0.05, 0.95)])
def test_two_groups_of_problems_have_their_variance(low: float, high: float, k: int) -> None:
    """For many problems in two groups the mixture is near the true variance, and the beta-binomial fit far below."""
    p = np.repeat([low, high], 1500)
    c = np.random.default_rng(3).binomial(20, p)
    truth = float(variance_at(p, 20, k).sum())
    assert truth == pytest.approx(mixture_variance(check_row(20, c), k), rel=0.12)
    assert sampling_variance(20, c, k, method="beta-binomial").variance.sum() < 0.75 * truth


def test_problems_may_have_different_numbers_of_samples() -> None:
    """Two thirds of the problems with 30 samples, the others with 8: near the true variance for each of its own n."""
    rng = np.random.default_rng(4)
    n, p = np.tile([30, 8, 30], 1000), rng.random(3000)
    truth = sum(float(variance_at(p[n == own], own, 4).sum()) for own in (8, 30))
    assert truth == pytest.approx(mixture_variance(check_row(n, rng.binomial(n, p)), 4), rel=0.1)


def test_what_no_sample_shows_is_the_rule_of_three() -> None:
    """At level .95 the limit above leaves room for -log(.05) = 2.9957 unseen passes, each worth k/n of a score.

    What is added has so large a standard error that 1.959964 of it (any normal table) are that many passes.
    """
    row = check_row(20, [0] * 200 + [20] * 200 + [1])
    total = total_noise(row, 10, 0.95)
    above, below = (side - (total.below - largest_variance(20, 10)) for side in (total.above, total.below))
    assert 2.995732 * 10 / 20 == pytest.approx(1.959964 * math.sqrt(above), rel=1e-5)
    assert largest_variance(20, 10) == pytest.approx(below, rel=1e-9)


def test_few_problems_hide_no_more_than_their_largest_variance() -> None:
    """With two problems that never passed, and k = n, two times the largest variance is added above."""
    total = total_noise(check_row(10, [0, 0, 3, 9, 10, 10]), 10, 0.95)
    assert largest_variance(10, 10) == pytest.approx(total.above - total.below, rel=1e-9)


@pytest.mark.parametrize(("n", "k"), [(2, 1), (5, 1), (8, 1)])
def test_limits_of_failures_mirror_those_of_passes(n: int, k: int) -> None:
    """For k = 1 passes that no sample shows and failures that none shows count alike."""
    c = np.array([0, 0, 0, 0, n, n, 1, n, 0, 1])
    one, other = (dataset_interval(n, item, k, "these_problems") for item in (c, n - c))
    assert [1 - one.high, 1 - one.low] == pytest.approx([other.low, other.high], rel=1e-6)


def coverage(n: int, k: int, p: np.ndarray) -> float:
    """Return the chance that the interval holds the truth, at least, over the counts of two groups of problems."""
    half = p.size // 2
    laws = []
    for chance in (p[0], p[-1]):
        law = np.array([math.comb(n, c) * chance**c * (1 - chance) ** (n - c) for c in range(n + 1)])
        counts: dict[tuple[int, ...], float] = {}
        for drawn in itertools.combinations_with_replacement(range(n + 1), half):
            numbers = np.bincount(drawn, minlength=n + 1)
            ways = math.factorial(half) / math.prod(math.factorial(number) for number in numbers.tolist())
            counts[drawn] = ways * float(np.prod(law**numbers))
        laws.append(counts)
    truth = float((1 - (1 - p) ** k).mean())
    held = 0.0
    for (low, chance), (high, other) in itertools.product(laws[0].items(), laws[1].items()):
        # Those that are rarer, less than 1 in 10,000 together, count as if the interval missed the truth.
        if chance * other > 1e-6:
            result = dataset_interval(n, [*low, *high], k, "these_problems")
            held += chance * other * (result.low <= truth <= result.high)
    return held


@pytest.mark.parametrize(("n", "k"), [(4, 2), (4, 4)])
def test_covers_two_groups_exactly(n: int, k: int) -> None:
    """Half p = .05, half p = .95, 8 problems: at least .93 of all outcomes, weighted with their exact chances."""
    assert coverage(n, k, np.repeat([0.05, 0.95], 4)) >= 0.93


def test_paired_limits_have_the_noise_of_both_runs() -> None:
    """Above the difference is what A may hide, below it what B may hide; by hand from the noise of each run."""
    a, b = np.array([0] * 12 + [19, 20, 3]), np.array([1] * 12 + [20, 20, 9])
    first, second = (total_noise(check_row(20, c), 10, 0.95) for c in (a, b))
    result = paired_difference(20, a, 20, b, 10)
    reach = 1.959964 * math.sqrt(first.above + second.below) / 15, 1.959964 * math.sqrt(first.below + second.above) / 15
    assert [result.difference + reach[0], result.difference - reach[1]] == pytest.approx(
        [result.these_problems.high, result.these_problems.low], rel=1e-6
    )
    assert reach[0] > reach[1]


def test_the_noise_is_never_below_that_of_the_model() -> None:
    """Where the beta-binomial model holds, the noise is its own or slightly more."""
    c = np.random.default_rng(5).binomial(10, np.random.default_rng(6).beta(2, 3, 400))
    row, fit = check_row(10, c), beta_binomial_fit(10, c)
    assert fit.a > 1.0
    model = math.fsum(sampling_variance(10, c, 8, method="beta-binomial").variance)
    total = total_noise(row, 8, 0.95).below - largest_variance(10, 8)
    assert model <= total <= 1.15 * model


@pytest.mark.parametrize(("m", "n"), [(20, 200), (164, 200), (2, 100), (164, 10)])
def test_each_failure_lowers_the_lower_limit(m: int, n: int) -> None:
    """Near saturation a limit moves on with each sample that differs, and the mirror image of the data has its own."""
    limits = []
    for failures in range(8):
        passed = np.full(m, n)
        np.subtract.at(passed, np.arange(failures) % m, 1)
        interval = dataset_interval(n, passed, 1, "these_problems")
        mirrored = dataset_interval(n, n - passed, 1, "these_problems")
        assert (1 - interval.low, 1 - interval.high) == pytest.approx((mirrored.high, mirrored.low), abs=1e-9)
        limits.append(interval.low)
    assert sorted(limits, reverse=True) == limits
    assert limits[0] - limits[1] < 4 / (m * n)


@pytest.mark.parametrize("chances", [(0.999, 0.98), (1.0, 0.9), (0.97, 0.97), (0.99, 0.995), (0.9, 0.999), (0.02, 1.0)])
def test_almost_saturated_limits_cover(chances: tuple[float, float]) -> None:
    """Over all outcomes of two problems with 30 samples each the interval holds the truth 95 times of 100 or more."""
    n, truth = 30, sum(chances) / 2
    laws = [stats.binom(n, chance).pmf(np.arange(n + 1)) for chance in chances]
    covered = 0.0
    for one, other in itertools.product(range(n + 1), repeat=2):
        weight = laws[0][one] * laws[1][other]
        if weight > 1e-6:
            interval = dataset_interval(n, [one, other], 1, "these_problems")
            covered += weight * (interval.low <= truth <= interval.high)
    assert covered >= 0.95 - 1e-3
