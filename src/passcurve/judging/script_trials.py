"""Trials of a problem whose tests are in the language of the program: its reference solution, twice where it fails."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from passcurve.bench.languages import find_language
from passcurve.judging.case_trials import Calibration
from passcurve.judging.plan import CheckPlan
from passcurve.judging.script_forms import find_data_tests
from passcurve.judging.verdict import describe_failure, describe_verdict
from passcurve.sandbox.job import Outcome
from passcurve.types import Problem, Script, Verdict

SHARED, REFEREE = CheckPlan(mode="shared"), CheckPlan(mode="referee")


def script_plans(check: Script, mode: Literal["auto", "referee", "shared"]) -> tuple[CheckPlan, ...]:
    """Return the plans by which programs can be judged, best first; none where the mode allows none of them."""
    can_be_apart = mode != "shared" and find_data_tests(check) is not None
    return (*((REFEREE,) if can_be_apart else ()), *((SHARED,) if mode != "referee" else ()))


class ScriptTrials:
    """The trials of one problem: each plan is tried twice, and the first under which the reference passes is used."""

    def __init__(self, problem: Problem, program: str, plans: tuple[CheckPlan, ...]) -> None:
        self.problem = problem
        self.program = program
        self.is_unstable = False
        """The reference solution has failed and passed under one plan."""
        self._plans = plans
        self._number = 0
        self._failure: Verdict | None = None
        """The first failure under the plan at hand."""
        self._referee_failure: Verdict | None = None
        """The last failure in referee mode, where shared mode is tried after it."""
        self._has_void = False

    @property
    def is_sure(self) -> bool:
        """True if another run would find the same plan: no better one was given up for a failure of ours."""
        return not self.is_unstable and not (self._number and self._has_void)

    @property
    def plan(self) -> CheckPlan:
        """The plan under trial."""
        return self._plans[self._number]

    def take(self, verdict: Verdict, _: Outcome) -> Calibration | None:
        """Take the verdict of a trial; return the calibration, or None when another trial must follow."""
        failure = self._failure
        self._has_void |= verdict.status == "void"
        if verdict.passed:
            self.is_unstable = failure is not None and failure.status != "void"
            return self._calibrate(verdict, self._note(failure))
        if failure is None and verdict.status != "compile":
            self._failure = verdict
            return None
        if verdict.status == "void":
            return self._calibrate(verdict, f"the reference solution could not be judged: {verdict.message}")
        if self._number + 1 < len(self._plans):
            self._number += 1
            self._failure, self._referee_failure = None, verdict
            return None
        plan = _missing_library(self.problem, verdict) or CheckPlan(
            mode=self.plan.mode,
            fault="reference",
            note=f"the reference solution does not pass: {describe_failure(verdict)}",
        )
        return Calibration(problem=self.problem, plan=plan, verdict=verdict)

    def _note(self, failure: Verdict | None) -> str:
        if failure is not None and self.is_unstable:
            return f"the reference solution is unstable: {describe_verdict(failure)}"
        if self._referee_failure is None:
            return ""
        reason = f"in referee mode the reference solution does not pass: {describe_verdict(self._referee_failure)}"
        return f"judged in shared mode: {reason}"

    def _calibrate(self, verdict: Verdict, note: str) -> Calibration:
        plan = msgspec.structs.replace(self.plan, note=note)
        return Calibration(problem=self.problem, plan=plan, verdict=verdict)


def _missing_library(problem: Problem, verdict: Verdict) -> CheckPlan | None:
    """Return the plan of a problem whose reference solution needs a library that is not there; None for any other."""
    if not isinstance(problem.check, Script):
        return None
    language = find_language(problem.check.language)
    match = re.search(language.missing, verdict.message) if language.missing else None
    if match is None:
        return None
    remedy = f" (apt install {' '.join(language.libraries)})" if language.libraries else ""
    return CheckPlan(mode="shared", fault="package", note=f"it needs {match[1]!r}, which is not installed here{remedy}")
