"""What the workers of a pool know together: it is bounded, however many problems come."""

from __future__ import annotations

import tracemalloc

import msgspec
from jailed import IS_ONE, LIMITS, ONE

from passcurve.judging.plan import CheckPlan, make_job
from passcurve.sandbox.pool_cache import REPORT_BYTES, REPORTS_BYTES, UNFIT_JOBS, PoolCache
from passcurve.sandbox.running_job import KeptJob
from passcurve.sandbox.zygote.kept_jobs import ANSWERED, JobResult
from passcurve.types import FunctionTests, Problem


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


def answered(number: int) -> KeptJob:
    """Return a job whose sample has given its own answer."""
    problem = Problem(id="T", prompt="", entry_point="f", check=FunctionTests(source=IS_ONE))
    running = KeptJob(make_job(problem, ONE, CheckPlan(), LIMITS, 0, number), number)
    running.sample_result = JobResult(number, ANSWERED, True, False, 0, 0, 0, b"%d" % number)
    return running


def test_long_reports_take_no_more_memory():
    """Tests that make each of their reports as long as they may fill no memory, and the last report is found."""
    tracemalloc.start()
    reports, report_bytes = PoolCache().reports, REPORT_BYTES - 100
    most = 3 * REPORTS_BYTES // report_bytes
    for number in range(most):
        reports.put(answered(number), {"message": bytes(report_bytes)}, report_bytes)
    size_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert reports.get(answered(most - 1))
    assert reports.get(answered(0)) is None
    assert size_bytes < 1.1 * REPORTS_BYTES
    reports.put(answered(most), {"message": "long"}, REPORT_BYTES + 1)
    assert reports.get(answered(most)) is None


def test_a_report_of_another_run_is_of_what_was_read():
    """An answer that begins with the same bytes gets it, in a cache that has seen nothing; no other one does."""
    first = answered(123)
    known_report = PoolCache().reports.put(first, {"status": "passed", "read": 2}, 10)
    assert known_report is not None

    def gets_it(number: int) -> bool:
        running = answered(number)
        assert running.job.referee is not None
        referee = msgspec.structs.replace(running.job.referee, known_report=known_report)
        running.job = msgspec.structs.replace(running.job, referee=referee)
        return PoolCache().reports.get(running) is not None

    assert [gets_it(number) for number in (12, 129, 1, 13, 21)] == [True, True, False, False, False]
