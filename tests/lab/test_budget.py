"""Smaller budgets: the exact straying against every subsample there is, the simulated one within its stated error."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import lcm
from statistics import mean, pvariance

import numpy as np
import pytest

from passcurve.errors import UsageError
from passcurve.lab.budget import budget, exact_variance
from passcurve.stats import dataset_interval, exact_pass_at_k

N = np.array([4, 4, 3])
C = np.array([1, 3, 2])


def every_subsample(k, fewer, of):
    """Yield the score of each subsample of ``of`` problems and ``fewer`` samples, all equally likely."""
    rows = [[1] * right + [0] * (samples - right) for samples, right in zip(N.tolist(), C.tolist(), strict=True)]
    estimates = [[exact_pass_at_k(len(s), sum(s), k) for s in combinations(row, min(fewer, len(row)))] for row in rows]
    # A problem with fewer subsets must weigh as much as the others.
    often = lcm(*map(len, estimates))
    for chosen in combinations([one * (often // len(one)) for one in estimates], of):
        for scores in product(*chosen):
            yield sum(scores) / Fraction(of)


@pytest.mark.parametrize(("k", "fewer", "of"), [(1, 2, 2), (2, 2, 3), (2, 3, 2), (1, 4, 1), (3, 4, 2), (1, 1, 2)])
def test_the_straying_is_that_of_every_subsample(k, fewer, of):
    """The exact variance is the variance over every subsample there is, and their mean is the score of the run."""
    scores = list(every_subsample(k, fewer, of))
    assert float(pvariance(scores)) == pytest.approx(exact_variance(N, C, k, fewer, of), rel=1e-12, abs=1e-15)
    whole = mean(exact_pass_at_k(int(n), int(c), k) for n, c in zip(N, C, strict=True))
    assert whole == mean(scores)


@pytest.fixture(scope="module")
def result():
    """Return budgets of a run of 24 problems with 12 samples of each."""
    rng = np.random.default_rng(3)
    return budget(12, rng.binomial(12, rng.uniform(size=24)), 2, draws=1_000, seed=5)


@pytest.mark.nightly
def test_simulated_scores_agree_within_their_stated_error(result):
    """Every simulated mean lies within 4.5 standard errors of the score of the whole run."""
    assert 9 == len(result.sizes)
    for size in result.sizes:
        assert abs(size.mean - result.value) <= 4.5 * size.mean_se + 1e-12


@pytest.mark.nightly
def test_simulated_ranges_agree_with_the_exact_straying(result):
    """Where many subsamples exist, the range of 95 % of them is about four standard deviations wide."""
    for size in result.sizes:
        assert 3.3 * size.sd - 1e-12 <= size.high - size.low <= 4.4 * size.sd + 1e-12


@pytest.mark.nightly
def test_the_whole_run_is_itself(result):
    """All samples of all problems give the score of the run, without straying, and its own intervals."""
    whole = result.sizes[0]
    assert (24, 12, 288) == (whole.m, whole.n, whole.cost)
    assert (result.value, result.value, 0.0) == (whole.low, whole.high, whole.sd)
    rng = np.random.default_rng(3)
    c = rng.binomial(12, rng.uniform(size=24))
    for target in ("new_problems", "these_problems"):
        interval = dataset_interval(12, c, 2, target)
        assert interval.high - interval.low == pytest.approx(getattr(whole, target), rel=1e-12)


def test_problems_with_fewer_samples_keep_all_they_have():
    """Where a problem has fewer samples than are asked for, it keeps its own; the cost says so."""
    result = budget([4, 8], [1, 5], 1, ns=[6], ms=[2], draws=20)
    assert 10 == result.sizes[0].cost


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 4}, "k=4 .*3 samples"),
        ({"ns": [5]}, "n=5 "),
        ({"k": 2, "ns": [1]}, "n=1 "),
        ({"ms": [4]}, "m=4 .*2 and 3"),
        ({"draws": 1}, "draws=1"),
    ],
)
def test_what_cannot_be_drawn_is_refused(options, message):
    """Sizes that the run does not have are usage errors that name the number."""
    with pytest.raises(UsageError, match=message):
        budget(N, C, **options)
