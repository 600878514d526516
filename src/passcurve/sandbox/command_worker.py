"""A worker for commands: the steps of one job after another, each in the jail that it needs."""

from __future__ import annotations

import re
import selectors
from collections import deque
from functools import partial
from io import BufferedIOBase
from typing import Any, Literal

import msgspec

from passcurve.harness.command import HEAD_BYTES
from passcurve.sandbox.artifacts import Artifacts, new_file, seal
from passcurve.sandbox.command_lane import CommandLane
from passcurve.sandbox.forkserver_client import COMMAND_ROLE, EXEC_ROLE, PROGRAM_ROLE
from passcurve.sandbox.job import CommandJail, Job, Outcome, Preparation, Step
from passcurve.sandbox.memory_budget import MemoryBudget
from passcurve.sandbox.output_pipes import OutputPipes
from passcurve.sandbox.prepared import PLACE, PreparedFiles
from passcurve.sandbox.running_job import OneShotJob
from passcurve.sandbox.startup import Sandbox
from passcurve.sandbox.zygote_client import translate_os_errors


class _RunningSteps:
    """A job under way: its attempt, and the step at hand."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.attempt = 0
        self.outcomes: list[Outcome] = []
        """Of the steps of the attempt that have ended."""
        self.phase: Literal["plain", "preparing", "prepared"] = "plain"
        """How the step at hand runs."""
        self.must_be_plain = False
        """True if the step at hand has failed with what was prepared."""
        self.memory_bytes = 0
        """Memory that the step at hand may have."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of the attempt."""
        return self.job.attempts[self.attempt]

    @property
    def step(self) -> Step:
        """The step at hand."""
        return self.steps[len(self.outcomes)]

    @property
    def is_last(self) -> bool:
        """True if no step follows those that have ended."""
        return len(self.outcomes) == len(self.steps)

    def begin_next_attempt(self) -> bool:
        """Begin the next attempt; return False where there is none."""
        if self.attempt + 1 == len(self.job.attempts):
            return False
        self.attempt += 1
        self.outcomes = []
        self.must_be_plain = False
        return True

    def outcome(self) -> Outcome:
        """Return the outcome of the job: that of its last step, with all of them."""
        last = self.outcomes[-1]
        return msgspec.structs.replace(
            last,
            tag=self.job.tag,
            steps=tuple(self.outcomes),
            own_s=sum(_own_s(outcome) for outcome in self.outcomes if outcome.step == "run"),
            wall_s=sum(outcome.wall_s for outcome in self.outcomes),
            cpu_s=sum(outcome.cpu_s for outcome in self.outcomes),
            memory_bytes=max(last.memory_bytes, int((last.report or {}).get("memory_bytes", 0))),
        )


def _own_s(outcome: Outcome) -> float:
    """Return the own time of a command: when it has ended, its zygote no longer knows how long it waited."""
    report = outcome.report or {}
    if "waited_s" not in report:
        return outcome.own_s
    own_s = max(report["cpu_s"], report["wall_s"] - report["waited_s"])
    return min(outcome.own_s, float(own_s)) if outcome.own_s > 0 else float(own_s)


