"""``bench check``: judge the reference solutions to find the mode and the faults of each problem."""

from __future__ import annotations

from typing import Literal

import msgspec

from passcurve.judging.attempts import is_long
from passcurve.judging.calibration import Calibrations
from passcurve.judging.case_trials import Calibration
from passcurve.judging.jail_needs import needs_processes, preload_modules
from passcurve.judging.plan import Fault
from passcurve.judging.scheduler import Scheduler
from passcurve.judging.scripts import needs_commands
from passcurve.sandbox.job import Job, Outcome
from passcurve.sandbox.pool import Pool
from passcurve.sandbox.startup import start_sandbox
from passcurve.types import Benchmark, Limits, Mode, Status

_TICK_S = 0.1


class CheckedProblem(msgspec.Struct, frozen=True, kw_only=True):
    """The mode and the faults of one problem."""

    problem_id: str
    mode: Mode
    status: Status | Literal["no_reference"]
    faulty: bool
    """The benchmark is wrong here: no sample can be judged fairly."""
    kind: Fault | None
    """What is at fault; None where nothing is."""
    note: str
    own_s: float
    calls: int


def check_benchmark(
    benchmark: Benchmark,
    limits: Limits,
    workers: int,
    python: str | None = None,
    packages: tuple[str, ...] = (),
) -> tuple[CheckedProblem, ...]:
    """Judge every reference solution, and return the mode and the faults of each problem."""
    calibrated: dict[str, Calibration] = {}
    with (
        start_sandbox(
            limits,
            python=python,
            packages=packages,
            optional=benchmark.packages,
            preload=preload_modules(benchmark.problems),
            processes=needs_processes(benchmark.problems),
            commands=needs_commands(benchmark.problems),
        ) as sandbox,
        Pool(workers, sandbox) as pool,
    ):
        scheduler: Scheduler[Job, Outcome] = Scheduler(pool, goes_alone=is_long)
        calibrations = Calibrations("auto", limits, 0, scheduler, modules=pool.modules)
        for problem in benchmark.problems:
            if calibration := calibrations.begin(problem):
                calibrated[problem.id] = calibration
        while not scheduler.is_empty:
            for outcome in scheduler.run(_TICK_S):
                if calibration := calibrations.take(outcome):
                    calibrated[calibration.problem.id] = calibration
    return tuple(_describe(calibrated[problem.id]) for problem in benchmark.problems)


def _describe(calibration: Calibration) -> CheckedProblem:
    verdict = calibration.verdict
    return CheckedProblem(
        problem_id=calibration.problem.id,
        mode=calibration.plan.mode,
        status=verdict.status if verdict is not None else "no_reference",
        faulty=calibration.plan.fault is not None,
        kind=calibration.plan.fault,
        note=calibration.plan.note,
        own_s=verdict.own_s if verdict is not None else 0.0,
        calls=verdict.calls if verdict is not None else 0,
    )
