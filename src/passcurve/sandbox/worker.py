"""One pair of zygotes, a jail's and a referee's, and the job that they are at; and the jobs that go to the commons.

The next job starts while the last one is being cleaned up: an order to end and an order to run go out together, and
the zygote obeys in order.
"""

from __future__ import annotations

import os
import selectors
import socket
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import msgspec

from passcurve.sandbox import exits, wire
from passcurve.sandbox.job import Job, Outcome
from passcurve.sandbox.keeper import Keeper
from passcurve.sandbox.learned import Learned
from passcurve.sandbox.probe import Probe
from passcurve.sandbox.running import FIRST_LOOK_S, Look, Running
from passcurve.sandbox.stems import KilledError, Stems
from passcurve.sandbox.tester import REPORT_BYTES, Tester, read_report, unwatch
from passcurve.sandbox.toolchain import Toolchain
from passcurve.sandbox.zygotes import Zygote, translated
from passcurve.types import Limits

ANSWER_S = 60.0
"""A zygote answers within milliseconds, however busy the machine; one that takes this long never will."""

COMPANY_WALL_S = 1.0
"""Wall time after which a program that runs in the commons is to run apart instead; its CPU time ends it before."""

LATE_S = 0.5
"""A look that comes so much later than it was wanted means that we ourselves were stopped."""

DEATH_S = 0.5
"""How long a program that has closed its line gets to be seen dying."""

WALL_FACTOR = 20.0
"""Wall time, in limits, after which a job is given up as our failure: the machine did not let it run."""

REFEREE_FACTOR = 10.0
"""CPU time, in limits, that the tests themselves may take for one sample."""


