"""``bench check``: the reference solutions judged, to know in which mode each problem is and what is wrong with it."""

from __future__ import annotations

from typing import Literal

import msgspec

from passcurve.judging.calibration import Calibration, Calibrations
from passcurve.judging.plan import REFEREE_ROLE
from passcurve.judging.scheduler import Scheduler
from passcurve.sandbox.job import Job, Outcome
from passcurve.sandbox.pool import Pool
from passcurve.sandbox.startup import start_sandbox
from passcurve.types import Benchmark, Limits, Mode, Status

_TICK_S = 0.1


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What ``bench check`` found of one problem."""

    problem_id: str
    mode: Mode
    status: Status | Literal["no_reference"]
    faulty: bool
    """The benchmark is wrong here: no sample can be judged fairly."""
    note: str
    own_s: float
    calls: int


def check(
    benchmark: Benchmark,
    limits: Limits,
    workers: int,
    wanted: Literal["auto", "referee", "shared"] = "auto",
    level: Literal["auto", "full", "restricted", "none"] = "auto",
    python: str | None = None,
    packages: tuple[str, ...] = (),
) -> tuple[Checked, ...]:
    """Run every reference solution; say in which mode each problem is judged and what is wrong with it."""
    settled: dict[str, Calibration] = {}
    with (
        start_sandbox(
            limits, REFEREE_ROLE, python=python, packages=packages, optional=benchmark.packages, level=level
        ) as sandbox,
        Pool(workers, sandbox) as pool,
    ):
        scheduler: Scheduler[Job, Outcome] = Scheduler(pool)
        calibrations = Calibrations(wanted, limits, 0, scheduler)
        for problem in benchmark.problems:
            if at_once := calibrations.begin(problem):
                settled[problem.id] = at_once
        while not scheduler.is_empty:
            for outcome in scheduler.run(_TICK_S):
                if one := calibrations.take(outcome):
                    settled[one.problem.id] = one
    return tuple(_checked(settled[problem.id]) for problem in benchmark.problems)


def _checked(settled: Calibration) -> Checked:
    verdict = settled.verdict
    return Checked(
        problem_id=settled.problem.id,
        mode=settled.plan.mode,
        status=verdict.status if verdict is not None else "no_reference",
        faulty=settled.plan.fault,
        note=settled.plan.note,
        own_s=verdict.own_s if verdict is not None else 0.0,
        calls=verdict.calls if verdict is not None else 0,
    )
