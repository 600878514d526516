"""The study of coverage works with the limits that the library returns."""

from __future__ import annotations

import pytest

pytest.importorskip("coverage_fresh", reason="the benchmarks are not beside the tests")

import coverage_fresh


@pytest.mark.parametrize("n", [1, 5, 20])
def test_limits_for_these_problems(n):
    """For each law the limits of the first data sets are the library's; the study itself compares them."""
    for law in range(len(coverage_fresh.ALL_LAWS)):
        for cell in coverage_fresh.fresh_of((law, 20, n, 3, 0)):
            assert 3 == cell.of("B: default").seen
