"""Scores as text: both targets of each k, what the columns mean, warnings once, and a narrow terminal."""

from __future__ import annotations

import re

from passcurve.report import methods, scores
from passcurve.types import Counts, Curve, Estimate, Header, Interval, Jail, Limits


def interval(low: float, high: float, method: str = "plus-two t") -> Interval:
    """Return an interval at level .95."""
    return Interval(low=low, high=high, level=0.95, method=method)


AT_1 = Estimate(
    k=1,
    value=0.5,
    new_problems=interval(0.25, 0.75),
    these_problems=interval(0.4, 0.6, "beta-binomial"),
    between=0.04,
    within=0.01,
    within_from="unbiased",
    warnings=("unequal",),
)
AT_10 = Estimate(k=10, value=None, reason="too few")
HEADER = Header(
    version="1.2", benchmark="X", benchmark_digest="d", samples="s", limits=Limits(), verdict="auto", dedup=True,
    jail=Jail(isolation="full", layers=(), python="3.12.1"),
)  # fmt: skip


def test_both_targets_of_each_k():
    """A line has the value, both intervals and the split of the variance; a missing value its reason."""
    lines = scores.score_lines([AT_1, AT_10], verbose=True)
    assert ["95% CI, new problems", "95% CI, resampling", "between", "within"] == re.split("  +", lines[0])[1:]
    assert ["pass@1", ".5000", ".2500 to .7500", ".4000 to .6000", ".0400", ".0100"] == re.split("  +", lines[1])[1:]
    assert "  pass@10   -       too few" == lines[2]
    assert lines[3].startswith("  new problems: ")
    assert lines[3].endswith(" (plus-two t)")
    assert lines[4].startswith("  resampling: ")
    assert lines[4].endswith(" (beta-binomial)")
    assert "  warning: unequal" == lines[-1]


def test_warnings_stand_once():
    """What holds for several k is said once."""
    second = Estimate(k=2, value=0.6, new_problems=interval(0.3, 0.8), warnings=("unequal", "other"))
    assert ["unequal", "other"] == scores.warnings([AT_1, second])


def test_a_narrow_terminal():
    """Where the table does not fit, each column gets a line."""
    lines = scores.score_lines([AT_1, AT_10], None, 40)
    assert [
        "  pass@1  .5000",
        "    95% CI, new problems: .2500 to .7500",
        "    95% CI, resampling: .4000 to .6000",
    ] == lines[:3]
    assert all(len(line) <= 40 for line in lines[:4])


def test_a_curve_is_shown_in_steps():
    """Of many k the steps 1, 2, 5 and the last are shown, with the band for all at once; the record has all."""
    every = [Estimate(k=k, value=k / 31, new_problems=interval(0.0, 1.0)) for k in range(1, 31)]
    ks = tuple(range(1, 31))
    curve = Curve(k=ks, value=ks, low=(0.125,) * 30, high=(0.875,) * 30, level=0.95, method="sup-t", draws=9999, seed=0)
    lines = scores.score_lines(every, curve)
    assert [1, 2, 5, 10, 20, 30] == [int(results[1]) for line in lines if (results := re.match(r"  pass@(\d+)", line))]
    assert lines[1].endswith(".1250 to .8750")
    assert "9,999 draws, seed 0" in lines[-1]
    record = scores.score_record(every, curve)
    assert [*(f"pass@{k}" for k in ks), "curve"] == list(record)


def test_nothing_to_show():
    """Where nothing has a value there is no heading and no legend, only the reasons."""
    assert ["  pass@10   -       too few"] == scores.score_lines([AT_10])


def test_a_reason_stands_once():
    """A reason that holds for several k stands beside the first of them."""
    several = [Estimate(k=k, value=None, reason="too few") for k in (10, 20)]
    assert ["  pass@10   -       too few", "  pass@20   -       as above"] == scores.score_lines(several)


def test_the_sentence():
    """The sentence for a paper names n, m, k, estimator with source, both intervals, and how programs ran."""
    counts = [Counts(problem_id="a", n=4, c=2), Counts(problem_id="b", n=5, c=2)]
    sentence = methods.describe_scores([AT_1, AT_10], None, counts, "X", HEADER)
    for part in (
        "n = 4 to 5 samples of each of 2 problems of X",
        "report pass@1,",
        "Chen et al. (2021, arXiv:2107.03374), averaged over problems",
        "95% intervals for new problems like these (t with one success and one failure added)",
        "and for fresh samples of these problems (effective sample size",
        "full isolation with 3 s of its own time and 4 GiB of memory (passcurve 1.2, python 3.12.1).",
    ):
        assert part in sentence
    assert sentence.endswith(").")
    assert "pass@10" not in sentence


def test_no_sentence_without_a_number():
    """Where nothing has a value there is nothing to write of."""
    assert "" == methods.describe_scores([AT_10], None, [], "X", HEADER)


def test_a_reason_that_was_printed_before():
    """A reason that a line before the table has is not repeated in it."""
    reason = "its reason"
    (line,) = scores.score_lines([Estimate(k=1, value=None, reason=reason)], above=reason)
    assert reason not in line
    assert "withheld" in line
