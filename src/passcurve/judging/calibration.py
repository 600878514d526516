"""Calibration: the reference solution decides, once per problem, in which mode its samples are judged."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Literal

import msgspec

from passcurve.judging.plan import Plan, job, reference_program
from passcurve.judging.verdict import VACUOUS, judge, needs_second_run
from passcurve.sandbox.job import Job, Outcome
from passcurve.types import Limits, Problem, SampleKey, Verdict

Wanted = Literal["auto", "referee", "shared"]

_LADDER: dict[Wanted, tuple[Plan, ...]] = {
    "auto": (Plan(), Plan(write_back=True), Plan(mode="shared")),
    "referee": (Plan(), Plan(write_back=True)),
    "shared": (Plan(mode="shared"),),
}
"""Ways of checking, best first: the first one under which the reference solution passes is taken."""

_TRIES = 2
_UNSOLVED = "no reference solution to calibrate with"


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """A problem whose way of being checked is known."""

    problem: Problem
    plan: Plan
    verdict: Verdict | None
    """On the reference solution, under the plan or, where it never passes, under the first way; None without one."""


class _Climb:
    """One problem on its way down the ladder."""

    def __init__(self, problem: Problem, wanted: Wanted, program: str | None) -> None:
        self.problem = problem
        self._ladder = _LADDER[wanted]
        self._step = 0
        self._first: Verdict | None = None
        self._passed: Verdict | None = None
        self._unsolved = program is None
        # Nobody counts calls in shared mode, so a program that can only raise must not pass.
        self._raising = f"def {problem.entry_point}(*_, **__):\n    raise NotImplementedError\n"
        self.program = program or self._raising

    @property
    def trial(self) -> Plan:
        """The way under trial."""
        return self._ladder[self._step]

    def take(self, verdict: Verdict) -> Settled | None:
        """Return what is settled, or None when there is one more trial to make."""
        trial = self.trial
        if self._passed is not None or self._unsolved:
            return self._vacuous(verdict) if verdict.passed else self._settled(trial, self._passed)
        if verdict.passed:
            if trial.mode == "shared":
                self._passed = verdict
                self.program = self._raising
                return None
            return self._settled(trial, verdict)
        self._first = self._first or verdict
        if verdict.status in ("failed", "compile", "output", "memory") and self._step + 1 < len(self._ladder):
            self._step += 1
            return None
        # A reference that hangs or breaks says nothing about the mode: it is an error to be shown.
        note = f"the reference solution does not pass: {self._first.status} ({self._first.message})"
        plan = Plan(mode=self._ladder[0].mode, fault=True, note=note)
        return Settled(problem=self.problem, plan=plan, verdict=self._first)

    def _settled(self, trial: Plan, verdict: Verdict | None) -> Settled:
        note = _UNSOLVED if self._unsolved else ""
        if trial.write_back:
            note = "what samples do to their arguments is handed back to the tests"
        elif self._first is not None:
            note = f"judged in shared mode: apart from the tests the reference solution {_said(self._first)}"
        return Settled(problem=self.problem, plan=msgspec.structs.replace(trial, note=note), verdict=verdict)

    def _vacuous(self, verdict: Verdict) -> Settled:
        plan = Plan(mode=self._ladder[0].mode, fault=True, note=VACUOUS)
        return Settled(problem=self.problem, plan=plan, verdict=verdict)


def _said(verdict: Verdict) -> str:
    return f"{verdict.status} ({verdict.message})" if verdict.status != "failed" else f"failed ({verdict.message})"


class Calibrations:
    """The problems under calibration; jobs go out by ``put`` and ``put_last``, outcomes come back by ``take``."""

    def __init__(
        self,
        wanted: Wanted,
        limits: Limits,
        seed: int,
        put: Callable[[Job], None],
        put_last: Callable[[Job], None],
    ) -> None:
        self._wanted, self._limits, self._seed = wanted, limits, seed
        self._put, self._put_last = put, put_last
        self._climbs: dict[int, tuple[_Climb, Job]] = {}
        self._tag = 0

    def begin(self, problem: Problem) -> Settled | None:
        """Start on a problem; one without a reference solution is settled at once, unless it is for shared mode."""
        program = reference_program(problem)
        if program is None and self._wanted != "shared":
            plan = Plan(mode=_LADDER[self._wanted][0].mode, note=_UNSOLVED)
            return Settled(problem=problem, plan=plan, verdict=None)
        self._try(_Climb(problem, self._wanted, program))
        return None

    def owns(self, outcome: Outcome) -> bool:
        """Whether an outcome is of one of our jobs: their tags are below zero."""
        return outcome.tag < 0

    def take(self, outcome: Outcome) -> Settled | None:
        """Take an outcome; return what it settles, if anything."""
        climb, last = self._climbs.pop(outcome.tag)
        if needs_second_run(outcome) and last.tries < _TRIES - 1:
            again = msgspec.structs.replace(last, reuse=False, fresh=True, tries=last.tries + 1)
            self._climbs[again.tag] = (climb, again)
            self._put_last(again)
            return None
        key = SampleKey(problem_id=climb.problem.id, sample_index=0)
        settled = climb.take(judge(key, last, outcome, climb.trial.mode))
        if settled is not None and last.record:
            settled = _with_calls(settled, outcome)
        if settled is None:
            self._try(climb)
        return settled

    def _try(self, climb: _Climb) -> None:
        self._tag -= 1
        # What is handed back after a call must be seen by the tests before the next one.
        record = climb.trial.mode == "referee" and not climb.trial.write_back
        trial = job(
            climb.problem,
            climb.program,
            climb.trial,
            self._limits,
            self._seed,
            self._tag,
            record=record,
        )
        self._climbs[trial.tag] = (climb, trial)
        self._put(trial)


def _with_calls(settled: Settled, outcome: Outcome) -> Settled:
    """Return the same with the calls that were recorded, if any."""
    try:
        calls, asked = (
            base64.b64decode((outcome.report or {}).get(name, ""), validate=True) for name in ("recorded", "asked")
        )
    except (TypeError, ValueError):
        return settled
    if settled.plan.fault or not calls:
        return settled
    whole = bool((outcome.report or {}).get("whole"))
    plan = msgspec.structs.replace(settled.plan, calls=calls, asked=asked, whole=whole)
    return msgspec.structs.replace(settled, plan=plan)
