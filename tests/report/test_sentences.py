"""The sentences of the lessons: each holds for the numbers above it, and says so where these say nothing."""

from __future__ import annotations

import pytest

from passcurve.lab.budget import budget
from passcurve.lab.estimators import estimators
from passcurve.lab.mixture import measure_run, mixture
from passcurve.lab.temperature import measure_sweep, simulate_sweep
from passcurve.lab.urn import urn
from passcurve.report import lessons, sentences
from passcurve.report.generation import final_lines, sweep_lines
from passcurve.types import Estimate, GenerationProgress

SAMPLES = 20
EASY, HARD = [18] * 30, [2] * 30


def sweep(*rows: list[int]) -> list[str]:
    """Return the sentences on runs at temperatures 0.2, 0.8, ... with these counts of passes."""
    degrees = [0.2 + 0.6 * at for at in range(len(rows))]
    numbers = measure_sweep(degrees, [[SAMPLES] * len(row) for row in rows], rows, [1, 5], splits=20)
    return sentences.temperature_sentences(numbers)


def test_heat_that_costs_at_every_k():
    """Where the hot run is worse at every k, nothing is said of variety that helps."""
    best, heat, _ = sweep(EASY, HARD)
    assert "0.2 is highest at k = 1 (.9000), and 0.2 is highest at k = 5" in best
    assert "for a k" not in best
    assert heat.endswith("heat costs at both k.")


def test_heat_that_helps_at_every_k():
    """Where the hot run is better at every k, nothing is traded."""
    _, heat, _ = sweep([1, 2] * 15, [5, 9] * 15)
    assert heat.endswith("heat helps at both k.")


def test_heat_that_trades():
    """Where heat loses at k = 1 and wins at many draws, the sentence is that of the trade."""
    best, heat, _ = sweep([20] * 15 + [0] * 15, [6] * 30)
    assert best.endswith(": none is good or bad but for a k.")
    assert "variety" in heat


def test_heat_that_helps_few_draws_only():
    """The opposite of the trade is not called a trade."""
    _, heat, _ = sweep([6] * 30, [20] * 15 + [0] * 15)
    assert heat.endswith("heat helps few draws here, and not many.")


def test_temperatures_that_the_samples_cannot_tell_apart():
    """Equal scores are no best, and a difference that may be chance is called so."""
    best, heat, _ = sweep([4, 8, 6], [8, 4, 6])
    assert best.count("have the same score") == 2
    assert heat.endswith("that may be chance, so these samples do not say what heat does.")
    best, _, _ = sweep([4, 8, 6], [9, 4, 6])
    assert "which may be chance (p " in best


def test_one_temperature():
    """Of one temperature no comparison is made."""
    assert all("best" not in sentence for sentence in sweep(EASY))


def test_a_choice_that_gains_nothing():
    """Where the best on all samples is no better on the other half, the choice is not said to flatter."""
    _, _, choice = sweep([20] * 10, [0] * 10)
    assert choice.startswith("Choosing on the same samples shows no gain here")
    _, _, choice = sweep([14, 16, 13, 15, 17], [3, 2, 4, 1, 3])
    assert choice.startswith("Choosing on the same samples shows no gain here")
    _, _, choice = sweep([9, 12, 8, 10, 11], [11, 8, 12, 10, 9], [10, 11, 9, 12, 8])
    assert choice.startswith("The best of several, chosen and reported on the same samples, looks better")


def test_luck_that_may_be_none():
    """Where the luck of simulated sweeps is within its error, it may be none."""
    numbers = simulate_sweep([0.0, 100.0], [1], m=20, n=10)
    assert sentences.temperature_sentences(numbers)[-1].endswith("which may be none.")


@pytest.mark.parametrize(("n", "c", "k"), [(10, 3, 1), (10, 0, 4), (10, 10, 4)])
def test_an_urn_in_which_the_plug_in_is_right(n, c, k):
    """Where putting back changes nothing, the plug-in is not called wrong."""
    assert sentences.urn_sentences(urn(n, c, k))[1].endswith("is right here.")
    assert "takes the samples for all" in sentences.urn_sentences(urn(10, 3, 2))[1]


@pytest.mark.parametrize(("p", "k"), [(0.3, 1), (0.0, 5), (1.0, 5)])
def test_estimators_that_all_agree(p, k):
    """Where the plug-in is right on average, no bias is claimed; without chance nothing strays."""
    text = " ".join(sentences.estimators_sentences(estimators(p, k, [k], draws=10)))
    assert "off by" not in text
    assert "never the bias" not in text
    assert ("stray alike" in text) == (0.0 < p < 1.0)


