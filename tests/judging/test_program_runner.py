"""Programs that run one by one in a sandbox that stays, as the server has it."""

from __future__ import annotations

import os
import resource

import msgspec
import pytest

from passcurve.errors import SandboxError
from passcurve.judging.program_runner import ProgramRunner
from passcurve.judging.scripts import make_python_step
from passcurve.sandbox.job import Job
from passcurve.types import Limits


def print_one(timeout_s: float, program: bytes = b"print(1)") -> Job:
    """Return the job of a Python program, which prints 1."""
    limits = Limits(timeout_s=timeout_s, memory_bytes=256 << 20)
    steps = ((make_python_step(program, limits),),)
    return Job(
        tag=0, role="", setup={}, referee=None, limits=limits, slice_s=timeout_s, allow_kept=False, attempts=steps
    )


def test_a_program_that_is_ended_before_it_begins() -> None:
    """One whose process dies before it has its descriptors ends like any other, and the next one runs."""
    for _ in range(2):
        runner = ProgramRunner(Limits(memory_bytes=256 << 20), 4)
        for future in [runner.submit(print_one(1e-9)) for _ in range(4)]:
            assert future.result(30).ended
        assert "1\n" == (runner.submit(print_one(10.0)).result(30).report or {})["out"]
        runner.close()


def test_no_descriptor_is_left_for_the_output_of_a_program() -> None:
    """Then the sandbox is lost, which callers are told, and they may start it again."""
    runner = ProgramRunner(Limits(memory_bytes=256 << 20), 1)
    assert runner.submit(print_one(10.0)).result(30).ended
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest_free = os.dup(0)
    os.close(lowest_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, before[1]))
    try:
        with pytest.raises(SandboxError, match="too many open files"):
            runner.submit(print_one(10.0)).result(30)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    runner.revive()
    assert "1\n" == (runner.submit(print_one(10.0)).result(30).report or {})["out"]
    runner.close()


def test_a_failure_of_ours_is_told_as_the_loss_of_the_sandbox() -> None:
    """Whatever ends what runs programs, callers get the error that they know, and may start it again."""
    runner = ProgramRunner(Limits(memory_bytes=256 << 20), 1)
    (step,) = print_one(10.0).attempts[0]
    malformed = msgspec.structs.replace(print_one(10.0), attempts=((msgspec.structs.replace(step, setup={}),),))
    with pytest.raises(SandboxError, match="the sandbox was lost: KeyError: 'keep'") as caught:
        runner.submit(malformed).result(30)
    assert isinstance(caught.value.__cause__, KeyError)
    runner.revive()
    assert "1\n" == (runner.submit(print_one(10.0)).result(30).report or {})["out"]
    runner.close()


def test_jobs_that_are_cancelled_while_the_sandbox_is_lost() -> None:
    """Every other job still ends with the error."""
    runner = ProgramRunner(Limits(memory_bytes=256 << 20), 1)
    (step,) = print_one(10.0).attempts[0]
    malformed = msgspec.structs.replace(print_one(10.0), attempts=((msgspec.structs.replace(step, setup={}),),))
    # It holds the only worker while the others are put in.
    slow = print_one(10.0, b"import time; time.sleep(0.5)")
    waiting = [runner.submit(job) for job in (slow, malformed, *[print_one(10.0)] * 2_000)][2:]
    while not waiting[0].done():
        pass
    cancelled = [future.cancel() for future in waiting]
    runner.revive()
    assert "1\n" == (runner.submit(print_one(10.0)).result(30).report or {})["out"]
    runner.close()
    for future, was_cancelled in zip(waiting, cancelled, strict=True):
        assert was_cancelled or isinstance(future.exception(0), SandboxError)
