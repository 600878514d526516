"""A process that is kept from job to job: its clocks, its end, and the rewinder that puts it back."""

from __future__ import annotations

import os
import signal
import socket
import time

from passcurve.sandbox.copy_stub import PAGE, Stub
from passcurve.sandbox.rewind import WALL, Rewinder, UncleanError


class Single:
    """A process that does one job, after which another one takes its place."""

    hot: frozenset[int] = frozenset()

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def end(self) -> tuple[bool, float, int]:
        """End it; return whether it was still there, its CPU time in seconds, and its memory in bytes."""
        try:
            os.kill(self.pid, signal.SIGKILL)
            _, status, used = os.wait4(self.pid, WALL)
        except OSError:
            return False, 0.0, 0
        ended_now = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        return ended_now, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024

    def has_ended(self) -> bool:
        """Say whether it has ended."""
        return has_ended(self.pid)

    def clock(self) -> tuple[int, int] | None:
        """Return CPU, and CPU + waiting for a core, in ns; None when it has ended."""
        try:
            with open("/proc/%d/schedstat" % self.pid, encoding="ascii") as file:
                ran, waited, _ = map(int, file.read().split())
            return time.clock_gettime_ns((~self.pid << 3) | 2), ran + waited
        except (OSError, ValueError):
            return None

    def close(self) -> None:
        """Let go of everything."""


def has_ended(pid: int) -> bool:
    """Say whether a child has ended, or stopped for a reason of its own."""
    try:
        return os.waitpid(pid, os.WNOHANG | WALL) != (0, 0)
    except ChildProcessError:
        return True


class Kept:
    """One such process, traced from now on.  Whoever closes it kills and reaps it first.

    ``line``: its end of it, which is ours from now on;
    ``descriptor``: by which it waits for its first job; ``tracker``, ``stub``, ``hot``: as for ``Rewinder``.
    """

    def __init__(self, pid: int, tracker: int, line: int, descriptor: int, stub: Stub, hot: frozenset[int]) -> None:
        self.pid = pid
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, line)
        self._clock_id = (~pid << 3) | 2
        self._rewinder = Rewinder(pid, tracker, descriptor, stub, hot)
        self._schedstat = os.open("/proc/%d/schedstat" % pid, os.O_RDONLY)
        self._base = (0, 0)

    @property
    def hot(self) -> frozenset[int]:
        """Pages that most jobs write."""
        return self._rewinder.hot

    def begin(self) -> tuple[int, ...]:
        """Take the snapshot, once the process waits for its first job; return where in its code it waits.

        Raises UncleanError, OSError.
        """
        place = self._rewinder.snapshot()
        self._base = self._read()
        return place

    def rewind(self, *, typical: bool) -> tuple[float, int]:
        """Put it back; return the CPU time of its job in seconds, and its memory in bytes.  Raises UncleanError.

        ``typical``: as for ``Rewinder``.
        """
        used = time.clock_gettime_ns(self._clock_id) - self._base[0]
        self._rewinder.rewind(self._drain, typical=typical)
        self._base = self._read()
        return used * 1e-9, self._rewinder.resident_pages * PAGE

    def _drain(self) -> None:
        """Throw away what it was sent and has not read: it must not be taken for the next job."""
        try:
            while self._line.recv(1 << 18, socket.MSG_DONTWAIT):
                pass
        except BlockingIOError:
            pass

    def has_ended(self) -> bool:
        """Say whether it has ended, or stopped for a reason of its own."""
        return has_ended(self.pid)

    def clock(self) -> tuple[int, int] | None:
        """Return CPU, and CPU + waiting for a core, of its job in ns; None when it has ended."""
        try:
            now = self._read()
        except UncleanError:
            return None
        return now[0] - self._base[0], now[1] - self._base[1]

    def _read(self) -> tuple[int, int]:
        try:
            ran, waited, _ = map(int, os.pread(self._schedstat, 100, 0).split())
            return time.clock_gettime_ns(self._clock_id), ran + waited
        except (OSError, ValueError) as error:
            raise UncleanError(str(error)) from None

    def close(self) -> None:
        """Let go of everything."""
        self._line.close()
        os.close(self._schedstat)
        self._rewinder.close()
