"""Temperatures: decks heated in fractions, truth and samples within their stated error, the luck of the best."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from passcurve.errors import UsageError
from passcurve.lab.temperature import SWEEPS, draw_decks, measure_sweep, simulate_sweep, temper
from passcurve.stats import pass_at_k, unbiased_variance


def test_a_temperature_raises_weights_to_its_inverse():
    """At T = 1/2 weights are squared, at 1 they stay, at 0 the heaviest takes all, ties sharing."""
    weights = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]])
    squared = [Fraction(1, 4), Fraction(1, 16), Fraction(1, 16)]
    assert [float(item / sum(squared)) for item in squared] == pytest.approx(temper(weights, 0.5)[0], rel=1e-14)
    assert weights == pytest.approx(temper(weights, 1.0), rel=1e-14)
    assert [[0.0, 0.5, 0.5]] == temper(np.array([[0.2, 0.4, 0.4]]), 0.0).tolist()


def test_variety_grows_with_temperature():
    """The entropy of every deck grows with T, up to that of nine equal programs."""
    weights = draw_decks(30, np.random.default_rng(1))
    assert np.ones(30) == pytest.approx(weights.sum(axis=1), rel=1e-12)
    entropies = []
    for degree in (0.3, 0.6, 1.0, 2.0, 50.0):
        chances = temper(weights, degree)
        entropies.append(-(chances * np.log(np.maximum(chances, 1e-300))).sum(axis=1))
    assert (np.diff(entropies, axis=0) > 0).all()
    assert math.log(9) == pytest.approx(entropies[-1], abs=0.02)


def test_the_truth_is_the_formula():
    """The true pass@k of each temperature is the mean over decks of 1 - (1 - p)^k, to 1e-12."""
    result = simulate_sweep([0.5, 1.0], [1, 3, 10], m=12, n=20, seed=4)
    weights = draw_decks(12, np.random.default_rng(4))
    for curve in result.curves:
        chances = [Fraction(p) for p in temper(weights, curve.temperature)[:, 0].tolist()]
        for k, value in zip(result.k, curve.truth, strict=True):
            assert float(sum(1 - (1 - p) ** k for p in chances) / 12) == pytest.approx(value, rel=1e-12)


@pytest.mark.nightly
def test_samples_agree_with_the_truth_within_their_error():
    """Every estimate lies within 4.5 exact standard errors of the truth of its temperature."""
    result = simulate_sweep(m=40, n=30, seed=11)
    weights = draw_decks(40, np.random.default_rng(11))
    for curve in result.curves:
        chances = temper(weights, curve.temperature)[:, 0]
        for k, value, truth in zip(result.k, curve.value, curve.truth, strict=True):
            se = math.sqrt(sum(unbiased_variance(chances, 30, k))) / 40
            assert abs(value - truth) <= 4.5 * se + 1e-12


def test_the_best_of_equals_looks_better_than_it_is():
    """For nearly equal temperatures the luck of the best is that of the largest of five equal values."""
    result = simulate_sweep([0.98, 0.99, 1.0, 1.01, 1.02], [5], m=50, n=10, seed=2)
    (choice,) = result.choices
    assert choice.optimism > 10 * choice.optimism_se
    # The mean of the largest of five standard normal values: 1.16296, the integral of 5 x phi(x) Phi(x)^4.
    chances = temper(draw_decks(50, np.random.default_rng(2)), 1.0)[:, 0]
    se = math.sqrt(sum(unbiased_variance(chances, 10, 5))) / 50
    assert 1.163 * se == pytest.approx(choice.optimism, abs=5 * choice.optimism_se)
    assert choice.truth <= choice.true_upper
    assert SWEEPS == result.sweeps


def test_a_real_sweep_has_estimates_and_no_truth():
    """Of counts the curves are the unbiased estimates, and only what can be split into halves is chosen among."""
    counts = [[1, 2, 3], [4, 0, 4]]
    result = measure_sweep([0.2, 0.8], [[4] * 3] * 2, counts)
    assert ((1, 2), (1, 2)) == (result.k, tuple(choice.k for choice in result.choices))
    wanted = [[float(pass_at_k(4, np.array(row), k).mean()) for k in (1, 2)] for row in counts]
    assert wanted == [list(curve.value) for curve in result.curves]
    assert all(choice.truth is None and choice.optimism is None for choice in result.choices)
    assert 0.8 == result.choices[0].best


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (([], [1]), "one or more numbers"),
        (([-1.0], [1]), "from 0 to 100"),
        (([0.5, 0.5], [1]), "distinct"),
        (([0.5], [41]), "k=41 .*40 samples"),
    ],
)
def test_what_cannot_be_is_refused(words, message):
    """Temperatures and k that cannot be are usage errors that name them."""
    with pytest.raises(UsageError, match=message):
        simulate_sweep(*words)
