"""Runs commands that come one by one, each in a jail of its own, in one warm sandbox."""

from __future__ import annotations

import math
import threading
import time
from concurrent.futures import Future
from typing import NamedTuple

import msgspec

from passcurve.errors import PasscurveError, SandboxError, sandbox_error
from passcurve.judging.attempts import next_attempt
from passcurve.judging.fair_queue import FairQueue
from passcurve.judging.scheduler import Scheduler
from passcurve.sandbox.job import Job, Outcome
from passcurve.sandbox.pool import Pool
from passcurve.sandbox.startup import start_sandbox
from passcurve.types import Limits

_TICK_S = 0.1
_PATIENCE_S = 1.0
"""Time that a second attempt waits for other jobs."""
_AHEAD = 2
"""Jobs for each worker that are under way or next."""


class _Order(NamedTuple):
    """A job that waits, until when anybody wants its outcome, and who gets it."""

    job: Job
    due: float
    future: Future[Outcome]


class ProgramRunner:
    """A sandbox for commands in a thread of its own; close it.

    Raises IsolationError where commands cannot be isolated.
    """

    def __init__(self, limits: Limits, workers: int) -> None:
        self._limits, self._workers = limits, workers
        self._lock = threading.Lock()
        self._queue: FairQueue[_Order] = FairQueue()
        self._running: dict[int, tuple[Job, Future[Outcome]]] = {}
        self._unwanted: set[Future[Outcome]] = set()
        """Futures of running jobs of which nobody wants the outcome any more."""
        self._last_tag = 0
        self._is_closed = False
        self._error: PasscurveError | None = None
        self._pool: Pool | None = None
        self._is_ready = threading.Event()
        self._thread = self._start()

    def _start(self) -> threading.Thread:
        thread = threading.Thread(target=self._work, name="passcurve programs", daemon=True)
        thread.start()
        try:
            self._is_ready.wait()
        except BaseException:
            # Nobody will use it, nor close it.
            self._is_closed = True
            raise
        if self._error is not None:
            raise self._error
        return thread

    def revive(self) -> None:
        """Start the sandbox again where it was lost; raises what the start raises."""
        if self.is_alive:
            return
        # It may still tell those who wait that the sandbox was lost.
        self._thread.join()
        # In a forked process a thread of the parent may have held the lock, and the jobs are the parent's.
        self._lock, self._queue = threading.Lock(), FairQueue()
        self._running.clear()
        self._unwanted.clear()
        self._is_ready.clear()
        self._is_closed, self._error = False, None
        self._thread = self._start()

    @property
    def waiting(self) -> int:
        """Return how many jobs have not ended."""
        return len(self._queue) + len(self._running)

    @property
    def is_alive(self) -> bool:
        """Tell whether programs are run."""
        return self._thread.is_alive() and self._error is None

    def submit(self, job: Job, client: str = "", within_s: float = math.inf) -> Future[Outcome]:
        """Return the outcome of a job of commands as a future.

        Clients take turns.  A job never runs if its future is cancelled before, or if it could begin only after
        ``within_s`` seconds: then the future has a TimeoutError.  Raises SandboxError where the sandbox has ended.
        """
        if not self._thread.is_alive():
            raise SandboxError("the sandbox for programs has ended")
        future: Future[Outcome] = Future()
        due = time.monotonic() + within_s
        with self._lock:
            if self._is_closed or self._error is not None or self._pool is None:
                raise SandboxError("the sandbox for programs has ended")
            self._queue.put(_Order(job, due, future), (client,), due)
        self._pool.wakeup.set()
        return future

    def give_up(self, future: Future[Outcome]) -> None:
        """Have the job of a future end, if it has not: nobody wants its outcome."""
        if not future.cancel() and not future.done():
            self._unwanted.add(future)

    def close(self) -> None:
        """Run what is there, and end; a second call does nothing, nor does one in a forked process."""
        if not self._thread.is_alive():
            return
        with self._lock:
            self._is_closed = True
        if self._pool is not None:
            self._pool.wakeup.set()
        self._thread.join()

    def _work(self) -> None:
        try:
            with (
                start_sandbox(self._limits, commands=True) as sandbox,
                Pool(self._workers, sandbox) as pool,
            ):
                self._pool = pool
                self._is_ready.set()
                self._run(pool)
        except BaseException as error:
            self._error = sandbox_error(error)
        finally:
            self._is_ready.set()
            with self._lock:
                self._is_closed = True
                waiting = [self._queue.pop().future for _ in range(len(self._queue))]
            owed = [future for _, future in self._running.values()]
            # Whoever waits for one may cancel it at any moment before this.
            owed += [future for future in waiting if future.set_running_or_notify_cancel()]
            for future in owed:
                future.set_exception(self._error or SandboxError("the sandbox for programs was closed"))

    def _run(self, pool: Pool) -> None:
        scheduler: Scheduler[Job, Outcome] = Scheduler(
            pool, forget=self._forget, patience_s=_PATIENCE_S, goes_alone=lambda _: True
        )
        while not (self._is_closed and scheduler.is_empty and not self._queue):
            self._fill(scheduler, pool.size)
            if scheduler.is_empty:
                pool.wait_for_wakeup(_TICK_S)
                continue
            self._stop_unwanted(pool)
            for outcome in scheduler.run(_TICK_S):
                job, future = self._running.pop(outcome.tag)
                if future in self._unwanted:
                    self._unwanted.discard(future)
                    future.set_exception(TimeoutError())
                elif retry := next_attempt(job, outcome):
                    self._running[job.tag] = retry.job, future
                    scheduler.put(retry.job, at_end=retry.at_end)
                else:
                    future.set_result(outcome)

    def _forget(self, job: Job) -> bool:
        """Forget a job that nobody wants, before it starts."""
        future = self._running[job.tag][1]
        if future not in self._unwanted:
            return False
        del self._running[job.tag]
        self._unwanted.discard(future)
        future.set_exception(TimeoutError())
        return True

    def _stop_unwanted(self, pool: Pool) -> None:
        for future in tuple(self._unwanted):
            # It may have ended while it was given up.
            if future.done():
                self._unwanted.discard(future)
        if self._unwanted:
            for tag, (_, future) in self._running.items():
                if future in self._unwanted:
                    pool.stop(tag)

    def _fill(self, scheduler: Scheduler[Job, Outcome], size: int) -> None:
        """Hand over as many jobs as can begin soon; those of other clients may still go before the rest."""
        while len(self._running) < _AHEAD * size:
            with self._lock:
                if not self._queue:
                    return
                order = self._queue.pop()
            if not order.future.set_running_or_notify_cancel():
                continue
            if time.monotonic() > order.due:
                order.future.set_exception(TimeoutError())
                continue
            self._last_tag += 1
            job = msgspec.structs.replace(order.job, tag=self._last_tag)
            self._running[job.tag] = job, order.future
            scheduler.put(job)
