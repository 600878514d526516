"""The transforms for training: against subsets counted one by one, and against what makes them unbiased."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
import subsets

from passcurve.stats import max_at_k, pass_at_k, pass_at_k_advantages, pkpo_rewards


def groups() -> list[tuple[list[Fraction], int]]:
    """List 150 random groups of up to 8 rewards, with ties, and a k for each."""
    rng = random.Random(8)
    results = []
    for _ in range(150):
        n = rng.randint(1, 8)
        results.append(([Fraction(rng.choice([0, 0, 1, 1, -1, 2.25])) for _ in range(n)], rng.randint(1, n)))
    return results


def transformed(rewards: list[Fraction], k: int) -> list[Fraction]:
    """Return s_i: the sum over the k-subsets with i of their largest reward, over C(n, k)."""
    n = len(rewards)
    return [
        subsets.over_subsets(n, k, lambda subset, i=i: max(rewards[j] for j in subset) if i in subset else 0)
        for i in range(n)
    ]


def largest(rewards: list[Fraction], k: int) -> Fraction:
    """Return max@k."""
    return subsets.over_subsets(len(rewards), k, lambda subset: max(rewards[j] for j in subset))


class TestPkpo:
    """Rewards for max@k."""

    def test_are_the_sums_over_subsets(self) -> None:
        """Without a baseline they are the sums over the subsets that hold the sample."""
        for rewards, k in groups():
            results = pkpo_rewards([float(reward) for reward in rewards], k)
            np.testing.assert_allclose(results, [float(s) for s in transformed(rewards, k)], rtol=1e-14, atol=1e-15)

    def test_leave_one_out(self) -> None:
        """The baseline "loo" is the mean over the others of their own sums without i: k/(n-1) max@k of the others."""
        for rewards, k in groups():
            if k < len(rewards):
                expected = []
                for i, s in enumerate(transformed(rewards, k)):
                    others = rewards[:i] + rewards[i + 1 :]
                    mean = sum(transformed(others, k), Fraction(0)) / len(others)
                    assert Fraction(k, len(others)) * largest(others, k) == mean
                    expected.append(float(s - mean))
                results = pkpo_rewards([float(reward) for reward in rewards], k, "loo")
                np.testing.assert_allclose(results, expected, rtol=1e-13, atol=1e-15)

    def test_leave_one_out_of_each_subset(self) -> None:
        """The baseline "loo_minus_one" leaves what i adds to the largest of the k-1 others, summed over its subsets."""
        for rewards, k in groups():
            if k > 1:
                n = len(rewards)

                def added(subset: tuple[int, ...], i: int, rewards: list[Fraction] = rewards) -> Fraction | int:
                    others = max(rewards[j] for j in subset if j != i)
                    return max(others, rewards[i]) - others if i in subset else 0

                expected = [float(subsets.over_subsets(n, k, lambda s, i=i, f=added: f(s, i))) for i in range(n)]
                results = pkpo_rewards([float(reward) for reward in rewards], k, "loo_minus_one")
                np.testing.assert_allclose(results, expected, rtol=1e-13, atol=1e-15)

    @pytest.mark.parametrize("baseline", [None, "loo", "loo_minus_one"])
    def test_make_the_gradient_unbiased(self, baseline: object) -> None:
        """The expectation of sum_i r_i d log P(x_i)/dp is that of d max@k / dp, for samples that pass with chance p."""
        n, k, p = 5, 2, Fraction(1, 3)
        total = Fraction(0)
        for sample in itertools.product((0, 1), repeat=n):
            chance = p ** sum(sample) * (1 - p) ** (n - sum(sample))
            result = pkpo_rewards(sample, k, baseline)  # type: ignore[arg-type]
            scores = [1 / p if item else -1 / (1 - p) for item in sample]
            total += chance * sum(Fraction(float(r)) * score for r, score in zip(result, scores, strict=True))
        assert float(k * (1 - p) ** (k - 1)) == pytest.approx(float(total), rel=1e-14)

    def test_of_right_and_wrong(self) -> None:
        """A right sample gets k/n and a wrong one k/n times pass@(k-1) of the others, ties to the last bit."""
        result = pkpo_rewards([1, 0, 1, 0, 0], 3)
        assert [3 / 5, 3 / 5] == result[[0, 2]].tolist()
        assert float(Fraction(3, 5) * Fraction(5, 6)) == pytest.approx(result[1], rel=1e-15)
        assert 1 == len(set(result[[1, 3, 4]].tolist()))
        assert Fraction(5, 6) == pytest.approx(float(pass_at_k(4, 2, 2)))

    def test_sum_to_k_times_the_estimate(self) -> None:
        """Without a baseline they sum to k max@k."""
        rewards = np.random.default_rng(9).normal(size=(10, 64))
        expected = 8 * np.asarray(max_at_k(rewards, 8))
        np.testing.assert_allclose(expected, pkpo_rewards(rewards, 8).sum(axis=-1), rtol=1e-13)

    def test_broadcast(self) -> None:
        """Groups in rows and k down give a stack of tables of the same rows."""
        rewards = np.random.default_rng(10).random((3, 6))
        result = pkpo_rewards(rewards, [[2], [4]], "loo")
        assert (2, 3, 6) == result.shape
        np.testing.assert_array_equal(pkpo_rewards(rewards[1], 4, "loo"), result[1, 1])
        assert (0, 6) == pkpo_rewards(np.zeros((0, 6)), 2).shape

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (([1, 0], 2, "loo"), "k=2: .*'loo' .*n=2"),
            (([[1, 0], [1, 0]], [2, 1], "loo_minus_one"), "element 1: k=1: .*'loo_minus_one' .*k > 1"),
            (([1, 0], 1, "mean"), "baseline='mean' .*None, 'loo', 'loo_minus_one'"),
            (([1, 0], 3), "k=3 .*n=2"),
            (([1, math.nan], 1), "element 1: rewards=nan"),
            ((1.0, 1), "rewards .*one number"),
        ],
    )
    def test_refuses(self, arguments: tuple[object, ...], message: str) -> None:
        """Baselines and groups that cannot be are a ValueError that says why."""
        with pytest.raises(ValueError, match=rf"^{message}(?!\w)"):
            pkpo_rewards(*arguments)  # type: ignore[arg-type]


class TestAdvantages:
    """Pass@k training."""

    @pytest.mark.parametrize(("n", "k"), [(1, 1), (4, 1), (6, 2), (8, 4), (9, 9), (64, 8)])
    def test_are_the_published_ones(self, n: int, k: int) -> None:
        """They are (1-R)/sigma and (1 - R - C(N-c-1, k-1)/C(N-1, k-1))/sigma."""
        for c in range(n + 1):
            reward = 1 - Fraction(math.comb(n - c, k), math.comb(n, k))
            result = pass_at_k_advantages(np.arange(n) < c, k)
            if reward in (0, 1):
                assert np.isnan(result).all()
                continue
            sigma = math.sqrt(reward * (1 - reward))
            wrong = 1 - reward - Fraction(math.comb(n - c - 1, k - 1), math.comb(n - 1, k - 1))
            expected = [float(1 - reward) / sigma] * c + [float(wrong) / sigma] * (n - c)
            np.testing.assert_allclose(result, expected, rtol=1e-14)

    def test_sum_to_zero(self) -> None:
        """They sum to 0 within rounding."""
        correct = np.random.default_rng(11).random((50, 32)) < 0.3
        assert np.abs(pass_at_k_advantages(correct, 4).sum(axis=-1)).max() < 1e-13

    def test_broadcast(self) -> None:
        """Groups in rows and k down give a stack of tables."""
        correct = np.array([[1, 0, 0], [0, 1, 1]])
        assert (2, 2, 3) == pass_at_k_advantages(correct, [[1], [2]]).shape
        assert (0, 3) == pass_at_k_advantages(np.zeros((0, 3)), 2).shape

    @pytest.mark.parametrize(
        ("correct", "k", "message"),
        [
            ([1, 0.5], 1, "element 1: correct=0.5"),
            ([1, 0], 3, "k=3 .*n=2"),
            (True, 1, "correct .*one number"),
        ],
    )
    def test_refuses(self, correct: object, k: int, message: str) -> None:
        """What is no row of right and wrong is a ValueError."""
        with pytest.raises(ValueError, match=rf"^{message}(?!\w)"):
            pass_at_k_advantages(correct, k)  # type: ignore[arg-type]
