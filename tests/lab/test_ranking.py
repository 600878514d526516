"""Ranking: AUC and correlation against scipy and counted pairs, their intervals against a plain bootstrap."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, pointbiserialr

from passcurve.lab.ranking import Statistic, rank_samples

RNG = np.random.default_rng(8)
PROBLEM = np.repeat(np.arange(15), 8)
PASSED = RNG.random(120) < np.repeat(RNG.random(15), 8)
VALUES = np.round(RNG.normal(0.3 * PASSED + np.repeat(RNG.normal(0, 0.5, 15), 8), 0.4), 1)  # with ties


def auc(values, passed):
    """Count the pairs in which the right sample has the higher value, ties half."""
    right, wrong = values[passed], values[~passed]
    return np.mean([(a > b) + (a == b) / 2 for a in right for b in wrong])


def within(values, passed, problem):
    """Return the mean AUC of the problems that have both kinds."""
    own = [(values[problem == problem_index], passed[problem == problem_index]) for problem_index in np.unique(problem)]
    return np.mean([auc(v, p) for v, p in own if p.any() and not p.all()])


def test_the_pooled_auc_is_the_share_of_pairs():
    """It is U over the number of pairs, as scipy has it."""
    result = rank_samples(VALUES, PASSED, PROBLEM).pooled.value
    assert auc(VALUES, PASSED) == pytest.approx(result, rel=1e-12)
    u = mannwhitneyu(VALUES[PASSED], VALUES[~PASSED]).statistic
    assert u / (PASSED.sum() * (~PASSED).sum()) == pytest.approx(result, rel=1e-12)


def test_within_only_pairs_of_one_problem_count():
    """It is the mean over problems with both kinds of their own AUC; how many these are stands beside it."""
    result = rank_samples(VALUES, PASSED, PROBLEM)
    assert within(VALUES, PASSED, PROBLEM) == pytest.approx(result.within.value, rel=1e-12)
    both = [problem_index for problem_index in range(15) if 0 < PASSED[PROBLEM == problem_index].sum() < 8]
    assert len(both) == result.informative


def test_the_correlation_is_that_of_scipy():
    """The point-biserial correlation is what scipy gives."""
    result = rank_samples(VALUES, PASSED, PROBLEM).point_biserial.value
    assert pointbiserialr(PASSED, VALUES).statistic == pytest.approx(result, rel=1e-12)


@pytest.mark.nightly
def test_the_intervals_are_those_of_a_plain_bootstrap_of_problems():
    """Repeating the rows of each drawn problem, and counting pairs anew, gives the same percentiles."""
    draws = np.random.default_rng(3).multinomial(15, np.full(15, 1 / 15), size=200)
    plain = {"pooled": [], "within": [], "point_biserial": []}
    for counts in draws:
        rows = np.concatenate(
            [np.flatnonzero(PROBLEM == problem_index) for problem_index, c in enumerate(counts) for _ in range(c)]
        )
        names = np.concatenate([np.full(8, at) for at in range(15)])  # a problem drawn twice is two problems
        v, p = VALUES[rows], PASSED[rows]
        plain["pooled"].append(auc(v, p))
        plain["within"].append(within(v, p, names))
        plain["point_biserial"].append(pointbiserialr(p, v).statistic)
    result = rank_samples(VALUES, PASSED, PROBLEM, resamples=200, seed=3)
    for name, drawn in plain.items():
        measured = getattr(result, name)
        assert list(np.quantile(drawn, [0.025, 0.975])) == pytest.approx([measured.low, measured.high], rel=1e-9)


def test_a_value_that_only_tells_problems_apart_ranks_nothing_within():
    """A number that is the same for all samples of a problem is worth nothing within, whatever it is pooled."""
    easy = np.repeat(np.arange(4), 10)
    passed = np.tile(np.arange(10), 4) < 2 + 2 * easy
    result = rank_samples(easy.astype(float), passed, easy)
    assert 0.5 == result.within.value
    assert result.pooled.value > 0.7


@pytest.mark.parametrize("passed", [True, False])
def test_without_both_kinds_nothing_is_ranked(passed):
    """If every sample passed, or none, there is no pair and no correlation: None, not a half."""
    result = rank_samples(VALUES, np.full(120, passed), PROBLEM)
    assert (Statistic(value=None),) * 3 == (result.within, result.pooled, result.point_biserial)
    assert 0 == result.informative
    assert (result.mean_right is None) == (not passed)


def test_a_constant_value_has_no_correlation():
    """A value that never varies ranks as a coin does and correlates with nothing."""
    result = rank_samples(np.full(120, 0.1), PASSED, PROBLEM)
    assert (0.5, 0.5, None) == (result.within.value, result.pooled.value, result.point_biserial.value)


def test_samples_without_a_value_are_left_out():
    """NaN is no value: such samples are counted and left out, and the others rank as without them."""
    values = VALUES.copy()
    values[::7] = np.nan
    kept = ~np.isnan(values)
    result = rank_samples(values, PASSED, PROBLEM)
    assert 18 == result.left_out
    assert auc(VALUES[kept], PASSED[kept]) == pytest.approx(result.pooled.value, rel=1e-12)


def test_one_problem_has_no_interval():
    """With one problem there is nothing to draw anew."""
    result = rank_samples(VALUES[:8], np.arange(8) < 3, PROBLEM[:8])
    assert result.pooled.value is not None
    assert (None, None) == (result.pooled.low, result.pooled.high)


def test_where_all_problems_say_the_same_there_is_no_interval():
    """A bootstrap of equal values has no width, which would look like certainty."""
    values, passed = np.tile([1.0, 0.0], 10), np.tile([True, False], 10)
    result = rank_samples(values, passed, np.repeat(np.arange(10), 2)).within
    assert Statistic(value=1.0) == result
