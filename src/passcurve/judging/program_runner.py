"""Runs commands that come one by one, each in a jail of its own, in one warm sandbox."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future

import msgspec

from passcurve.errors import SandboxError
from passcurve.judging.attempts import next_attempt
from passcurve.judging.plan import REFEREE_ROLE
from passcurve.judging.scheduler import Scheduler
from passcurve.sandbox.job import Job, Outcome
from passcurve.sandbox.pool import Pool
from passcurve.sandbox.startup import start_sandbox
from passcurve.types import Limits

_TICK_S = 0.1


class ProgramRunner:
    """A sandbox for commands in a thread of its own; close it.

    Raises IsolationError where commands cannot be isolated.
    """

    def __init__(self, limits: Limits, workers: int) -> None:
        self._limits, self._workers = limits, workers
        self._queue: deque[tuple[Job, Future[Outcome]]] = deque()
        self._running: dict[int, tuple[Job, Future[Outcome]]] = {}
        self._last_tag = 0
        self._is_closed = False
        self._error: BaseException | None = None
        self._pool: Pool | None = None
        self._is_ready = threading.Event()
        self._thread = threading.Thread(target=self._work, name="passcurve programs", daemon=True)
        self._thread.start()
        self._is_ready.wait()
        if self._error is not None:
            raise self._error

    @property
    def waiting(self) -> int:
        """Return how many jobs have not ended."""
        return len(self._queue) + len(self._running)

    def submit(self, job: Job) -> Future[Outcome]:
        """Return the outcome of a job of commands as a future; one that is cancelled before it runs never runs."""
        if self._is_closed or self._error is not None or self._pool is None:
            raise SandboxError("the sandbox for programs has ended")
        future: Future[Outcome] = Future()
        self._queue.append((job, future))
        self._pool.wakeup.set()
        return future

    def close(self) -> None:
        """Run what is there, and end; a second call does nothing."""
        self._is_closed = True
        if self._pool is not None:
            self._pool.wakeup.set()
        self._thread.join()

    def _work(self) -> None:
        try:
            with (
                start_sandbox(self._limits, REFEREE_ROLE, commands=True) as sandbox,
                Pool(self._workers, sandbox) as pool,
            ):
                self._pool = pool
                self._is_ready.set()
                self._run(pool)
        except BaseException as error:
            self._error = error
        finally:
            self._is_ready.set()
            rest = [future for _, future in (*self._running.values(), *self._queue)]
            for future in rest:
                if not future.done():
                    future.set_exception(self._error or SandboxError("the sandbox for programs was closed"))

    def _run(self, pool: Pool) -> None:
        scheduler: Scheduler[Job, Outcome] = Scheduler(pool)
        while not (self._is_closed and scheduler.is_empty and not self._queue):
            while self._queue:
                job, future = self._queue.popleft()
                if future.set_running_or_notify_cancel():
                    self._last_tag += 1
                    job = msgspec.structs.replace(job, tag=self._last_tag)
                    self._running[job.tag] = job, future
                    scheduler.put(job)
            if scheduler.is_empty:
                pool.wait_for_wakeup(_TICK_S)
                continue
            for outcome in scheduler.run(_TICK_S):
                job, future = self._running.pop(outcome.tag)
                if retry := next_attempt(job, outcome):
                    self._running[job.tag] = retry.job, future
                    scheduler.put(retry.job, at_end=retry.at_end)
                else:
                    future.set_result(outcome)
