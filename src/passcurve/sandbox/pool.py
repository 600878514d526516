"""The workers and their loop: jobs go in, outcomes come out, deadlines are kept."""

from __future__ import annotations

import os
import selectors
import socket
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from passcurve.sandbox.forkserver_client import ForkServers
from passcurve.sandbox.job import Job, Outcome
from passcurve.sandbox.probe import Probe
from passcurve.sandbox.referee_reports import Shared
from passcurve.sandbox.toolchain import Toolchain
from passcurve.sandbox.wakeup import Wakeup
from passcurve.sandbox.worker import Worker
from passcurve.types import Limits

MOMENT_S = 0.02
"""What ends within so long is handed on together, if all workers have something to do."""

TICK_S = 0.2
"""How often every worker looks at its clocks, besides when it wants to."""


class Pool:
    """A bounded number of workers.  Use it as a context manager: leaving it leaves no process behind.

    Must be used from the thread that made it, which must live as long as the pool: the kernel ends a zygote when the
    thread that started it ends.
    """

    def __init__(
        self, workers: int, probe: Probe, toolchain: Toolchain, limits: Limits, fork_servers: ForkServers
    ) -> None:
        self._selector = selectors.DefaultSelector()
        self.wakeup = Wakeup()
        """Ends a wait while a worker is idle: whoever has something to judge rings it."""
        self._selector.register(self.wakeup, selectors.EVENT_READ)
        self._tick_at = 0.0
        self._heard = False
        """It was rung; until that is answered nobody listens for it, so a second ring wakes nobody."""
        cores: list[int | None] = [*sorted(os.sched_getaffinity(0))] if hasattr(os, "sched_getaffinity") else [None]
        self.cores = len(cores)
        shared = Shared()
        self._workers = [
            Worker(self._selector, probe, toolchain, limits, fork_servers, shared, cores[i % len(cores)])
            for i in range(workers)
        ]
        for worker in self._workers:
            worker.start_zygotes()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def size(self) -> int:
        """How many jobs can run at once."""
        return len(self._workers)

    def idle(self, *, quiet: bool = False) -> Sequence[int]:
        """Return the slots of the workers that can take a job.

        ``quiet``: only of those that have nothing left to clean up, as a fresh job needs.
        """
        return [i for i, worker in enumerate(self._workers) if worker.idle and not (quiet and worker.busy)]

    def start(self, slot: int, /, *jobs: Job) -> None:
        """Start jobs on an idle slot, which runs them one after another.

        Raises SandboxError when the sandbox cannot be built.
        """
        self._workers[slot].start(*jobs)

    def wait(self, at_most_s: float) -> list[Outcome]:
        """Wait until something ends, or that long, or the wakeup calls for an idle worker; return what has ended."""
        now = time.monotonic()
        until = now + at_most_s
        while True:
            idle = busy = finished = False
            look = until
            for worker in self._workers:
                has_finished, is_idle = worker.has_finished, worker.idle
                finished |= has_finished
                busy |= worker.busy
                idle |= is_idle and (has_finished or self._heard)
                if (wanted := worker.next_look) is not None and wanted < look:
                    look = wanted
            if finished:
                # What ends within a moment is handed on together.
                until = min(until, now + MOMENT_S)
            if idle or not busy or now >= until:
                break
            self._listen(max(0.0, min(until, look) - now))
            now = time.monotonic()
            if now >= look or now >= self._tick_at:
                self._tick_at = now + TICK_S
                for worker in self._workers:
                    worker.tick(now)
        self._answer()
        return [outcome for worker in self._workers for outcome in worker.collect()]

    def rest(self, at_most_s: float) -> None:
        """Wait for the wakeup with nothing under way, at most that long."""
        if not self._heard:
            self._listen(at_most_s)
        self._answer()

    def _answer(self) -> None:
        """Listen for the wakeup again, if it was heard."""
        if self._heard:
            self._heard = False
            self.wakeup.clear()
            self._selector.register(self.wakeup, selectors.EVENT_READ)

    def _listen(self, at_most_s: float) -> None:
        for key, mask in self._selector.select(at_most_s):
            if key.data is None:
                self._selector.unregister(self.wakeup)
                self._heard = True
                continue
            (worker, source), line = key.data, key.fileobj
            # A line may have been closed by what an earlier one of the same round said.
            if isinstance(line, socket.socket) and line.fileno() == key.fd >= 0:
                worker.hear(source, line, mask)

    def close(self) -> None:
        """End every process of the pool."""
        for worker in self._workers:
            worker.close()
        self._selector.close()
        self.wakeup.close()
