"""Programs of the tests in the real jail: one pool at one level, one program after another, each answer by value."""

from __future__ import annotations

import ast
import functools
import itertools
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import msgspec
import pytest

from passcurve.errors import IsolationError
from passcurve.judging.plan import CheckPlan, make_job
from passcurve.judging.verdict import reach_verdict
from passcurve.sandbox import probe as isolation
from passcurve.sandbox import toolchain as tools
from passcurve.sandbox.forkserver_client import PYTHON_ROLES, ForkServerClient
from passcurve.sandbox.job import Job, Outcome, Step
from passcurve.sandbox.pool import Pool
from passcurve.sandbox.spare_zygote import SpareZygote
from passcurve.sandbox.startup import Sandbox
from passcurve.sandbox.zygote_client import Side, ZygoteClient
from passcurve.types import FunctionTests, Limits, Problem, SampleKey, Verdict

MIB = 1 << 20
LIMITS = Limits(
    timeout_s=20.0,
    memory_bytes=1024 * MIB,
    scratch_bytes=8 * MIB,
    scratch_files=256,
    output_bytes=4 * MIB,
)
PATIENCE_S = 120.0
SHOW = "def check(candidate):\n    raise RuntimeError(repr(candidate()))\n"
"""Tests that only tell what the program returned."""

ONE = "def f(*_):\n    return 1\n"
IS_ONE = "def check(candidate):\n    assert candidate() == 1\n"


@functools.cache
def find_isolation(
    level: str,
    limits: Limits = LIMITS,
    packages: tuple[str, ...] = ("numpy",),
    python: str | None = None,
    reuse: str = "auto",
) -> tuple[tools.Toolchain, isolation.Probe]:
    """Return interpreter and isolation, tried once.  Raises IsolationError where there is none at that level."""
    toolchain = tools.find_toolchain(python, (), packages)
    return toolchain, isolation.find_isolation(level, toolchain, limits, reuse=reuse)


def zygotes(pool: Pool) -> dict[Side, ZygoteClient]:
    """Return the zygotes of a pool of one worker: the only place in which tests look inside of a pool."""
    (worker,) = pool.workers
    return dict(worker.zygotes.clients)


def ready_zygotes(pool: Pool) -> dict[Side, ZygoteClient]:
    """Return those whose walls stand: none while they are started anew."""
    (worker,) = pool.workers
    return zygotes(pool) if worker.zygotes.is_ready else {}


def zygote_folders(pool: Pool) -> list[Path]:
    """Return the folders that the zygotes of a pool of one worker have on the host."""
    return [zygote.folder.path for zygote in zygotes(pool).values() if zygote.folder]


