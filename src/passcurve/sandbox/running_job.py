"""One job under way: what is known of it so far, and the facts that it comes to."""

from __future__ import annotations

import marshal
import os
import signal
import time
from typing import TYPE_CHECKING, Any

from passcurve.harness import framing
from passcurve.harness.protocol import MARSHAL_VERSION
from passcurve.sandbox.job import Job, Outcome
from passcurve.sandbox.layers import syscalls

if TYPE_CHECKING:
    from passcurve.sandbox.compiled_tests import CompiledTests

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


def is_live(job: Job) -> bool:
    """Say whether the tests of a job ask one call at a time: the sample is not told them all at once."""
    return not (job.replayed and job.whole)


class Running:
    """The state of one job."""

    def __init__(self, job: Job, tag: int) -> None:
        self.job = job
        self.tag = tag
        self.key = job.referee.key if job.referee is not None else ""
        self.number = os.urandom(8).hex()
        """By which its report is known: whoever takes a referee over for one check does not know that of the next."""
        self.live = is_live(job)
        self.answer = bytearray()
        """What it has said to the calls that it was told."""
        self._at = 0
        self.answers = 0
        """Single answers in that, as far as they were counted."""
        self.said_bytes = 0
        """Bytes that were handed on to the tests while they asked."""
        self.has_code = False
        """Whether its tests were compiled when they were sent, or have been since."""
        self.lost = False
        """Whether anything was not as it must be in a process that is put back."""
        self.compiled = False
        """Whether its tests were compiled and did not run."""
        self.checked = False
        self.handed = False
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
        """Whether the line to its tests was closed; their zygote, which may be gone too, has to say that they ended."""
        self.tests_exit: dict[str, Any] | None = None
        self.garbage = ""
        self.own_s = -1.0
        self.both_s = -1.0
        """How long both may have been ready at the same time, while they started; later one waits for the other."""
        self.tests_s = 0.0
        self.sent_end = False
        self.held = False
        """Whether it, its tests or we ourselves were stopped by somebody while its time ran."""
        self.asked_at = 0.0
        """When a zygote was asked for something that it has not answered yet; 0 when nothing is out."""

    @property
    def done(self) -> bool:
        """Whether everything about it has come in."""
        is_told = self.reported and self.exit is not None and self.look is None and not self.awaits_tests
        return bool(self.fault) or is_told

    @property
    def awaits_tests(self) -> bool:
        """Whether its tests seem to be gone, and nobody has said that they ended."""
        return self.referee_died and self.tests_exit is None

    @property
    def has_answered(self) -> bool:
        """Whether all calls that it was told are answered: an empty frame says so."""
        while self._at + 4 <= len(self.answer):
            size = int.from_bytes(self.answer[self._at : self._at + 4], "little")
            if not size:
                return True
            self._at += 4 + size
            self.answers += 1
        return False

    def for_jail(self) -> bytes:
        """Return the job as a frame for the sample's process."""
        setup = self.job.setup
        return framing.make_frame(_packed({**setup, "replayed": b"" if self.live else setup["replayed"]}))

    def for_referee(self, codes: CompiledTests) -> bytes:
        """Return the job as a frame for the tests' process; ``codes`` has what is compiled already."""
        job = self.job
        code = codes.get(self.key)
        self.has_code = bool(code)
        order = {
            **(job.referee.setup if job.referee is not None else {}),
            "code": code,
            "output_bytes": job.limits.output_bytes,
            "replayed": b"" if self.live else job.replayed,
            "record": job.record,
            "number": self.number,
        }
        return framing.make_frame(_packed(order))

    def read_clocks(self, look: Look) -> float:
        """Work out the sample's own time from the answers of both zygotes; return the wall time that it took."""
        ready_s = 0.0
        tests = look.referee
        if tests is None and self.tests_exit is not None:
            # They ended before they could be timed.
            tests = self.tests_exit["clock"]
        if tests is not None:
            ready_s = tests[1] * SECOND_NS
            self.tests_s = tests[0] * SECOND_NS
        clock, at_ns, since_ns = look.jail or (None, time.monotonic_ns(), self.started_ns)
        if clock is None and self.exit is not None:
            clock, at_ns, since_ns = self.exit["clock"], self.exit["at"], self.exit["since"]
        # An order may lie about before it is obeyed.
        wall = (at_ns - max(since_ns, self.started_ns)) * SECOND_NS
        if self.job.limits.clock == "wall":
            self.own_s = wall
        elif clock is not None:
            cpu, longest = clock[0] * SECOND_NS, clock[1] * SECOND_NS
            if self.both_s < 0:
                self.both_s = min(longest, ready_s, FIRST_LOOK_S)
            # Threads that have ended are in cpu alone; on one core they cannot have run at the same time.
            self.own_s = cpu + max(0.0, wall - max(cpu, longest) - (ready_s - self.both_s))
        elif self.own_s < 0:
            # It ended before it could be timed.
            self.own_s = wall if self.exit is None else -1.0
        return wall

    def outcome(self) -> Outcome:
        """Return the facts as they stand."""
        status = self.exit["exit"] if self.exit and not self.exit["clean"] else None
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


def _packed(value: dict[str, Any]) -> bytes:
    """Return an order in the interpreter's own format: only the supervisor writes one."""
    return marshal.dumps(value, MARSHAL_VERSION)
