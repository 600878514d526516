"""One pair of zygotes, a jail's and a referee's, and the job that they are at.

A job runs in two processes that are rewound after it, or, where it may not or cannot, in two new ones.  Whatever is not
exactly as expected in the first form is not judged by it: the job is repeated in the second, which nobody is told.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections import deque
from typing import Any, cast

import msgspec

from passcurve.harness import wire
from passcurve.harness.framing import FrameBuffer
from passcurve.sandbox import exit_status
from passcurve.sandbox.forkserver_client import ForkServers, KilledError
from passcurve.sandbox.job import Job, Outcome
from passcurve.sandbox.lanes import JOB_BYTES, SIDES, Pair, Side
from passcurve.sandbox.probe import Probe
from passcurve.sandbox.referee_reports import REPORT_BYTES, Shared, read_for
from passcurve.sandbox.running_job import FIRST_LOOK_S, Look, Running
from passcurve.sandbox.toolchain import Toolchain
from passcurve.sandbox.zygote_client import ZygoteClient, translated
from passcurve.types import Limits

ANSWER_S = 60.0
"""A zygote answers within milliseconds, however busy the machine; one that takes this long never will."""

LATE_S = 0.5
"""A look that comes so much later than it was wanted means that we ourselves were stopped."""

DEATH_S = 0.5
"""How long a program that has closed its line gets to be seen dying."""

SAMPLE_BYTES = 1 << 20
"""The longest report of a sample's own process, in shared mode."""

WALL_FACTOR = 20.0
"""Wall time, in limits, after which a job is given up as our failure: the machine did not let it run."""

REFEREE_FACTOR = 10.0
"""CPU time, in limits, that the tests themselves may take for one sample."""


