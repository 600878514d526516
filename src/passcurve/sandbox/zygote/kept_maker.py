"""Makes a process that is kept for many jobs, with a line of its own, and ends it."""

from __future__ import annotations

import os
import select
import signal
import socket
from typing import NamedTuple

from passcurve.sandbox.zygote.job_process import HAS_PIDFD
from passcurve.sandbox.zygote.kept_process import RewoundProcess, SingleUseProcess
from passcurve.sandbox.zygote.launcher import Launcher
from passcurve.sandbox.zygote.template import FIRST
from passcurve.sandbox.zygote.tracing import WALL, UncleanError

_BUFFER_BYTES = 1 << 20


class Kept(NamedTuple):
    """A process that is kept."""

    process: RewoundProcess | SingleUseProcess
    line: socket.socket
    """Our end of its line."""
    end_descriptor: int
    """Readable when it has ended; -1 where the system has none."""


class KeptMaker:
    """Makes one process after another, all of one kind; ``poll`` watches the line and the end of each.

    ``rewinds``: whether it is rewound after each job, or has but one.
    """

    def __init__(self, launcher: Launcher, poll: select.poll, *, rewinds: bool) -> None:
        self._launcher, self._poll, self._rewinds = launcher, poll, rewinds
        self._role, self._lines = "", 1
        self._hot: frozenset[int] = frozenset()
        """Pages that most jobs wrote in the process before."""
        self._registers: tuple[int, ...] | None = None
        """Where in its code the first process waited for its first job."""

    def choose(self, role: str, lines: int) -> None:
        """Make processes of this role, with so many descriptors of their line."""
        self._role, self._lines = role, lines
        self._hot, self._registers = frozenset(), None

    def make(self) -> Kept:
        """Make a process.  Raises OSError or UncleanError, with the reason, when there is none."""
        if not self._launcher.allows_kept:
            raise UncleanError("this needs seccomp and a template process")
        # Its line is new: what an earlier process has left on its own would be read before the snapshot.
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
        spec = {"role": self._role, "kept": True, "lowest": FIRST + self._lines}
        pid, tracker = self._launcher.fork(spec, [theirs.fileno()] * self._lines)
        try:
            process = self._track(pid, tracker, theirs) if self._rewinds else SingleUseProcess(pid)
            end_descriptor = os.pidfd_open(pid) if HAS_PIDFD else -1
        except (OSError, UncleanError):
            _kill(pid)
            ours.close()
            raise
        finally:
            if not self._rewinds:
                theirs.close()
        self._poll.register(ours.fileno(), select.POLLIN)
        if end_descriptor >= 0:
            self._poll.register(end_descriptor, select.POLLIN)
        return Kept(process, ours, end_descriptor)

    def _track(self, pid: int, tracker: int, line: socket.socket) -> RewoundProcess:
        stub = self._launcher.stub
        if tracker < 0 or stub is None:
            line.close()
            raise UncleanError("the kernel does not track writes (this needs Linux 6.7 and userfaultfd)")
        process = RewoundProcess(pid, tracker, line, FIRST, stub, self._hot)
        try:
            self._launcher.release()
            registers = process.take_snapshot()
            if self._registers not in (None, registers):
                raise UncleanError("the process waits at another place in its code than the first one")
        except (OSError, UncleanError):
            process.close()
            raise
        self._registers = registers
        return process

    def drop(self, kept: Kept) -> None:
        """End a process, and close its line with all that is left on it."""
        _kill(kept.process.pid)
        self._hot = kept.process.hot
        kept.process.close()
        self._poll.unregister(kept.line.fileno())
        kept.line.close()
        if kept.end_descriptor >= 0:
            self._poll.unregister(kept.end_descriptor)
            os.close(kept.end_descriptor)


def _kill(pid: int) -> None:
    """Kill and reap a child, unless it was reaped."""
    try:
        os.kill(pid, signal.SIGKILL)
        while not _is_end(os.waitpid(pid, WALL)[1]):
            pass
    except OSError:
        pass  # it has ended and was reaped


def _is_end(status: int) -> bool:
    return os.WIFEXITED(status) or os.WIFSIGNALED(status)
