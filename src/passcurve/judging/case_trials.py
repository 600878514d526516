"""Trials of a problem whose tests are data: its reference solution computes the results, and is judged by them."""

from __future__ import annotations

import base64

import msgspec

from passcurve.harness.cases import pack_calls, split_results
from passcurve.harness.packed_results import pack
from passcurve.judging.plan import CheckPlan, Fault
from passcurve.judging.verdict import VACUOUS, describe_failure
from passcurve.judging.wrong_programs import WrongPrograms
from passcurve.sandbox.job import Outcome
from passcurve.types import Cases, Problem, Verdict, unpack_values

_MAX_S = 3600.0


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """The plan by which the samples of a problem are checked."""

    problem: Problem
    plan: CheckPlan
    verdict: Verdict | None
    """Verdict on the reference solution under the plan, or under the first plan where it never passes; None where no
    trial was made in this run."""


class CaseTrials:
    """The trials of a problem: its results unless they are given, its reference, and a program that only raises."""

    is_sure = True
    """A reference that fails is not tried again: there is one way only to judge it."""

    def __init__(self, problem: Problem, check: Cases, program: str) -> None:
        self._problem = problem
        # A reference meets its own results, whose order is that of this process.
        rule = "equal" if check.comparator == "hash-order" else check.comparator
        self.problem = msgspec.structs.replace(problem, check=msgspec.structs.replace(check, comparator=rule))
        """The problem as its reference is judged."""
        self._check = check
        self._whole_plan = plan_cases(check)
        self.program = program
        self._wrong_programs = WrongPrograms(problem.entry_point)
        self._verdict: Verdict | None = None
        """The verdict on the reference solution by its results."""
        self._others = [problem.prompt + text + problem.suffix for text in problem.other_references]
        self._first_failure: Verdict | None = None
        """The verdict on the first reference solution, where others are tried."""

    @property
    def records(self) -> bool:
        """True for the trial that reports the results."""
        return not self._whole_plan.expected

    @property
    def plan(self) -> CheckPlan:
        """The plan of the next trial: the one that reports the results makes call by call, for the time of each."""
        return msgspec.structs.replace(self._whole_plan, calls=b"") if self.records else self._whole_plan

    def take(self, verdict: Verdict, outcome: Outcome) -> Calibration | None:
        """Take the verdict of a trial; return the calibration, or None when another trial must follow."""
        if self._verdict is not None:
            is_vacuous = self._wrong_programs.take(passed=verdict.passed)
            self.program = self._wrong_programs.program
            if is_vacuous is None:
                return None
            return self._end(self._faulty("tests", VACUOUS) if is_vacuous else self._whole_plan, self._verdict)
        if not verdict.passed and self._others:
            self._first_failure = self._first_failure or verdict
            self.program = self._others.pop(0)
            return None
        if not verdict.passed:
            first = self._first_failure or verdict
            return self._end(self._explain(first), first)
        if self.records:
            report = outcome.report or {}
            results, stripped = _from_base64(report.get("results")), _from_base64(report.get("stripped"))
            size = report.get("read")
            if not results or type(size) is not int:
                return self._end(self._faulty("reference", "its results could not be read"), verdict)
            slow = _slow_tests(self._check, report.get("slow"))
            self._whole_plan = msgspec.structs.replace(
                _with_results(self._whole_plan, results, stripped), answer_bytes=size, slow_tests=slow
            )
            return None
        self._verdict, self.program = verdict, self._wrong_programs.program
        self._whole_plan = msgspec.structs.replace(self._whole_plan, known_report=outcome.known_report)
        # That its tests pass wrong programs is then the rule of a harness, which is followed.
        return self._end(self._whole_plan, verdict) if self._check.comparator == "anything" else None

    def _end(self, plan: CheckPlan, verdict: Verdict) -> Calibration:
        return Calibration(problem=self._problem, plan=plan, verdict=verdict)

    def _explain(self, verdict: Verdict) -> CheckPlan:
        if verdict.status != "void":
            count = len(self._problem.other_references) + 1
            what = (
                "the reference solution does not pass" if count == 1 else f"none of {count} reference solutions passes"
            )
            return self._faulty("reference", f"{what}: {describe_failure(verdict)}")
        note = f"the reference solution could not be judged: {verdict.message}"
        return self._faulty("reference", note) if self.records else msgspec.structs.replace(self.plan, note=note)

    def _faulty(self, fault: Fault, note: str) -> CheckPlan:
        """Return the plan of an excluded problem, whose samples are judged all the same where results are known."""
        return msgspec.structs.replace(self._whole_plan, fault=fault, note=note)


def plan_cases(check: Cases) -> CheckPlan:
    """Return the plan of tests that are data, as far as no trial is needed: their calls depend on no result."""
    values = unpack_values(check.expected) if check.expected else []
    plan = CheckPlan(
        calls=pack_calls(unpack_values(check.inputs)),
        answer_bytes=sum(len(value) for value in values if isinstance(value, str)),
        test_s=check.timeout_s,
    )
    return _with_results(plan, *split_results(list(map(pack, values)))) if values else plan


def _with_results(plan: CheckPlan, results: bytes, stripped: bytes) -> CheckPlan:
    return msgspec.structs.replace(plan, expected=stripped or results, whole=results if stripped else b"")


def _slow_tests(check: Cases, slow: object) -> dict[int, float]:
    """Return the time limits of the tests for which the reference took so long that they need longer ones.

    A limit is doubled until it is long enough, so that it seldom depends on how fast the reference was today.
    """
    limits: dict[int, float] = {}
    for number, seconds in msgspec.convert(slow or [], list[tuple[int, float]]):
        limit_s = check.timeout_s
        while limit_s is not None and limit_s < check.reference_factor * min(seconds, _MAX_S):
            limit_s *= 2
            limits[number] = limit_s
    return limits


def _from_base64(text: object) -> bytes:
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except ValueError:
        return b""
