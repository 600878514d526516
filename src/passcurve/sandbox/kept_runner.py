"""Runs jobs in two kept processes, one for samples and one for tests, which are rewound or replaced after each job.

Each zygote has several jobs at a time and runs one after another, so that it need not wait for the supervisor; what a
job is sent, and its answer, passes through the zygote unread.  Neither process can reach the other.

A sample that was sent all its calls answers them in one piece, which the tests get later.  They begin in the same state
each time, so the same answer gets the same report: answers that begin with the same bytes, as far as the tests have
read them, are checked once.  Where tests ask one call at a time, both processes have the same job, and no other.

Whatever is not exactly as expected is not judged here: the job is repeated in new processes.
"""

from __future__ import annotations

import itertools
import math
from collections import deque

import msgspec

from passcurve.harness import framing
from passcurve.harness.framing import FrameBuffer
from passcurve.harness.wire import WireError
from passcurve.sandbox.job import Job
from passcurve.sandbox.job_clock import SECOND_NS
from passcurve.sandbox.kept_process_client import KeptProcessClient
from passcurve.sandbox.pool_cache import PoolCache
from passcurve.sandbox.referee_reports import REPORT_BYTES, read_report
from passcurve.sandbox.running_job import KeptJob, is_interactive
from passcurve.sandbox.work_queue import WorkQueue
from passcurve.sandbox.zygote import kept_jobs
from passcurve.sandbox.zygote.kept_jobs import JobData, JobResult
from passcurve.sandbox.zygote_client import SIDES, Side
from passcurve.sandbox.zygote_pair import ZygotePair

JOB_BYTES = 1 << 20
"""Largest program, or tests, that kept processes take."""

MOST_JOBS = 16
"""Jobs that the zygote of samples has at once, and answers that may wait for the tests."""

FEW_JOBS = 8
"""With so many or fewer, more are welcome."""

CHECKS = 8
"""Checks that the zygote of tests has at once."""

_INCONCLUSIVE = ("gone", "protocol")
"""Statuses that may be due to the processes."""


