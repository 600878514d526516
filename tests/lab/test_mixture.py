"""Mixtures: exact curves in fractions, simulations within their stated error, and runs."""

from __future__ import annotations

from fractions import Fraction

import pytest

from passcurve.errors import UsageError
from passcurve.lab.mixture import KS, measure_run, mixture
from passcurve.stats import exact_pass_at_k

CHANCES = (0.0, 0.125, 0.5, 0.75, 1.0)


def test_the_curves_are_those_of_the_formulas():
    """pass@k is the mean of 1 - q^k, the wrong formula puts the mean in, both to 1e-12 of fractions."""
    result = mixture([CHANCES])
    exact = [Fraction(p) for p in CHANCES]
    mean = sum(exact) / len(exact)
    (model,) = result.models
    for k, value, wrong in zip(result.k, model.value, model.wrong, strict=True):
        assert float(sum(1 - (1 - p) ** k for p in exact) / len(exact)) == pytest.approx(value, rel=1e-12)
        assert float(1 - (1 - mean) ** k) == pytest.approx(wrong, rel=1e-12)


def test_the_models_shown_have_the_same_pass_at_1_and_not_the_same_pass_at_10():
    """The three defaults agree at k = 1 and part from there: 1 - .7^10, the mean for .1 and .5, and .3 for ever."""
    result = mixture()
    at = result.k.index(10)
    assert [0.3, 0.3, 0.3] == pytest.approx([model.value[0] for model in result.models], rel=1e-15)
    wanted = [1 - 0.7**10, 1 - (0.9**10 + 0.5**10) / 2, 0.3]
    assert wanted == pytest.approx([model.value[at] for model in result.models], rel=1e-12)


def test_zero_and_one_give_a_half_where_the_formula_says_three_quarters():
    """Over p = {0, 1} pass@2 is 1/2 and 1 - (1 - 1/2)^2 is 3/4."""
    (model,) = mixture([(0.0, 1.0)], [2]).models
    assert (0.5, 0.75) == (model.value[0], model.wrong[0])


def test_simulations_agree_within_their_stated_error():
    """Every simulated value lies within 4.5 standard errors of the exact one."""
    for model in mixture([[p] * 40 for p in CHANCES] + [CHANCES * 20], n=60, seed=2).models:
        for exact, results, se in zip(model.value, model.simulated, model.simulated_se, strict=True):
            assert abs(results - exact) <= 4.5 * se + 1e-12


def test_a_run_has_its_estimates():
    """Of a run the curve is the mean of the unbiased estimates, up to the k that the samples allow."""
    result = measure_run("r", [10, 20], [3, 0], KS)
    assert (1, 2, 3, 5, 7, 10) == result.k
    (model,) = result.models
    for k, value, wrong in zip(result.k, model.value, model.wrong, strict=True):
        assert float(exact_pass_at_k(10, 3, k) / 2) == pytest.approx(value, rel=1e-12)
        assert float(1 - (1 - Fraction(3, 20)) ** k) == pytest.approx(wrong, rel=1e-12)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (([[1.5]], [1]), "model A: 1.5 "),
        (([[]], [1]), "model A .* 0"),
        (([[0.5]], [101]), "k=101 .*n=100"),
        (([[0.5]], [0]), "k=0 "),
    ],
)
def test_what_cannot_be_is_refused(words, message):
    """What lies outside the definition is a usage error that names the model or the number."""
    with pytest.raises(UsageError, match=message):
        mixture(*words)