class Worker:
    """Runs one job at a time, or several in one piece; ``collect`` hands back what has ended."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        probe: Probe,
        toolchain: Toolchain,
        limits: Limits,
        stems: Stems,
        learned: Learned,
        cpu: int | None,
    ) -> None:
        self._selector = selector
        self._probe, self._toolchain, self._limits, self._cpu = probe, toolchain, limits, cpu
        self._stems, self._learned = stems, learned
        self._keeper = Keeper(selector, self, probe, toolchain, limits, stems.samples, cpu)
        self._jail: Zygote | None = None
        self._tester = Tester(selector, self, learned)
        self._own_line: socket.socket | None = None
        self._own_frames = wire.FrameBuffer(REPORT_BYTES)
        self._tag = 0
        self._now: Running | None = None
        self._guests: deque[Running] = deque()
        """What the commons is to run after what runs now, and was told already."""
        self._waiting: deque[Job] = deque()
        """What we were given and have not begun."""
        self._singly = 0
        """How many of those go to the commons one by one: one of them ends it, and with it what others had said."""
        self._ending: list[Running] = []
        self._ready = False
        self._finished: list[Outcome] = []
        self.affinity = ""
        """The referee key served last: a job with the same one needs no new referee."""

    @property
    def idle(self) -> bool:
        """Whether a job can be started; a fresh one needs a worker that is not busy either."""
        return self._now is None and not self._waiting

    @property
    def busy(self) -> bool:
        """Whether anything is still running or being cleaned up."""
        return not self.idle or bool(self._ending)

    def suits(self, affinity: str) -> bool:
        """Say whether no referee is ended for a problem that could have served another one, as far as is known."""
        closed = self._tester.closed
        return closed is None or self._learned.closed.get(affinity, closed) is closed

    def start_zygotes(self) -> None:
        """Start both zygotes without waiting for them.  Raises SandboxError when the system lets us have none."""
        self._jail = Zygote(self._stems.samples, self._probe.walls, self._toolchain, self._limits, self._cpu)
        self._tester.zygote = Zygote(self._stems.tests, self._probe.walls, self._toolchain, self._limits, self._cpu)

    def _await_zygotes(self) -> None:
        if self._jail is None or self._tester.zygote is None:
            self.start_zygotes()
        both = ((self._jail, "jail"), (self._tester.zygote, "referee"))
        zygotes = [(zygote, name) for zygote, name in both if zygote]
        for zygote, _ in zygotes:
            zygote.wait_ready()
        for zygote, name in zygotes:
            self._selector.register(zygote.line, selectors.EVENT_READ, (self, name))
        self._ready = True

    def start(self, *jobs: Job) -> None:
        """Start a job, or several that ``go_together``; the worker must be idle.

        Raises SandboxError when no zygote can be had.
        """
        if jobs[0].fresh and self._ready:
            self.close()
        self._waiting.extend(jobs)
        self._go_on()

    def _go_on(self) -> None:
        """Begin what waits, if nothing runs."""
        if self._now is not None or not self._waiting:
            return
        if not self._ready:
            try:
                self._await_zygotes()
            except KilledError:
                self.close()
                self._await_zygotes()
        with translated():
            if not self._gather():
                self._start(self._waiting.popleft())

    def _gather(self) -> bool:
        """Hand all that waits to the commons, if it can; return False when it is not for there, or there is none."""
        job = self._waiting[0]
        if not job.company or job.fresh or job.referee is None or self._learned.is_hopeless(job.referee.key):
            return False
        jobs = [job] if self._singly else [*self._waiting]
        guests = [Running(each, self._tag + number) for number, each in enumerate(jobs, start=1)]
        programs = [(each.tag, each.job.setup["program"]) for each in guests]
        replies = self._keeper.give({**job.setup, "program": b"", "programs": programs})
        if replies is None:
            return False
        self._tag += len(guests)
        self._singly = max(0, self._singly - 1)
        for _ in jobs:
            self._waiting.popleft()
        self._guests.extend(guests)
        self._next_guest()
        self._check_company([*guests], replies)
        return True

    def _check_company(self, guests: Sequence[Running], replies: int) -> None:
        """Give the line of the commons to the referee, with the numbers of the jobs there."""
        job = guests[0].job
        if job.referee is not None:
            self.affinity = job.referee.key
            if not self._tester.check(job, job.referee, guests[0].tag, replies, [each.tag for each in guests]):
                self._broken("a zygote ended before its order")

    def _next_guest(self) -> None:
        """Wait for the report on the next program in the commons, if there is one: its time begins now."""
        self._now = self._guests.popleft() if self._guests else None
        if self._now is not None:
            self._now.begin_in_company(COMPANY_WALL_S)

    def _start(self, job: Job) -> None:
        self._tag += 1
        running = Running(job, self._tag)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        order = {
            "do": "run",
            "role": job.role,
            "tag": self._tag,
            "cpu": int(job.limits.timeout_s * WALL_FACTOR) + 60,
        }
        self._now = running
        setup = wire.write_file(job.setup)
        sent = self._jail is not None and self._jail.send(order, [theirs.fileno(), setup])
        os.close(setup)
        theirs.close()
        if sent and job.referee is not None:
            sent = self._tester.check(job, job.referee, self._tag, ours.fileno())
            self.affinity = job.referee.key
            ours.close()
        else:
            self._own_line, self._own_frames = ours, wire.FrameBuffer(REPORT_BYTES)
            self._selector.register(ours, selectors.EVENT_READ, (self, "report"))
        if not sent:
            self._broken("a zygote ended before its order")

    def _forget_line(self, line: socket.socket) -> None:
        if line is self._tester.line:
            self._tester.forget()
            return
        self._own_line = None
        unwatch(self._selector, line)
        line.close()

    def hear(self, source: str, line: socket.socket) -> None:
        """Take in what came on one of our lines."""
        if source == "commons":
            self._keeper.hear()
            return
        try:
            data = line.recv(1 << 16, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if source == "report":
            self._hear_report(line, data)
        else:
            self._hear_zygote(source, data)
        self._settle()
        self._go_on()

    def _hear_report(self, line: socket.socket, data: bytes) -> None:
        from_referee = line is self._tester.line
        running = self._now
        if running is None or (running.job.referee is not None) != from_referee:
            # Nobody was asked: a referee that died between two checks, or one that says more than its report.
            self._forget_line(line)
            return
        if not data:
            self._forget_line(line)
            running.referee_died = from_referee
        else:
            try:
                reports = self._tester.reports(data) if from_referee else self._own_reports(data)
                if running.company:
                    self._hear_company(running, reports)
                    return
                if from_referee:
                    # What is left of an order that was taken back is nobody's.
                    reports = [report for report in reports if not report["number"]]
                if not reports:
                    return
                running.report = reports[0]
            except (wire.WireError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                running.garbage = "a report that is none"
            if not from_referee:
                self._forget_line(line)
        running.reported = True
        if running.company:
            self._leave_company(running)
        elif not data or (running.report or {}).get("lost"):
            # The program is gone or has closed the line: if it died, how it died is worth a moment's wait.
            running.look_at = time.monotonic() + DEATH_S
            self._rest(running)
        else:
            self._end_sample(running)

    def _own_reports(self, data: bytes) -> list[dict[str, Any]]:
        return [read_report(frame) for frame in self._own_frames.feed(data)]

    def _hear_company(self, running: Running, reports: list[dict[str, Any]]) -> None:
        """Take in reports on programs in the commons, in the order in which they were sent there."""
        for report in reports:
            if report["number"] != running.tag:
                continue
            if report["status"] == "elsewhere":
                self._check_elsewhere(running)
                return
            running.report = report
            running.reported = True
            self._learned.note(self.affinity, report["status"])
            self._leave_company(running)
            if self._now is None:
                return
            running = self._now

    def _check_elsewhere(self, running: Running) -> None:
        """Have programs in the commons checked by a referee of their problem alone: its tests are not closed."""
        replies = self._keeper.replies
        self._tester.forget()
        if replies is None:
            running.reported = True
            self._leave_company(running)
        else:
            self._check_company([running, *self._guests], replies)

    def _leave_company(self, running: Running) -> None:
        """Be done with a program in the commons; unless all is in step there, those after it go to another."""
        running.stopped = time.monotonic()
        self._ending.append(running)
        if not running.ended:
            if (running.report or {}).get("in_step"):
                self._next_guest()
                return
            if (running.report or {}).get("lost"):
                self._singly = len(self._guests)
            self._keeper.renew()
        self._recall()
        self._now = None

    def _recall(self) -> None:
        """Take back what the commons has not come to."""
        self._waiting.extendleft(each.job for each in reversed(self._guests))
        self._guests.clear()

    def _rest(self, running: Running) -> None:
        """Be free for the next job if this one has reported and its process has ended."""
        if running is self._now and running.reported and running.exit is not None:
            self._now = None
            self._ending.append(running)

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

    def _send_end(self, running: Running) -> None:
        if running.exit is None and not running.sent_end:
            running.sent_end = True
            running.asked_at = time.monotonic()
            if self._jail is None or not self._jail.send({"do": "end"}):
                self._broken("the jail's zygote ended")

    def _hear_zygote(self, source: str, data: bytes) -> None:
        zygote = self._jail if source == "jail" else self._tester.zygote
        if not data or zygote is None:
            self._broken(f"the {source}'s zygote ended")
            return
        for frame in zygote.frames.feed(data):
            record = exits.unpack(frame) if exits.is_packed(frame) else wire.decode(frame)
            if "exit" not in record and "clock" not in record:
                self._broken(f"the {source}'s zygote gave up: {str(record.get('failed'))[:200]}")
                return
            if source == "referee":
                # A referee that was replaced ends with a last clock, which is no answer of the one now at work.
                if "exit" not in record:
                    self._referee_clock(record)
                continue
            running = next((each for each in (*self._ending, self._now) if each and each.tag == record["tag"]), None)
            if running is None:
                continue
            if "exit" in record:
                running.exit = record
                if running.look is None:
                    running.asked_at = 0.0
                running.stopped = running.stopped or time.monotonic()
                self._rest(running)
                self._settle()
            elif running.look is not None:
                running.look.jail = (record["clock"], record["at"], record["since"])
                running.look.held |= record["held"]
                self._answered(running)

    def _settle(self) -> None:
        while self._ending and self._ending[0].done:
            self._finished.append(self._ending.pop(0).outcome())

    def _look(self, running: Running) -> None:
        """Ask both zygotes for the clocks of their children, unless an answer is still out."""
        if running.look is not None or self._jail is None:
            return
        tests = self._tester.zygote if running.job.referee is not None else None
        running.look = Look(tests=tests is not None)
        running.asked_at = running.asked_at or time.monotonic()
        if not self._jail.send({"do": "clock"}) or (tests is not None and not tests.send({"do": "clock"})):
            running.look = None

    def _referee_clock(self, record: dict[str, Any]) -> None:
        for running in (*self._ending, self._now):
            look = running.look if running is not None else None
            if running is not None and look is not None and look.waits_for_tests:
                look.waits_for_tests = False
                look.referee = record["clock"]
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
        wall = running.read_clocks(look, *self._tester.clocks())
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
        return self._now.look_at if self._now is not None else None

    def tick(self, now: float) -> None:
        """Time the current job, or stop waiting for its tests."""
        self._go_on()
        for each in (*self._ending, self._now):
            if each is not None and each.asked_at and now - each.asked_at > ANSWER_S:
                self._broken("a zygote does not answer")
                return
        running = self._now
        if running is None or now < running.look_at:
            return
        if running.company and running.ended is None:
            # Its referee will see the line end; one that does not is replaced.
            running.ended = "apart"
            running.look_at = now + DEATH_S
            self._keeper.renew()
            return
        running.held |= now - running.look_at > LATE_S
        if running.reported:
            self._end_sample(running)
            return
        patience = max(10.0, running.job.limits.timeout_s * REFEREE_FACTOR)
        if running.ended is None and running.exit is not None and now - running.stopped > patience:
            running.ended = "tests"
        if running.ended is not None:
            if self._own_line is not None:
                self._forget_line(self._own_line)
            self._tester.drop()
            running.reported = True
            self._recall()
            self._now = None
            self._ending.append(running)
            self._settle()
            return
        running.look_at = now + 1.0
        if running.exit is None:
            self._look(running)

    def _broken(self, why: str) -> None:
        """Give up what a lost zygote was at, which is owed again; the next job gets a new pair."""
        if self._now is not None and self._now.company:
            self._keeper.renew()
            self._recall()
        lost = [*self._ending, *([self._now] if self._now is not None else [])]
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

    def shut(self) -> None:
        """End all zygotes for good."""
        self.close()
        self._keeper.close()
        self._tester.shut()

    def close(self) -> None:
        """End both zygotes and all that is in them."""
        if self._own_line is not None:
            self._forget_line(self._own_line)
        self._tester.forget()
        zygotes = [zygote for zygote in (self._jail, self._tester.zygote) if zygote is not None]
        for zygote in zygotes:
            if self._ready:
                unwatch(self._selector, zygote.line)
            zygote.leave()
        for zygote in zygotes:
            zygote.close()
        self._jail = self._tester.zygote = None
        self._ready = False
