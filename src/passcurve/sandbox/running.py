"""One job under way: what is known of it so far, and the facts that it comes to."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from passcurve.sandbox.job import Job, Outcome
from passcurve.sandbox.layers import syscalls

FIRST_LOOK_S = 0.05
"""A job that runs longer is timed by its own clock from here on; most end before."""

SECOND_NS = 1e-9


class Look:
    """A question to both zygotes for the clocks of their children, and the answers so far."""

    def __init__(self, *, tests: bool) -> None:
        self.jail: tuple[list[int] | None, int, int] | None = None
        """Its clock, when that was read, and when it was started."""
        self.referee: list[int] | None = None
        self.missing = 2 if tests else 1
        self.waits_for_tests = tests
        self.held = False


class Running:
    """The state of one job."""

    def __init__(self, job: Job, tag: int) -> None:
        self.job = job
        self.tag = tag
        self.started_ns = time.monotonic_ns()
        self.started = self.started_ns * SECOND_NS
        self.stopped = 0.0
        self.look_at = self.started + min(FIRST_LOOK_S, job.slice_s)
        self.look: Look | None = None
        self.ended: str | None = None
        self.report: dict[str, Any] | None = None
        self.reported = False
        self.exit: dict[str, Any] | None = None
        self.fault = ""
        self.referee_died = False
        self.garbage = ""
        self.own_s = -1.0
        self.tests_s = 0.0
        self.company = False
        """Whether it runs in the commons, where nothing but a report counts."""
        self.sent_end = False
        self.held = False
        """Whether it, its tests or we ourselves were stopped by somebody while its time ran."""
        self.asked_at = 0.0
        """When a zygote was asked for something that it has not answered yet; 0 when nothing is out."""

    def begin_in_company(self, at_most_s: float) -> None:
        """Count its time from now on: it is its turn in the commons, where it may take that long."""
        self.company = True
        self.started_ns = time.monotonic_ns()
        self.started = self.started_ns * SECOND_NS
        self.look_at = self.started + at_most_s

    @property
    def done(self) -> bool:
        """Whether everything about it has come in."""
        if self.fault or self.company:
            return bool(self.fault) or self.reported
        return self.reported and self.exit is not None and self.look is None

    def read_clocks(self, look: Look, ready_ns: int, cpu_ns: int) -> float:
        """Work out the sample's own time from the answers of both zygotes; return the wall time that it took.

        ``ready_ns``, ``cpu_ns``: how long the tests' process had been running or ready, and running, at the start.
        """
        ready_s = 0.0
        if look.referee is not None:
            ready_s = max(0, look.referee[1] - ready_ns) * SECOND_NS
            self.tests_s = max(0, look.referee[0] - cpu_ns) * SECOND_NS
        clock, at_ns, since_ns = look.jail or (None, time.monotonic_ns(), self.started_ns)
        if clock is None and self.exit is not None:
            clock, at_ns, since_ns = self.exit["clock"], self.exit["at"], self.exit["since"]
        # An order may lie about before it is obeyed.
        wall = (at_ns - max(since_ns, self.started_ns)) * SECOND_NS
        if self.job.limits.clock == "wall":
            self.own_s = wall
        elif clock is not None:
            cpu, longest = clock[0] * SECOND_NS, clock[1] * SECOND_NS
            # Threads that have ended are in cpu alone; on one core they cannot have run at the same time.
            self.own_s = cpu + max(0.0, wall - max(cpu, longest) - ready_s)
        elif self.own_s < 0:
            # It ended before it could be timed.
            self.own_s = wall if self.exit is None else -1.0
        return wall

    def outcome(self) -> Outcome:
        """Return the facts as they stand."""
        if self.company and not self.fault:
            return self._outcome_in_company()
        status = self.exit["exit"] if self.exit else None
        killed = os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else None
        cpu = float(self.exit["cpu"]) if self.exit else 0.0
        wall = (self.stopped or time.monotonic()) - self.started
        doubt = self.garbage
        if self.referee_died:
            doubt = "the tests' process died"
        elif killed == signal.SIGKILL and not self.sent_end and not (self.exit and self.exit["overfull"]):
            doubt = "died of a SIGKILL that we did not send"
        elif self.ended == "timeout" and self.held:
            doubt = "was stopped for a while"
        elif self.ended == "tests" and not self.sent_end:
            doubt = "the tests did not end though the program had"
        ended = "fault" if self.fault else self.ended or ("report" if self.report else "exit")
        return Outcome(
            tag=self.job.tag,
            ended=ended,  # type: ignore[arg-type]
            report=self.report,
            exit_code=os.WEXITSTATUS(status) if status is not None and os.WIFEXITED(status) else None,
            signal=None if self.sent_end and killed == signal.SIGKILL else killed,
            fault=self.fault,
            garbage=bool(self.garbage),
            doubt=doubt,
            own_s=self._own(cpu, wall),
            wall_s=wall,
            cpu_s=cpu,
            memory_bytes=int(self.exit["memory"]) if self.exit else 0,
            overfull=bool(self.exit and self.exit["overfull"]),
            refused=syscalls.names(self.exit["refused"]) if self.exit and self.exit["refused"] else (),
        )

    def _outcome_in_company(self) -> Outcome:
        report = self.report or {}
        cpu = report.get("cpu_ns", 0) * SECOND_NS
        return Outcome(
            tag=self.job.tag,
            ended="report" if self.report is not None and not self.ended else "apart",
            report=self.report,
            company=True,
            own_s=cpu,
            wall_s=(self.stopped or time.monotonic()) - self.started,
            cpu_s=cpu,
            memory_bytes=report.get("memory", 0),
        )

    def _own(self, cpu: float, wall: float) -> float:
        if self.held and self.report is not None:
            # How much of its waiting was ours nobody can tell.
            return min(cpu, wall)
        if self.own_s >= 0:
            return self.own_s
        if self.exit is not None and self.exit["clock"] is None:
            # It was too short to be timed; only we were late to hear of it.
            wall = min(wall, (self.exit["at"] - self.exit["since"]) * SECOND_NS)
        # Below the first look the difference between the clocks is smaller than anybody's limit.
        return min(cpu, wall) if wall < FIRST_LOOK_S else wall