class Jailed:
    """A pool of one worker behind real walls.  Use it as a context manager."""

    def __init__(
        self,
        level: str,
        limits: Limits = LIMITS,
        packages: tuple[str, ...] = ("numpy",),
        python: str | None = None,
        reuse: str = "auto",
    ) -> None:
        """``reuse``: 'rewind' demands that processes can be put back after each job, 'fork' makes new ones for each."""
        self.level = level
        self.limits = limits
        toolchain, self.probe = find_isolation(level, limits, packages, python, reuse)
        self._open_pool(toolchain)

    def _open_pool(self, toolchain: tools.Toolchain) -> None:
        self.sandbox = Sandbox(
            toolchain=toolchain,
            fork_server=ForkServerClient(toolchain.executable, PYTHON_ROLES),
            spare=SpareZygote(),
            probe=self.probe,
            limits=self.limits,
        )
        self.pool = Pool(1, self.sandbox)
        self.tags = itertools.count(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        folders = zygote_folders(self.pool)
        try:
            self.pool.close()
        finally:
            # When closing itself is what breaks, the other tests shall not see what it left.
            self.sandbox.fork_server.close()
            for folder in folders:
                if folder.exists():
                    subprocess.run(["rm", "-rf", folder], check=False)

    def job(
        self,
        program: str,
        test: str = SHOW,
        *,
        prompt: str = "",
        name: str = "f",
        plan: CheckPlan = CheckPlan(),  # noqa: B008 - frozen
        limits: Limits | None = None,
        problem_id: str = "",
        allow_kept: bool = True,
    ) -> Job:
        """Return the job that checks a program; ``allow_kept``: it may run in kept processes."""
        problem = Problem(
            id=problem_id or f"T/{hash((test, prompt, name))}",
            prompt=prompt,
            entry_point=name,
            check=FunctionTests(source=test),
        )
        wanted = make_job(problem, program, plan, limits or self.limits, 0, next(self.tags))
        return msgspec.structs.replace(wanted, allow_kept=wanted.allow_kept and allow_kept)

    def run(self, wanted: Job) -> Outcome:
        """Run a job to its end."""
        self.pool.start(0, wanted)
        return self.end()

    def end(self) -> Outcome:
        """Wait for the end of the job that was started."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            if outcomes := self.pool.wait(1.0):
                (outcome,) = outcomes
                return outcome
        raise AssertionError("the job never ended")

    def check(self, program: str, test: str, **options: Any) -> Verdict:
        """Return the verdict on a program."""
        wanted = self.job(program, test, **options)
        return reach_verdict(SampleKey(problem_id="T", sample_index=0), wanted, self.run(wanted))

    def value(self, program: str, **options: Any) -> Any:
        """Return what ``f()`` of a program returns; the answer is given as its repr, which must be short."""
        outcome = self.run(self.job(program, SHOW, **options))
        report = outcome.report or {}
        assert report.get("test_line"), outcome
        assert not report["from_sample"], outcome
        return ast.literal_eval(report["message"].removeprefix("RuntimeError: "))


def jail_at(level: str, **options: Any) -> Jailed:
    """Return a jail, or skip with the reason why this machine has none at that level."""
    try:
        return Jailed(level, **options)
    except IsolationError as error:
        pytest.skip(str(error))


def has_level(level: str) -> bool:
    """Tell whether this machine has a jail at that level."""
    try:
        find_isolation(level)
    except IsolationError:
        return False
    return True


def need(level: str) -> None:
    """Skip with the reason why this machine has no jail at that level, where it has none."""
    try:
        find_isolation(level)
    except IsolationError as error:
        pytest.skip(str(error))


@dataclass(frozen=True)
class Process:
    """One process of this machine, told apart from a later one with its number."""

    pid: int
    parent: int
    started: str

    @property
    def alive(self) -> bool:
        """Whether it is still there, and more than an entry that waits to be reaped."""
        return read_process(self.pid) == self


def read_process(pid: int) -> Process | None:
    """Return the process of that number, unless it is a zombie or there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else Process(pid, int(fields[1]), fields[19])


def census() -> list[Process]:
    """Return every process that is not a zombie."""
    everyone = (read_process(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdecimal())
    return [process for process in everyone if process is not None]


def descendants(pid: int) -> list[Process]:
    """Return all processes below one, nearest first."""
    everyone = census()
    family, below = {pid}, []
    while children := [one for one in everyone if one.parent in family and one.pid not in family]:
        below += children
        family |= {one.pid for one in children}
    return below


def command_job(tag: int, limits: Limits, *attempts: tuple[Step, ...]) -> Job:
    """Return a job of commands: the steps of its first attempt, and of those that may follow."""
    return Job(tag=tag, role="", setup={}, referee=None, limits=limits, slice_s=limits.timeout_s, attempts=attempts)


def until(wanted: Any, what: str, at_most_s: float = 20.0) -> Any:
    """Return what ``wanted()`` returns as soon as it is true."""
    end = time.monotonic() + at_most_s
    while time.monotonic() < end:
        if answer := wanted():
            return answer
        time.sleep(0.005)
    raise AssertionError(f"never came: {what}")


def zygote_of(process: int) -> int:
    """Return the number of the zygote, given that of the process that was started: its child where there is one."""
    children = [child.pid for child in census() if child.parent == process]
    return children[0] if children else process
