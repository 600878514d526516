"""Trials of a problem whose tests are code: they decide in which way, and whether, its samples can be judged."""

from __future__ import annotations

import re
import sys
from typing import Literal, NamedTuple

import msgspec

from passcurve.extract import defines_all
from passcurve.judging.case_trials import Calibration
from passcurve.judging.known_calls import KnownCalls
from passcurve.judging.plan import CheckPlan, Fault, only_shared
from passcurve.judging.static_tests import discards_results, find_fault
from passcurve.judging.verdict import BENCHMARK, VACUOUS, describe_failure, describe_verdict
from passcurve.judging.wrong_programs import WrongPrograms
from passcurve.sandbox.job import KnownReport, Outcome
from passcurve.types import Expression, Problem, Verdict
from passcurve.types.decoding import decodable

RequestedMode = Literal["auto", "referee", "shared"]

PLANS: dict[RequestedMode, tuple[CheckPlan, ...]] = {
    "auto": (CheckPlan(), CheckPlan(write_back=True), CheckPlan(mode="shared")),
    "referee": (CheckPlan(), CheckPlan(write_back=True)),
    "shared": (CheckPlan(mode="shared"),),
}
"""The plans to try, best first; the first plan under which the reference solution passes is used."""

_BARE_PROMPT = "the prompt alone passes the tests: it holds the whole function, whose body must be cut out"
NO_REFERENCE = "no reference solution to calibrate with"
_MISSING_MODULE = re.compile(r"ModuleNotFoundError: No module named '(\w+)'$")
"""The message for a top-level module; that of a submodule has a dot in its name, or says more."""

_TOP_IMPORT = re.compile(r"^(?:import|from)[ \t]+(\w+)", re.MULTILINE)
"""An import that runs before anything is called; a later one may be of a module that the program writes."""


class _TestsAlone(NamedTuple):
    """An order to the process of the tests, without a sample."""

    wrong: str
    """A wrong program to try; empty for none."""
    record: bool
    """Record the calls of the tests."""


class _AloneReport(msgspec.Struct, frozen=True):
    """Report on that: anything may come in its place, as tests can write reports of their own."""

    status: Literal["recorded"]
    recorded: list[bytes]
    passed: bool | None


