"""Rewinds a process to its snapshot, from outside, after every sample.

The zygote traces the process.  While the process waits for its first job, the zygote copies its registers and its
writable memory, and has the kernel track every page that is written from then on.  After a job the process is stopped
wherever it is.  The dirty pages get their old bytes, the registers their old values, and it waits for a job once more.

All other state of a process lies in the kernel, where only system calls change it; the strict filter
(``layers/seccomp_strict.py``) ends a process at the first call that could.  Anything unexpected raises UncleanError,
and the process must not be used again.
"""

from __future__ import annotations

from collections.abc import Callable

from passcurve.sandbox.zygote.copy_stub import ENTRIES, PAGE, Stub
from passcurve.sandbox.zygote.dirty_pages import REGION, DirtyPages, HotPages
from passcurve.sandbox.zygote.kernel_state import KernelState
from passcurve.sandbox.zygote.memory import Run
from passcurve.sandbox.zygote.snapshot import Snapshot
from passcurve.sandbox.zygote.tracing import Tracee, UncleanError

CACHED_REGIONS = 2000
"""Dirty regions whose place in the snapshot is cached."""

VERIFY_JOBS = 1000
"""All memory is compared with the snapshot after each such number of jobs."""


class Rewinder:
    """The rewinding of one process.  The process is traced from the start, and dies when this is closed.

    ``tracker``: descriptor of its userfaultfd; ``descriptor``: the one on which it waits for its first job;
    ``hot``: pages that an earlier process of the same kind wrote in most jobs.
    """

    def __init__(self, pid: int, tracker: int, descriptor: int, stub: Stub, hot: frozenset[int] = frozenset()) -> None:
        self._descriptor = descriptor
        self._stub = stub
        self._tracee = Tracee(pid)
        self._snapshot = Snapshot(pid, stub.snapshot)
        self._dirty = DirtyPages(pid, tracker)
        self._state = KernelState(pid)
        self._hot = HotPages(hot)
        self._stack: list[Run] = []
        """The stack of the copying code, which that code itself writes."""
        self._runs: dict[tuple[int, int], list[Run]] = {}
        """Cache of the parts of the snapshot, by dirty region."""
        self._jobs = 0

    @property
    def hot(self) -> frozenset[int]:
        """Pages that most jobs write."""
        return self._hot.pages

    @property
    def resident_bytes(self) -> int:
        """Memory of the process after its last job, in bytes."""
        return self._state.resident_pages * PAGE

    def snapshot(self) -> tuple[int, ...]:
        """Take the snapshot, once the process waits for its first job.  Raises UncleanError, OSError.

        Return where it waits: registers that are the same in every process that has done nothing but start.
        """
        registers = self._tracee.stop_at_read(self._descriptor)
        self._dirty.register(self._snapshot.find_areas())
        self._stub.clear()
        self._snapshot.take(self._dirty)
        self._dirty.protect_all()
        top = self._tracee.prepare_copying()
        self._stack = self._snapshot.runs_of(sorted({top // PAGE * PAGE, (top - 8) // PAGE * PAGE}))
        self._stub.copy_always(self._stack)
        if not self._hot.is_learning:
            self._copy_hot_pages()
        self._state.save()
        self._tracee.resume()
        return registers

    def rewind(self, meanwhile: Callable[[], None], *, typical: bool = True) -> None:
        """Rewind the process.  Raises UncleanError when it cannot be used again.

        ``meanwhile`` is called while the process is stopped, for all that must be done before it goes on.
        ``typical``: the pages that this job wrote may predict those of the next jobs.
        """
        self._tracee.stop()
        try:
            self._restore(typical)
            self._jobs += 1
            if self._jobs % VERIFY_JOBS == 0:
                self._snapshot.verify()
            meanwhile()
            self._tracee.resume()
        except OSError as error:
            raise UncleanError(str(error)) from None

    def _restore(self, typical: bool) -> None:
        if self._state.has_changed():
            raise UncleanError("the state of the process in the kernel has changed")
        cache = self._runs
        dirty: list[Run] = []
        for start, end, _ in REGION.iter_unpack(self._dirty.scan()):
            runs = cache.get((start, end))
            if runs is None:
                runs = self._snapshot.runs_between(start, end)
                if len(cache) < CACHED_REGIONS:
                    cache[start, end] = runs
            dirty += runs
        if len(dirty) > ENTRIES // 2:
            raise UncleanError("the process wrote more pages than can be copied")
        self._stub.copy(dirty)
        self._tracee.copy()
        self._dirty.protect_runs(dirty)
        if typical and self._hot.is_learning:
            is_complete = self._hot.learn(dirty)
            if is_complete:
                self._copy_hot_pages()

    def _copy_hot_pages(self) -> None:
        """Have the hot pages copied every time, and no longer tracked."""
        runs = self._snapshot.runs_of(sorted(self._hot.pages))[: ENTRIES // 2]
        self._dirty.ignore(runs)
        self._stub.copy_always([*self._stack, *runs])
        self._runs.clear()

    def close(self) -> None:
        """Close all descriptors; the caller kills and reaps the process."""
        for part in (self._snapshot, self._dirty, self._state):
            part.close()
