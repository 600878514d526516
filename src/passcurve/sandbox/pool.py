"""The workers and their loop: jobs go in, outcomes come out, deadlines are kept."""

from __future__ import annotations

import os
import selectors
import socket
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from passcurve.sandbox.bell import Bell
from passcurve.sandbox.job import Job, Outcome
from passcurve.sandbox.learned import Learned
from passcurve.sandbox.probe import Probe
from passcurve.sandbox.stems import Stems
from passcurve.sandbox.toolchain import Toolchain
from passcurve.sandbox.worker import Worker
from passcurve.types import Limits


class Pool:
    """A bounded number of workers.  Use it as a context manager: leaving it leaves no process behind.

    Must be used from the thread that made it, which must live as long as the pool: the kernel ends a zygote when the
    thread that started it ends.
    """

    def __init__(self, workers: int, probe: Probe, toolchain: Toolchain, limits: Limits, stems: Stems) -> None:
        self._selector = selectors.DefaultSelector()
        self.bell = Bell()
        """Ends a wait while a worker is idle: whoever has something to judge rings it."""
        self._selector.register(self.bell, selectors.EVENT_READ)
        self._heard = False
        """It was rung; until that is answered nobody listens for it, so a second ring wakes nobody."""
        cores: list[int | None] = [*sorted(os.sched_getaffinity(0))] if hasattr(os, "sched_getaffinity") else [None]
        self.cores = len(cores)
        learned = Learned()
        self._workers = [
            Worker(self._selector, probe, toolchain, limits, stems, learned, cores[i % len(cores)])
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

    def idle(self, *, quiet: bool = False) -> Sequence[tuple[int, str]]:
        """Return (slot, referee key served last) of each worker that can take a job.

        ``quiet``: only of those that have nothing left to clean up, as a fresh job needs.
        """
        free = [(i, worker) for i, worker in enumerate(self._workers) if worker.idle and not (quiet and worker.busy)]
        return [(i, worker.affinity) for i, worker in free]

    def suits(self, slot: int, affinity: str) -> bool:
        """Say whether a worker is prepared for a problem as well as for any that it did not serve last."""
        return self._workers[slot].suits(affinity)

    def start(self, slot: int, /, *jobs: Job) -> None:
        """Start a job on an idle slot, or several that ``go_together``.

        Raises SandboxError when the sandbox cannot be built.
        """
        self._workers[slot].start(*jobs)

    def wait(self, at_most_s: float) -> list[Outcome]:
        """Wait until something ends, or that long, or the bell calls for an idle worker; return what has ended."""
        until = time.monotonic() + at_most_s
        while True:
            finished = [outcome for worker in self._workers for outcome in worker.collect()]
            now = time.monotonic()
            called = self._heard and any(worker.idle for worker in self._workers)
            if finished or called or now >= until or not any(worker.busy for worker in self._workers):
                self._answer()
                return finished
            looks = [look for worker in self._workers if (look := worker.next_look) is not None]
            self._listen(max(0.0, min([until, *looks]) - now))
            now = time.monotonic()
            for worker in self._workers:
                worker.tick(now)

    def rest(self, at_most_s: float) -> None:
        """Wait for the bell with nothing under way, at most that long."""
        if not self._heard:
            self._listen(at_most_s)
        self._answer()

    def _answer(self) -> None:
        """Listen for the bell again, if it was heard."""
        if self._heard:
            self._heard = False
            self.bell.hush()
            self._selector.register(self.bell, selectors.EVENT_READ)

    def _listen(self, at_most_s: float) -> None:
        for key, _ in self._selector.select(at_most_s):
            if key.data is None:
                self._selector.unregister(self.bell)
                self._heard = True
                continue
            (worker, source), line = key.data, key.fileobj
            # A line may have been closed by what an earlier one of the same round said.
            if isinstance(line, socket.socket) and line.fileno() == key.fd >= 0:
                worker.hear(source, line)

    def close(self) -> None:
        """End every process of the pool."""
        for worker in self._workers:
            worker.shut()
        self._selector.close()
        self.bell.close()
