"""A worker for commands: a zygote for each jail that its jobs need, and the steps of one job after another."""

from __future__ import annotations

import fcntl
import os
import selectors
from collections import deque
from collections.abc import Callable
from functools import partial
from io import BufferedIOBase
from typing import Any, Literal, cast

import msgspec

from passcurve.sandbox.artifacts import Artifacts
from passcurve.sandbox.connection import Connection, unwatch
from passcurve.sandbox.forkserver_client import COMMAND_ROLE, KilledError
from passcurve.sandbox.job import CommandJail, Job, Outcome, Step
from passcurve.sandbox.oneshot_runner import OneShotRunner
from passcurve.sandbox.pool_cache import PoolCache
from passcurve.sandbox.prepared import PLACE, PreparedFiles
from passcurve.sandbox.running_job import OneShotJob
from passcurve.sandbox.startup import Sandbox
from passcurve.sandbox.work_queue import WorkQueue
from passcurve.sandbox.zygote_client import Side, ZygoteClient, ZygoteLostError, translate_os_errors

_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL


class _Lane:
    """One jail of commands: its zygote, and what runs in it.  ``close`` ends it; it starts again when it is needed."""

    def __init__(
        self,
        jail: CommandJail,
        selector: selectors.BaseSelector,
        sandbox: Sandbox,
        wake: Callable[[], None],
    ) -> None:
        self._selector, self._sandbox = selector, sandbox
        self._settings = msgspec.structs.replace(sandbox.zygote_settings, commands=jail, rewinds=False)
        self._wake = wake
        self._client: ZygoteClient | None = None
        self.queue = WorkQueue()
        self.runner = OneShotRunner(self, self._connect, PoolCache(), self.queue)

    def __getitem__(self, side: Side) -> ZygoteClient:
        """Return the client of the zygote; raises ZygoteLostError when there is none."""
        if self._client is None or side != "jail":
            raise ZygoteLostError("the jail's zygote ended")
        return self._client

    def start(self, running: OneShotJob) -> None:
        """Start a step.  Raises SandboxError when there is no zygote to be had."""
        if self._client is None:
            self._start_zygote()
        try:
            with translate_os_errors():
                self.runner.start(running)
        except ZygoteLostError as error:
            self.abandon(str(error))

    def _start_zygote(self) -> None:
        for attempt in range(2):
            client = ZygoteClient("jail", self._sandbox.fork_servers.samples, self._settings, None)
            try:
                client.wait_ready()
            except KilledError:
                client.close()
                if attempt:
                    raise
                continue
            except BaseException:
                client.close()
                raise
            self._client = client
            self._selector.register(client.connection, selectors.EVENT_READ, partial(self._handle, self._receive))
            return

    def _connect(self, receive: Callable[[int], None]) -> Connection:
        return Connection(self._selector, partial(self._handle, receive))

    def _handle(self, receive: Callable[[int], None], events: int) -> None:
        try:
            receive(events)
        except ZygoteLostError as error:
            self.abandon(str(error))
        self._wake()

    def _receive(self, _: int) -> None:
        for record in self["jail"].read():
            if "exit" in record:
                self.runner.take_exit("jail", record)
            elif "clock" in record:
                self.runner.take_clock("jail", record)
            else:
                raise ZygoteLostError(f"the jail's zygote gave up: {str(record.get('failed'))[:200]}")

    def tick(self, now: float) -> None:
        """Check the step under way."""
        try:
            self.runner.tick(now)
        except ZygoteLostError as error:
            self.abandon(str(error))
        self._wake()

    def abandon(self, reason: str) -> None:
        """Give up what runs, as a fault of ours, and end the zygote."""
        self.runner.abandon(reason)
        self.close()

    def close(self) -> None:
        """End the zygote and all that is in it."""
        self.runner.close()
        client, self._client = self._client, None
        if client is not None:
            unwatch(self._selector, client.connection)
            client.close()


