"""Runs one job after another, each in two new processes, which end with it.

The next job may start while the processes of the last ones are still being cleaned up.
"""

from __future__ import annotations

import socket
import time
from typing import Any

import msgspec

from passcurve.harness.framing import FrameBuffer
from passcurve.harness.wire import WireError
from passcurve.sandbox.connection import Connect
from passcurve.sandbox.job_clock import FIRST_CHECK_S, ClockQuery
from passcurve.sandbox.pool_cache import PoolCache
from passcurve.sandbox.referee_reports import REPORT_BYTES, read_report
from passcurve.sandbox.running_job import OneShotJob
from passcurve.sandbox.work_queue import WorkQueue
from passcurve.sandbox.zygote.exit_status import ProcessExit
from passcurve.sandbox.zygote_client import ANSWER_S, SIDES, Side, ZygoteLostError
from passcurve.sandbox.zygote_pair import Zygotes
from passcurve.types.forks import socket_pair

LATE_S = 0.5
"""A check that comes so much later than it was due means that the supervisor itself was stopped."""

DEATH_S = 0.5
"""Time in which a program that has closed its connection may be seen to die."""

SAMPLE_BYTES = 1 << 20
"""Longest report of a sample's own process, in shared mode."""

LAST_WORD_S, STUCK_S = 5.0, 1.0
"""Time in which the tests may say where they were, from the end of a program that went over its time; less where they
went over theirs."""

WALL_FACTOR = 20.0
"""Wall time, in time limits, after which a job is given up: the machine did not let it run."""

REFEREE_FACTOR = 10.0
"""CPU time, in time limits, that the tests themselves may take for one sample."""


