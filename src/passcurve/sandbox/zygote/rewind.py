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

from passcurve.sandbox.zygote.copy_stub import PAGE, Stub
from passcurve.sandbox.zygote.dirty_pages import DirtyPages, HotPages, Region
from passcurve.sandbox.zygote.kernel_state import KernelState
from passcurve.sandbox.zygote.snapshot import Snapshot
from passcurve.sandbox.zygote.tracing import Tracee, UncleanError

TRACK_JOBS, TRACK_REGIONS = 16, 400
"""Pages that were written are copied back after every job, and tracked again after so many jobs, or when they are many:
what one job wrote the next ones often write too, and each time that pages are protected the process loses its cache of
addresses."""

VERIFY_JOBS = 1000
"""All memory is compared with the snapshot after each such number of jobs."""


class Rewinder:
    """The rewinding of one process.  The process is traced from the start, and dies when this is closed.

    ``tracker``: descriptor of its userfaultfd; ``descriptor``: the one on which it waits for its first job;
    ``hot``: pages that an earlier process of the same kind wrote in most jobs.
    """

    def __init__(self, pid: int, tracker: int, descriptor: int, stub: Stub, hot: frozenset[int] = frozenset()) -> None:
        self._descriptor = descriptor
        self._tracee = Tracee(pid)
        self._snapshot = Snapshot(pid, stub)
        self._dirty = DirtyPages(pid, tracker, stub.table)
        self._state = KernelState(pid)
        self._hot = HotPages(hot)
        self._stack: frozenset[int] = frozenset()
        """Pages of the stack that the copying code itself writes: they are hot, whatever jobs write."""
        self._jobs = self._untracked_jobs = 0

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
        areas = self._snapshot.find_areas()
        top = self._tracee.prepare_copying()
        self._stack = frozenset((top // PAGE * PAGE, (top - 8) // PAGE * PAGE))
        self._snapshot.take(self._dirty)
        self._dirty.register(areas, self._stack | self._hot.pages)
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
                self._snapshot.verify(self._dirty)
            meanwhile()
            self._tracee.resume()
        except OSError as error:
            raise UncleanError(str(error)) from None

    def _restore(self, typical: bool) -> None:
        if self._state.has_changed():
            raise UncleanError("the state of the process in the kernel has changed")
        count = self._dirty.scan()
        self._tracee.copy()
        self._untracked_jobs += 1
        if self._hot.is_learning or self._untracked_jobs == TRACK_JOBS or count > TRACK_REGIONS:
            self._track(self._dirty.regions(count), typical)

    def _track(self, regions: set[Region], typical: bool) -> None:
        """Track the pages again that jobs since the last time have written."""
        self._dirty.track(regions)
        self._untracked_jobs = 0
        if typical and self._hot.is_learning and self._hot.learn(regions):
            self._dirty.set_hot(self._stack | self._hot.pages)

    def close(self) -> None:
        """Close all descriptors; the caller kills and reaps the process."""
        for part in (self._snapshot, self._dirty, self._state):
            part.close()
