"""Runs jobs in two kept processes, one for samples and one for tests, which are rewound or replaced after each job.

Neither process can reach the other: each has one connection, to the supervisor, which forwards what is sent.  A sample
that was sent all its calls answers them in one piece, and is rewound while the tests check the answer: two jobs can be
under way.  The tests begin in the same state each time, so the same answer gets the same report: answers that begin
with the same bytes, as far as the tests have read them, are checked once.

A process is sent a job only when it is new or has been rewound, and nothing of an earlier job is left on its
connection.  Whatever is not exactly as expected is not judged here: the job is repeated in new processes.
"""

from __future__ import annotations

import selectors
import time
from collections import deque
from functools import partial
from typing import Any

import msgspec

from passcurve.harness import framing
from passcurve.harness.framing import FrameBuffer
from passcurve.harness.wire import WireError
from passcurve.sandbox.connection import Connect
from passcurve.sandbox.job import Job
from passcurve.sandbox.job_clock import SECOND_NS
from passcurve.sandbox.kept_process_client import KEPT_S, KeptProcessClient
from passcurve.sandbox.pool_cache import PoolCache
from passcurve.sandbox.referee_reports import REPORT_BYTES, read_report
from passcurve.sandbox.running_job import KeptJob, is_interactive
from passcurve.sandbox.work_queue import WorkQueue
from passcurve.sandbox.zygote_client import ANSWER_S, SIDES, Side, ZygoteLostError
from passcurve.sandbox.zygote_pair import ZygotePair

WALL_S = 1.0
"""Longest wall time of a job in kept processes, whatever the reason."""

JOB_BYTES = 1 << 20
"""Largest program, or tests, that kept processes take."""

ANSWER_BYTES = 4 << 20
"""Largest answer that is checked here."""

ANSWERS = 20_000
"""Most single answers in it: twice the calls that a sample is sent at once."""

AHEAD = 4
"""Answers that may wait for the tests."""

LOST, NOBODY = 0, -1
"""Tags of no job: a process ended by itself; a process without a job is rewound."""

_INCONCLUSIVE = ("gone", "protocol")
"""Statuses that may be due to the processes."""


