"""The two processes of a worker that are rewound or replaced, one for samples and one for tests, and their jobs.

Neither can reach the other: each has one line, to the supervisor, which hands on what is said.  A sample that was told
all its calls answers them in one piece, and is put back while the tests look at that: two jobs can be under way.
What the tests say of an answer they say of the same bytes again, because they begin in the same state each time: so
answers that begin with the same bytes, as far as the tests have read, are checked once.

A process is sent a job only when it is new or has been put back, and nothing of an earlier job is left on its line.
Whatever is not exactly as expected is not judged here: the job is handed back, to be repeated in new processes.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from passcurve.harness import framing, wire
from passcurve.harness.framing import FrameBuffer
from passcurve.sandbox.forkserver_client import SAMPLE_ROLES
from passcurve.sandbox.job import Job
from passcurve.sandbox.referee_reports import REPORT_BYTES, Shared, read_for
from passcurve.sandbox.running_job import SECOND_NS, Running, is_live
from passcurve.sandbox.zygote_client import ZygoteClient

Side = Literal["jail", "referee"]
SIDES: tuple[Side, Side] = ("jail", "referee")

HELD: dict[Side, int] = {"jail": 1, "referee": 2}

What = Literal["judged", "slice", "compiled", "repeat"]
"""What became of a job: it was judged; it takes longer than a slice; its tests were compiled and it can be sent again;
it must be repeated in new processes."""

KEPT_S = 0.04
"""A sample or a check that takes longer is not judged here."""

WALL_S = 1.0
"""Nor is one that has not ended after so long, whatever the reason."""

JOB_BYTES = 1 << 20
"""The largest program, or tests, that come here."""

ANSWER_BYTES = 4 << 20
"""The longest answer that is checked here."""

ANSWERS = 20_000
"""The most single answers in it: twice the calls that a sample is told at once."""

AHEAD = 4
"""Answers that may wait for the tests."""

LOST, NOBODY = 0, -1
"""Tags of no job: a process ended by itself; one without a job is put back."""

_BUFFER_BYTES = 1 << 20
_UNFIT = ("gone", "protocol")
"""Reports that say something of the processes as well."""


class Lane:
    """One process that waits for jobs: its line, and the job that it is at."""

    def __init__(
        self,
        zygote: ZygoteClient,
        selector: selectors.BaseSelector,
        owner: object,
        side: Side,
        role: str,
        *,
        rewinds: bool,
    ) -> None:
        self._zygote, self._selector, self._side, self._role = zygote, selector, side, role
        self._data = (owner, side + " line")
        self._rewinds = rewinds
        self.line: socket.socket | None = None
        self._next_line: socket.socket | None = None
        """To the process that is to take the place of this one."""
        self._watched = False
        self._is_over = False
        self._unsent = b""
        self.running: Running | None = None
        self.waits = False
        """Whether it waits for a job."""
        self.ending = False
        """Whether it is being put back."""
        self.look_at = 0.0
        self.asked_at = 0.0
        """When its zygote was asked for something that it has not answered yet; 0 when nothing is out."""

    def make(self) -> bool:
        """Have the process made, with a line that nobody has used; False when the zygote is gone."""
        self.close()
        self.waits = False
        self.asked_at = time.monotonic()
        sent = self._order_another({"do": "keep"})
        self._take_line()
        return sent

    def _order_another(self, order: dict[str, Any]) -> bool:
        """Send an order with a new line for a process that is to be made."""
        if self._is_over:
            return False
        self._next_line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            for line in (self._next_line, theirs):
                line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
            # As many descriptors as a new process has, where the tests have a line of their own to the sample.
            return self._zygote.send({**order, "role": self._role}, [theirs.fileno()] * HELD[self._side])

    def _take_line(self) -> None:
        line = self._next_line
        self._next_line = None
        self.close()
        self.line = line
        if line is not None:
            self._selector.register(line, selectors.EVENT_READ, self._data)
            self._watched = True

    def go_on(self) -> None:
        """Be ready for the next job: the process was put back, or another one takes its place."""
        if not self._rewinds:
            self._take_line()
        self.waits = True

    def begin(self, running: Running, data: bytes) -> None:
        """Send it a job."""
        self.running, self.waits = running, False
        self.look_at = time.monotonic() + KEPT_S
        self.send(data)

    def send(self, data: bytes) -> None:
        """Send bytes, now or when the line takes them."""
        if self._unsent or self.ending:
            self._unsent += b"" if self.ending else data
            return
        sent = 0
        if self.line is None:
            return
        try:
            sent = self.line.send(data, socket.MSG_DONTWAIT)
        except OSError:
            pass
        if sent < len(data):
            self._unsent = data[sent:]
            if self._watched:
                self._selector.modify(self.line, selectors.EVENT_READ | selectors.EVENT_WRITE, self._data)

    def send_rest(self) -> None:
        """Send what the line did not take before."""
        data, self._unsent = self._unsent, b""
        if self.line is not None and self._watched:
            self._selector.modify(self.line, selectors.EVENT_READ, self._data)
            self.send(data)

    def read(self) -> bytes:
        """Return what has come."""
        if self.line is None:
            return b""
        try:
            data = self.line.recv(1 << 18, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return b""
        except OSError:
            data = b""
        if not data:
            # The process is gone; its zygote will say so.
            self._unwatch()
        return data

    def rewind(self, tag: int, *, typical: bool) -> bool:
        """Have the process put back, or replaced; False when the zygote is gone."""
        if self.ending:
            return True
        self.waits, self.ending, self.asked_at = False, True, time.monotonic()
        # Nothing more is sent; what it has not read is thrown away while it stands still.
        if self._unsent:
            self._unsent = b""
            self.send_rest()
        if self._rewinds:
            return self._zygote.send({"do": "rewind", "tag": tag, "typical": typical})
        return self._order_another({"do": "replace", "tag": tag})

    def look(self) -> bool:
        """Ask for its clock; False when the zygote is gone."""
        self.look_at = time.monotonic() + KEPT_S
        return self.ending or self._zygote.send({"do": "clock", "kept": True})

    def clear(self) -> bool:
        """Throw away what the process has said; return whether that was anything."""
        found = False
        while self.read():
            found = True
        return found

    def end(self) -> None:
        """Close the line for good."""
        self._is_over = True
        self.close()

    def close(self) -> None:
        """Close the line, with all that is left on it."""
        self._unsent = b""
        if self._next_line is not None:
            self._next_line.close()
            self._next_line = None
        if self.line is not None:
            self._unwatch()
            self.line.close()
            self.line = None

    def _unwatch(self) -> None:
        if self._watched and self.line is not None:
            self._selector.unregister(self.line)
        self._watched = False


class Pair:
    """Both lanes, and the jobs between them.  ``broken`` is called when a zygote is gone."""

    def __init__(
        self,
        zygotes: dict[Side, ZygoteClient],
        selector: selectors.BaseSelector,
        owner: object,
        shared: Shared,
        referee_role: str,
        broken: Callable[[str], None],
        *,
        rewinds: bool,
    ) -> None:
        self._shared, self._broken = shared, broken
        self._is_over = False
        roles: dict[Side, str] = {"jail": SAMPLE_ROLES[0], "referee": referee_role}
        self._retried: set[Side] = set()
        """Processes that could not be made at the last try."""
        self._lanes = {side: Lane(zygotes[side], selector, owner, side, roles[side], rewinds=rewinds) for side in SIDES}
        self._jail, self._referee = self._lanes["jail"], self._lanes["referee"]
        self._frames = FrameBuffer(REPORT_BYTES)
        self._answers: deque[Running] = deque()
        """Jobs whose answer waits for the tests."""
        self.ended: list[tuple[Running, What]] = []
        self.failed = ""
        """Why there is no such pair; nothing while there may be one."""
        if not all(lane.make() for lane in self._lanes.values()):
            self.failed = "a zygote ended"

    @property
    def idle(self) -> bool:
        """Whether no job is under way."""
        return not (self._jail.running or self._referee.running or self._answers or self.ended)

    @property
    def has_sample(self) -> bool:
        """Whether a sample is being run, or asked."""
        checked = self._referee.running
        return self._jail.running is not None or (checked is not None and checked.live)

    @property
    def has_room(self) -> bool:
        """Whether a job could be started now, here or elsewhere."""
        return bool(self.failed) or (self._jail.waits and len(self._answers) < AHEAD)

    def takes(self, job: Job) -> bool:
        """Say whether a job can be started here, where there is room."""
        return not is_live(job) or (self._referee.waits and not self._answers)

    def start(self, running: Running) -> None:
        """Start a job that ``takes`` said yes to."""
        self._jail.begin(running, running.for_jail())
        if running.live:
            self._check(running, b"")

    def _check(self, running: Running, answer: bytes) -> None:
        """Hand an answer to the tests, or the beginning of a conversation."""
        running.checked = True
        self._frames = FrameBuffer(REPORT_BYTES)
        self._referee.begin(running, running.for_referee(self._shared.codes) + answer)

    def hear(self, side: Side, mask: int) -> None:
        """Take in what came on a line, or send on what can be sent now."""
        lane = self._lanes[side]
        if mask & selectors.EVENT_WRITE:
            lane.send_rest()
        if not mask & selectors.EVENT_READ:
            return
        data, running = lane.read(), lane.running
        if running is None or lane.ending:
            # A process that has nothing to say is put back before it is sent anything.
            if running is None and data:
                self._tell(lane.rewind(NOBODY, typical=False))
            elif side == "referee" and running is not None and data:
                running.lost = True
            return
        if side == "jail":
            self._hear_jail(running, data)
        else:
            self._hear_referee(running, data)

    def _hear_jail(self, running: Running, data: bytes) -> None:
        if running.live:
            running.said_bytes += len(data)
            if running.said_bytes > ANSWER_BYTES:
                self._give_up(running)
            elif self._referee.running is running and not self._referee.ending:
                self._referee.send(data)
            return
        running.answer += data
        answered = running.has_answered
        if len(running.answer) > ANSWER_BYTES or running.answers > ANSWERS:
            self._give_up(running)
        elif answered:
            self._end("jail", running)
            if report := self._shared.reports.get(running):
                running.report = report
            else:
                self._answers.append(running)
                self._next()

    def _next(self) -> None:
        """Hand the next answer to the tests, if these wait for one."""
        while self._answers and self._referee.waits:
            running = self._answers.popleft()
            if report := self._shared.reports.get(running):
                running.report = report
                self._conclude(running)
            else:
                self._check(running, bytes(running.answer))

    def _hear_referee(self, running: Running, data: bytes) -> None:
        try:
            for frame in self._frames.feed(data):
                if frame[:1] != b"{":
                    # A question to the sample.
                    if frame[:1] != b"d" or not running.live or self._jail.running is not running:
                        raise wire.WireError("a question that nobody can answer")
                    if not self._jail.ending:
                        self._jail.send(framing.make_frame(frame))
                    continue
                if report := read_for(running, frame, self._shared.codes):
                    running.report = report
                    self._end("referee", running)
                    if running.live:
                        self._end("jail", running)
        except (wire.WireError, msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
            self._give_up(running)

    def _end(self, side: Side, running: Running) -> None:
        # Tests that are compiled and recorded write what no others do.
        typical = side == "jail" or not running.job.record
        self._tell(self._lanes[side].rewind(running.tag, typical=typical))

    def _tell(self, sent: bool) -> None:
        if not sent and not self._is_over:
            self._broken("a zygote ended")

    def _give_up(self, running: Running) -> None:
        """Judge this job no further."""
        running.lost |= not running.ended
        running.stopped = running.stopped or time.monotonic()
        if running in self._answers:
            self._answers.remove(running)
        for side in SIDES:
            if self._lanes[side].running is running:
                self._end(side, running)

    def take_record(self, side: Side, record: dict[str, Any]) -> None:
        """Take note that a process was put back, or was lost: then another one is being made."""
        lane = self._lanes[side]
        running = lane.running
        if record["tag"] == LOST and lane.ending:
            # It ended before it could be put back; the order to do so is still to be answered.
            if running is not None:
                running.lost = True
            return
        if not lane.ending:
            # It ended by itself.
            if running is not None and side == "jail":
                running.exit = record
            self._lose(lane)
            self._tell(lane.make())
            return
        if record["tag"] not in (NOBODY, running.tag if running is not None else NOBODY):
            self._broken("a zygote answers otherwise than it was asked")
            return
        lane.ending, lane.asked_at, lane.running = False, 0.0, None
        said_more = lane.clear()
        if record["clean"]:
            lane.go_on()
        else:
            self._tell(lane.make())
        if running is not None:
            running.stopped = running.stopped or time.monotonic()
            running.lost |= not record["clean"] or (side == "referee" and said_more)
            if side == "jail":
                running.exit = record
            self._conclude(running)
        self._next()

    def _lose(self, lane: Lane) -> None:
        """Give up the job of a process that is none."""
        running, lane.running, lane.waits = lane.running, None, False
        if running is not None:
            running.lost = True
            self._give_up(running)
            self._conclude(running)

    def take_kept(self, side: Side, reason: str) -> None:
        """Take note that a process was made and waits for a job, or why there is none; that is tried twice."""
        lane = self._lanes[side]
        lane.asked_at = 0.0
        if reason:
            self._lose(lane)
        if not reason:
            lane.waits = True
            self._retried.discard(side)
            self._next()
        elif side in self._retried:
            self.failed = self.failed or reason
        else:
            self._retried.add(side)
            self._tell(lane.make())

    def take_clock(self, side: Side, record: dict[str, Any]) -> None:
        """End a job that takes too long for here."""
        lane = self._lanes[side]
        running = lane.running
        if running is None or lane.ending or running.ended:
            return
        wall_s = time.monotonic() - running.started
        own_s = wall_s if record["clock"] is None else record["clock"][0] * SECOND_NS
        if side == "jail" and record["clock"] is not None and not running.live:
            own_s += max(0.0, wall_s - max(record["clock"]) * SECOND_NS)
        if own_s >= min(KEPT_S, running.job.slice_s) or wall_s > WALL_S:
            running.ended = "slice"
            running.own_s = own_s
            self._give_up(running)

    def _conclude(self, running: Running) -> None:
        """Hand a job back once both processes are through with it."""
        if any(lane.running is running for lane in self._lanes.values()) or running in self._answers or running.handed:
            return
        running.handed = True
        fit = not running.lost and running.exit is not None and bool(running.exit["clean"])
        status = (running.report or {}).get("status")
        if not running.ended:
            self._shared.note(running.key, left=not fit)
        what: What = "repeat"
        if running.ended and running.job.slice_s < running.job.limits.timeout_s:
            what = "slice"
        elif fit and running.compiled:
            what = "compiled"
        elif fit and status is not None and status not in _UNFIT and not running.ended:
            what = "judged"
            if running.checked and not running.live and running.report is not None:
                self._shared.reports.put(running, running.report)
        self.ended.append((running, what))

    @property
    def next_look(self) -> float | None:
        """When ``tick`` wants to be called, on the monotonic clock."""
        looks = [lane.look_at for lane in self._lanes.values() if lane.running is not None]
        return min(looks) if looks else None

    def tick(self, now: float, patience_s: float) -> None:
        """Look at jobs that take long, and at zygotes that do not answer."""
        for lane in self._lanes.values():
            if lane.asked_at and now - lane.asked_at > patience_s:
                self._broken("a zygote does not answer")
                return
            if lane.running is not None and now >= lane.look_at:
                self._tell(lane.look())

    def abandon(self) -> list[Running]:
        """Return the jobs that are under way, of which nothing is known."""
        there = [*(lane.running for lane in self._lanes.values() if lane.running is not None), *self._answers]
        return [running for number, running in enumerate(there) if running not in there[:number]]

    def close(self) -> None:
        """Close both lines; what is still to be heard changes nothing any more."""
        self._is_over = True
        for lane in self._lanes.values():
            lane.end()
