"""Processes that wait for jobs before there are any: one is rewound after each job, the other replaced."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable
from typing import NamedTuple

from passcurve.sandbox.zygote.copy_stub import Stub
from passcurve.sandbox.zygote.rewind import Rewinder
from passcurve.sandbox.zygote.tracing import WALL, UncleanError


class JobUsage(NamedTuple):
    """The resources that one job used."""

    is_clean: bool = False
    """True if the process was in the expected state when its job ended."""
    cpu_ns: int = 0
    memory_bytes: int = 0


class SingleUseProcess:
    """A process that runs one job, after which another one takes its place."""

    hot: frozenset[int] = frozenset()

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def end(self) -> JobUsage:
        """Kill the process; it is clean if it had not ended before."""
        try:
            os.kill(self.pid, signal.SIGKILL)
            _, status, usage = os.wait4(self.pid, WALL)
        except OSError:
            return JobUsage()
        is_clean = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        return JobUsage(is_clean, int((usage.ru_utime + usage.ru_stime) * 1e9), usage.ru_maxrss * 1024)

    def has_ended(self) -> bool:
        """Tell whether the process has ended."""
        return has_ended(self.pid)

    def clock(self) -> tuple[int, int] | None:
        """Return CPU time, and CPU time + waiting for a core, in ns; None when the process has ended."""
        try:
            with open("/proc/%d/schedstat" % self.pid, encoding="ascii") as file:
                ran, waited, _ = map(int, file.read().split())
            return time.clock_gettime_ns(cpu_clock_id(self.pid)), ran + waited
        except (OSError, ValueError):
            return None

    def close(self) -> None:
        """Close nothing: it holds no descriptor."""


class RewoundProcess:
    """A process that is traced from the start and rewound after each job.  Kill and reap it before you close this.

    ``line``: its end of its line, closed with this; ``descriptor``: where it waits for its first job;
    ``tracker``, ``stub``, ``hot``: as for ``Rewinder``.
    """

    def __init__(
        self, pid: int, tracker: int, line: socket.socket, descriptor: int, stub: Stub, hot: frozenset[int]
    ) -> None:
        self.pid = pid
        self._line = line
        self._clock_id = cpu_clock_id(pid)
        self._rewinder = Rewinder(pid, tracker, descriptor, stub, hot)
        self._schedstat = os.open("/proc/%d/schedstat" % pid, os.O_RDONLY)
        self._start = (0, 0)
        """Clocks at the start of the present job."""

    @property
    def hot(self) -> frozenset[int]:
        """Pages that most jobs write."""
        return self._rewinder.hot

    def take_snapshot(self) -> tuple[int, ...]:
        """Take the snapshot, once the process waits for its first job; return where in its code it waits.

        Raises UncleanError, OSError.
        """
        registers = self._rewinder.snapshot()
        self._start = self._read_clocks()
        return registers

    def rewind(self, meanwhile: Callable[[], None], *, typical: bool) -> JobUsage:
        """Rewind the process after a job.  Raises UncleanError.

        ``meanwhile`` is called before the process goes on; ``typical``: as for ``Rewinder``.
        """
        cpu_ns = time.clock_gettime_ns(self._clock_id) - self._start[0]

        def prepare() -> None:
            self._drain()
            meanwhile()

        self._rewinder.rewind(prepare, typical=typical)
        self._start = self._read_clocks()
        return JobUsage(True, cpu_ns, self._rewinder.resident_bytes)

    def _drain(self) -> None:
        """Discard what the process was sent and has not read: it must not be taken for the next job."""
        try:
            while self._line.recv(1 << 18, socket.MSG_DONTWAIT):
                pass
        except BlockingIOError:
            pass

    def has_ended(self) -> bool:
        """Tell whether the process has ended, or stopped for a reason of its own."""
        return has_ended(self.pid)

    def clock(self) -> tuple[int, int] | None:
        """Return CPU time, and CPU time + waiting for a core, of the present job in ns; None after the end."""
        try:
            now = self._read_clocks()
        except UncleanError:
            return None
        return now[0] - self._start[0], now[1] - self._start[1]

    def _read_clocks(self) -> tuple[int, int]:
        try:
            ran, waited, _ = map(int, os.pread(self._schedstat, 100, 0).split())
            return time.clock_gettime_ns(self._clock_id), ran + waited
        except (OSError, ValueError) as error:
            raise UncleanError(str(error)) from None

    def close(self) -> None:
        """Close all descriptors."""
        self._line.close()
        os.close(self._schedstat)
        self._rewinder.close()


def cpu_clock_id(pid: int) -> int:
    """Return the clock of the CPU time of a process, for ``time.clock_gettime``."""
    return (~pid << 3) | 2


def has_ended(pid: int) -> bool:
    """Tell whether a child has ended, or stopped for a reason of its own."""
    try:
        return os.waitpid(pid, os.WNOHANG | WALL) != (0, 0)
    except ChildProcessError:
        return True