class CodeTrials:
    """The trials of one problem, plan after plan, after the calls of its tests were recorded.

    Each wrong program meets tests that have run against nothing before.
    """

    def __init__(
        self,
        problem: Problem,
        mode: RequestedMode,
        program: str | None,
        undefined_names: tuple[str, ...] = (),
        missing_package: str = "",
    ) -> None:
        """``missing_package``: one that the problem imports and that is not there, which a failure may be due to."""
        self.problem = problem
        self._mode = mode
        self._undefined_names = undefined_names
        self._missing_package = missing_package
        # Without a reference solution nothing could decide between the plans.
        alone: RequestedMode = "shared" if mode == "shared" or undefined_names else "referee"
        number = int(alone == "referee" and discards_results(problem))
        self._plans = PLANS[mode] if program is not None else PLANS[alone][number : number + 1]
        self._number = 0
        self._failures: list[Verdict] = []
        self.is_unstable = False
        """The reference solution has failed and passed under the same plan."""
        self.calls = KnownCalls()
        self._calibration: Calibration | None = None
        """The calibration unless the tests pass wrong programs; None until the reference solution has passed."""
        if program is None:
            self._calibration = self._usable(None)
        self._wrong_programs = WrongPrograms(problem.entry_point)
        self.program = program or self._wrong_programs.program

    @property
    def plan(self) -> CheckPlan:
        """The plan under trial; once it has passed, with the calls of the tests, as samples are judged."""
        if self._calibration is not None:
            return self._calibration.plan
        plan = self._plans[self._number]
        # What is handed back after a call must be seen by the tests before the next one.
        if plan.mode == "referee" and not plan.write_back:
            return msgspec.structs.replace(plan, calls=self.calls.pack())
        return plan

    @property
    def is_sure(self) -> bool:
        """True if another run would find the same plan: no better one was given up for a failure of ours."""
        return not (self.is_unstable or self.calls.are_in_doubt) and not (
            self._number and any(failure.status == "void" for failure in self._failures)
        )

    @property
    def is_of_reference(self) -> bool:
        """True if the next trial is one of the reference solution."""
        return self._calibration is None

    @property
    def tests_alone(self) -> _TestsAlone | None:
        """The order to the tests before the next trial, or None."""
        if self._calibration is not None:
            return _TestsAlone(self.program, record=False) if self._wrong_programs.is_alone else None
        if self.calls.are_recorded or self.plan.mode != "referee":
            return None
        # Where a program is made of an answer, those that are wrong are samples.
        wrong = "" if isinstance(self.problem.check, Expression) else self._wrong_programs.program
        return _TestsAlone(wrong, record=True)

    def take_alone(self, outcome: Outcome) -> Calibration | None:
        """Take what the tests did without a sample; return the calibration, or None when another trial must follow."""
        try:
            report = msgspec.convert(outcome.report, decodable(_AloneReport))
        except msgspec.ValidationError:
            report = None
        has_failed = report is not None and report.passed is False
        if self._calibration is None:
            self._wrong_programs.first_fails = has_failed
            self.calls.take(report.recorded if report is not None else None)
            return None
        self._wrong_programs.is_alone = False
        return self._go_on_from_wrong() if has_failed else None

    def take(self, verdict: Verdict, outcome: Outcome) -> Calibration | None:
        """Take the verdict of a trial; return the calibration, or None when another trial must follow."""
        if self._calibration is not None:
            if self.problem.reference is None:
                if package := self._find_missing(verdict):
                    return self._lacks(package, verdict)
                if self._cannot_cross(verdict):
                    return self._go_on_shared(verdict)
            if self.program == self.problem.prompt:
                return self._faulty("tests", _BARE_PROMPT, verdict) if verdict.passed else self._calibration
            is_vacuous = self._wrong_programs.take(passed=verdict.passed)
            if is_vacuous:
                return self._faulty("tests", VACUOUS, verdict)
            self.program = self._wrong_programs.program
            return None if is_vacuous is None else self._try_prompt()
        if verdict.passed and self.calls.are_aside:
            # Either it is unstable, or it fails because of them.
            self.calls.try_again(verdict)
            return None
        if self.calls.pass_without and not verdict.passed:
            self.calls.drop()
            self.calls.are_in_doubt |= verdict.status == "void"
            return self._begin_wrong(self._usable(self.calls.pass_without))
        if verdict.passed:
            # The first plan is tried twice; what is void was our failure.
            self.is_unstable = [failure.status == "void" for failure in self._failures] == [False]
            self.calls.keep_made(outcome)
            return self._begin_wrong(self._usable(verdict, outcome.known_report))
        self._failures.append(verdict)
        # What does not compile does not compile in any mode.
        if verdict.status != "compile":
            if len(self._failures) == 1:
                self.calls.are_aside = verdict.status != "void" and bool(self.plan.calls)
                return None
            self.calls.are_aside = False
            if self._number + 1 < len(self._plans):
                self._number += 1
                return None
        if all(failure.status == "void" for failure in self._failures):
            # That is our failure: it says nothing about the reference.
            self._number = 0
            return self._usable(None)
        return self._explain_failures()

    def _find_missing(self, verdict: Verdict) -> str:
        """Return the package that a wrong program shows to be missing; empty where there is none."""
        package = _missing_package(verdict)
        return package if package in _TOP_IMPORT.findall(f"{self.problem.prompt}\n{self.problem.test}") else ""

    def _cannot_cross(self, verdict: Verdict) -> bool:
        """Tell whether the tests cannot be apart from any program: one that raises and one that returns have shown it.

        A sample may not show it, for it could say so of sound tests.
        """
        shows_it = self.plan.mode == "referee" and verdict.message.startswith(BENCHMARK)
        if self._wrong_programs.is_first:
            self._wrong_programs.cannot_cross = shows_it
            return False
        return shows_it and self._wrong_programs.cannot_cross

    def _go_on_shared(self, verdict: Verdict) -> Calibration | None:
        """Begin again in shared mode, where that may be; return the calibration where it may not."""
        reason = verdict.message.removeprefix(BENCHMARK)
        if self._mode == "referee":
            return self._faulty("tests", f"{reason}: --verdict auto judges it in shared mode", verdict)
        self._plans, self._number = PLANS["shared"], 0
        self._wrong_programs = WrongPrograms(self.problem.entry_point)
        self.program = self._wrong_programs.program
        plan = msgspec.structs.replace(self._plans[0], note=f"{NO_REFERENCE}; judged in shared mode: {reason}")
        self._calibration = Calibration(problem=self.problem, plan=plan, verdict=None)
        return None

    def _begin_wrong(self, calibration: Calibration) -> Calibration | None:
        """Begin with the wrong programs, under the plan of the reference solution."""
        self._calibration = calibration
        self.program = self._wrong_programs.program
        # They change no argument, so what is handed back makes no difference.
        if self._wrong_programs.first_fails and self.plan.mode == "referee":
            self._wrong_programs.is_alone = True
            return self._go_on_from_wrong()
        return None

    def _go_on_from_wrong(self) -> Calibration | None:
        """Go on after a wrong program that fails; return the calibration where no other must be tried."""
        is_vacuous = self._wrong_programs.take(passed=False)
        self.program = self._wrong_programs.program
        return None if is_vacuous is None else self._try_prompt()

    def _try_prompt(self) -> Calibration | None:
        """Go on to the prompt alone, which must not pass; return the calibration where it need not be tried."""
        # Where nothing is left out, the prompt alone is right.
        is_complete = self.problem.reference is not None and not self.problem.reference.strip()
        if is_complete or not defines_all(self.problem.prompt, self.problem.entry_point):
            return self._calibration
        self.program = self.problem.prompt
        return None

    def _explain_failures(self) -> Calibration:
        """Return the calibration of a problem whose reference solution passes under no plan."""
        failures = [failure for failure in self._failures if failure.status != "void"]
        first, last = failures[0], failures[-1]
        if fault := find_fault(self.problem):
            return self._faulty("tests", fault, first)
        if first.message.startswith(BENCHMARK):
            return self._faulty("tests", first.message.removeprefix(BENCHMARK), first)
        if package := _missing_package(first) or self._missing_package:
            return self._lacks(package, first)
        note = f"the reference solution does not pass: {describe_failure(first)}"
        if last.mode != first.mode and describe_verdict(last) != describe_verdict(first):
            note += f"; in shared mode {describe_verdict(last)}"
        elif self._mode == "referee" and not isinstance(self.problem.check, Expression):
            note += "; --verdict auto tries shared mode as well"
        return self._faulty("reference", note, first)

    def _usable(self, verdict: Verdict | None, known_report: KnownReport | None = None) -> Calibration:
        is_alone = self.problem.reference is None
        note = NO_REFERENCE if is_alone else ""
        if is_alone and self.plan.mode == "referee" and not isinstance(self.problem.check, Expression):
            note += "; results such as dates and deques may fail (--verdict shared)"
        if verdict is None and self._failures:
            note = f"the reference solution could not be judged: {self._failures[0].message}"
        elif self.is_unstable:
            failure = describe_verdict(self._failures[0])
            note = f"the reference solution is unstable: {failure}, and passed when judged again"
        elif reason := only_shared(self.problem):
            note = f"judged in shared mode: {reason}"
        elif self.plan.write_back:
            note = "what samples do to their arguments is handed back to the tests"
            note = f"{NO_REFERENCE}; {note}" if is_alone else note
        elif len(self._failures) > 1:
            failure = describe_verdict(self._failures[0])
            note = f"judged in shared mode: in referee mode the reference solution does not pass: {failure}"
        elif self._undefined_names:
            note = f"{NO_REFERENCE}; judged in shared mode: {describe_names(self._undefined_names)}"
        plan = msgspec.structs.replace(self.plan, note=note, known_report=known_report)
        return Calibration(problem=self.problem, plan=plan, verdict=verdict)

    def _lacks(self, package: str, verdict: Verdict) -> Calibration:
        note = f"it needs {package!r}, which cannot be imported here (--packages {package})"
        return self._faulty("package", note, verdict)

    def _faulty(self, fault: Fault, note: str, verdict: Verdict) -> Calibration:
        plan = CheckPlan(mode=PLANS[self._mode][0].mode, fault=fault, note=note)
        return Calibration(problem=self.problem, plan=plan, verdict=verdict)


def describe_names(names: tuple[str, ...]) -> str:
    """Return the reason why tests that use undefined names are judged in shared mode."""
    return f"the tests use {', '.join(map(repr, names))}, which neither the prompt nor the tests define"


def _missing_package(verdict: Verdict) -> str:
    """Return the package that a reference solution or its tests cannot import here; empty where nothing is missing.

    A name that nobody has ever published looks the same; a module that Python itself should have does not count.
    """
    match = _MISSING_MODULE.fullmatch(verdict.message) if verdict.exception == "ModuleNotFoundError" else None
    return match.group(1) if match is not None and match.group(1) not in sys.stdlib_module_names else ""
