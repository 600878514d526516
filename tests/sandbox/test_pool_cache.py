"""What the workers of a pool know together: it is bounded, however many problems come."""

from __future__ import annotations

import tracemalloc

from passcurve.sandbox.pool_cache import UNFIT_JOBS, PoolCache


def test_problems_without_an_end_take_no_more_memory():
    """The latest problem is known, and a hundred thousand before it cost little."""
    tracemalloc.start()
    cache = PoolCache()
    for number in range(100_000):
        cache.record_fit(f"problem {number}", is_fit=True)
    size_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    for _ in range(UNFIT_JOBS):
        assert not cache.is_unfit("unfit")
        cache.record_fit("unfit", is_fit=False)
    assert cache.is_unfit("unfit")
    assert size_bytes < 1 << 20
