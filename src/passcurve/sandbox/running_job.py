"""A job under way: what is known about it so far, and the outcome that it comes to."""

from __future__ import annotations

import marshal
import os
import signal
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from passcurve.harness import framing
from passcurve.harness.protocol import BEGUN, MARSHAL_VERSION, RecordOrder
from passcurve.harness.wire import WireError
from passcurve.sandbox.connection import HasFileno
from passcurve.sandbox.job import Ended, Job, KnownReport, Outcome
from passcurve.sandbox.job_clock import FIRST_CHECK_S, SECOND_NS, JobClock, short_own_s
from passcurve.sandbox.layers import syscalls
from passcurve.sandbox.zygote.exit_status import ProcessExit
from passcurve.sandbox.zygote.kept_jobs import ANSWERED, JobResult
from passcurve.sandbox.zygote_client import Side

if TYPE_CHECKING:
    from passcurve.sandbox.compiled_tests import CompiledTests

_LINE_BYTES = 1 << 12
"""Most bytes on the line of a job that is silent."""


def is_interactive(job: Job) -> bool:
    """Tell whether the tests of a job ask one call at a time; otherwise the sample gets all calls at once."""
    return not (job.replays or job.without_sample)


class RunningJob:
    """The common part of both ways to run a job: the setup of its processes, and its report."""

    is_kept = False
    """Whether its processes are to be rewound."""

    def __init__(self, job: Job, tag: int) -> None:
        self.job = job
        self.tag = tag
        self.key = job.referee.key if job.referee is not None else ""
        self.number = os.urandom(8).hex()
        """Identifies its report: whoever takes over a referee during one check does not know the number of the next."""
        self.is_interactive = is_interactive(job)
        self.has_code = False
        """True if its tests were compiled when they were sent, or have been since."""
        self.is_compiled = False
        """True if its tests were compiled and did not run."""
        self.report: dict[str, Any] | None = None

    def sample_setup(self) -> bytes:
        """Return the job as a frame for the sample's process."""
        setup = self.job.setup
        # Of one size, whether it is kept or not: it moves later objects in memory.
        form = {"kept": self.is_kept} if setup.get("form") else {}
        # Calls that are asked one by one come with it all the same, for the same reason.
        return _make_frame({**setup, **form, "live": not self.job.replays})

    def referee_setup(self, compiled_tests: CompiledTests) -> bytes:
        """Return the job as a frame for the tests' process, with what is compiled already."""
        job = self.job
        code = compiled_tests.get(self.key)
        self.has_code = bool(code)
        return _make_frame(
            {
                **(job.referee.setup if job.referee is not None else {}),
                "code": code,
                "output_bytes": job.limits.output_bytes,
                "replayed": job.replayed,
                "live": not job.replays,
                "record": self._record_order() if job.record or job.without_sample else None,
                "number": self.number,
            }
        )

    def _record_order(self) -> RecordOrder:
        # Tests may loop on a wrong result, and only kept processes have little time.
        return {"wrong": self.job.wrong if self.is_kept else b"", "calls": self.job.record}

    def begin_test(self, number: object, at_ns: int) -> None:
        """Take note that a test began at a time of the monotonic clock."""


class KeptJob(RunningJob):
    """A job in two kept processes: what has become of it in each, and whether it can be judged there."""

    is_kept = True

    def __init__(self, job: Job, tag: int) -> None:
        super().__init__(job, tag)
        self.sample_result: JobResult | None = None
        self.referee_result: JobResult | None = None
        self.is_tainted = False
        """True if anything was other than expected from a kept process."""
        self.is_slow = False
        """True if it took longer in one of them than it may there."""
        self.is_ended = False
        """True if its end was asked for."""

    @property
    def answer(self) -> bytes:
        """Answers of the sample to the calls that it was sent at once, as frames.

        An empty one ends them, also where the sample was slow: tests that need more answers than there are stop there.
        """
        result = self.sample_result
        if result is None:
            return b""
        return result.answer if result.end == ANSWERED else result.answer + framing.make_frame(b"")

    @property
    def known_report(self) -> KnownReport | None:
        """The report that is known from the trial of the reference solution, or None."""
        return self.job.referee.known_report if self.job.referee is not None else None

    def check_again(self) -> None:
        """Prepare another check of the same answer, by tests that are compiled now."""
        self.number = os.urandom(8).hex()
        self.is_compiled, self.report, self.referee_result = False, None, None

    def outcome(self, result: JobResult, known_report: KnownReport | None) -> Outcome:
        """Return the facts; ``result`` is that of its sample, ``known_report`` the report where it holds for others."""
        wall_s, cpu_s = result.wall_ns * SECOND_NS, result.cpu_ns * SECOND_NS
        return Outcome(
            tag=self.job.tag,
            ended="report",
            report=self.report,
            known_report=known_report,
            own_s=short_own_s(wall_s, cpu_s),
            wall_s=wall_s,
            cpu_s=cpu_s,
            memory_bytes=result.memory_bytes,
        )