class CommandWorker:
    """Runs the steps of one job at a time; ``collect`` returns the outcomes of those that have ended."""

    def __init__(
        self, selector: selectors.BaseSelector, sandbox: Sandbox, artifacts: Artifacts, prepared: PreparedFiles
    ) -> None:
        self._selector, self._sandbox = selector, sandbox
        self._artifacts, self._prepared = artifacts, prepared
        self._lanes: dict[str, _Lane] = {}
        self._waiting: deque[Job] = deque()
        self._job: Job | None = None
        self._attempt = 0
        self._outcomes: list[Outcome] = []
        """Of the steps of the attempt at hand."""
        self._artifact: BufferedIOBase | None = None
        """The file that the last step has made."""
        self._phase: Literal["plain", "preparing", "prepared"] = "plain"
        """How the step at hand runs."""
        self._must_be_plain = False
        """True if the step at hand has failed with what was prepared."""
        self._finished: list[Outcome] = []
        self._tag = 0

    @property
    def is_idle(self) -> bool:
        """True if a job can be started."""
        return self._job is None

    @property
    def is_busy(self) -> bool:
        """True if anything is still running or being cleaned up."""
        return self._job is not None or any(lane.runner.is_ending for lane in self._lanes.values())

    def start_zygotes(self) -> None:
        """Start nothing: which jails are needed is known with the first job."""

    def start(self, *jobs: Job) -> None:
        """Start jobs, to run one after another; the worker must be idle.  Raises SandboxError without a zygote."""
        if jobs[0].fresh_zygotes:
            self.close()
        self._waiting.extend(jobs)
        self._start_job()

    def _start_job(self) -> None:
        if self._job is None and self._waiting:
            self._job, self._attempt = self._waiting.popleft(), 0
            self._begin_attempt()

    def _begin_attempt(self) -> None:
        self._outcomes, self._must_be_plain = [], False
        self._drop_artifact()
        self._start_step()

    def _steps(self) -> tuple[Step, ...]:
        return self._job.attempts[self._attempt] if self._job is not None else ()

    def _start_step(self) -> None:
        """Start the next step; one whose product is kept already is left out."""
        job, steps = self._job, self._steps()
        if job is None:
            return
        step = steps[len(self._outcomes)]
        if step.makes and (kept := self._artifacts.find(step.makes)) is not None:
            self._artifact = kept
            report = {"status": "ended", "exit": 0}
            self._outcomes.append(Outcome(tag=job.tag, ended="report", report=report, step="compile"))
            step = steps[len(self._outcomes)]
        setup, timeout_s = step.setup, step.timeout_s
        self._phase = "plain"
        if step.preparation is not None and not self._must_be_plain:
            if self._prepared.is_ready(step.preparation):
                self._phase, setup = "prepared", step.preparation.ready_setup
            elif self._prepared.begin(step.preparation):
                self._phase, setup, timeout_s = "preparing", step.preparation.setup, step.preparation.timeout_s
        self._run(job, step.jail, setup, timeout_s)

    def _run(self, job: Job, jail: CommandJail, setup: dict[str, Any], timeout_s: float) -> None:
        if jail.key not in self._lanes:
            jail = msgspec.structs.replace(jail, shared=(str(self._prepared.folder), PLACE))
            self._lanes[jail.key] = _Lane(jail, self._selector, self._sandbox, self._advance)
        self._tag += 1
        if setup["keep"] or self._artifact is None:
            self._drop_artifact()
            self._artifact = _new_file()
        limits = msgspec.structs.replace(job.limits, timeout_s=timeout_s)
        inner = msgspec.structs.replace(
            job, role=COMMAND_ROLE, setup=setup, limits=limits, slice_s=timeout_s, attempts=()
        )
        self._lanes[jail.key].start(OneShotJob(inner, self._tag, [self._artifact]))
        self._advance()

    def _advance(self) -> None:
        """Take the outcome of a step that has ended, and start what follows."""
        for lane in list(self._lanes.values()):
            for outcome in lane.queue.collect():
                self._take(outcome)

    def _take(self, outcome: Outcome) -> None:
        job, steps = self._job, self._steps()
        if job is None:
            return
        step = steps[len(self._outcomes)]
        report = outcome.report or {}
        has_worked = outcome.ended == "report" and report.get("status") == "ended" and report.get("exit") == 0
        if self._phase != "plain" and not (has_worked and self._phase == "prepared"):
            if has_worked and step.preparation is not None and self._artifact is not None:
                self._prepared.add(step.preparation, self._artifact)
            # What fails with prepared files must fail without them to count.
            self._must_be_plain = self._phase == "prepared"
            self._start_step()
            return
        self._must_be_plain = False
        self._outcomes.append(msgspec.structs.replace(outcome, step=step.name))
        if has_worked and step.setup["keep"]:
            self._seal_artifact(step)
        if has_worked and len(self._outcomes) < len(steps):
            self._start_step()
        elif not has_worked and self._attempt + 1 < len(job.attempts) and outcome.ended != "fault":
            self._attempt += 1
            self._begin_attempt()
        else:
            self._finish(job)

    def _finish(self, job: Job) -> None:
        last = self._outcomes[-1]
        self._finished.append(
            msgspec.structs.replace(
                last,
                tag=job.tag,
                steps=tuple(self._outcomes),
                own_s=sum(outcome.own_s for outcome in self._outcomes if outcome.step == "run"),
                wall_s=sum(outcome.wall_s for outcome in self._outcomes),
                cpu_s=sum(outcome.cpu_s for outcome in self._outcomes),
                memory_bytes=max(last.memory_bytes, int((last.report or {}).get("memory_bytes", 0))),
            )
        )
        self._job = None
        self._drop_artifact()
        self._start_job()

    def _seal_artifact(self, step: Step) -> None:
        """Make what a step has made read-only, for good, and keep it."""
        file = self._artifact
        if file is None:
            return
        fcntl.fcntl(
            file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
        )
        # The kernel runs no file that somebody may write to.
        sealed = open(f"/proc/self/fd/{file.fileno()}", "rb", buffering=0)  # noqa: SIM115
        file.close()
        self._artifact = cast("BufferedIOBase", sealed)
        if step.makes:
            self._artifacts.add(step.makes, self._artifact)

    def _drop_artifact(self) -> None:
        file, self._artifact = self._artifact, None
        if file is not None and not self._artifacts.owns(file):
            file.close()

    @property
    def next_tick(self) -> float | None:
        """Time at which ``tick`` is to be called, on the monotonic clock."""
        times = [lane.runner.running.clock.check_at for lane in self._lanes.values() if lane.runner.running is not None]
        return min(times, default=None)

    def tick(self, now: float) -> None:
        """Check the step under way: its time, and whether its zygote answers."""
        for lane in list(self._lanes.values()):
            lane.tick(now)

    def collect(self) -> list[Outcome]:
        """Return the outcomes of the jobs that have ended since the last call."""
        finished, self._finished = self._finished, []
        return finished

    @property
    def has_finished(self) -> bool:
        """True if ``collect`` has anything to return."""
        return bool(self._finished)

    def close(self) -> None:
        """End all zygotes and all that is in them."""
        for lane in self._lanes.values():
            lane.close()
        self._drop_artifact()


def _new_file() -> BufferedIOBase:
    """Return an empty file in memory that can be sealed."""
    descriptor = os.memfd_create("program", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    return cast("BufferedIOBase", open(descriptor, "w+b", buffering=0))