class KeptRunner:
    """Both kept processes, and the jobs between them.

    Methods raise ZygoteLostError when a zygote is gone; then ``abandon`` returns the jobs to repeat.
    """

    def __init__(self, zygotes: ZygotePair, cache: PoolCache, queue: WorkQueue) -> None:
        self._cache, self._queue = cache, queue
        self._processes = {side: KeptProcessClient(side, zygotes[side], zygotes.kept_roles[side]) for side in SIDES}
        self._jail, self._referee = self._processes["jail"], self._processes["referee"]
        self._answered: deque[KeptJob] = deque()
        """Jobs whose answer waits for the tests."""
        self._behind: dict[int, list[KeptJob]] = {}
        """Those that wait for the report on another job, by the tag of the other."""
        self._interactive: KeptJob | None = None
        """The job whose tests ask one call at a time."""
        self._frames = FrameBuffer(REPORT_BYTES)
        """What its tests send."""
        self.failure = ""
        """Why there are no such processes; empty while there may be some."""
        for process in self._processes.values():
            process.make()

    @property
    def is_idle(self) -> bool:
        """True if no job is under way."""
        return not (self._jail.jobs or self._referee.jobs or self._answered or self._behind)

    @property
    def wants_jobs(self) -> bool:
        """True if more jobs are welcome."""
        return self.is_idle or (self._interactive is None and self._count <= FEW_JOBS)

    @property
    def has_room(self) -> bool:
        """True if a job could be started now, here or in new processes."""
        waiting = len(self._answered) + sum(map(len, self._behind.values()))
        return bool(self.failure) or self._count + waiting < MOST_JOBS

    @property
    def _count(self) -> int:
        """Jobs that samples run, or tests without a sample."""
        return len(self._jail.jobs) + sum(running.job.without_sample for running in self._referee.jobs.values())

    def takes(self, job: Job) -> bool:
        """Tell whether kept processes may run a job."""
        if not job.allow_kept or job.referee is None or self.failure:
            return False
        size = max(len(job.setup["program"]), job.referee.size, len(job.replayed))
        return size <= JOB_BYTES and not self._cache.is_unfit(job.referee.key)

    def can_start(self, job: Job) -> bool:
        """Tell whether a job can be started at once, where there is room."""
        return self.is_idle if is_interactive(job) else self._interactive is None

    def start(self, running: KeptJob) -> None:
        """Start a job, with the next ``flush``; ``can_start`` must be true of it."""
        if running.job.without_sample:
            self._referee.add(running, running.referee_setup(self._cache.compiled_tests))
            return
        self._jail.add(running, running.sample_setup())
        if running.is_interactive:
            self._interactive, self._frames = running, FrameBuffer(REPORT_BYTES)
            self._referee.add(running, running.referee_setup(self._cache.compiled_tests))

    def flush(self) -> None:
        """Send what was started to the zygotes."""
        for process in self._processes.values():
            process.flush()

    def take_result(self, side: Side, result: JobResult) -> None:
        """Take the end of a job in one of the processes."""
        process = self._processes[side]
        running = process.take(result.tag)
        if running is None:
            return
        del process.jobs[result.tag]
        if side == "jail":
            running.sample_result = result
        else:
            running.referee_result = result
            self._answered.extendleft(reversed(self._behind.pop(running.tag, [])))
        expected: tuple[int, ...] = (kept_jobs.ANSWERED,)
        if running.is_interactive:
            expected = (kept_jobs.ENDED,)
        elif side == "jail":
            # The answers that a slow sample has given may be all that the tests need.
            expected = kept_jobs.WITH_ANSWER
        running.is_slow |= result.end == kept_jobs.SLOW
        running.is_tainted |= result.end not in expected or not result.is_clean
        # Tests that have sent their report send nothing more.
        running.is_tainted |= side == "referee" and result.has_surplus
        if running.is_interactive:
            self._end_interactive(running)
        elif side == "jail":
            self._take_answer(running)
        else:
            self._take_check(running, result)
        self._check_answered()

    def _end_interactive(self, running: KeptJob) -> None:
        """End the job in both processes, and conclude it once it has ended in both."""
        for process in self._processes.values():
            if running.tag in process.jobs:
                process.finish(running)
                return
        self._interactive = None
        self._conclude(running)

    def _take_answer(self, running: KeptJob) -> None:
        if running.is_tainted:
            self._conclude(running)
        else:
            self._answered.append(running)

    def _take_check(self, running: KeptJob, result: JobResult) -> None:
        try:
            for frame in FrameBuffer(REPORT_BYTES).feed(result.answer):
                if frame:
                    running.report = read_report(running, frame, self._cache.compiled_tests)
        except (WireError, msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
            running.is_tainted = True
        if running.is_compiled and not running.is_tainted:
            running.check_again()
            self._answered.appendleft(running)
        else:
            self._conclude(running)

    def _check_answered(self) -> None:
        """Send answers to the tests, but not those on which another report may tell all."""
        reports = self._cache.reports
        while self._answered and self._interactive is None and len(self._referee.jobs) < CHECKS:
            running = self._answered.popleft()
            if report := reports.get(running):
                running.report = report
                self._conclude(running)
            elif other := next((job for job in self._referee.jobs.values() if reports.may_bring(running, job)), None):
                self._behind.setdefault(other.tag, []).append(running)
            else:
                setup = running.referee_setup(self._cache.compiled_tests)
                self._referee.add(running, setup + running.answer)

    def take_data(self, side: Side, message: JobData) -> None:
        """Take what one of the processes of an interactive job has sent."""
        running = self._processes[side].take(message.tag)
        if running is None or running is not self._interactive or running.is_ended:
            return
        if side == "jail":
            self._referee.forward(running, message.data)
            return
        try:
            for frame in self._frames.feed(message.data):
                if frame[:1] == b"{":
                    running.report = read_report(running, frame, self._cache.compiled_tests)
                elif frame[:1] == b"d" or not (frame or running.report):
                    # An empty one orders the next call that came with the job; after the report it is the end.
                    self._jail.forward(running, framing.make_frame(frame))
                elif frame:
                    raise WireError("a question that nobody can answer")
        except (WireError, msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
            running.is_tainted = True
        if running.report is not None or running.is_tainted:
            running.is_ended = True
            for process in self._processes.values():
                process.finish(running)

    def _conclude(self, running: KeptJob) -> None:
        """Finish a job that has ended, or have it repeated."""
        job, report = running.job, running.report
        # Without a sample the tests are all that runs.
        ran = running.sample_result or (running.referee_result if job.without_sample else None)
        is_clean = not running.is_tainted
        if not running.is_slow:
            self._cache.record_fit(running.key, is_fit=is_clean)
        if is_clean and running.is_compiled:
            self._queue.repeat(job)
        elif ran and _may_be_over(job, ran):
            self._repeat_in_new(job)
        elif is_clean and ran and report and report.get("status") not in (None, *_INCONCLUSIVE):
            checked, known_report = running.referee_result, None
            if checked is not None and not running.is_interactive and not job.without_sample:
                known_report = self._cache.reports.put(running, report, len(checked.answer))
            self._queue.finished.append(running.outcome(ran, known_report))
        else:
            # On a busy machine any program may be slow, so it is asked in the same form again.
            self._repeat_in_new(job)

    def _repeat_in_new(self, job: Job) -> None:
        self._queue.repeat(_without_kept(job))

    def take_kept(self, reason: str) -> None:
        """Take note that a process was made, or why there can be none: then its jobs need new processes."""
        if reason:
            self.failure = self.failure or reason
            self._queue.waiting.extendleft(reversed(self.abandon()))

    def tick(self, now: float) -> None:
        """Raise ZygoteLostError for a zygote that does not answer."""
        for process in self._processes.values():
            process.check_alive(now)

    def abandon(self) -> list[Job]:
        """Forget the jobs under way, and return them, to run in new processes: nothing is known of them."""
        waiting = itertools.chain(self._answered, *self._behind.values())
        running = [*self._jail.jobs.values(), *self._referee.jobs.values(), *waiting]
        for process in self._processes.values():
            process.jobs.clear()
        self._answered.clear()
        self._behind.clear()
        self._interactive = None
        return [_without_kept(job.job) for job in dict.fromkeys(running)]


def _may_be_over(job: Job, result: JobResult) -> bool:
    """Tell whether a sample may have gone over a limit: a new process tells.

    Nobody knows which part of the waiting was its own; and a zygote that gets no core finds the answer before it looks
    at the clock.
    """
    return result.wall_ns * SECOND_NS > min(job.limits.timeout_s, job.test_s or math.inf)


def _without_kept(job: Job) -> Job:
    return msgspec.structs.replace(job, allow_kept=False)
