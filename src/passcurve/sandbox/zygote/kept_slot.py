"""The slot of a zygote for one process that is kept for many jobs: rewound after each, or replaced."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from passcurve.sandbox.zygote.exit_status import ProcessExit
from passcurve.sandbox.zygote.kept_process import JobUsage, RewoundProcess, SingleUseProcess
from passcurve.sandbox.zygote.launcher import Launcher
from passcurve.sandbox.zygote.template import FIRST
from passcurve.sandbox.zygote.tracing import WALL, UncleanError


class KeptSlot:
    """Creates the process, rewinds or replaces it, and reports each end of a job.

    ``rewinds``: whether it is rewound; ``report``: sends an end to the supervisor.
    """

    def __init__(self, launcher: Launcher, rewinds: bool, report: Callable[[ProcessExit], None]) -> None:
        self._launcher = launcher
        self._rewinds = rewinds
        self._report = report
        self.process: RewoundProcess | SingleUseProcess | None = None
        self._hot: frozenset[int] = frozenset()
        """Pages that most jobs wrote in the process before."""
        self._registers: tuple[int, ...] | None = None
        """Where in its code the first process waited for its first job."""

    def fill(self, role: str, descriptors: list[int]) -> str:
        """Create a process; return the reason why there is none, or nothing.

        Its lines must be new: what an earlier process has left on its own would be read before the snapshot.
        """
        if not self._launcher.allows_kept:
            return "this needs seccomp and a template process"
        spec = {"role": role, "kept": True, "lowest": FIRST + len(descriptors)}
        pid, tracker = self._launcher.fork(spec, descriptors)
        if not self._rewinds:
            self.process = SingleUseProcess(pid)
            return ""
        try:
            self._trace(pid, tracker, descriptors[0])
        except (OSError, UncleanError) as error:
            self._drop(pid)
            return str(error)
        return ""

    def _trace(self, pid: int, tracker: int, line: int) -> None:
        if tracker < 0 or self._launcher.stub is None:
            raise UncleanError("the kernel does not track writes (this needs Linux 6.7 and userfaultfd)")
        process = RewoundProcess(pid, tracker, os.dup(line), FIRST, self._launcher.stub, self._hot)
        self.process = process
        self._launcher.release()
        registers = process.take_snapshot()
        if self._registers not in (None, registers):
            raise UncleanError("the process waits at another place in its code than the first one")
        self._registers = registers

    def rewind(self, tag: int, *, typical: bool) -> None:
        """Rewind the process after a job, and report it; end the process when that is not possible."""
        if not isinstance(self.process, RewoundProcess):
            self._report_job(tag, JobUsage())
            return
        try:
            usage = self.process.rewind(typical=typical)
        except UncleanError:
            self.lose(tag)
            return
        self._report_job(tag, usage)

    def replace(self, tag: int, role: str, descriptors: list[int]) -> str:
        """End the process, and create another one if it was clean; return the reason why there is none, or nothing."""
        usage = JobUsage()
        if isinstance(self.process, SingleUseProcess):
            usage = self.process.end()
            self.process = None
        self._report_job(tag, usage)
        return self.fill(role, descriptors) if usage.is_clean else ""

    def lose(self, tag: int) -> None:
        """End the process, if there is one, and report that."""
        if self.process is not None:
            self._hot = self.process.hot
            self._drop(self.process.pid)
            self._report_job(tag, JobUsage())

    def _report_job(self, tag: int, usage: JobUsage) -> None:
        self._report(
            ProcessExit(
                tag=tag,
                at=time.monotonic_ns(),
                cpu_s=usage.cpu_s,
                memory_bytes=usage.memory_bytes,
                kept=True,
                clean=usage.is_clean,
            )
        )

    def _drop(self, pid: int) -> None:
        try:
            os.kill(pid, signal.SIGKILL)
            while not _is_end(os.waitpid(pid, WALL)[1]):
                pass
        except OSError:
            pass  # it has ended and was reaped
        if self.process is not None:
            self.process.close()
            self.process = None


def _is_end(status: int) -> bool:
    return os.WIFEXITED(status) or os.WIFSIGNALED(status)
