"""The workers and their loop: jobs go in, outcomes come out, deadlines are kept."""

from __future__ import annotations

import selectors
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from passcurve.sandbox.artifact_store import ArtifactStore
from passcurve.sandbox.artifacts import Artifacts
from passcurve.sandbox.command_worker import CommandWorker
from passcurve.sandbox.job import Job, Outcome
from passcurve.sandbox.memory_budget import MemoryBudget, commands_memory_bytes
from passcurve.sandbox.pool_cache import PoolCache
from passcurve.sandbox.prepared import PreparedFiles
from passcurve.sandbox.startup import Sandbox, usable_cores
from passcurve.sandbox.wakeup import Wakeup
from passcurve.sandbox.worker import Worker
from passcurve.sandbox.zygote_client import translate_os_errors

BATCH_S = 0.02
"""Outcomes that come within this time are returned together, if all workers are busy."""

TICK_S = 0.2
"""Longest time between two ticks of a worker."""


class Pool:
    """A bounded number of workers.  Use it as a context manager: leaving it leaves no process behind.

    Use it from the thread that made it, which must live as long as the pool: the kernel ends a zygote when the thread
    that started it ends.
    """

    def __init__(
        self,
        workers: int,
        sandbox: Sandbox,
        store: ArtifactStore | None = None,
        budget: MemoryBudget | None = None,
    ) -> None:
        """``store``: where the files that compilers make are kept from run to run, if anywhere.

        ``budget``: the memory for all commands that run at once; by default a part of what is free now.
        """
        # Before all else, for it may fail: on some machines no folder for temporary files can be written.
        with translate_os_errors():
            self._prepared = PreparedFiles() if sandbox.commands else None
        self._selector = selectors.DefaultSelector()
        self.wakeup = Wakeup()
        """Ends a wait while a worker is idle: set it when there is something to judge."""
        self._selector.register(self.wakeup, selectors.EVENT_READ, self._take_wakeup)
        self._is_woken = False
        """Whether the wake-up came; until it is cleared nobody watches it, so it wakes nobody twice."""
        self._tick_at = 0.0
        cores = usable_cores()
        self.cores = len(cores)
        self.modules = sandbox.toolchain.modules
        """Modules of the packages that samples may import."""
        cache = PoolCache()
        self.compiled_tests = cache.compiled_tests
        """Compiled tests of the problems so far: more may be added."""
        self._artifacts = Artifacts(store)
        budget = budget or MemoryBudget(commands_memory_bytes())
        self.workers: list[Worker | CommandWorker] = [
            CommandWorker(self._selector, sandbox, self._artifacts, self._prepared, budget)
            if self._prepared is not None
            else Worker(self._selector, sandbox, cache, cores[i % len(cores)])
            for i in range(workers)
        ]
        """By slot."""
        try:
            for worker in self.workers:
                worker.start_zygotes()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def size(self) -> int:
        """Number of jobs that can run at once."""
        return len(self.workers)

    def idle(self, *, quiet: bool = False) -> Sequence[int]:
        """Return the slots of the workers that can take a job.

        ``quiet``: only of those that have nothing left to clean up, as a fresh job needs.
        """
        return [i for i, worker in enumerate(self.workers) if worker.is_idle and not (quiet and worker.is_busy)]

    def start(self, slot: int, /, *jobs: Job) -> None:
        """Start jobs on an idle slot, which runs them one after another.

        Raises SandboxError when the sandbox cannot be built.
        """
        self.workers[slot].start(*jobs)

    def stop(self, tag: int) -> None:
        """End a job of commands of which nobody wants the outcome, if its program runs: call it until that comes."""
        for worker in self.workers:
            if isinstance(worker, CommandWorker):
                worker.stop(tag)

    def wait(self, at_most_s: float) -> list[Outcome]:
        """Wait until a job ends, for that time at most, or until the wake-up calls an idle worker; return outcomes."""
        now = time.monotonic()
        until = now + at_most_s
        while True:
            is_idle = is_busy = has_finished = False
            tick_at = until
            for worker in self.workers:
                has_outcome = worker.has_finished
                has_finished |= has_outcome
                is_busy |= worker.is_busy
                is_idle |= worker.is_idle and (has_outcome or self._is_woken)
                if (wanted := worker.next_tick) is not None and wanted < tick_at:
                    tick_at = wanted
            if has_finished:
                until = min(until, now + BATCH_S)
            if is_idle or not is_busy or now >= until:
                break
            self._handle_events(max(0.0, min(until, tick_at) - now))
            now = time.monotonic()
            if now >= tick_at or now >= self._tick_at:
                self._tick_at = now + TICK_S
                for worker in self.workers:
                    worker.tick(now)
        self._clear_wakeup()
        return [outcome for worker in self.workers for outcome in worker.collect()]

    def wait_for_wakeup(self, at_most_s: float) -> None:
        """Wait for the wake-up with nothing under way, for that time at most."""
        if not self._is_woken:
            self._handle_events(at_most_s)
        self._clear_wakeup()

    def _take_wakeup(self, _: int) -> None:
        self._selector.unregister(self.wakeup)
        self._is_woken = True

    def _clear_wakeup(self) -> None:
        """Watch the wake-up again, if it came."""
        if self._is_woken:
            self._is_woken = False
            self.wakeup.clear()
            self._selector.register(self.wakeup, selectors.EVENT_READ, self._take_wakeup)

    def _handle_events(self, at_most_s: float) -> None:
        for key, events in self._selector.select(at_most_s):
            source: Any = key.fileobj
            # An earlier event of the same round may have closed a socket.
            if source.fileno() == key.fd >= 0:
                key.data(events)

    def request_exit(self) -> None:
        """Have every process of the pool end, without waiting for it: nothing is to be started any more."""
        for worker in self.workers:
            worker.request_exit()

    def close(self) -> None:
        """End every process of the pool."""
        self.request_exit()
        for worker in self.workers:
            worker.close()
        self._artifacts.close()
        if self._prepared is not None:
            self._prepared.close()
        self._selector.close()
        self.wakeup.close()