class OneShotJob(RunningJob):
    """A job in two new processes: what has come of it, and what is still open."""

    def __init__(self, job: Job, tag: int, files: Sequence[HasFileno] = ()) -> None:
        """``files``: they go to the sample's process besides its connection."""
        super().__init__(job, tag)
        # A silent job is timed at its end; its limit cannot come before all cores together have run for so long.
        first_check_s = max(FIRST_CHECK_S, job.slice_s / (os.cpu_count() or 1)) if job.is_silent else FIRST_CHECK_S
        self.clock = JobClock(job.slice_s, first_check_s)
        self.test_limit_s: float | None = None
        """Time limit of the test at hand; None before the first, and where tests are not told apart."""
        self.ended: Ended | None = None
        self.exits: dict[Side, ProcessExit] = {}
        """The ends of its processes."""
        self.files = files
        self.is_reported = False
        """True if a report has come, or none will."""
        self.fault = ""
        self.garbage = ""
        self.is_referee_gone = False
        """True if the connection to its tests was closed; their zygote, which may be gone too, must confirm the end."""
        self.line: socket.socket | None = None
        """Where a job that is silent has said that it begins."""
        self.is_end_requested = False
        self.pending_since = 0.0
        """Time of a request that a zygote has not answered yet; 0 when none is open."""

    @property
    def exit(self) -> ProcessExit | None:
        """End of the sample's process; None while it runs."""
        return self.exits.get("jail")

    @property
    def tests_exit(self) -> ProcessExit | None:
        """End of the tests' process; None while it runs."""
        return self.exits.get("referee")

    @property
    def is_done(self) -> bool:
        """True if everything about it has come in."""
        if self.fault:
            return True
        return self.is_reported and self.exit is not None and self.clock.query is None and not self.awaits_tests_exit

    @property
    def awaits_tests_exit(self) -> bool:
        """True if its tests seem to be gone, and their zygote has not said so."""
        return self.is_referee_gone and self.tests_exit is None

    def begin_test(self, number: object, at_ns: int) -> None:
        """Take note that a test began at a time of the monotonic clock."""
        limit_s = self.job.slow_tests.get(number) if isinstance(number, int) else None
        self.test_limit_s = limit_s or self.job.test_s
        self.clock.begin_test(at_ns * SECOND_NS, self.test_limit_s)

    def outcome(self) -> Outcome:
        """Return the facts as they stand."""
        self._read_line()
        if not all(end.has_begun for end in self.exits.values()):
            self.fault = self.fault or "its process failed before it began"
        end = self.exit
        status = end.status if end is not None else None
        died_of = os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else None
        wall_s = self.clock.wall_s
        cpu_s = end.cpu_s if end is not None else 0.0
        late = self._late() if self.ended is None and self.report is not None else None
        report = self.report if late is None else None
        has_report = report is not None or (self.job.is_silent and self.ended is None)
        is_overfull = end is not None and end.overfull
        return Outcome(
            tag=self.job.tag,
            ended="fault" if self.fault else self.ended or late or ("report" if report else "exit"),
            report=report,
            exit_code=os.WEXITSTATUS(status) if status is not None and os.WIFEXITED(status) else None,
            signal=None if self.is_end_requested and died_of == signal.SIGKILL else died_of,
            own_s=self.clock.final_own_s(wall_s, cpu_s, end, has_report=has_report),
            wall_s=wall_s,
            cpu_s=cpu_s,
            memory_bytes=end.memory_bytes if end is not None else 0,
            overfull=is_overfull,
            holds_too_much=end is not None and end.holds_too_much,
            refused=syscalls.names(end.refused) if end is not None and end.refused else (),
            fault=self.fault,
            garbage=bool(self.garbage),
            doubt=self._doubt(died_of, is_overfull=is_overfull),
        )

    def _late(self) -> Ended | None:
        """Return the limit that a job with a report has gone over although nobody saw it in time, or None."""
        if self.clock.cpu_s >= self.job.limits.timeout_s:
            return "timeout"
        if self.test_limit_s is not None and self.clock.test_cpu_s >= self.test_limit_s:
            return "test timeout"
        return None

    def _read_line(self) -> None:
        """Take a job that is silent for a fault of ours where it has not begun."""
        line, self.line = self.line, None
        if line is None:
            return
        with line:
            try:
                frames = framing.FrameBuffer(_LINE_BYTES).feed(line.recv(_LINE_BYTES, socket.MSG_DONTWAIT))
            except (OSError, WireError):
                frames = []
        if frames != [BEGUN]:
            reasons = [frame.decode("utf-8", "replace") for frame in frames if frame != BEGUN]
            self.fault = self.fault or ": ".join(["the program did not begin", *reasons])

    def _doubt(self, died_of: int | None, *, is_overfull: bool) -> str:
        if self.is_referee_gone:
            return "the tests' process died"
        if died_of == signal.SIGKILL and not self.is_end_requested and not is_overfull:
            return "died of a SIGKILL that we did not send"
        if self.ended == "timeout" and self.clock.was_suspended:
            return "was stopped for a while"
        if self.ended == "tests" and not self.is_end_requested:
            return "the tests did not end though the program had"
        return self.garbage


def _make_frame(value: dict[str, Any]) -> bytes:
    """Return a value as a frame in the interpreter's own format: only the supervisor sends such frames."""
    return framing.make_frame(marshal.dumps(value, MARSHAL_VERSION))