class KeptRunner:
    """Both kept processes, and the jobs between them.

    Methods raise ZygoteLostError when a zygote is gone; then ``abandon`` returns the jobs to repeat.
    """

    def __init__(self, zygotes: ZygotePair, connect: Connect, cache: PoolCache, queue: WorkQueue) -> None:
        self._cache, self._queue = cache, queue
        self._processes = {
            side: KeptProcessClient(
                zygotes[side],
                zygotes.kept_roles[side],
                connect(partial(self._receive, side)),
                rewinds=zygotes.settings.rewinds,
            )
            for side in SIDES
        }
        self._jail, self._referee = self._processes["jail"], self._processes["referee"]
        self._frames = FrameBuffer(REPORT_BYTES)
        self._answered: deque[KeptJob] = deque()
        """Jobs whose answer waits for the tests."""
        self._failed_sides: set[Side] = set()
        """Sides whose process could not be made at the last try."""
        self.failure = ""
        """Why there are no such processes; empty while there may be some."""
        try:
            for process in self._processes.values():
                process.make()
        except ZygoteLostError as error:
            self.failure = str(error)

    @property
    def is_idle(self) -> bool:
        """True if no job is under way."""
        return not (self._jail.running or self._referee.running or self._answered)

    @property
    def has_sample(self) -> bool:
        """True if a sample runs or is being asked."""
        checked = self._referee.running
        return self._jail.running is not None or (checked is not None and checked.is_interactive)

    @property
    def has_room(self) -> bool:
        """True if a job could be started now, here or in new processes."""
        return bool(self.failure) or (self._jail.is_waiting and len(self._answered) < AHEAD)

    def takes(self, job: Job) -> bool:
        """Tell whether kept processes may run a job."""
        if not job.allow_kept or job.referee is None or self.failure:
            return False
        size = max(len(job.setup["program"]), job.referee.size, len(job.replayed))
        return size <= JOB_BYTES and not self._cache.is_unfit(job.referee.key)

    def can_start(self, job: Job) -> bool:
        """Tell whether a job can be started at once, where there is room."""
        return not is_interactive(job) or (self._referee.is_waiting and not self._answered)

    def start(self, running: KeptJob) -> None:
        """Start a job; ``can_start`` must be true of it."""
        self._jail.start(running, running.sample_setup())
        if running.is_interactive:
            self._check(running, b"")

    def _check(self, running: KeptJob, answer: bytes) -> None:
        """Send the tests an answer, or nothing yet when they are to ask."""
        running.is_checked = True
        self._frames = FrameBuffer(REPORT_BYTES)
        self._referee.start(running, running.referee_setup(self._cache.compiled_tests) + answer)

    def _receive(self, side: Side, events: int) -> None:
        """Read what has come from a process, or send what its connection takes now."""
        process = self._processes[side]
        if events & selectors.EVENT_WRITE:
            process.send_rest()
        if not events & selectors.EVENT_READ:
            return
        data, running = process.read(), process.running
        if running is None or process.is_ending:
            if running is None and data:
                # Nobody has asked for it: the process is rewound before it gets a job.
                process.end_job(NOBODY, is_typical=False)
            elif side == "referee" and running is not None and data:
                running.is_tainted = True
        elif side == "jail":
            self._take_answer(running, data)
        else:
            self._take_frames(running, data)

    def _take_answer(self, running: KeptJob, data: bytes) -> None:
        if running.is_interactive:
            running.forwarded_bytes += len(data)
            if running.forwarded_bytes > ANSWER_BYTES:
                self._give_up(running)
            elif self._referee.running is running:
                self._referee.send(data)
            return
        running.answer += data
        is_complete = running.is_answer_complete()
        if len(running.answer) > ANSWER_BYTES or running.answers > ANSWERS:
            self._give_up(running)
        elif is_complete:
            self._end_job("jail", running)
            if report := self._cache.reports.get(running):
                running.report = report
            else:
                self._answered.append(running)
                self._check_next()

    def _check_next(self) -> None:
        """Have the next answer checked, if the tests wait for one."""
        while self._answered and self._referee.is_waiting:
            running = self._answered.popleft()
            if report := self._cache.reports.get(running):
                running.report = report
                self._conclude(running)
            else:
                self._check(running, bytes(running.answer))

    def _take_frames(self, running: KeptJob, data: bytes) -> None:
        try:
            for frame in self._frames.feed(data):
                if frame[:1] == b"{":
                    self._take_report(running, frame)
                elif frame[:1] == b"d" and running.is_interactive and self._jail.running is running:
                    self._jail.send(framing.make_frame(frame))
                else:
                    raise WireError("a question that nobody can answer")
        except (WireError, msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
            self._give_up(running)

    def _take_report(self, running: KeptJob, frame: bytes) -> None:
        if report := read_report(running, frame, self._cache.compiled_tests):
            running.report = report
            self._end_job("referee", running)
            if running.is_interactive:
                self._end_job("jail", running)

    def _end_job(self, side: Side, running: KeptJob) -> None:
        # Tests that are compiled and recorded write what no others do.
        self._processes[side].end_job(running.tag, is_typical=side == "jail" or not running.job.record)

    def _give_up(self, running: KeptJob) -> None:
        """Judge this job no further."""
        running.is_tainted |= not running.ended
        running.clock.stop()
        if running in self._answered:
            self._answered.remove(running)
        for side, process in self._processes.items():
            if process.running is running:
                self._end_job(side, running)

    def take_exit(self, side: Side, record: dict[str, Any]) -> None:
        """Take note that a process was rewound, or was lost: then another one is made."""
        process = self._processes[side]
        running = process.running
        if record["tag"] == LOST and process.is_ending:
            # It ended before it could be rewound; the request for that is still to be answered.
            if running is not None:
                running.is_tainted = True
            return
        if not process.is_ending:
            # It ended by itself.
            if running is not None and side == "jail":
                running.exit = record
            self._drop_job(process)
            process.make()
            return
        if record["tag"] not in (NOBODY, running.tag if running is not None else NOBODY):
            raise ZygoteLostError(f"the {side}'s zygote answers another request than it was sent")
        process.is_ending, process.pending_since, process.running = False, 0.0, None
        has_sent_more = process.discard_input()
        if running is not None:
            running.clock.stop()
            running.is_tainted |= not record["clean"] or (side == "referee" and has_sent_more)
            if side == "jail":
                running.exit = record
            self._conclude(running)
        if record["clean"]:
            process.get_ready()
        else:
            process.make()
        self._check_next()

    def _drop_job(self, process: KeptProcessClient) -> None:
        """Give up the job of a process that is gone."""
        running, process.running, process.is_waiting = process.running, None, False
        if running is not None:
            running.is_tainted = True
            self._give_up(running)
            self._conclude(running)

    def take_kept(self, side: Side, reason: str) -> None:
        """Take note that a process was made and waits for a job, or why it was not; it is tried twice."""
        process = self._processes[side]
        process.pending_since = 0.0
        if not reason:
            process.is_waiting = True
            self._failed_sides.discard(side)
            self._check_next()
            return
        self._drop_job(process)
        if side in self._failed_sides:
            self.failure = self.failure or reason
        else:
            self._failed_sides.add(side)
            process.make()

    def take_clock(self, side: Side, record: dict[str, Any]) -> None:
        """End a job that takes too long for kept processes."""
        process = self._processes[side]
        running = process.running
        if running is None or process.is_ending or running.ended:
            return
        wall_s = time.monotonic() - running.clock.started
        own_s = wall_s if record["clock"] is None else record["clock"][0] * SECOND_NS
        if side == "jail" and record["clock"] is not None and not running.is_interactive:
            own_s += max(0.0, wall_s - max(record["clock"]) * SECOND_NS)
        if own_s >= min(KEPT_S, running.job.slice_s) or wall_s > WALL_S:
            running.ended = "slice"
            running.clock.own_s = own_s
            self._give_up(running)

    def _conclude(self, running: KeptJob) -> None:
        """Finish a job, or have it repeated, once both processes are through with it."""
        if running.is_concluded or running in self._answered:
            return
        if any(process.running is running for process in self._processes.values()):
            return
        running.is_concluded = True
        job, report = running.job, running.report
        is_clean = not running.is_tainted and running.exit is not None and bool(running.exit["clean"])
        if running.ended:
            if job.slice_s < job.limits.timeout_s:
                self._queue.finished.append(running.outcome())
            else:
                self._repeat_in_new(job)
            return
        self._cache.record_fit(running.key, is_fit=is_clean)
        if is_clean and running.is_compiled:
            self._queue.repeat(job)
        elif is_clean and report is not None and report.get("status") not in (None, *_INCONCLUSIVE):
            if running.is_checked and not running.is_interactive:
                self._cache.reports.put(running, report)
            self._queue.finished.append(running.outcome())
        else:
            self._repeat_in_new(job)

    def _repeat_in_new(self, job: Job) -> None:
        self._queue.repeat(msgspec.structs.replace(job, allow_kept=False))

    @property
    def next_tick(self) -> float | None:
        """Time at which ``tick`` is to be called, on the monotonic clock."""
        times = [process.check_at for process in self._processes.values() if process.running is not None]
        return min(times) if times else None

    def tick(self, now: float) -> None:
        """Time jobs that take long; raise ZygoteLostError for a zygote that does not answer."""
        for side, process in self._processes.items():
            if process.pending_since and now - process.pending_since > ANSWER_S:
                raise ZygoteLostError(f"the {side}'s zygote does not answer")
            if process.running is not None and now >= process.check_at:
                process.request_clock()

    def abandon(self) -> list[Job]:
        """Return the jobs under way, of which nothing is known."""
        running = [process.running for process in self._processes.values() if process.running is not None]
        return [job.job for job in dict.fromkeys([*running, *self._answered])]

    def close(self) -> None:
        """Close both connections."""
        for process in self._processes.values():
            process.close()
