"""A new process that runs one job: its clocks and its end."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from passcurve.sandbox.zygote.exit_status import ProcessExit
from passcurve.sandbox.zygote.kept_process import cpu_clock_id

UNTIMED_NS = 20_000_000
"""A child that ended sooner is not timed: the difference between the clocks is smaller than anybody's limit."""

HAS_PIDFD = hasattr(os, "pidfd_open")

_MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024
"""The unit of ``ru_maxrss``."""


END_S = 10.0
"""Time in which all processes of a sample must have ended."""

_END_POLL_S = 0.0005
_SHORT_BYTES, _STATUS_BYTES = 1 << 12, 1 << 16
_HELD = re.compile(rb"\nVmRSS:\s+(\d+) kB\n(?:.*\n)*?VmPTE:\s+(\d+) kB\n")
"""Where ``status`` tells what a process holds.  No name of a process has a line end there."""

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def end_others(keep: set[int]) -> None:
    """Kill and reap every process of this namespace but some.  Raises TimeoutError when one does not end."""
    if not other_processes(keep):
        return
    until = time.monotonic() + END_S
    _stop_others(keep, until)
    while others := other_processes(keep):
        for pid in others:
            _signal(pid, signal.SIGKILL)
        if time.monotonic() > until:
            raise TimeoutError("a process of a sample does not end")
        time.sleep(_END_POLL_S)


def _stop_others(keep: set[int], until: float) -> None:
    """Stop every process but some.  One that is killed makes room for another; one that is stopped does not."""
    stopped: set[int] = set()
    while (others := {*other_processes(keep)} - stopped) and time.monotonic() < until:
        for pid in others:
            _signal(pid, signal.SIGSTOP)
        stopped |= others


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
        # One whose parent lives still is not ours to reap yet.
        os.waitpid(pid, os.WNOHANG)
    except (ProcessLookupError, ChildProcessError):
        pass


def other_processes(keep: set[int]) -> list[int]:
    """Return every process of this namespace but some."""
    return [pid for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))) if pid not in keep]


class JobProcess:
    """A child from its fork until it is reaped.

    ``pipe``: where there are no pidfds, the reading end of a pipe that closes with the child.
    ``others``: processes that are not of this job, where a job may have several.
    """

    def __init__(
        self, pid: int, tag: int, since_ns: int, pipe: int = -1, others: Callable[[], set[int]] | None = None
    ) -> None:
        self._others = others
        self.pid = pid
        self.tag = tag
        """Number of its job."""
        self.since_ns = since_ns
        self.overfull = False
        """True if its scratch, or all its processes together, hold more than they may."""
        self.holds_too_much = False
        """True if it was ended for the memory of all its processes."""
        self._first_bytes = _read_held(pid).resident_bytes if others is not None else 0
        """Memory that it begins with."""
        self._most_bytes = 0
        """Most memory that was seen in one of several processes, which the kernel adds only once they are reaped."""
        self.end_descriptor = os.pidfd_open(pid) if HAS_PIDFD else pipe
        """Readable when the child has ended."""

    def kill(self) -> None:
        """Kill the child, in the one way that needs no answer from the watcher."""
        if HAS_PIDFD:
            signal.pidfd_send_signal(self.end_descriptor, signal.SIGKILL)
        else:
            os.kill(self.pid, signal.SIGKILL)

    def clock(self) -> tuple[int, int] | None:
        """Return CPU time of all threads, and the longest CPU + waiting of one thread, in ns.

        None where that cannot be read.
        """
        own = _read_clock(self.pid)
        if own is None or self._others is None:
            return own
        total, longest = own
        total += _reaped_ns(self.pid)
        for pid in other_processes({self.pid, *self._others()}):
            # One that has just ended is counted by its parent.
            if clock := _read_clock(pid):
                total += clock[0] + _reaped_ns(pid)
                longest = max(longest, clock[1])
        return total, longest

    def holds_over(self, limit_bytes: int) -> bool:
        """Return whether several processes together hold more memory than one may."""
        if self._others is None:
            return False
        # One that is alone, too: the limit of a command's data leaves out what it could share.
        pids = [self.pid, *other_processes({self.pid, *self._others()})]
        held = [_read_held(pid) for pid in pids]
        self._most_bytes = max(self._most_bytes, *(one.resident_bytes for one in held))
        # What is left of the limit for pages.
        rest_bytes = limit_bytes - sum(one.table_bytes for one in held)
        # The sum of what is resident counts shared pages again, and is quickly read.
        return (
            sum(one.resident_bytes for one in held) > rest_bytes
            and sum(map(_proportional_bytes, held)) > rest_bytes
            and self._bound_bytes(dict(zip(pids, held))) > rest_bytes
        )

    def _bound_bytes(self, held: dict[int, _Held]) -> int:
        """Return the most memory that several processes can hold by the page faults of each.

        Forks share pages, and nobody may look into those of a Python program.  But each page came by a fault of the
        process that holds it, or of one from which that descends, as long as these all live.  One whose first parent
        has ended may hold what that left: it counts with all that is resident.
        """
        faults, parents = {}, {}
        for pid in held:
            try:
                state, parent, *fields = _read("/proc/%d/stat" % pid).rpartition(b") ")[2].split()
            except (OSError, ValueError):
                continue  # it has just ended
            if state in b"ZX" and int(fields[15]) == 1:
                continue  # with all its threads
            faults[pid], parents[pid] = int(fields[5]) + int(fields[7]), int(parent)
        followed = {self.pid} & faults.keys()
        while more := {pid for pid, parent in parents.items() if parent in followed} - followed:
            followed |= more
        bytes_of_faults = sum(faults[pid] for pid in followed) * os.sysconf("SC_PAGESIZE")
        return self._first_bytes + bytes_of_faults + sum(held[pid].resident_bytes for pid in faults.keys() - followed)

    def reap(self) -> ProcessExit:
        """Wait for the end of the child and return how it ended."""
        if not HAS_PIDFD:
            # It may have closed its end of the pipe and live on.
            self.kill()
        os.close(self.end_descriptor)
        at = time.monotonic_ns()
        # A child that has ended and is not reaped still has its clocks.
        clock = self.clock() if at - self.since_ns > UNTIMED_NS else None
        _, status, usage = os.wait4(self.pid, 0)
        return ProcessExit(
            tag=self.tag,
            at=at,
            status=status,
            since=self.since_ns,
            clock=clock,
            cpu_s=usage.ru_utime + usage.ru_stime,
            memory_bytes=max(self._most_bytes, usage.ru_maxrss * _MAXRSS_BYTES),
            overfull=self.overfull,
            holds_too_much=self.holds_too_much,
        )


