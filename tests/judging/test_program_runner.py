"""Programs that run one by one in a sandbox that stays, as the server has it."""

from __future__ import annotations

from passcurve.judging.program_runner import ProgramRunner
from passcurve.judging.scripts import make_python_step
from passcurve.sandbox.job import Job
from passcurve.types import Limits


def print_one(timeout_s: float) -> Job:
    """Return the job of a Python program that prints 1."""
    limits = Limits(timeout_s=timeout_s, memory_bytes=256 << 20)
    steps = ((make_python_step(b"print(1)", limits),),)
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
