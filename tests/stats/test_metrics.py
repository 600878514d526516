"""Metrics from counts: values by enumeration of subsets, intervals where there are some, and words elsewhere."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import ceil, comb

import pytest

from passcurve.stats import dataset_interval, plus_two_t, simultaneous_band
from passcurve.stats.metrics import ScoreRequest, score_counts
from passcurve.types import Counts, Estimate, Metric

N, C = 6, [0, 2, 3, 6]
COUNTS = tuple(Counts(problem_id=f"P/{i}", n=N, c=c) for i, c in enumerate(C))
GROUPS = ((6,), (3, 2, 1), (1,) * 6, (4, 2))


def one(metric: Metric, k: int, groups=None) -> Estimate:
    """Return one metric at one k."""
    (result,) = score_counts(COUNTS, ScoreRequest(metrics=(metric,), ks=(k,)), 0, groups=groups).estimates
    return result


def subsets(c: int, k: int) -> list[int]:
    """Return how many of each k-subset of N samples pass, of which the first c do."""
    return [sum(position < c for position in drawn) for drawn in combinations(range(N), k)]


def attempts(c: int, k: int) -> Fraction:
    """Return E[min(T, k)] as the sum of the chances that the first j fail."""
    return sum((Fraction(comb(N - c, j), comb(N, j)) for j in range(k)), Fraction(0))


VALUES = {
    "pass@k": lambda c, k: Fraction(sum(x > 0 for x in subsets(c, k)), comb(N, k)),
    "pass^k": lambda c, k: Fraction(sum(x == k for x in subsets(c, k)), comb(N, k)),
    "g-pass@k": lambda c, k: Fraction(sum(x >= max(1, ceil(k / 2)) for x in subsets(c, k)), comb(N, k)),
    "mg-pass@k": lambda c, k: (
        sum((max(Fraction(0), 2 * x - k) / k for x in map(Fraction, subsets(c, k))), Fraction(0)) / comb(N, k)
    ),
    "attempts@k": attempts,
}


@pytest.mark.parametrize("k", [1, 2, 3, 6])
@pytest.mark.parametrize("name", VALUES)
def test_values(name, k):
    """Each metric is the mean over problems of what listing all subsets gives."""
    exact = sum((Fraction(VALUES[name](c, k)) for c in C), Fraction(0)) / len(C)
    result = one(Metric(name=name, share="0.5" if name == "g-pass@k" else ""), k)
    assert float(exact) == pytest.approx(result.value, rel=1e-14)
    assert name.replace("k", str(k)) == result.name.partition(":")[0].replace("mg-pass", "mg-pass")


@pytest.mark.parametrize("k", [1, 2, 4, 6])
def test_distinct(k):
    """Distinct@k is the mean over problems of how many programs a k-subset holds."""
    programs = [[at for at, size in enumerate(sizes) for _ in range(size)] for sizes in GROUPS]
    exact = Fraction(0)
    for item in programs:
        drawn = [len({item[i] for i in chosen}) for chosen in combinations(range(N), k)]
        exact += Fraction(sum(drawn), len(drawn)) / len(C)
    assert float(exact) == pytest.approx(one(Metric(name="distinct@k"), k, GROUPS).value, rel=1e-14)


def test_intervals_of_pass_hat():
    """Both intervals of pass^k are those of pass@k with passes and failures exchanged."""
    result = one(Metric(name="pass^k"), 2)
    mirrored = dataset_interval(N, [N - c for c in C], 2, "these_problems")
    assert (1 - mirrored.high, 1 - mirrored.low) == (result.these_problems.low, result.these_problems.high)
    low, high = plus_two_t([float(VALUES["pass^k"](c, 2)) for c in C])
    assert (low, high) == pytest.approx((result.new_problems.low, result.new_problems.high), rel=1e-12)


def test_an_interval_on_its_own_scale():
    """Attempts lie between 1 and k, and so does their interval: plus-two t of the scores brought to [0, 1] and back."""
    result = one(Metric(name="attempts@k"), 3)
    low, high = plus_two_t([float((attempts(c, 3) - 1) / 2) for c in C])
    assert (1 + 2 * low, 1 + 2 * high) == pytest.approx((result.new_problems.low, result.new_problems.high), rel=1e-12)
    assert result.these_problems is None
    assert any("no interval for fresh samples" in warning for warning in result.warnings)


def test_attempts_reach_one_beyond_n():
    """E[min(T, n+1)] has an unbiased estimate, (n+1)/(c+1); n+2 has none."""
    assert sum(7 / (c + 1) for c in C) / 4 == pytest.approx(one(Metric(name="attempts@k"), 7).value, rel=1e-14)
    beyond = one(Metric(name="attempts@k"), 8)
    assert beyond.value is None
    assert beyond.reason.startswith("k=8 needs 7 samples of every problem; ")


def test_cover_is_model_based():
    """A cover has a value, no k, no interval, and says why; saturated data have no value."""
    (result,) = score_counts(COUNTS, ScoreRequest(metrics=(Metric(name="cover", share="0.5"),))).estimates
    assert ("cover:0.5", 0, None, None) == (result.name, result.k, result.new_problems, result.these_problems)
    assert 0.3 < result.value < 0.7
    assert any("model-based" in warning for warning in result.warnings)
    failed = tuple(Counts(problem_id=str(i), n=4, c=0) for i in range(3))
    (none,) = score_counts(failed, ScoreRequest(metrics=(Metric(name="cover", share="0.5"),))).estimates
    assert (None, True) == (none.value, "nothing to fit" in none.reason)


def test_distinct_needs_the_programs():
    """Without programs distinct@k has no value, with the reason."""
    result = one(Metric(name="distinct@k"), 2)
    assert result.value is None
    assert "needs the programs" in result.reason


def test_every_k():
    """Every k from 1 to the least n, and a band for all of them at once that is wider than each alone."""
    counts = (*COUNTS, Counts(problem_id="P/4", n=4, c=1))
    result = score_counts(counts, ScoreRequest(with_curve=True, ks=()))
    assert [1, 2, 3, 4] == [estimate.k for estimate in result.estimates] == list(result.curve.k)
    band = simultaneous_band([6, 6, 6, 6, 4], [*C, 1], [1, 2, 3, 4])
    assert list(result.curve.low) == band.simultaneous.low.tolist()
    for estimate, low, high in zip(result.estimates, result.curve.low, result.curve.high, strict=True):
        assert low <= estimate.new_problems.low < estimate.value < estimate.new_problems.high <= high


def test_curve_of_many_samples():
    """Beyond 200 a curve has the k of two digits and zeros, so that it does not take longer with each sample."""
    counts = tuple(Counts(problem_id=str(c), n=1234, c=c) for c in (0, 1, 40, 900))
    result = score_counts(counts, ScoreRequest(with_curve=True, ks=(777,)))
    beyond = (*range(210, 780, 10), 777, *range(780, 1000, 10), 1000, 1100, 1200, 1234)
    assert (*range(1, 201), *sorted(beyond)) == result.curve.k
    assert len(result.curve.k) == len(result.estimates)


@pytest.mark.parametrize(
    ("counts", "owed", "message"),
    [
        ((), 0, "no problems"),
        ((Counts(problem_id="a", n=0, c=0),), 0, "no sample"),
        (COUNTS, 3, "3 samples"),
    ],
)
def test_every_k_of_nothing(counts, owed, message):
    """Where there is nothing to estimate from, all gives one k with the reason, and no curve."""
    result = score_counts(counts, ScoreRequest(with_curve=True, ks=()), owed)
    assert [(1, None)] == [(estimate.k, estimate.value) for estimate in result.estimates]
    assert message in result.estimates[0].reason
    assert result.curve is None


def test_copies():
    """Where all samples of five problems or more are one program, k > 1 is refused and k = 1 says what n is worth."""
    counts = tuple(Counts(problem_id=str(i), n=4, c=4 * (i % 2)) for i in range(5))
    request = ScoreRequest(metrics=(Metric(), Metric(name="pass^k", k=3)), ks=(1, 2))
    at_1, at_2, every = score_counts(counts, request, uniform_problems=5).estimates
    assert (0.4, None) == (at_1.value, at_1.these_problems)
    assert any("n is 1 in effect" in warning for warning in at_1.warnings)
    assert at_2.value is None
    assert "copies" in at_2.reason
    assert every.value is None
    curve = score_counts(counts, ScoreRequest(with_curve=True, ks=()), uniform_problems=5)
    assert [1] == [estimate.k for estimate in curve.estimates]


def test_few_copies_may_be_chance():
    """With fewer problems equal programs may be chance: there is a value, and a warning."""
    counts = tuple(Counts(problem_id=str(i), n=4, c=i) for i in range(4))
    (result,) = score_counts(counts, ScoreRequest(ks=(2,)), uniform_problems=4).estimates
    assert result.value is not None
    assert any("at temperature 0 n would be 1" in warning for warning in result.warnings)
    (other,) = score_counts(counts, ScoreRequest(ks=(2,))).estimates
    assert not any("temperature" in warning for warning in other.warnings)


def test_copies_have_no_cover():
    """Copies tell nothing of how much problems differ, as one sample of each does not."""
    counts = [Counts(problem_id=f"p/{at}", n=5, c=5 * (at % 2)) for at in range(10)]
    request = ScoreRequest(metrics=(Metric(name="cover", share="0.5"),))
    (result,) = score_counts(counts, request, uniform_problems=10).estimates
    assert result.value is None
    assert "copies" in result.reason