def _read(path: str, most_bytes: int = _SHORT_BYTES) -> bytes:
    """Return the content of a short file of ``/proc``; Python's ``open`` takes twice as long."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, most_bytes)
    finally:
        os.close(descriptor)


def _read_clock(pid: int) -> tuple[int, int] | None:
    """Return CPU time and the longest CPU + waiting of one thread of a process, in ns; None where it is gone."""
    longest = 0
    folder = "/proc/%d/task" % pid
    try:
        # The clock of the process also holds the time of threads that have ended.
        total = time.clock_gettime_ns(cpu_clock_id(pid))
        for thread in os.listdir(folder):
            ran, waited, _ = map(int, _read("%s/%s/schedstat" % (folder, thread)).split())
            longest = max(longest, ran + waited)
    except (OSError, ValueError):
        return None
    return total, longest


def _reaped_ns(pid: int) -> int:
    """Return the CPU time of the children that a process has reaped, in ns."""
    try:
        fields = _read("/proc/%d/stat" % pid).rpartition(b") ")[2].split()
    except OSError:
        return 0
    return (int(fields[13]) + int(fields[14])) * (1_000_000_000 // _TICKS_PER_S)


class _Held(NamedTuple):
    """The memory that a process holds."""

    place: str
    """Folder in ``/proc`` of the thread that shows it."""
    resident_bytes: int = 0
    table_bytes: int = 0
    """Page tables: a process can have large ones for little memory."""


def _read_held(pid: int) -> _Held:
    """Return what a process holds; nothing where it has ended."""
    place = "/proc/%d" % pid
    try:
        if numbers := _HELD.search(_read(place + "/status", _STATUS_BYTES)):
            return _Held(place, int(numbers[1]) << 10, int(numbers[2]) << 10)
        # A process whose first thread has ended shows it by the others only.
        for thread in os.listdir(place + "/task"):
            other = "%s/task/%s" % (place, thread)
            if numbers := _HELD.search(_read(other + "/status", _STATUS_BYTES)):
                return _Held(other, int(numbers[1]) << 10, int(numbers[2]) << 10)
    except OSError:
        pass
    return _Held(place)


def _proportional_bytes(held: _Held) -> int:
    """Return what a process holds, a page that it shares with others in equal parts; what is resident if unreadable."""
    try:
        with open(held.place + "/smaps_rollup", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return held.resident_bytes
