"""Tests by flipping signs: against enumeration, and how often they reject what is true."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passcurve.stats import (
    max_t_p,
    mcnemar_exact,
    pass_at_k,
    sign_flip_p,
    simultaneous_band,
    stratified_permutation_p,
)


def by_enumeration(differences: list[Fraction]) -> float:
    """Count all 2^m patterns with exact numbers."""
    seen = abs(sum(differences))
    patterns = list(itertools.product((1, -1), repeat=len(differences)))
    hits = sum(
        abs(sum(sign * value for sign, value in zip(signs, differences, strict=True))) >= seen for signs in patterns
    )
    return float(Fraction(hits, len(patterns)))


class TestSignFlip:
    """The p-value of one row of differences."""

    @pytest.mark.ci
    @given(st.lists(st.fractions(-1, 1, max_denominator=12), min_size=1, max_size=9))
    @settings(max_examples=60)
    def test_counts_what_enumeration_counts(self, differences: list[Fraction]) -> None:
        """For any few differences p is the share of the 2^m patterns that reach as far."""
        results = sign_flip_p([float(value) for value in differences])
        assert by_enumeration(differences) == pytest.approx(results.p, abs=1e-12)
        assert (0.0, "exact", 0, None) == results[1:]

    def test_counts_differences_without_a_unit(self) -> None:
        """Differences on no lattice are listed in two halves, with the same count as enumeration."""
        differences = [math.sqrt(prime) - 2.5 for prime in (2, 3, 5, 7, 11, 13, 17, 19)]
        assert by_enumeration([Fraction(value) for value in differences]) == sign_flip_p(differences).p

    def test_is_exact_at_any_size_on_a_lattice(self) -> None:
        """With 1,000 verdicts that differ by one it is the exact McNemar p."""
        differences = [1.0] * 120 + [-1.0] * 80 + [0.0] * 800
        result = sign_flip_p(differences)
        assert "exact" == result.method
        assert float(mcnemar_exact(120, 80)) == pytest.approx(result.p, rel=1e-12)

    def test_draws_where_it_cannot_count(self) -> None:
        """Many differences without a unit are drawn, and the exact p lies within a few of the errors told."""
        rng = np.random.default_rng(5)
        differences = rng.normal(0.1, 1.0, 38)
        exact = sign_flip_p(differences)
        longer = np.concatenate([differences, [1e-7 * math.sqrt(i) for i in range(2, 8)]])
        drawn = sign_flip_p(longer, draws=20_000, seed=3)
        assert ("exact", "Monte Carlo", 20_000, 3) == (exact.method, drawn.method, drawn.draws, drawn.seed)
        assert abs(exact.p - drawn.p) < 4 * drawn.error
        assert math.sqrt(drawn.p * (1 - drawn.p) / 20_000) == pytest.approx(drawn.error)
        assert drawn == sign_flip_p(longer, draws=20_000, seed=3)

    def test_no_difference_at_all(self) -> None:
        """Differences that are all 0, and a single problem, give p = 1."""
        assert 1.0 == sign_flip_p([0.0] * 164).p
        assert 1.0 == sign_flip_p([0.75]).p

    def test_rejects_a_true_null_at_most_as_often_as_said(self) -> None:
        """Over all 2^10 patterns of ten differences p <= alpha happens with chance at most alpha, for every alpha."""
        sizes = np.array([1, 2, 3, 5, 8, 9, 9, 4, 1, 7]) / 10
        results = sorted(sign_flip_p(sizes * signs).p for signs in itertools.product((1, -1), repeat=10))
        assert all(
            (i + 1) / len(results) <= p + 1e-12
            for i, p in enumerate(results)
            if i + 1 == len(results) or p < results[i + 1]
        )

    @pytest.mark.parametrize(
        ("differences", "draws", "seed", "message"),
        [
            ([], 10, 0, r"difference .*\(0,\)"),
            ([0.0, math.nan], 10, 0, "element 1: difference nan"),
            ([0.5], 0, 0, "draws=0"),
            ([0.5], 10, -1, "seed=-1"),
        ],
    )
    def test_refuses(self, differences: list[float], draws: int, seed: int, message: str) -> None:
        """What is no row of differences, and settings that cannot be, are a ValueError that says which."""
        with pytest.raises(ValueError, match=rf"^{message}(?!\w)"):
            sign_flip_p(differences, draws, seed)


class TestMaxT:
    """Several hypotheses at once."""

    def test_one_hypothesis_is_the_plain_test(self) -> None:
        """With one column both p-values are the sign-flip p."""
        column = np.array([0.3, -0.1, 0.5, 0.2, 0.4, -0.2, 0.1, 0.35, 0.15, 0.45])
        result = max_t_p(column[:, None])
        assert [sign_flip_p(column).p] * 2 == pytest.approx([result.p[0], result.adjusted[0]], rel=1e-12)

    def test_counts_what_enumeration_counts(self) -> None:
        """Three columns of five problems agree with the step-down maximum written out with loops."""
        table = np.random.default_rng(2).normal(0.3, 1, (5, 3))
        size = np.sqrt((table**2).sum(axis=0))
        seen = np.abs(table.sum(axis=0)) / size
        order = sorted(range(3), key=lambda h: -seen[h])
        hits = [0, 0, 0]
        for signs in itertools.product((1, -1), repeat=5):
            flipped = np.abs((np.array(signs)[:, None] * table).sum(axis=0)) / size
            for rank, h in enumerate(order):
                hits[rank] += max(flipped[j] for j in order[rank:]) >= seen[h] - 1e-9
        expected = np.zeros(3)
        expected[order] = np.maximum.accumulate(np.array(hits) / 32)
        assert expected.tolist() == pytest.approx(max_t_p(table).adjusted.tolist(), abs=1e-12)

    def test_equal_columns_cost_nothing(self) -> None:
        """The same column four times keeps its own p: the dependence is used, where Holm would multiply by four."""
        column = np.random.default_rng(4).normal(0.2, 1, (40, 1))
        result = max_t_p(np.repeat(column, 4, axis=1), seed=9)
        assert result.p.tolist() == result.adjusted.tolist()
        assert ("Monte Carlo", 9_999, 9) == (result.method, result.draws, result.seed)

    def test_a_column_of_zeros_is_never_significant(self) -> None:
        """Where nothing differs p is 1, and the others are judged as ever."""
        table = np.column_stack([np.zeros(10), np.linspace(0.1, 1, 10)])
        assert [1.0, 2 / 1024] == max_t_p(table).adjusted.tolist()

    def test_refuses_another_shape(self) -> None:
        """One row without a second axis is a ValueError."""
        with pytest.raises(ValueError, match=r"^differences .*\(m, h\).*\(2,\)"):
            max_t_p([0.1, 0.2])


def strata_by_enumeration(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> float:
    """Deal the passes of each problem to the two runs in every way, with exact chances."""
    laws = []
    for (n_a, c_a), (n_b, c_b) in zip(a, b, strict=True):
        both = c_a + c_b
        laws.append(
            [
                (
                    Fraction(x, n_a) - Fraction(both - x, n_b),
                    Fraction(math.comb(n_a, x) * math.comb(n_b, both - x), math.comb(n_a + n_b, both)),
                )
                for x in range(max(0, both - n_b), min(n_a, both) + 1)
            ]
        )
    seen = abs(sum(Fraction(c, n) for n, c in a) - sum(Fraction(c, n) for n, c in b))
    total = Fraction(0)
    for way in itertools.product(*laws):
        if abs(sum(value for value, _ in way)) >= seen:
            total += math.prod(chance for _, chance in way)
    return float(total)


class TestStratified:
    """The sharp null of equal chances on every problem."""

    @pytest.mark.parametrize(
        ("a", "b"),
        [
            ([(3, 3), (3, 1), (3, 2)], [(3, 0), (3, 1), (3, 0)]),
            ([(5, 4), (4, 1), (2, 2)], [(3, 0), (3, 1), (7, 3)]),
            ([(10, 9)], [(10, 3)]),
        ],
    )
    def test_counts_what_enumeration_counts(self, a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
        """With equal and unequal n p is the chance of all deals at least as far apart."""
        (n_a, c_a), (n_b, c_b) = zip(*a, strict=True), zip(*b, strict=True)
        result = stratified_permutation_p(n_a, c_a, n_b, c_b)
        assert strata_by_enumeration(a, b) == pytest.approx(result.p, rel=1e-10)
        assert "exact" == result.method

    def test_draws_for_larger_k(self) -> None:
        """For k = 2 of one problem the drawn p lies within a few errors of the one from enumeration."""
        n, c_a, c_b, k = 6, 4, 1, 2
        seen = float(pass_at_k(n, c_a, k) - pass_at_k(n, c_b, k))
        chance = 0.0
        for x in range(6):
            if abs(float(pass_at_k(n, x, k) - pass_at_k(n, 5 - x, k))) >= seen - 1e-12:
                chance += math.comb(6, x) * math.comb(6, 5 - x) / math.comb(12, 5)
        result = stratified_permutation_p([n], [c_a], [n], [c_b], k, seed=1)
        assert abs(chance - result.p) < 4 * result.error
        assert ("Monte Carlo", 1) == (result.method, result.seed)

    def test_nothing_passed(self) -> None:
        """Where nothing passed there is one way to deal it, and p is 1."""
        assert 1.0 == stratified_permutation_p([4, 4], [0, 0], [4, 4], [0, 0]).p

    def test_refuses_other_problems(self) -> None:
        """Rows of different lengths are not of the same problems."""
        with pytest.raises(ValueError, match=r"^A has 2 .*B has 3\b"):
            stratified_permutation_p([1, 1], [0, 1], [1, 1, 1], [0, 1, 1])


class TestManyProblems:
    """Draws for more problems than fit into memory at once."""

    M = 10_003

    def differences(self) -> np.ndarray:
        """Return differences on no lattice."""
        return np.random.default_rng(7).normal(0.001, 0.1, self.M)

    def test_signs_are_those_of_one_block(self) -> None:
        """The patterns are those that are drawn at once, whatever the blocks."""
        differences, draws = self.differences(), 999
        bits = np.frombuffer(np.random.default_rng(3).bytes(draws * ((self.M + 7) // 8)), np.uint8)
        signs = 1 - 2 * np.unpackbits(bits.reshape(draws, -1), axis=1, count=self.M).astype(np.int8)
        hits = sum(abs(float(row @ np.abs(differences))) >= abs(differences.sum()) for row in signs)
        assert (1 + hits) / (1 + draws) == sign_flip_p(differences, draws, seed=3).p

    @pytest.mark.parametrize("name", ["sign_flip_p", "max_t_p", "stratified_permutation_p", "simultaneous_band"])
    def test_memory(self, name: str) -> None:
        """No test takes memory for all draws of all problems, which would be 160 MB here."""
        n, c = np.full(self.M, 4), np.random.default_rng(1).integers(0, 5, self.M)
        functions = {
            "sign_flip_p": lambda: sign_flip_p(self.differences(), 2000),
            "max_t_p": lambda: max_t_p(self.differences()[:, None], 2000),
            "stratified_permutation_p": lambda: stratified_permutation_p(n, c, n, c[::-1], 2, 2000),
            "simultaneous_band": lambda: simultaneous_band(n, c, [1, 2], draws=2000),
        }
        tracemalloc.start()
        functions[name]()
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak_bytes < 120 << 20