class OneShotRunner:
    """The job at hand in its two processes, and earlier ones that are being cleaned up.

    Methods raise ZygoteLostError when a zygote is gone; then ``abandon`` is to be called.
    """

    def __init__(self, zygotes: Zygotes, connect: Connect, cache: PoolCache, queue: WorkQueue) -> None:
        self._zygotes, self._cache, self._queue = zygotes, cache, queue
        self._connection = connect(self._receive)
        """To the referee, or to the sample itself in shared mode."""
        self._frames = FrameBuffer(REPORT_BYTES)
        self.running: OneShotJob | None = None
        self._ending: list[OneShotJob] = []

    @property
    def is_ending(self) -> bool:
        """True if an earlier job is still being cleaned up."""
        return bool(self._ending)

    def start(self, running: OneShotJob) -> None:
        """Start a job; there must be no other."""
        self.running = running
        job = running.job
        # The output of a command may be long, and JSON takes up to six bytes for one.
        most = SAMPLE_BYTES + 6 * job.setup.get("head_bytes", 0)
        self._frames = FrameBuffer(REPORT_BYTES if job.referee is not None else most)
        to_sample, of_sample = socket_pair()
        if job.is_silent:
            running.line = to_sample
            with of_sample:
                self._run_sample(running, to_sample, of_sample)
            return
        if job.referee is None:
            self._connection.open(to_sample)
            with of_sample:
                self._run_sample(running, to_sample, of_sample)
            return
        to_referee, of_referee = socket_pair()
        self._connection.open(to_referee)
        with to_sample, of_sample, of_referee:
            self._run_sample(running, to_sample, of_sample)
            order = {"do": "run", "role": job.referee.role, "tag": running.tag, "cpu": 0}
            setup = running.referee_setup(self._cache.compiled_tests)
            self._zygotes["referee"].run(order, to_referee, [of_referee, to_sample], setup)

    def _run_sample(self, running: OneShotJob, ours: socket.socket, theirs: socket.socket) -> None:
        job = running.job
        cpu_s = int(job.limits.timeout_s * WALL_FACTOR) + 60
        order = {"do": "run", "role": job.role, "tag": running.tag, "cpu": cpu_s}
        self._zygotes["jail"].run(order, ours, [theirs, *running.files], running.sample_setup())

    def _receive(self, _: int) -> None:
        """Read what has come from the referee or the sample."""
        data = self._connection.read()
        if data is None:
            return
        running = self.running
        if running is None or running.is_reported:
            # More than the report: nobody has asked for it.
            self._connection.close()
            return
        if not data:
            self._connection.close()
            running.is_referee_gone = running.job.referee is not None
        else:
            try:
                for frame in filter(None, self._frames.feed(data)):
                    self._take_report(running, frame)
                if running.report is None:
                    return
            except (WireError, msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
                running.garbage = "a report that is none"
        running.is_reported = True
        if not data or (running.report or {}).get("lost"):
            # The program is gone or has closed its connection.  If it died, it is worth waiting to learn how.
            running.clock.check_at = time.monotonic() + DEATH_S
            self._clean_up_if_ended(running)
        else:
            self._connection.close()
            self._end_sample(running)
        self._finish_done()

    def _take_report(self, running: OneShotJob, frame: bytes) -> None:
        if running.job.referee is None:
            report = msgspec.json.decode(frame, type=dict)
            # The first counts, an empty one too.
            running.report = report if running.report is None else running.report
        else:
            running.report = read_report(running, frame, self._cache.compiled_tests)

    def _clean_up_if_ended(self, running: OneShotJob) -> None:
        if running is self.running and running.is_reported and running.exit is not None:
            self._clean_up(running)

    def _clean_up(self, running: OneShotJob) -> None:
        """Make room for the next job, and have the process of the tests ended."""
        self.running = None
        self._ending.append(running)
        if running.job.referee is not None:
            if running.awaits_tests_exit:
                running.pending_since = running.pending_since or time.monotonic()
            self._zygotes["referee"].send({"do": "end"})

    def _end_sample(self, running: OneShotJob) -> None:
        """Have the sample timed if that matters, and ended: its report has come."""
        clock = running.clock
        clock.stop()
        clock.was_suspended |= clock.stopped - clock.check_at > LATE_S
        if clock.stopped - clock.started > FIRST_CHECK_S and not running.is_end_requested:
            self._request_clock(running)
        self._request_end(running)
        if running is self.running:
            self._clean_up(running)

    def _request_end(self, running: OneShotJob) -> None:
        if running.exit is None and not running.is_end_requested:
            running.is_end_requested = True
            running.pending_since = time.monotonic()
            self._zygotes["jail"].send({"do": "end"})

    def take_exit(self, side: Side, end: ProcessExit) -> None:
        """Take note of the end of a process."""
        jobs = (*self._ending, self.running)
        running = next((job for job in jobs if job is not None and job.tag == end.tag), None)
        if running is None:
            return
        running.exits[side] = end
        if side == "jail":
            if running.clock.query is None and not running.awaits_tests_exit:
                running.pending_since = 0.0
            running.clock.stop()
            if running.ended is not None:
                running.clock.check_at = time.monotonic() + _last_word_s(running)
            if running.job.is_silent:
                running.is_reported = True
                if running.ended is None:
                    running.clock.read_last(end, by_wall=running.job.limits.clock == "wall")
            self._clean_up_if_ended(running)
        self._finish_done()

    def _finish_done(self) -> None:
        while self._ending and self._ending[0].is_done:
            self._finish(self._ending.pop(0))

    def _finish(self, running: OneShotJob) -> None:
        if running.is_compiled:
            self._queue.repeat(running.job)
        else:
            self._queue.finished.append(running.outcome())

    def _request_clock(self, running: OneShotJob) -> None:
        """Ask the zygotes for the clocks of their children; their last answers count."""
        clock = running.clock
        clock.query = clock.query or ClockQuery()
        running.pending_since = running.pending_since or time.monotonic()
        for side in SIDES if running.job.referee is not None else SIDES[:1]:
            clock.query.missing[side] += 1
            self._zygotes[side].send({"do": "clock"})

    def take_clock(self, side: Side, record: dict[str, Any]) -> None:
        """Take the answer of a zygote to the oldest query that it belongs to."""
        for running in (*self._ending, self.running):
            query = running.clock.query if running is not None else None
            if running is None or query is None or not query.missing[side]:
                continue
            if side == "jail":
                if record["tag"] not in (0, running.tag):
                    continue
                query.jail = (record["clock"], record["at"], record["since"])
            else:
                query.referee = record["clock"]
            query.was_suspended |= record["held"]
            query.missing[side] -= 1
            if not query.missing.total():
                self._read_clock(running, query)
                self._finish_done()
            return

    def _read_clock(self, running: OneShotJob, query: ClockQuery) -> None:
        """Work out the sample's own time, which both zygotes have answered for; end the job if it took too long."""
        clock = running.clock
        clock.query = None
        clock.was_suspended |= query.was_suspended
        if not running.is_end_requested:
            running.pending_since = 0.0
        by_wall = running.job.limits.clock == "wall"
        wall_s = clock.read(query, running.exit, running.tests_exit, by_wall=by_wall)
        if running is self.running and running.ended is None and running.exit is None and not running.is_reported:
            self._check_time(running, wall_s)

    def _check_time(self, running: OneShotJob, wall_s: float) -> None:
        job, clock = running.job, running.clock
        if clock.own_s >= job.slice_s:
            running.ended = "timeout" if job.slice_s >= job.limits.timeout_s else "slice"
        elif running.test_limit_s is not None and clock.test_s >= running.test_limit_s:
            running.ended = "test timeout"
        elif clock.tests_s >= _tests_limit_s(running):
            running.ended = "tests"
        elif wall_s >= max(60.0, job.limits.timeout_s * WALL_FACTOR):
            running.ended = "wall"
        if running.ended is None:
            remaining_s = job.slice_s - clock.own_s
            if running.test_limit_s is not None:
                # Below zero while it is not known how much of the time since the last reading went to earlier tests.
                remaining_s = min(remaining_s, running.test_limit_s - max(0.0, clock.test_s))
            clock.check_at = time.monotonic() + max(0.005, remaining_s)
            return
        self._end_early(running)

    def _end_early(self, running: OneShotJob) -> None:
        clock = running.clock
        clock.stopped = time.monotonic()
        self._request_end(running)
        clock.check_at = clock.stopped + _last_word_s(running)

    def stop(self) -> None:
        """End the job at hand as if its time were over."""
        running = self.running
        if running is not None and running.ended is None and running.exit is None and not running.is_reported:
            running.ended = "timeout"
            self._end_early(running)

    def tick(self, now: float) -> None:
        """Time the job at hand, or stop waiting for its tests."""
        for job in (*self._ending, self.running):
            if job is not None and job.pending_since and now - job.pending_since > ANSWER_S:
                raise ZygoteLostError("a zygote does not answer")
        running = self.running
        if running is None or now < running.clock.check_at:
            return
        clock = running.clock
        clock.was_suspended |= now - clock.check_at > LATE_S
        if running.is_reported:
            self._end_sample(running)
            return
        if running.ended is None and running.exit is not None and now - clock.stopped > _tests_limit_s(running):
            running.ended = "tests"
        if running.ended is not None:
            if running.exit is None:
                # One with much memory ends slowly, and the tests hear of its end only then.
                clock.check_at = now + _last_word_s(running)
                return
            # A referee that cannot say where it was is replaced.
            self._connection.close()
            running.is_reported = True
            self._clean_up(running)
            self._finish_done()
            return
        clock.check_at = now + 1.0
        if running.exit is None and clock.query is None:
            self._request_clock(running)

    def abandon(self, reason: str) -> None:
        """Give up all jobs under way: those that are not done end as a fault of ours."""
        jobs = [*self._ending, *([self.running] if self.running is not None else [])]
        self._ending, self.running = [], None
        for running in jobs:
            if not running.is_done:
                running.fault = reason
            self._finish(running)

    def close(self) -> None:
        """Close what it reads."""
        self._connection.close()
        if self.running is not None and self.running.line is not None:
            self.running.line.close()


def _last_word_s(running: OneShotJob) -> float:
    return STUCK_S if running.ended == "tests" else LAST_WORD_S


def _tests_limit_s(running: OneShotJob) -> float:
    if running.job.referee is not None and running.job.referee.limit_s is not None:
        return running.job.referee.limit_s
    return max(10.0, running.job.limits.timeout_s * REFEREE_FACTOR)
