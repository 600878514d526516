"""Intervals: against published tables, against their definitions, and by exact coverage."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from passcurve.stats import clopper_pearson, paired_difference, plus_two_t, wilson


class TestPlusTwoT:
    """The interval for other problems like these."""

    def test_worked_by_hand(self) -> None:
        """Three scores of 1/2 make 0, 1/2, 1/2, 1/2, 1: mean 1/2, s^2 1/8, t(4, .975) = 2.776445 (any t table)."""
        low, high = plus_two_t([0.5, 0.5, 0.5])
        assert (0.5 - 2.776445 * math.sqrt(1 / 40)) == pytest.approx(low, abs=1e-7)
        assert (0.5 + 2.776445 * math.sqrt(1 / 40)) == pytest.approx(high, abs=1e-7)

    def test_level_chooses_the_quantile(self) -> None:
        """At level .9 the same scores use t(4, .95) = 2.131847 (any t table)."""
        assert 0.5 - 2.131847 * math.sqrt(1 / 40) == pytest.approx(plus_two_t([0.5] * 3, 0.9).low, abs=1e-7)

    @pytest.mark.parametrize("score", [0.0, 1.0])
    @pytest.mark.parametrize("m", [1, 20, 164])
    def test_saturated_scores_keep_a_width(self, m: int, score: float) -> None:
        """Scores that all agree give an interval that ends at them and is at least 1/m wide."""
        low, high = plus_two_t([score] * m)
        assert score in (low, high)
        assert high - low >= 1 / m

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=50), st.floats(0.01, 0.999))
    def test_stays_between_0_and_1_and_mirrors(self, scores: list[float], level: float) -> None:
        """The bounds are ordered, within [0, 1], and those of 1 - scores are 1 minus these."""
        low, high = plus_two_t(scores, level)
        assert 0.0 <= low <= high <= 1.0
        assert [1 - high, 1 - low] == pytest.approx(list(plus_two_t([1 - score for score in scores], level)), abs=1e-9)

    @pytest.mark.parametrize("level", [0.5, 0.6, 0.9])
    def test_holds_the_mean_of_the_scores_at_every_level(self, level: float) -> None:
        """A low level reaches less far than the two made-up problems move the middle: the estimate is inside still."""
        assert 1.0 == plus_two_t(np.ones(30), level).high
        assert 0.0 == plus_two_t(np.zeros(30), level).low
        assert paired_difference(4, [4] * 30, 4, [0] * 30, level=level).new_problems.high == 1.0

    def test_covers_at_one_sample_of_each_problem(self) -> None:
        """With m = 20 problems passed with chance p, its least exact coverage over p = .001 .. .999 is .9327."""
        m, p = 20, np.arange(1, 1000) / 1000
        coverage = np.zeros(p.size)
        for x in range(m + 1):
            low, high = plus_two_t([1.0] * x + [0.0] * (m - x))
            coverage += math.comb(m, x) * p**x * (1 - p) ** (m - x) * ((low <= p) & (p <= high))
        assert 0.9327 == round(float(coverage.min()), 4)

    @pytest.mark.parametrize(
        ("values", "level", "message"),
        [
            ([], 0.95, r"values .*\(0,\)"),
            (0.5, 0.95, r"values .*\(\)"),
            ([0.5, math.nan], 0.95, "element 1: values=nan"),
            ([0.5, 0.5, 1.5], 0.95, "element 2: .*1.5"),
            ([0.5], 1.0, "level=1.0"),
            ([0.5], math.nan, "level=nan"),
        ],
    )
    def test_refuses_what_is_no_row_of_scores(self, values: object, level: float, message: str) -> None:
        """Nothing, NaN, scores outside [0, 1] and impossible levels are a ValueError that says which."""
        with pytest.raises(ValueError, match=rf"^{message}(?!\w)"):
            plus_two_t(values, level)  # type: ignore[arg-type]


# Newcombe 1998, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17:857, table I,
# methods 3 (score) and 5 (Clopper-Pearson), level .95.
NEWCOMBE_WILSON = {
    (81, 263): (0.2553, 0.3662),
    (15, 148): (0.0624, 0.1605),
    (0, 20): (0.0, 0.1611),
    (1, 29): (0.0061, 0.1718),
}
NEWCOMBE_EXACT = {
    (81, 263): (0.2527, 0.3676),
    (15, 148): (0.0578, 0.1617),
    (0, 20): (0.0, 0.1684),
    (1, 29): (0.0009, 0.1776),
}


class TestWilson:
    """The score interval of one proportion."""

    @pytest.mark.parametrize(("seen", "bounds"), NEWCOMBE_WILSON.items())
    def test_published(self, seen: tuple[int, int], bounds: tuple[float, float]) -> None:
        """The published examples come out to their four decimals."""
        assert bounds == tuple(round(float(bound), 4) for bound in wilson(*seen))

    def test_bounds_solve_the_score_equation(self) -> None:
        """Each bound b satisfies |x/m - b| = z sqrt(b (1-b) / m) with z = 1.959963985 (any normal table)."""
        for bound in wilson(7, 30):
            assert abs(7 / 30 - bound) == pytest.approx(1.959963985 * math.sqrt(bound * (1 - bound) / 30), rel=1e-8)

    def test_ends_are_exact(self) -> None:
        """None of m starts at exactly 0 and all of m ends at exactly 1."""
        m = np.arange(1, 200)
        assert not wilson(0, m).low.any()
        assert (wilson(m, m).high == 1.0).all()


class TestClopperPearson:
    """The exact interval of one proportion."""

    @pytest.mark.parametrize(("seen", "bounds"), NEWCOMBE_EXACT.items())
    def test_published(self, seen: tuple[int, int], bounds: tuple[float, float]) -> None:
        """The published examples come out to their four decimals."""
        assert bounds == tuple(round(float(bound), 4) for bound in clopper_pearson(*seen))

    @pytest.mark.parametrize("level", [0.5, 0.95, 0.999999])
    @pytest.mark.parametrize(("x", "m"), [(1, 2), (3, 10), (9, 10), (50, 164)])
    def test_each_tail_is_half_of_what_is_left(self, x: int, m: int, level: float) -> None:
        """At the lower bound x or more, at the upper x or fewer, has the chance (1 - level)/2."""
        low, high = (float(bound) for bound in clopper_pearson(x, m, level))
        above = math.fsum(math.comb(m, i) * low**i * (1 - low) ** (m - i) for i in range(x, m + 1))
        below = math.fsum(math.comb(m, i) * high**i * (1 - high) ** (m - i) for i in range(x + 1))
        assert [(1 - level) / 2] * 2 == pytest.approx([above, below], rel=1e-8)

    def test_ends_are_exact(self) -> None:
        """None of m gives [0, 1 - (a/2)^(1/m)] and all of m its mirror image."""
        low, high = clopper_pearson([0, 12], 12)
        assert [0.0, 0.025 ** (1 / 12)] == pytest.approx(low.tolist(), rel=1e-12)
        assert [1 - 0.025 ** (1 / 12), 1.0] == pytest.approx(high.tolist(), rel=1e-12)


@pytest.mark.parametrize("interval", [wilson, clopper_pearson])
class TestBoth:
    """What the two intervals of a proportion share."""

    def test_broadcast(self, interval: type[object]) -> None:
        """Counts across and totals down give a table of bounds; two numbers give numpy floats."""
        low, high = interval([0, 1, 2], [[2], [50]])  # type: ignore[misc,call-arg]
        assert ((2, 3), (2, 3)) == (low.shape, high.shape)
        single = interval(1, 50)  # type: ignore[misc,call-arg]
        assert {np.float64} == {type(bound) for bound in single}
        assert (low[1, 1], high[1, 1]) == tuple(single)

    @pytest.mark.parametrize(
        ("x", "m", "message"),
        [
            ([1, 4], 3, "element 1: x=4, m=3"),
            (0, 0, "x=0, m=0: m"),
            (-1, 3, "x=-1, m=3: x"),
            ([[0.5]], 3, r"element \(0, 0\): x=0.5, m=3: x"),
            (math.nan, 3, "x=nan, m=3: x"),
            (1, math.inf, "x=1, m=inf: m"),
            (True, 3, "x .*bool"),
        ],
    )
    def test_refuses_what_is_no_proportion(self, interval: type[object], x: object, m: object, message: str) -> None:
        """Counts that cannot be are a ValueError that says where and what."""
        with pytest.raises(ValueError, match=rf"^{message}(?!\w)"):
            interval(x, m)  # type: ignore[call-arg]


def test_importing_the_room_does_not_import_scipy() -> None:
    """Only a call that needs scipy pays for importing it."""
    code = "import sys, passcurve.stats, passcurve.stats.estimate; print('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "False" == done.stdout.strip()
