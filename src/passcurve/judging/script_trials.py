"""Trials of a problem whose tests are in the language of the program: its reference solution, twice where it fails."""

from __future__ import annotations

import re

from passcurve.bench.languages import find_language
from passcurve.judging.case_trials import Calibration
from passcurve.judging.plan import CheckPlan
from passcurve.sandbox.job import Outcome
from passcurve.types import Problem, Script, Verdict


class ScriptTrials:
    """The trials of one problem."""

    records = False
    """Nothing but the verdict is of use."""
    plan = CheckPlan(mode="shared")

    def __init__(self, problem: Problem, program: str) -> None:
        self.problem = problem
        self.program = program
        self.is_unstable = False
        """The reference solution has failed and passed."""
        self._failure: Verdict | None = None

    def take(self, verdict: Verdict, _: Outcome) -> Calibration | None:
        """Take the verdict of a trial; return the calibration, or None when another trial must follow."""
        failure = self._failure
        if verdict.passed:
            self.is_unstable = failure is not None and failure.status != "void"
            note = f"the reference solution is unstable: {_describe(failure)}" if failure and self.is_unstable else ""
            return Calibration(problem=self.problem, plan=CheckPlan(mode="shared", note=note), verdict=verdict)
        if failure is None and verdict.status != "compile":
            self._failure = verdict
            return None
        if verdict.status == "void":
            note = f"the reference solution could not be judged: {verdict.message}"
            return Calibration(problem=self.problem, plan=CheckPlan(mode="shared", note=note), verdict=verdict)
        plan = _missing_library(self.problem, verdict) or CheckPlan(
            mode="shared", fault="reference", note=f"the reference solution does not pass: {_describe(verdict)}"
        )
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


def _describe(verdict: Verdict) -> str:
    return f"{verdict.status} ({verdict.message})"