class CommandWorker:
    """Runs the steps of one job at a time; ``collect`` returns the outcomes of the jobs that have ended."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        sandbox: Sandbox,
        artifacts: Artifacts,
        prepared: PreparedFiles,
        budget: MemoryBudget,
    ) -> None:
        self._selector, self._sandbox = selector, sandbox
        self._artifacts, self._prepared, self._budget = artifacts, prepared, budget
        self._lanes: dict[str, CommandLane] = {}
        self._waiting: deque[Job] = deque()
        self._running: _RunningSteps | None = None
        self._artifact: BufferedIOBase | None = None
        """The file that the last step has made."""
        self._output: OutputPipes | None = None
        """What the program at hand writes, where it reports nothing."""
        self._finished: list[Outcome] = []
        self._tag = 0

    @property
    def is_idle(self) -> bool:
        """True if a job can be started."""
        return self._running is None

    @property
    def is_busy(self) -> bool:
        """True if anything is still running or being cleaned up."""
        return self._running is not None or any(lane.runner.is_ending for lane in self._lanes.values())

    def start_zygotes(self) -> None:
        """Start nothing: which jails are needed is known with the first job."""

    def start(self, *jobs: Job) -> None:
        """Start jobs, to run one after another; the worker must be idle.  Raises SandboxError without a zygote."""
        if jobs[0].fresh_zygotes:
            self.close()
        self._waiting.extend(jobs)
        self._start_job()

    def _start_job(self) -> None:
        if self._running is None and self._waiting:
            self._running = _RunningSteps(self._waiting.popleft())
            self._start_step(self._running)

    def _start_step(self, running: _RunningSteps) -> None:
        """Start the next step; one whose product is kept already is left out."""
        step = running.step
        if (kept := self._artifacts.find(step)) is not None:
            self._artifact = kept
            report = {"status": "ended", "exit": 0}
            running.outcomes.append(Outcome(tag=running.job.tag, ended="report", report=report, step=step.name))
            step = running.step
        setup, timeout_s, preparation = step.setup, step.timeout_s, step.preparation
        running.phase = "plain"
        if preparation is not None and not running.must_be_plain:
            if self._prepared.is_ready(preparation):
                running.phase, setup = "prepared", preparation.ready_setup
            elif self._prepared.begin(preparation):
                running.phase, setup, timeout_s = "preparing", preparation.setup, preparation.timeout_s
        running.memory_bytes = self._memory_bytes(step.jail)
        jail = msgspec.structs.replace(step.jail, memory_bytes=running.memory_bytes)
        if setup["keep"]:
            shared = (str(self._prepared.folder), PLACE)
            jail = msgspec.structs.replace(jail, key=f"{jail.key}, {PLACE}", shared=shared)
        self._budget.take(running.memory_bytes, partial(self._run, running.job, jail, setup, timeout_s))

    def _memory_bytes(self, jail: CommandJail) -> int:
        """Return the memory of a jail: no less than a program may have, and no more than there is for all otherwise."""
        least, total = self._sandbox.limits.memory_bytes, self._budget.total_bytes
        return max(least, jail.memory_bytes if total is None else min(jail.memory_bytes, total))

    def _run(self, job: Job, jail: CommandJail, setup: dict[str, Any], timeout_s: float) -> None:
        if jail.key not in self._lanes:
            self._lanes[jail.key] = CommandLane(jail, self._selector, self._sandbox, self._advance)
        self._tag += 1
        limits = msgspec.structs.replace(job.limits, timeout_s=timeout_s)
        inner = msgspec.structs.replace(
            job, role=COMMAND_ROLE, setup=setup, limits=limits, slice_s=timeout_s, attempts=()
        )
        with translate_os_errors():
            self._start_in(self._lanes[jail.key], inner, jail)
        self._advance()

    def _start_in(self, lane: CommandLane, inner: Job, jail: CommandJail) -> None:
        """Start a step in its lane, with files for what it makes and writes."""
        setup = inner.setup
        if not jail.is_of_samples and (setup["keep"] or self._artifact is None):
            self._drop_artifact()
            self._artifact = new_file()
        artifacts = [self._artifact] if self._artifact is not None else []
        if jail.is_of_samples or not (setup["keep"] or setup.get("fetch")):
            self._output = OutputPipes(self._selector, setup.get("head_bytes", HEAD_BYTES), fetches=jail.is_of_samples)
            role = PROGRAM_ROLE if jail.is_of_samples else EXEC_ROLE
            inner = msgspec.structs.replace(inner, role=role, is_silent=True)
            lane.start(OneShotJob(inner, self._tag, [*self._output.files, *artifacts]))
            self._output.close_files()
        else:
            lane.start(OneShotJob(inner, self._tag, artifacts))

    def _advance(self) -> None:
        """Take the outcome of a step that has ended, and start what follows."""
        for lane in list(self._lanes.values()):
            for outcome in lane.queue.collect():
                if self._running is not None:
                    self._take(self._running, outcome)

    def _take(self, running: _RunningSteps, outcome: Outcome) -> None:
        self._budget.give_back(running.memory_bytes)
        step = running.step
        if self._output is not None:
            outcome = self._output.complete(outcome)
            self._output = None
        report = outcome.report or {}
        has_worked = outcome.ended == "report" and report.get("status") == "ended" and report.get("exit") == 0
        preparation = step.preparation
        # A failure of ours says nothing about files without which the step cannot work: the job ends with it.
        is_ours = preparation is not None and preparation.is_needed and outcome.ended in ("fault", "wall")
        if preparation is not None and running.phase == "preparing" and not is_ours:
            if has_worked and self._artifact is not None:
                self._prepared.add(preparation, self._artifact)
            else:
                self._prepared.give_up(preparation)
            self._start_step(running)
            return
        if preparation is not None and running.phase == "prepared" and not (has_worked or _counts(preparation, report)):
            # What fails with prepared files must fail without them, unless the compiler reports an error in the source.
            running.must_be_plain = True
            self._start_step(running)
            return
        running.must_be_plain = False
        running.outcomes.append(msgspec.structs.replace(outcome, step=step.name))
        if has_worked and step.setup["keep"]:
            self._seal_artifact(step)
        has_worked = has_worked and (step.accepts is None or step.accepts(report))
        has_worked = has_worked or (step.goes_on and outcome.ended not in ("fault", "wall"))
        if has_worked and not running.is_last:
            self._start_step(running)
        elif not has_worked and outcome.ended != "fault" and running.begin_next_attempt():
            self._drop_artifact()
            self._start_step(running)
        else:
            self._finished.append(running.outcome())
            self._running = None
            self._drop_artifact()
            self._start_job()

    def _seal_artifact(self, step: Step) -> None:
        """Make what a step has made read-only, for good, and keep it."""
        if self._artifact is not None:
            self._artifact = seal(self._artifact)
            self._artifacts.add(step, self._artifact)

    def _drop_artifact(self) -> None:
        file, self._artifact = self._artifact, None
        if file is not None:
            self._artifacts.release(file)

    @property
    def next_tick(self) -> float | None:
        """Time at which ``tick`` is to be called, on the monotonic clock."""
        times = [lane.runner.running.clock.check_at for lane in self._lanes.values() if lane.runner.running is not None]
        return min(times, default=None)

    def tick(self, now: float) -> None:
        """Check the step under way: its time, and whether its zygote answers."""
        for lane in list(self._lanes.values()):
            lane.tick(now)

    def stop(self, tag: int) -> None:
        """End a job of which nobody wants the outcome, if its program runs; what others may use is made to its end."""
        running = self._running
        if running is None or running.job.tag != tag:
            return
        if running.step is running.steps[-1] and running.step.preparation is None:
            for lane in list(self._lanes.values()):
                lane.stop()

    def collect(self) -> list[Outcome]:
        """Return the outcomes of the jobs that have ended since the last call."""
        finished, self._finished = self._finished, []
        return finished

    @property
    def has_finished(self) -> bool:
        """True if ``collect`` has anything to return."""
        return bool(self._finished)

    def request_exit(self) -> None:
        """Have everything end, without waiting for it."""
        for lane in self._lanes.values():
            lane.request_exit()

    def close(self) -> None:
        """End all zygotes and all that is in them."""
        for lane in self._lanes.values():
            lane.close()
        if self._output is not None:
            self._output.close()
            self._output = None
        self._drop_artifact()


def _counts(preparation: Preparation, report: dict[str, Any]) -> bool:
    """Tell whether a failure with prepared files is final: the compiler has reported an error in the source."""
    if preparation.is_needed:
        return True
    has_ended = report.get("status") == "ended" and (report.get("exit") or 0) > 0
    return (
        has_ended
        and preparation.fault != ""
        and any(re.search(preparation.fault, report[stream], re.MULTILINE) for stream in ("out", "err"))
    )