class Worker:
    """Runs one job at a time; ``collect`` hands back what has ended."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        probe: Probe,
        toolchain: Toolchain,
        limits: Limits,
        fork_servers: ForkServers,
        shared: Shared,
        cpu: int | None,
    ) -> None:
        self._selector = selector
        self._probe, self._toolchain, self._limits, self._cpu = probe, toolchain, limits, cpu
        self._fork_servers, self._shared = fork_servers, shared
        self._rewinds = probe.reuse == "rewind"
        self._zygotes: dict[Side, ZygoteClient] = {}
        self._pair: Pair | None = None
        self._line: socket.socket | None = None
        """From the referee of a job in new processes, or from the sample itself in shared mode."""
        self._frames = FrameBuffer(REPORT_BYTES)
        self._tag = 0
        self._now: Running | None = None
        self._waiting: deque[Job] = deque()
        """What we were given and have not begun."""
        self._ending: list[Running] = []
        self._ready = False
        self._finished: list[Outcome] = []

    @property
    def idle(self) -> bool:
        """Whether a job can be started; a fresh one needs a worker that is not busy either."""
        return self._now is None and not self._waiting and (self._pair is None or not self._pair.has_sample)

    @property
    def busy(self) -> bool:
        """Whether anything is still running or being cleaned up."""
        return not self.idle or bool(self._ending) or (self._pair is not None and not self._pair.idle)

    def start_zygotes(self) -> None:
        """Start both zygotes without waiting for them.  Raises SandboxError when the system lets us have none."""
        fork_servers = {"jail": self._fork_servers.samples, "referee": self._fork_servers.tests}
        for side in SIDES:
            walls, rewinds = self._probe.walls, self._rewinds
            self._zygotes[side] = ZygoteClient(
                fork_servers[side], walls, self._toolchain, self._limits, self._cpu, rewinds=rewinds
            )

    def _await_zygotes(self) -> None:
        if not self._zygotes:
            self.start_zygotes()
        for zygote in self._zygotes.values():
            zygote.wait_ready()
        for side, zygote in self._zygotes.items():
            self._selector.register(zygote.line, selectors.EVENT_READ, (self, side))
        self._ready = True
        if self._probe.walls.seccomp:
            role = self._fork_servers.referee_role
            self._pair = Pair(
                self._zygotes, self._selector, self, self._shared, role, self._broken, rewinds=self._rewinds
            )

    def start(self, *jobs: Job) -> None:
        """Start jobs, to run one after another; the worker must be idle.  Raises SandboxError without a zygote."""
        if jobs[0].fresh and self._ready:
            self.close()
        self._waiting.extend(jobs)
        self._go_on()

    def _go_on(self) -> None:
        """Take what the pair has judged, and begin what waits, if it can be."""
        if self._pair is not None and self._pair.ended:
            self._take_ended(self._pair)
        while self._waiting and self._now is None:
            if not self._ready:
                try:
                    self._await_zygotes()
                except KilledError:
                    self.close()
                    self._await_zygotes()
            pair = self._pair
            if pair is not None and not pair.has_room:
                return
            job = self._waiting[0]
            for_pair = pair is not None and self._is_for_pair(job)
            # What a new process leaves in the scratch costs the one that is kept, which must have no job then.
            if pair is not None and not (pair.takes(job) and not self._ending if for_pair else pair.idle):
                return
            self._waiting.popleft()
            with translated():
                if pair is not None and for_pair:
                    self._tag += 1
                    pair.start(Running(job, self._tag))
                else:
                    self._start(job)

    def _is_for_pair(self, job: Job) -> bool:
        """Say whether a job is to run in processes that are rewound."""
        if not job.reuse or job.referee is None or self._pair is None or self._pair.failed:
            return False
        large = max(len(job.setup["program"]), len(job.referee.setup["test"]), len(job.replayed)) > JOB_BYTES
        return not large and not self._shared.is_unfit(job.referee.key)

    def _take_ended(self, pair: Pair) -> None:
        while pair.ended:
            running, what = pair.ended.pop(0)
            if what in ("judged", "slice"):
                self._finished.append(running.outcome())
            elif what == "compiled":
                self._waiting.appendleft(running.job)
            else:
                self._waiting.appendleft(msgspec.structs.replace(running.job, reuse=False))

    def _start(self, job: Job) -> None:
        """Start a job in new processes."""
        self._tag += 1
        self._now = running = Running(job, self._tag)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        cpu_s = int(job.limits.timeout_s * WALL_FACTOR) + 60
        order = {"do": "run", "role": job.role, "tag": running.tag, "cpu": cpu_s}
        sent = self._zygotes["jail"].run(order, ours, [theirs], running.for_jail())
        theirs.close()
        if job.referee is not None:
            control, of_referee = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            data = running.for_referee(self._shared.codes)
            order = {"do": "run", "role": job.referee.role, "tag": running.tag, "cpu": 0}
            sent = sent and self._zygotes["referee"].run(order, control, [of_referee, ours], data)
            of_referee.close()
            ours.close()
            ours = control
        self._forget_line()
        self._line, self._frames = ours, FrameBuffer(REPORT_BYTES if job.referee is not None else SAMPLE_BYTES)
        self._selector.register(ours, selectors.EVENT_READ, (self, "report"))
        if not sent:
            self._broken("a zygote ended before its order")

    def _tell(self, side: Side, order: dict[str, Any]) -> None:
        if side not in self._zygotes or not self._zygotes[side].send(order):
            self._broken(f"the {side}'s zygote ended")

    def _forget_line(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            _unwatch(self._selector, line)
            line.close()

    def hear(self, source: str, line: socket.socket, mask: int) -> None:
        """Take in what came on one of our lines."""
        if source.endswith(" line"):
            if self._pair is not None:
                self._pair.hear(cast(Side, source.removesuffix(" line")), mask)
            self._go_on()
            return
        try:
            data = line.recv(1 << 18, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if source == "report":
            self._hear_report(data)
        else:
            self._hear_zygote(cast(Side, source), data)
        self._settle()
        self._go_on()

    def _hear_report(self, data: bytes) -> None:
        running = self._now
        if running is None or running.reported:
            # Nobody was asked: one that says more than its report.
            self._forget_line()
            return
        if not data:
            self._forget_line()
            running.referee_died = running.job.referee is not None
        else:
            try:
                for frame in self._frames.feed(data):
                    self._take_report(running, frame)
                if running.report is None:
                    return
            except (wire.WireError, msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
                running.garbage = "a report that is none"
        running.reported = True
        if not data or (running.report or {}).get("lost"):
            # The program is gone or has closed the line: if it died, how it died is worth a moment's wait.
            running.look_at = time.monotonic() + DEATH_S
            self._rest(running)
        else:
            self._forget_line()
            self._end_sample(running)

    def _take_report(self, running: Running, frame: bytes) -> None:
        if running.job.referee is None:
            running.report = running.report or msgspec.json.decode(frame, type=dict)
            return
        running.report = read_for(running, frame, self._shared.codes)

    def _rest(self, running: Running) -> None:
        """Be free for the next job if this one has reported and its process has ended."""
        if running is self._now and running.reported and running.exit is not None:
            self._now = None
            self._ending.append(running)
            self._end_referee(running)

    def _end_referee(self, running: Running) -> None:
        if running.job.referee is not None:
            if running.awaits_tests:
                running.asked_at = running.asked_at or time.monotonic()
            self._tell("referee", {"do": "end"})

    def _end_sample(self, running: Running) -> None:
        """Time the sample if that matters, end it, and be free for the next: its report is in."""
        running.stopped = running.stopped or time.monotonic()
        running.held |= running.stopped - running.look_at > LATE_S
        if running.stopped - running.started > FIRST_LOOK_S and not running.sent_end:
            self._look(running)
        self._send_end(running)
        if running is self._now:
            self._now = None
            self._ending.append(running)
            self._end_referee(running)

    def _send_end(self, running: Running) -> None:
        if running.exit is None and not running.sent_end:
            running.sent_end = True
            running.asked_at = time.monotonic()
            self._tell("jail", {"do": "end"})

    def _hear_zygote(self, side: Side, data: bytes) -> None:
        zygote = self._zygotes.get(side)
        if not data or zygote is None:
            self._broken(f"the {side}'s zygote ended")
            return
        for frame in zygote.frames.feed(data):
            if exit_status.is_packed(frame):
                self._take_exit(side, exit_status.unpack(frame))
                continue
            record = wire.decode(frame)
            if "clock" in record:
                if not record["kept"]:
                    self._take_clock(side, record)
                elif self._pair is not None:
                    self._pair.take_clock(side, record)
            elif "kept" in record:
                if self._pair is not None:
                    self._pair.take_kept(side, record["kept"])
            else:
                self._broken(f"the {side}'s zygote gave up: {str(record.get('failed'))[:200]}")
                return

    def _take_exit(self, side: Side, record: dict[str, Any]) -> None:
        if record["kept"]:
            if self._pair is not None:
                self._pair.take_record(side, record)
            return
        running = next((each for each in (*self._ending, self._now) if each and each.tag == record["tag"]), None)
        if running is not None and side == "referee":
            running.tests_exit = record
            self._settle()
        elif running is not None:
            running.exit = record
            if running.look is None and not running.awaits_tests:
                running.asked_at = 0.0
            running.stopped = running.stopped or time.monotonic()
            self._rest(running)
            self._settle()

    def _settle(self) -> None:
        while self._ending and self._ending[0].done:
            running = self._ending.pop(0)
            if running.compiled:
                self._waiting.appendleft(running.job)
            else:
                self._finished.append(running.outcome())

    def _look(self, running: Running) -> None:
        """Ask both zygotes for the clocks of their children, unless an answer is still out."""
        if running.look is not None:
            return
        has_tests = running.job.referee is not None
        running.look = Look(tests=has_tests)
        running.asked_at = running.asked_at or time.monotonic()
        order = {"do": "clock", "kept": False}
        self._tell("jail", order)
        if has_tests:
            self._tell("referee", order)

    def _take_clock(self, side: Side, record: dict[str, Any]) -> None:
        for running in (*self._ending, self._now):
            look = running.look if running is not None else None
            if running is None or look is None or (record["tag"] not in (0, running.tag) and side == "jail"):
                continue
            if side == "jail":
                look.jail = (record["clock"], record["at"], record["since"])
            elif look.waits_for_tests:
                look.waits_for_tests = False
                look.referee = record["clock"]
            else:
                continue
            look.held |= record["held"]
            self._answered(running)
            return

    def _answered(self, running: Running) -> None:
        """Work out the sample's own time once both zygotes have answered the same question."""
        look = running.look
        if look is None:
            return
        look.missing -= 1
        if look.missing:
            return
        running.look = None
        running.held |= look.held
        if not running.sent_end:
            running.asked_at = 0.0
        wall = running.read_clocks(look)
        if running is self._now and running.ended is None and running.exit is None and not running.reported:
            self._judge_time(running, wall)
        self._settle()

    def _judge_time(self, running: Running, wall: float) -> None:
        job = running.job
        if running.own_s >= job.slice_s:
            running.ended = "timeout" if job.slice_s >= job.limits.timeout_s else "slice"
        elif running.tests_s >= max(10.0, job.limits.timeout_s * REFEREE_FACTOR):
            running.ended = "tests"
        elif wall >= max(60.0, job.limits.timeout_s * WALL_FACTOR):
            running.ended = "wall"
        if running.ended is None:
            running.look_at = time.monotonic() + max(0.005, job.slice_s - running.own_s)
            return
        running.stopped = time.monotonic()
        self._send_end(running)
        # The tests get a moment to say where they were; a referee that cannot is replaced.
        running.look_at = running.stopped + 1.0

    @property
    def next_look(self) -> float | None:
        """When ``tick`` wants to be called, on the monotonic clock."""
        if self._now is not None:
            return self._now.look_at
        return self._pair.next_look if self._pair is not None else None

    def tick(self, now: float) -> None:
        """Time the current job, or stop waiting for its tests."""
        if self._pair is not None:
            self._pair.tick(now, ANSWER_S)
        self._go_on()
        for each in (*self._ending, self._now):
            if each is not None and each.asked_at and now - each.asked_at > ANSWER_S:
                self._broken("a zygote does not answer")
                return
        running = self._now
        if running is None or now < running.look_at:
            return
        running.held |= now - running.look_at > LATE_S
        if running.reported:
            self._end_sample(running)
            return
        patience = max(10.0, running.job.limits.timeout_s * REFEREE_FACTOR)
        if running.ended is None and running.exit is not None and now - running.stopped > patience:
            running.ended = "tests"
        if running.ended is not None:
            self._forget_line()
            running.reported = True
            self._now = None
            self._ending.append(running)
            self._end_referee(running)
            self._settle()
            return
        running.look_at = now + 1.0
        if running.exit is None:
            self._look(running)

    def _broken(self, why: str) -> None:
        """Give up what a lost zygote was at, which is owed again; the next job gets a new pair."""
        lost = [*self._ending, *([self._now] if self._now is not None else [])]
        if self._pair is not None:
            # Nothing was said of these: they are begun again.
            self._waiting.extendleft(running.job for running in reversed(self._pair.abandon()))
        self._ending, self._now = [], None
        for running in lost:
            if not running.done:
                running.fault = why
            self._finished.append(running.outcome())
        self.close()

    def collect(self) -> list[Outcome]:
        """Return the outcomes of the jobs that have ended since the last call."""
        finished, self._finished = self._finished, []
        return finished

    @property
    def has_finished(self) -> bool:
        """Whether ``collect`` has anything to return."""
        return bool(self._finished)

    def close(self) -> None:
        """End both zygotes and all that is in them."""
        self._forget_line()
        if self._pair is not None:
            self._pair.close()
            self._pair = None
        zygotes = list(self._zygotes.values())
        self._zygotes = {}
        for zygote in zygotes:
            if self._ready:
                _unwatch(self._selector, zygote.line)
            zygote.leave()
        for zygote in zygotes:
            zygote.close()
        self._ready = False


def _unwatch(selector: selectors.BaseSelector, line: socket.socket) -> None:
    """Stop watching a line, if it is watched."""
    # An interruption may have come while the same was being done, or before the line was watched at all.
    try:
        selector.unregister(line)
    except (KeyError, ValueError):
        pass
