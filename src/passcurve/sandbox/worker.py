"""A worker: two zygotes, and the jobs that run in processes of theirs, one after another.

A job runs in two kept processes, or, where it may not or cannot, in two new ones.  Whatever is not exactly as expected
in kept processes is not judged there: the job is repeated in new ones, and the caller is not told.
"""

from __future__ import annotations

import selectors
from collections.abc import Callable
from functools import partial

from passcurve.sandbox.connection import Connection
from passcurve.sandbox.job import Job, Outcome
from passcurve.sandbox.kept_runner import KeptRunner
from passcurve.sandbox.oneshot_runner import OneShotRunner
from passcurve.sandbox.pool_cache import PoolCache
from passcurve.sandbox.running_job import KeptJob, OneShotJob
from passcurve.sandbox.startup import Sandbox
from passcurve.sandbox.work_queue import WorkQueue
from passcurve.sandbox.zygote.exit_status import ProcessExit
from passcurve.sandbox.zygote.kept_jobs import JobData, JobResult
from passcurve.sandbox.zygote_client import Side, ZygoteLostError, translate_os_errors
from passcurve.sandbox.zygote_pair import ZygotePair


class Worker:
    """Runs one job at a time; ``collect`` returns the outcomes of those that have ended."""

    def __init__(self, selector: selectors.BaseSelector, sandbox: Sandbox, cache: PoolCache, cpu: int | None) -> None:
        self._selector, self._cache = selector, cache
        self._queue = WorkQueue()
        self.zygotes = ZygotePair(selector, sandbox, cpu)
        self._one_shot = OneShotRunner(self.zygotes, self._connect, cache, self._queue)
        self._kept: KeptRunner | None = None
        """None until the zygotes are ready, and where there is no filter of system calls."""
        self._tag = 0

    @property
    def is_idle(self) -> bool:
        """True if a job can be started; a fresh one needs a worker that is not busy either."""
        if self._one_shot.running is not None or self._queue.waiting:
            return False
        return self._kept is None or self._kept.wants_jobs

    @property
    def is_busy(self) -> bool:
        """True if anything is still running or being cleaned up."""
        return not self.is_idle or self._one_shot.is_ending or (self._kept is not None and not self._kept.is_idle)

    def start_zygotes(self) -> None:
        """Start both zygotes without waiting for them.  Raises SandboxError when the system refuses."""
        self.zygotes.start()

    def start(self, *jobs: Job) -> None:
        """Start jobs, to run one after another; the worker must be idle.  Raises SandboxError without a zygote."""
        if jobs[0].fresh_zygotes and self.zygotes.is_ready:
            self.close()
        self._queue.waiting.extend(jobs)
        self._start_waiting()

    def _start_waiting(self) -> None:
        """Start the jobs that wait, as far as there is room."""
        while True:
            try:
                while self._queue.waiting and self._one_shot.running is None and self._start_next():
                    pass
                if self._kept is not None:
                    self._kept.flush()
            except ZygoteLostError as error:
                self._replace_zygotes(str(error))
            else:
                return

    def _start_next(self) -> bool:
        """Start the next job, or return False when there is no room for it."""
        if not self.zygotes.is_ready:
            self._wait_ready()
        kept, job = self._kept, self._queue.waiting[0]
        if kept is not None and not kept.has_room:
            return False
        takes_kept = kept is not None and kept.takes(job)
        if kept is not None:
            # What a new process leaves in the scratch costs the kept one, which must have no job then.
            is_free = kept.can_start(job) and not self._one_shot.is_ending if takes_kept else kept.is_idle
            if not is_free:
                return False
        self._queue.waiting.popleft()
        self._tag += 1
        with translate_os_errors():
            if kept is not None and takes_kept:
                kept.start(KeptJob(job, self._tag))
            else:
                self._one_shot.start(OneShotJob(job, self._tag))
        return True

    def _wait_ready(self) -> None:
        self.zygotes.wait_ready(lambda side: partial(self._handle, partial(self._receive, side)))
        if self.zygotes.settings.walls.seccomp:
            self._kept = KeptRunner(self.zygotes, self._cache, self._queue)

    def _connect(self, receive: Callable[[int], None]) -> Connection:
        """Return a connection whose events this function handles."""
        return Connection(self._selector, partial(self._handle, receive))

    def _handle(self, receive: Callable[[int], None], events: int) -> None:
        """Handle the events of one connection, and start what can be started then."""
        try:
            receive(events)
        except ZygoteLostError as error:
            self._replace_zygotes(str(error))
        self._start_waiting()

    def _receive(self, side: Side, _: int) -> None:
        """Read what a zygote has sent."""
        kept, one_shot = self._kept, self._one_shot
        for record in self.zygotes[side].read():
            if isinstance(record, JobResult):
                if kept is not None:
                    kept.take_result(side, record)
            elif isinstance(record, JobData):
                if kept is not None:
                    kept.take_data(side, record)
            elif isinstance(record, ProcessExit):
                one_shot.take_exit(side, record)
            elif "clock" in record:
                one_shot.take_clock(side, record)
            elif "kept" in record:
                if kept is not None:
                    kept.take_kept(record["kept"])
            else:
                raise ZygoteLostError(f"the {side}'s zygote gave up: {str(record.get('failed'))[:200]}")

    @property
    def next_tick(self) -> float | None:
        """Time at which ``tick`` is to be called, on the monotonic clock."""
        if self._one_shot.running is not None:
            return self._one_shot.running.clock.check_at
        return None

    def tick(self, now: float) -> None:
        """Check the jobs under way: their time, and whether their zygotes answer."""
        try:
            if self._kept is not None:
                self._kept.tick(now)
            self._one_shot.tick(now)
        except ZygoteLostError as error:
            self._replace_zygotes(str(error))
        self._start_waiting()

    def _replace_zygotes(self, reason: str) -> None:
        """End both zygotes, one of which is lost: the next job gets new ones.

        Jobs in new processes end as a fault of ours; those in kept ones, of which nothing is known, start again in new
        ones: one of them may be what has ended the zygote.
        """
        self._one_shot.abandon(reason)
        if self._kept is not None:
            self._queue.waiting.extendleft(reversed(self._kept.abandon()))
        self.close()

    def collect(self) -> list[Outcome]:
        """Return the outcomes of the jobs that have ended since the last call."""
        return self._queue.collect()

    @property
    def has_finished(self) -> bool:
        """True if ``collect`` has anything to return."""
        return bool(self._queue.finished)

    def request_exit(self) -> None:
        """Have everything end, without waiting for it."""
        self.zygotes.request_exit()

    def close(self) -> None:
        """End both zygotes and all that is in them."""
        self._one_shot.close()
        self._kept = None
        self.zygotes.close()
