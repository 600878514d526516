"""The attempts at one job: when a job runs again, and how; one rule for samples and for reference solutions."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from passcurve.harness.protocol import STRIPPED
from passcurve.sandbox.job import Job, Outcome

SLICE_S = 0.1
"""A sample that runs longer is stopped and runs again at the end, from the start, while no other runs beside it."""

_SLICES = 30
"""Beside its tests, the slice of a sample is this part of a long limit: modules of tests often take seconds."""

_LONG_S = 1.0
"""A job whose slice is longer may keep others waiting for longer than it takes to start them one by one."""

SURE_S = 1.0
"""A shorter limit of one test is near the accuracy of the clock under load: it must be exceeded twice."""

MAX_TRIES = 2
"""Runs of a job whose outcome could be our doing."""


class Retry(NamedTuple):
    """The next attempt at a job."""

    job: Job
    at_end: bool
    """Run it when nothing else of ours runs on its core."""


def first_attempt(job: Job) -> Job:
    """Return the job with a slice of its time, which most programs never use up; commands have none.

    It is no longer than the limit of one test: calls that are replayed are not timed one by one.
    """
    if job.attempts:
        return job
    timeout_s = job.limits.timeout_s
    # A program that a referee asks begins at once, and a longer slice is wasted on each that outlasts it.
    slice_s = max(SLICE_S, timeout_s / _SLICES) if job.referee is None else SLICE_S
    if job.test_s is not None:
        slice_s = min(slice_s, job.test_s)
    return msgspec.structs.replace(job, slice_s=min(slice_s, timeout_s))


def is_long(job: Job) -> bool:
    """Return whether no other job should wait behind this one: one that reports itself, in a process of its own."""
    return job.referee is None and job.slice_s > _LONG_S


def next_attempt(job: Job, outcome: Outcome) -> Retry | None:
    """Return the attempt that must follow this outcome, or None when the outcome is final."""
    timeout_s = job.limits.timeout_s
    if needs_whole_results(job, outcome):
        return _with_whole_results(job)
    if outcome.ended == "slice":
        return Retry(msgspec.structs.replace(without_replay(job), slice_s=timeout_s, allow_kept=False), at_end=True)
    if job.replays and not (is_conclusive(outcome) or is_endless_answer(job, outcome)):
        return Retry(without_replay(job), at_end=False)
    if outcome.ended == "test timeout" and job.tries == 0 and (job.test_s or 0.0) < SURE_S:
        return Retry(msgspec.structs.replace(job, allow_kept=False, tries=1), at_end=True)
    if needs_retry(outcome) and job.tries < MAX_TRIES - 1:
        retry = msgspec.structs.replace(
            job, slice_s=timeout_s, allow_kept=False, fresh_zygotes=True, tries=job.tries + 1
        )
        return Retry(retry, at_end=True)
    return None


def needs_whole_results(job: Job, outcome: Outcome) -> bool:
    """Return whether the tests could not go on without the whole of the results, which the job has stripped."""
    is_stripped = job.referee is not None and job.referee.whole is not None
    return is_stripped and (outcome.report or {}).get("status") == STRIPPED


def _with_whole_results(job: Job) -> Retry | None:
    """Return the same job with the whole of its expected results; None where they are lost."""
    referee = job.referee
    whole = referee.whole() if referee is not None and referee.whole is not None else b""
    if referee is None or not whole:
        return None
    setup = {**referee.setup, "cases": {**referee.setup["cases"], "expected": whole}}
    # The same answer has another report now.
    referee = msgspec.structs.replace(referee, key=f"{referee.key} whole", setup=setup, whole=None, known_report=None)
    return Retry(msgspec.structs.replace(job, referee=referee), at_end=job.slice_s >= job.limits.timeout_s)


def without_replay(job: Job) -> Job:
    """Return the same job with each call made when the tests come to it, and none replayed ahead of the tests."""
    return msgspec.structs.replace(job, live=True)


def is_conclusive(outcome: Outcome) -> bool:
    """Return whether a job with replayed calls has shown what it would have shown without replay.

    The tests take the outcomes of the calls in order and stop where they stop.  A program that does not reach the end
    of all calls may have been stopped by a call that the tests would never have made, and may have tried there what was
    refused.
    """
    status = (outcome.report or {}).get("status")
    if outcome.refused and status != "passed":
        return False
    return (
        status in ("passed", "failed", "timeout", "compile", "benchmark")
        and outcome.ended == "report"
        and not outcome.doubt
    )


def is_endless_answer(job: Job, outcome: Outcome) -> bool:
    """Return whether the function of a question did not end on the answer: an answer is one call, which has ended."""
    return outcome.ended == "tests" and job.referee is not None and job.referee.limit_s is not None


def needs_retry(outcome: Outcome) -> bool:
    """Return whether the outcome could be our doing, so that the job runs once more in a new process."""
    protocol_broken = outcome.report is not None and outcome.report.get("status") == "protocol"
    return outcome.ended in ("fault", "wall") or bool(outcome.doubt) or protocol_broken
