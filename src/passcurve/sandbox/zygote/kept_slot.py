"""The slot of a zygote for one process that is kept for many jobs: the process, the jobs that wait, and the results."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections import deque
from collections.abc import Callable

from passcurve.harness import wire
from passcurve.sandbox.zygote import kept_jobs
from passcurve.sandbox.zygote.job_process import HAS_PIDFD
from passcurve.sandbox.zygote.kept_jobs import JobOrder, JobResult
from passcurve.sandbox.zygote.kept_process import JobUsage, RewoundProcess, SingleUseProcess
from passcurve.sandbox.zygote.launcher import Launcher
from passcurve.sandbox.zygote.template import FIRST
from passcurve.sandbox.zygote.tracing import WALL, UncleanError

WALL_NS = 1_000_000_000
"""Longest wall time of a job, whatever the reason."""

ANSWERS = 20_000
"""Most frames of an answer: twice the calls that a sample is sent at once."""

BATCH_RESULTS, BATCH_BYTES = 8, 1 << 16
"""Results are sent when there are so many, when they are so long, and when there is nothing else to do."""

_BUFFER_BYTES = 1 << 20
_RECEIVE_BYTES = 1 << 18
_ATTEMPTS = 2
"""Times that a process is tried to be made."""


class KeptSlot:
    """Makes the process, runs one job after another in it, and rewinds or replaces it after each.

    The job is written on the line of the process, and its answer read from there: frames, the last of which is empty.
    ``rewinds``: whether the process is rewound; ``poll``: watches its line and its end; ``send``: sends a frame to the
    supervisor.
    """

    def __init__(self, launcher: Launcher, poll: select.poll, send: Callable[[bytes], None], *, rewinds: bool) -> None:
        self._launcher, self._poll, self._send, self._rewinds = launcher, poll, send, rewinds
        self.process: RewoundProcess | SingleUseProcess | None = None
        self._role, self._lines = "", 0
        self._line: socket.socket | None = None
        self._end_descriptor = -1
        """Of the process, readable when it has ended."""
        self._waiting: deque[JobOrder] = deque()
        self._run: _Run | None = None
        """The job at hand."""
        self._results: list[bytes] = []
        self._hot: frozenset[int] = frozenset()
        """Pages that most jobs wrote in the process before."""
        self._registers: tuple[int, ...] | None = None
        """Where in its code the first process waited for its first job."""

    @property
    def pid(self) -> int:
        """The process; 0 where there is none."""
        return self.process.pid if self.process is not None else 0

    def keep(self, role: str, lines: int) -> None:
        """Make a process with so many descriptors of its line, and report that, or why there is none."""
        self._role, self._lines = role, lines
        if self._fill():
            self._send(wire.encode({"kept": ""}))

    def add(self, jobs: list[JobOrder]) -> None:
        """Run jobs after those that are there."""
        self._waiting.extend(jobs)
        self._begin_next()

    def forward(self, tag: int, data: bytes) -> None:
        """Send bytes to a job, if it is at hand."""
        if self._run is not None and self._run.order.tag == tag:
            self._write(self._run, data)

    def end(self, tag: int) -> None:
        """End a job, whether it is at hand or waits."""
        if self._run is not None and self._run.order.tag == tag:
            self._finish(self._run, kept_jobs.ENDED)
        elif order := next((order for order in self._waiting if order.tag == tag), None):
            self._waiting.remove(order)
            self._report(JobResult(tag, kept_jobs.ENDED, True, False, 0, 0, 0, 0, b""))
            self._flush_if_idle()

    def handle(self, descriptor: int, events: int) -> bool:
        """Handle an event of the line, or the end of the process; return False for another descriptor."""
        if self._line is not None and descriptor == self._line.fileno():
            if self._run is not None and events == select.POLLOUT:
                self._write(self._run, b"")
            else:
                self._receive()
        elif descriptor == self._end_descriptor:
            self.lose()
        else:
            return False
        return True

    @property
    def must_tick(self) -> bool:
        """True if ``tick`` must be called soon."""
        return self._run is not None or bool(self._results) or (self.process is not None and not HAS_PIDFD)

    def tick(self) -> None:
        """Look whether the job at hand takes too long or has stopped its process, and send results that wait."""
        run, process = self._run, self.process
        if process is not None and process.has_ended():
            self.lose()
        elif run is not None and process is not None and self._takes_too_long(run, process):
            self._finish(run, kept_jobs.SLOW)
        self._flush()

    def _takes_too_long(self, run: _Run, process: RewoundProcess | SingleUseProcess) -> bool:
        wall_ns = time.monotonic_ns() - run.began_ns
        clock = process.clock()
        if clock is None:
            run.own_ns = wall_ns
        else:
            run.own_ns = clock[0] + (max(0, wall_ns - max(clock)) if run.order.counts_waiting else 0)
        return run.own_ns >= run.order.limit_ns or wall_ns > WALL_NS

    def _begin_next(self) -> None:
        """Begin the next job, where there is one and nothing to do before it."""
        if self._run is None and self._waiting and self._line is not None:
            self._run = _Run(self._waiting.popleft())
            self._write(self._run, self._run.order.data)

    def _write(self, run: _Run, data: bytes) -> None:
        """Send bytes to the process, now or when its line takes them."""
        if self._line is None:
            return
        was_blocked = bool(run.unsent)
        run.unsent += data
        try:
            run.unsent = run.unsent[self._line.send(run.unsent, socket.MSG_DONTWAIT) :]
        except OSError:
            pass  # the line is full, or the process has ended, which is seen by other means
        if bool(run.unsent) != was_blocked:
            self._poll.modify(self._line.fileno(), select.POLLIN | (select.POLLOUT if run.unsent else 0))

    def _receive(self) -> None:
        """Read what has come from the process."""
        assert self._line is not None
        try:
            data = self._line.recv(_RECEIVE_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        run = self._run
        if run is None or not data:
            # Nobody has asked for it, or the process has ended.
            self.lose()
            return
        order = run.order
        run.received_bytes += len(data)
        if run.received_bytes > order.answer_bytes:
            self._finish(run, kept_jobs.TOO_LONG)
        elif order.is_interactive:
            self._send(kept_jobs.pack_data(order.tag, data))
        else:
            run.answer += data
            if run.is_complete():
                self._finish(run, kept_jobs.ANSWERED)
            elif run.frames > ANSWERS:
                self._finish(run, kept_jobs.TOO_LONG)

    def _finish(self, run: _Run, end: int) -> None:
        """Rewind or replace the process, report the end of its job, and begin the next one."""
        wall_ns = time.monotonic_ns() - run.began_ns
        self._run = None
        is_blocked = bool(run.unsent)
        if is_blocked and self._line is not None:
            self._poll.modify(self._line.fileno(), select.POLLIN)
        has_surplus = False

        def turn_over() -> None:
            nonlocal has_surplus
            has_surplus = self._discard_input()
            self._begin_next()

        usage = self._restore(run.order, turn_over)
        answer = run.answer[: run.counted] if end == kept_jobs.ANSWERED else b""
        self._report(
            JobResult(
                run.order.tag,
                end,
                usage.is_clean,
                has_surplus,
                wall_ns,
                run.own_ns,
                usage.cpu_ns,
                usage.memory_bytes,
                bytes(answer),
            )
        )
        if not usage.is_clean:
            self._drop()
        if self.process is None:
            self._fill()
        self._flush_if_idle()

    def _restore(self, order: JobOrder, turn_over: Callable[[], None]) -> JobUsage:
        """Rewind the process, or end it where it has but one job; ``turn_over`` is called while it is stopped."""
        process = self.process
        if isinstance(process, SingleUseProcess):
            usage = process.end()
            self._drop()
            return usage
        try:
            return process.rewind(turn_over, typical=order.is_typical) if process is not None else JobUsage()
        except UncleanError:
            if self._run is not None:
                # It has begun in a process that is lost.
                self._waiting.appendleft(self._run.order)
                self._run = None
            return JobUsage()

    def _discard_input(self) -> bool:
        """Throw away what the process has sent; return whether that was anything."""
        has_input = False
        try:
            while self._line is not None and self._line.recv(_RECEIVE_BYTES, socket.MSG_DONTWAIT):
                has_input = True
        except OSError:
            pass  # nothing is left
        return has_input

    def lose(self) -> None:
        """End the process, if there is one, and make another; the job at hand is lost."""
        if self.process is None:
            return
        run, self._run = self._run, None
        self._drop()
        if run is not None:
            wall_ns = time.monotonic_ns() - run.began_ns
            self._report(JobResult(run.order.tag, kept_jobs.LOST, False, False, wall_ns, 0, 0, 0, b""))
        self._fill()
        self._flush_if_idle()

    def _fill(self) -> bool:
        """Make a process and begin the next job; else report why that is not possible, and drop all jobs."""
        reason = ""
        for _ in range(_ATTEMPTS):
            reason = self._make()
            if not reason:
                self._begin_next()
                return True
        self._waiting.clear()
        self._flush()
        self._send(wire.encode({"kept": reason}))
        return False

    def _make(self) -> str:
        if not self._launcher.allows_kept:
            return "this needs seccomp and a template process"
        # Its line is new: what an earlier process has left on its own would be read before the snapshot.
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
        spec = {"role": self._role, "kept": True, "lowest": FIRST + self._lines}
        pid, tracker = self._launcher.fork(spec, [theirs.fileno()] * self._lines)
        self._line = ours
        try:
            self.process = self._make_process(pid, tracker, theirs)
            if HAS_PIDFD:
                self._end_descriptor = os.pidfd_open(pid)
                self._poll.register(self._end_descriptor, select.POLLIN)
        except (OSError, UncleanError) as error:
            theirs.close()
            self._drop(pid)
            return str(error)
        self._poll.register(ours.fileno(), select.POLLIN)
        return ""

    def _make_process(self, pid: int, tracker: int, line: socket.socket) -> RewoundProcess | SingleUseProcess:
        if not self._rewinds:
            line.close()
            return SingleUseProcess(pid)
        stub = self._launcher.stub
        if tracker < 0 or stub is None:
            raise UncleanError("the kernel does not track writes (this needs Linux 6.7 and userfaultfd)")
        self.process = process = RewoundProcess(pid, tracker, line, FIRST, stub, self._hot)
        self._launcher.release()
        registers = process.take_snapshot()
        if self._registers not in (None, registers):
            raise UncleanError("the process waits at another place in its code than the first one")
        self._registers = registers
        return process

    def _drop(self, pid: int = 0) -> None:
        """End the process, by default the present one, and close its line, with all that is left on it."""
        process, self.process = self.process, None
        _kill(pid or (process.pid if process is not None else 0))
        if process is not None:
            self._hot = process.hot
            process.close()
        line, self._line = self._line, None
        end_descriptor, self._end_descriptor = self._end_descriptor, -1
        for descriptor in (line.fileno() if line is not None else -1, end_descriptor):
            try:
                self._poll.unregister(descriptor)
            except (KeyError, ValueError):
                pass  # it was not watched yet
        if line is not None:
            line.close()
        if end_descriptor >= 0:
            os.close(end_descriptor)

    def _report(self, result: JobResult) -> None:
        self._results.append(kept_jobs.pack_result(result))

    def _flush_if_idle(self) -> None:
        """Send the results, unless more will come soon."""
        is_enough = len(self._results) >= BATCH_RESULTS or sum(map(len, self._results)) > BATCH_BYTES
        if self._run is None or self._run.order.is_interactive or is_enough:
            self._flush()

    def _flush(self) -> None:
        results, self._results = self._results, []
        for result in results:
            self._send(result)


class _Run:
    """A job at hand, and what has come of its answer."""

    def __init__(self, order: JobOrder) -> None:
        self.order = order
        self.began_ns = time.monotonic_ns()
        self.own_ns = 0
        """Its own time when it was last read."""
        self.unsent = b""
        self.answer = bytearray()
        self.received_bytes = 0
        self.frames = 0
        self.counted = 0
        """Size of the whole frames among the bytes of the answer, as far as they were counted."""

    def is_complete(self) -> bool:
        """Count the frames of the answer; tell whether the empty one that ends it has come."""
        answer, at = self.answer, self.counted
        size = -1
        while size and at + 4 <= len(answer):
            size = int.from_bytes(answer[at : at + 4], "little")
            if at + 4 + size > len(answer):
                break
            at += 4 + size
            self.frames += 1
        self.counted = at
        return not size


def _kill(pid: int) -> None:
    """Kill and reap a child, if there is one."""
    try:
        if pid:
            os.kill(pid, signal.SIGKILL)
            while not _is_end(os.waitpid(pid, WALL)[1]):
                pass
    except OSError:
        pass  # it has ended and was reaped


def _is_end(status: int) -> bool:
    return os.WIFEXITED(status) or os.WIFSIGNALED(status)
