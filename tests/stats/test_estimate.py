"""Counts -> Estimate: the mean to the last bit, and a reason wherever there is none."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passcurve.stats import dataset_interval, exact_pass_at_k, pass_at_k, plus_two_t
from passcurve.stats.estimate import estimate
from passcurve.types import Counts, Estimate


def of(*pairs: tuple[int, int]) -> list[Counts]:
    """Make the counts of HumanEval/0, HumanEval/1, ... from pairs (n, c)."""
    return [Counts(problem_id=f"HumanEval/{i}", n=n, c=c) for i, (n, c) in enumerate(pairs)]


def one(counts: list[Counts], k: int, owed: int = 0) -> Estimate:
    """Estimate a single k."""
    (result,) = estimate(counts, [k], owed=owed)
    return result


class TestValue:
    """The mean over problems."""

    def test_is_the_mean_over_problems(self) -> None:
        """Problems weigh the same however many samples they have: the mean of 1/2, 0 and 1 is 1/2."""
        assert 0.5 == one(of((6, 3), (2, 0), (100, 100)), 1).value

    def test_three_of_six_is_a_half(self) -> None:
        """3 of 6 is 0.5 to the last bit."""
        assert 0.5 == one(of((6, 3)), 1).value

    @pytest.mark.parametrize("n", [1, 3, 7, 200, 1_000_003])
    def test_pass_at_1_of_equal_n_is_one_division(self, n: int) -> None:
        """With n samples of each of 164 problems pass@1 is sum(c) / (164 n), rounded once."""
        c = np.random.default_rng(n).integers(0, n + 1, 164).tolist()
        assert sum(c) / (n * 164) == one(of(*((n, x) for x in c)), 1).value

    @given(st.lists(st.integers(5, 90).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), min_size=1))
    @settings(max_examples=40)
    def test_is_correctly_rounded(self, pairs: list[tuple[int, int]]) -> None:
        """For ragged n it is the float nearest to the mean of the exact fractions."""
        exact = sum((exact_pass_at_k(n, c, 5) for n, c in pairs), Fraction(0)) / len(pairs)
        assert float(exact) == one(of(*pairs), 5).value

    def test_is_close_where_fractions_would_be_too_long(self) -> None:
        """At n = 50,000 it is the mean of the estimates to a unit or two in the last place."""
        pairs = [(50_000, 13 * i) for i in range(164)]
        expected = math.fsum(pass_at_k([n for n, _ in pairs], [c for _, c in pairs], 100)) / 164
        assert expected == pytest.approx(one(of(*pairs), 100).value, rel=4e-16)

    def test_saturated(self) -> None:
        """All wrong is exactly 0 and all right exactly 1."""
        assert 0.0 == one(of(*[(20, 0)] * 164), 10).value
        assert 1.0 == one(of(*[(20, 20)] * 164), 10).value

    def test_keeps_the_order_of_the_ks_and_takes_any_iterable(self) -> None:
        """Estimates come in the order asked, from counts that may be read only once."""
        result = estimate(iter(of((10, 3), (10, 0))), [10, 1, 2])
        assert [10, 1, 2] == [estimated.k for estimated in result]
        assert [0.5, 0.15, float(Fraction(8, 30))] == [estimated.value for estimated in result]

    def test_the_order_of_the_problems_does_not_matter(self) -> None:
        """The same counts in another order give the same bits."""
        pairs = [(20 + i % 7, i % 19) for i in range(164)]
        assert one(of(*pairs), 10).value == one(of(*pairs[::-1]), 10).value


class TestInterval:
    """The interval beside the value."""

    def test_is_the_plus_two_t_of_the_scores(self) -> None:
        """new_problems is the plus-two t interval of the per-problem estimates, and says so; the other is open."""
        counts = of((10, 3), (20, 0), (10, 10))
        (result,) = estimate(counts, [2], level=0.9)
        bounds = plus_two_t([pass_at_k(10, 3, 2), 0.0, 1.0], 0.9)
        assert result.new_problems is not None
        assert (*bounds, 0.9, "plus-two t") == (
            result.new_problems.low,
            result.new_problems.high,
            result.new_problems.level,
            result.new_problems.method,
        )
        assert {float} == {type(result.value), type(result.new_problems.low), type(result.new_problems.high)}
        assert "" == result.reason

    def test_holds_the_rounded_value_at_every_level(self) -> None:
        """Where a low level makes the value the end of its interval, rounding does not push it out."""
        failed = (2, 3, 2, 1, 1, 1, 2, 0, 0, 3, 0, 2, 2, 2, 2, 4, 3, 2)
        (result,) = estimate(of(*((200, 200 - f) for f in failed)), [1], level=0.5)
        assert result.new_problems is not None
        assert result.value is not None
        assert result.value == result.new_problems.high

    def test_the_other_target_is_that_of_dataset_interval(self) -> None:
        """these_problems, the variance split and the warnings are those of dataset_interval for fresh samples."""
        (result,) = estimate(of((10, 3), (20, 0), (10, 10)), [2], level=0.9)
        other = dataset_interval([10, 20, 10], [3, 0, 10], 2, "these_problems", 0.9)
        assert result.these_problems is not None
        assert (other.low, other.high, 0.9, "beta-binomial") == (
            result.these_problems.low,
            result.these_problems.high,
            result.these_problems.level,
            result.these_problems.method,
        )
        assert (other.between, other.within, "unbiased") == (result.between, result.within, result.within_from)
        assert other.warnings == result.warnings

    def test_one_sample_of_each_has_a_bound_and_no_split(self) -> None:
        """With n = 1 the variances are None, and the interval for these problems is called a bound."""
        result = one(of((1, 1), (1, 0), (1, 1)), 1)
        assert result.these_problems is not None
        assert ("bound", None, None, "none") == (
            result.these_problems.method,
            result.between,
            result.within,
            result.within_from,
        )

    def test_copies_are_one_sample(self) -> None:
        """With copies k > 1 has a reason in place of a value, and k = 1 no interval for fresh samples."""
        first, second = estimate(of((5, 5), (5, 0), (5, 5)), [1, 2], deterministic=True)
        assert first.value == pytest.approx(2 / 3)
        assert (None, None) == (first.these_problems, first.within)
        assert any(warning.startswith("copies, as at temperature 0") for warning in first.warnings)
        assert second.value is None
        assert "copies" in second.reason

    def test_copies_with_different_verdicts_are_named(self) -> None:
        """One program that both passed and failed was judged differently, which "the same" would hide."""
        same, split = (estimate(of((5, 5), (5, c)), [1], deterministic=True)[0] for c in (0, 2))
        assert not any("different verdicts" in warning for warning in same.warnings)
        assert any("different verdicts on 1 problem:" in warning for warning in split.warnings)

    def test_a_tuned_setting_adds_a_warning(self) -> None:
        """Data on which a setting was chosen carry the warning."""
        (result,) = estimate(of((5, 3), (5, 0)), [1], tuned=True)
        assert result.warnings[-1].startswith("a setting was chosen on these data")


class TestReason:
    """Reasons for a missing value."""

    def test_owed_samples(self) -> None:
        """A run with owed work has no score, whatever its counts."""
        result = one(of((10, 3)), 1, owed=3)
        assert (None, None) == (result.value, result.new_problems)
        assert result.reason.startswith("3 samples ")
        assert one(of((10, 3)), 1, owed=1).reason.startswith("1 sample ")

    def test_no_problems(self) -> None:
        """No problems have no score."""
        result = one([], 1)
        assert Estimate(k=1, value=None, reason=result.reason) == result
        assert "no problems" in result.reason

    def test_problems_without_a_sample(self) -> None:
        """A problem without a sample leaves every k without a value and is named."""
        result = estimate(of((5, 1), (0, 0), (5, 2)), [1, 10])
        assert [None, None] == [estimated.value for estimated in result]
        assert all(re.search(r"1 of 3 .*: 'HumanEval/1'$", estimated.reason) for estimated in result)

    def test_names_only_the_first_problems(self) -> None:
        """Of many problems without a sample the first three are named."""
        reason = one(of((5, 1), *[(0, 0)] * 4), 1).reason
        assert re.search(r"4 of 5 .*: 'HumanEval/1', 'HumanEval/2', 'HumanEval/3', \.\.\.$", reason)

    def test_fewer_samples_than_k(self) -> None:
        """A k above the samples of some problems says how many fall short and where the fewest are."""
        reason = one(of((30, 1), *[(20, 0)] * 163), 100).reason
        assert re.search(r"^k=100 .*164 of 164 .*20, 'HumanEval/1'", reason)

    def test_only_ks_above_n_have_no_value(self) -> None:
        """With ragged n each k is judged by itself."""
        result = estimate(of((2, 1), (5, 5)), [1, 2, 5])
        assert [0.75, 1.0, None] == [estimated.value for estimated in result]
        assert re.search(r"^k=5 .*1 of 2 .*2, 'HumanEval/0'", result[2].reason)


class TestRefusals:
    """Invalid arguments."""

    @pytest.mark.parametrize(
        ("counts", "ks", "level", "owed", "message"),
        [
            (of((4, 5)), [1], 0.95, 0, "'HumanEval/0'.*c=5 .*n=4"),
            (of((4, -1)), [1], 0.95, 0, "'HumanEval/0'.*c=-1 .*n=4"),
            (of((4, 1)) * 2, [1], 0.95, 0, "'HumanEval/0'.*twice"),
            (of((4, 1)), [1, 0], 0.95, 0, "k=0"),
            (of((4, 1)), [1.5], 0.95, 0, "k=1.5"),
            (of((4, 1)), [True], 0.95, 0, "k=True"),
            ([], [1], 95, 0, "level=95"),
            ([], [1], 0.95, -1, "owed=-1"),
        ],
    )
    def test_invalid_arguments_raise_value_error(
        self, counts: list[Counts], ks: list[int], level: float, owed: int, message: str
    ) -> None:
        """Invalid counts, ks, levels and numbers of owed samples raise ValueError before anything is estimated."""
        with pytest.raises(ValueError, match=rf"{message}(?!\w)"):
            estimate(counts, ks, level, owed)
