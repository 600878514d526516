"""The slot of a zygote for one process that is kept for many jobs: the process, the jobs that wait, and the results."""

from __future__ import annotations

import select
import socket
import time
from collections import deque
from collections.abc import Callable

from passcurve.harness import wire
from passcurve.sandbox.zygote import kept_jobs
from passcurve.sandbox.zygote.job_process import HAS_PIDFD
from passcurve.sandbox.zygote.kept_jobs import JobOrder, JobResult
from passcurve.sandbox.zygote.kept_maker import Kept, KeptMaker
from passcurve.sandbox.zygote.kept_process import JobUsage, RewoundProcess, SingleUseProcess
from passcurve.sandbox.zygote.launcher import Launcher
from passcurve.sandbox.zygote.tracing import UncleanError

WALL_NS = 1_000_000_000
"""Longest wall time of a job, whatever the reason."""

ANSWERS = 20_000
"""Most frames of an answer: twice the calls that a sample is sent at once."""

BATCH_RESULTS, BATCH_BYTES = 8, 1 << 16
"""Results are sent when there are so many, when they are so long, and when there is nothing else to do."""

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
        self._maker = KeptMaker(launcher, poll, rewinds=rewinds)
        self._poll, self._send = poll, send
        self._kept: Kept | None = None
        self._waiting: deque[JobOrder] = deque()
        self._run: _Run | None = None
        """The job at hand."""
        self._results: list[bytes] = []

    @property
    def pid(self) -> int:
        """The process; 0 where there is none."""
        return self._kept.process.pid if self._kept is not None else 0

    def keep(self, role: str, lines: int) -> None:
        """Replace the process by one with so many descriptors of its line; report success or why it failed."""
        self._drop()
        self._maker.choose(role, lines)
        if self._fill():
            self._send(wire.encode({"kept": ""}))

    def add(self, jobs: list[JobOrder]) -> None:
        """Run jobs after those that are there."""
        self._waiting.extend(jobs)
        self._begin_next()

    def forward(self, tag: int, data: bytes) -> None:
        """Send bytes to a job, if it is at hand."""
        if self._kept is not None and self._run is not None and self._run.order.tag == tag:
            self._write(self._kept, self._run, data)

    def end(self, tag: int) -> None:
        """End a job, whether it is at hand or waits."""
        if self._run is not None and self._run.order.tag == tag:
            self._finish(self._run, kept_jobs.ENDED)
        elif order := next((order for order in self._waiting if order.tag == tag), None):
            self._waiting.remove(order)
            self._report(JobResult(tag, kept_jobs.ENDED, True, False, 0, 0, 0, b""))
            self._flush_if_idle()

    def handle(self, descriptor: int, events: int) -> None:
        """Handle an event of the line, or the end of the process."""
        kept = self._kept
        if kept is not None and descriptor == kept.line.fileno():
            if self._run is not None and events == select.POLLOUT:
                self._write(kept, self._run, b"")
            else:
                self._receive(kept)
        elif kept is not None and descriptor == kept.end_descriptor:
            self.lose()

    @property
    def must_tick(self) -> bool:
        """True if ``tick`` must be called soon."""
        return self._run is not None or bool(self._results) or (self._kept is not None and not HAS_PIDFD)

    def tick(self) -> None:
        """Look whether the job at hand takes too long or has stopped its process, and send results that wait."""
        run, kept = self._run, self._kept
        if kept is not None and kept.process.has_ended():
            self.lose()
        elif run is not None and kept is not None and _takes_too_long(run, kept.process):
            self._finish(run, kept_jobs.SLOW)
        self._flush()

    def _begin_next(self) -> None:
        """Begin the next job, where there is one and nothing to do before it."""
        if self._run is None and self._waiting and self._kept is not None:
            self._run = _Run(self._waiting.popleft())
            self._write(self._kept, self._run, self._run.order.data)

    def _write(self, kept: Kept, run: _Run, data: bytes) -> None:
        """Send bytes to the process, now or when its line takes them."""
        was_blocked = bool(run.unsent)
        run.unsent += data
        try:
            run.unsent = run.unsent[kept.line.send(run.unsent, socket.MSG_DONTWAIT) :]
        except OSError:
            pass  # the line is full, or the process has ended, which is seen by other means
        if bool(run.unsent) != was_blocked:
            self._poll.modify(kept.line.fileno(), select.POLLIN | (select.POLLOUT if run.unsent else 0))

    def _receive(self, kept: Kept) -> None:
        """Read what has come from the process."""
        try:
            data = kept.line.recv(_RECEIVE_BYTES, socket.MSG_DONTWAIT)
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
        kept, self._run = self._kept, None
        usage, has_surplus = JobUsage(), False
        if kept is not None:
            if run.unsent:
                self._poll.modify(kept.line.fileno(), select.POLLIN)

            def turn_over() -> None:
                nonlocal has_surplus
                has_surplus = _discard_input(kept.line)
                self._begin_next()

            usage = self._restore(kept, run.order, turn_over)
            if isinstance(kept.process, SingleUseProcess):
                has_surplus = _discard_input(kept.line)
                self._drop()
            elif not usage.is_clean:
                self._drop()
        self._report(
            JobResult(
                tag=run.order.tag,
                end=end,
                is_clean=usage.is_clean,
                has_surplus=has_surplus,
                wall_ns=wall_ns,
                cpu_ns=usage.cpu_ns,
                memory_bytes=usage.memory_bytes,
                answer=bytes(run.answer[: run.counted]) if end in kept_jobs.WITH_ANSWER else b"",
            )
        )
        if self._kept is None:
            self._fill()
        self._flush_if_idle()

    def _restore(self, kept: Kept, order: JobOrder, turn_over: Callable[[], None]) -> JobUsage:
        """Rewind the process, or end it where it has but one job; ``turn_over`` is called while it is stopped."""
        process = kept.process
        if isinstance(process, SingleUseProcess):
            return process.end()
        try:
            return process.rewind(turn_over, typical=order.is_typical)
        except UncleanError:
            if self._run is not None:
                # It has begun in a process that is lost.
                self._waiting.appendleft(self._run.order)
                self._run = None
            return JobUsage()

    def _drop(self) -> None:
        kept, self._kept = self._kept, None
        if kept is not None:
            self._maker.drop(kept)

    def lose(self) -> None:
        """End the process, if there is one, and make another; the job at hand is lost."""
        if self._kept is None:
            return
        run, self._run = self._run, None
        self._drop()
        if run is not None:
            wall_ns = time.monotonic_ns() - run.began_ns
            self._report(JobResult(run.order.tag, kept_jobs.LOST, False, False, wall_ns, 0, 0, b""))
        self._fill()
        self._flush_if_idle()

    def _fill(self) -> bool:
        """Make a process and begin the next job; else report why that is not possible, and drop all jobs."""
        reason = ""
        for _ in range(_ATTEMPTS):
            try:
                self._kept = self._maker.make()
            except (OSError, UncleanError) as error:
                reason = str(error)
            else:
                self._begin_next()
                return True
        self._waiting.clear()
        self._flush()
        self._send(wire.encode({"kept": reason}))
        return False

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


def _takes_too_long(run: _Run, process: RewoundProcess | SingleUseProcess) -> bool:
    wall_ns = time.monotonic_ns() - run.began_ns
    clock = process.clock()
    if clock is None or wall_ns > WALL_NS:
        return wall_ns >= min(run.order.limit_ns, WALL_NS)
    waited_ns = max(0, wall_ns - max(clock)) if run.order.counts_waiting else 0
    return clock[0] + waited_ns >= run.order.limit_ns


def _discard_input(line: socket.socket) -> bool:
    """Throw away what a process has sent; return whether that was anything."""
    has_input = False
    try:
        while line.recv(_RECEIVE_BYTES, socket.MSG_DONTWAIT):
            has_input = True
    except OSError:
        pass  # nothing is left
    return has_input