def test_a_formula_that_is_right_or_too_low():
    """Where problems are equally hard, 1 - (1 - pass@1)^k is not called too high."""
    assert sentences.mixture_sentences(mixture([[0.3]], [1, 5], n=10))[1].endswith("does no harm.")
    # Ten of twenty pass on every problem: without putting back one of five passes more often than with.
    low = sentences.mixture_sentences(measure_run("run", [20] * 5, [10] * 5, [1, 5]))
    assert "too low" in low[1]
    assert "too high, here by" in sentences.mixture_sentences(measure_run("run", [20] * 4, [0, 0, 20, 20], [5]))[1]


def test_models_whose_order_does_not_depend_on_k():
    """Which model is better is said to depend on k only where it does."""
    assert sentences.mixture_sentences(mixture([[0.3, 0.3], [0.1, 0.2]], [1, 5], n=10))[2].endswith("worse at k = 5.")
    assert sentences.mixture_sentences(mixture([[0.0, 1.0], [0.4, 0.4]], [1, 5], n=10))[2].endswith("depends on k.")
    assert sentences.mixture_sentences(mixture([[0.3], [0.3]], [1, 5], n=10))[2].endswith("here pass@1 tells all.")


def test_budgets_without_a_smaller_run():
    """A run that has no smaller one is compared with none; of one kind of smaller run no advice is given."""
    alone = sentences.budget_sentences(budget([4] * 8, [2] * 8, ns=[4], ms=[8], draws=5))
    assert alone[0].startswith("There is no smaller run")
    problems = sentences.budget_sentences(budget([4] * 8, [0, 1, 2, 3, 4, 2, 1, 3], ns=[4], ms=[8, 4], draws=20))
    assert "leave out" not in problems[1]


@pytest.mark.parametrize(("ns", "ms"), [([5, 2], [6, 3]), ([5], [6])])
def test_a_budget_of_parts_does_not_call_one_of_them_the_run(ns, ms):
    """Where only parts of a run are asked for, the score is that of the run, and widths are those of the parts."""
    lesson = budget([10] * 12, [0, 2, 4, 6, 8, 10] * 2, ns=ns, ms=ms, draws=20)
    assert " from 10 samples of each of 12 problems; " in lessons.budget_lines(lesson)[0]
    texts = sentences.budget_sentences(lesson)
    assert not any("whole run" in sentence for sentence in texts)
    assert "5 samples of each of 6 problems" in texts[1]


def test_a_budget_advises_what_its_widths_say():
    """Samples are left out before problems only where that leaves the narrower interval for no more samples."""
    spread = budget([16] * 32, [0, 16] * 16, ns=[16, 4], ms=[32, 8], draws=20)
    assert sentences.budget_sentences(spread)[1].endswith(": leave out samples before problems.")
    costly = budget([16] * 32, [0, 16] * 16, ns=[16, 15], ms=[32, 8], draws=20)
    assert "leave out" not in sentences.budget_sentences(costly)[1]
    assert "no smaller run strays" in sentences.budget_sentences(budget([4] * 8, [4] * 8, draws=5))[0]


def progress(**fields: object) -> GenerationProgress:
    """Return the progress of ten problems with two samples each at temperature 0."""
    numbers = dict.fromkeys(NUMBERS, 0) | {"stored": 20, "planned": 20, "repeated_problems": 10}
    words = {"server_models": {}, "temperature": 0.0, "failures": (), "ended_by": "", "exit_code": 0}
    return GenerationProgress(**numbers | words | fields)


NUMBERS = (
    "planned", "stored", "fresh", "truncated", "filtered", "retried", "prompt_tokens", "completion_tokens",
    "cached_tokens", "reasoning_tokens", "uncounted", "latency_s", "seconds", "fresh_tokens",
    "uniform_problems", "repeated_problems",
)  # fmt: skip


def test_copies_at_temperature_0():
    """Equal samples are as they should be at temperature 0 only where all are equal."""
    assert "as they should be" in final_lines(progress(uniform_problems=10))[1]
    for uniform in (0, 9):
        assert "where all should be" in final_lines(progress(uniform_problems=uniform))[1]


def test_temperatures_with_one_score():
    """Where every temperature has the same score, none is said to look better than it is."""

    def lines(*values: float) -> list[str]:
        return sweep_lines([(0.1 * at, [Estimate(k=1, value=value)], None) for at, value in enumerate(values)])

    assert len(lines(0.5, 0.5)) + 1 == len(lines(0.5, 0.6))
