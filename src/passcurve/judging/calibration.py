"""Calibration: the reference solution decides, once per problem, in which mode its samples are judged."""

from __future__ import annotations

import re
import sys
from collections.abc import Container
from typing import Literal, Protocol

import msgspec

from passcurve.extract import defines_all
from passcurve.judging.attempts import first_attempt, next_attempt
from passcurve.judging.case_trials import Calibration, CaseTrials, plan_cases
from passcurve.judging.known_calls import KnownCalls
from passcurve.judging.plan import CheckPlan, Fault, make_job, make_recording_job, only_shared, reference_program
from passcurve.judging.plan_cache import PlanCache
from passcurve.judging.script_trials import ScriptTrials, script_plans
from passcurve.judging.static_tests import NO_TESTS, find_fault, find_undefined_names, never_calls
from passcurve.judging.verdict import BENCHMARK, VACUOUS, reach_verdict
from passcurve.judging.wrong_programs import WrongPrograms
from passcurve.sandbox.job import Job, KnownReport, Outcome
from passcurve.types import Cases, Expression, Limits, Problem, ProgramCases, SampleKey, Script, UnitTests, Verdict

RequestedMode = Literal["auto", "referee", "shared"]

_PLANS: dict[RequestedMode, tuple[CheckPlan, ...]] = {
    "auto": (CheckPlan(), CheckPlan(write_back=True), CheckPlan(mode="shared")),
    "referee": (CheckPlan(), CheckPlan(write_back=True)),
    "shared": (CheckPlan(mode="shared"),),
}
"""The plans to try, best first; the first plan under which the reference solution passes is used."""

_BARE_PROMPT = "the prompt alone passes the tests: it holds the whole function, whose body must be cut out"
_NO_REFERENCE = "no reference solution to calibrate with"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_MISSING_MODULE = re.compile(r"ModuleNotFoundError: No module named '(\w+)'$")
"""The message for a top-level module; that of a submodule has a dot in its name, or says more."""


class JobQueue(Protocol):
    """Where jobs wait for a worker."""

    def put(self, item: Job, *, at_end: bool = False) -> None:
        """Queue a job."""
        ...


class _Trials:
    """The trials of one problem, plan after plan, after the calls of its tests were recorded."""

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
        self._plans = _PLANS[mode] if program is not None else _PLANS[alone][:1]
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
    def must_record(self) -> bool:
        """True if the calls of the tests are to be recorded before the first trial."""
        return self._calibration is None and not self.calls.are_recorded and self.plan.mode == "referee"

    @property
    def wrong_programs(self) -> tuple[str, ...]:
        """Wrong programs to be tried when the calls are recorded; none where a program is made of an answer."""
        return () if isinstance(self.problem.check, Expression) else self._wrong_programs.first

    def take(self, verdict: Verdict, outcome: Outcome) -> Calibration | None:
        """Take the verdict of a trial; return the calibration, or None when another trial must follow."""
        if self._calibration is not None:
            if self.program == self.problem.prompt:
                return self._faulty("tests", _BARE_PROMPT, verdict) if verdict.passed else self._calibration
            is_vacuous = self._wrong_programs.take(passed=verdict.passed)
            if is_vacuous:
                return self._faulty("tests", VACUOUS, verdict)
            self.program = self._wrong_programs.program
            return None if is_vacuous is None else self._try_prompt()
        if verdict.passed:
            # The first plan is tried twice; what is void was our failure.
            self.is_unstable = [failure.status == "void" for failure in self._failures] == [False]
            self.calls.keep_made(outcome)
            self._calibration = self._usable(verdict, outcome.known_report)
            self.program = self._wrong_programs.program
            # The programs change no argument, so what is handed back makes no difference.
            is_tried = self.calls.wrong_ones_pass == [False, False] and self.plan.mode == "referee"
            return self._try_prompt() if is_tried else None
        self._failures.append(verdict)
        # What does not compile does not compile in any mode.
        if verdict.status != "compile":
            if len(self._failures) == 1:
                return None
            if self._number + 1 < len(self._plans):
                self._number += 1
                return None
        if all(failure.status == "void" for failure in self._failures):
            # That is our failure: it says nothing about the reference.
            self._number = 0
            return self._usable(None)
        return self._explain_failures()

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
            return self._faulty(
                "package", f"it needs {package!r}, which cannot be imported here (--packages {package})", first
            )
        note = f"the reference solution does not pass: {_describe(first)}"
        if last.mode != first.mode and _describe(last) != _describe(first):
            note += f"; in shared mode {_describe(last)}"
        elif self._mode == "referee":
            note += "; --verdict auto tries shared mode as well"
        return self._faulty("reference", note, first)

    def _usable(self, verdict: Verdict | None, known_report: KnownReport | None = None) -> Calibration:
        note = _NO_REFERENCE if self.problem.reference is None else ""
        if verdict is None and self._failures:
            note = f"the reference solution could not be judged: {self._failures[0].message}"
        elif self.is_unstable:
            note = f"the reference solution is unstable: {_describe(self._failures[0])}, and passed when judged again"
        elif reason := only_shared(self.problem):
            note = f"judged in shared mode: {reason}"
        elif self.plan.write_back:
            note = "what samples do to their arguments is handed back to the tests"
        elif len(self._failures) > 1:
            failure = self._failures[0]
            note = f"judged in shared mode: in referee mode the reference solution does not pass: {_describe(failure)}"
        elif self._undefined_names:
            note = f"{_NO_REFERENCE}; judged in shared mode: {_describe_names(self._undefined_names)}"
        plan = msgspec.structs.replace(self.plan, note=note, known_report=known_report)
        return Calibration(problem=self.problem, plan=plan, verdict=verdict)

    def _faulty(self, fault: Fault, note: str, verdict: Verdict) -> Calibration:
        plan = CheckPlan(mode=_PLANS[self._mode][0].mode, fault=fault, note=note)
        return Calibration(problem=self.problem, plan=plan, verdict=verdict)


def _describe(verdict: Verdict) -> str:
    return f"{verdict.status} ({' '.join(_COLOUR.sub('', verdict.message).split())})"


def _describe_names(names: tuple[str, ...]) -> str:
    return f"the tests use {', '.join(map(repr, names))}, which neither the prompt nor the tests define"


def _missing_package(verdict: Verdict) -> str:
    """Return the package that a reference solution or its tests cannot import here; empty where nothing is missing.

    A name that nobody has ever published looks the same; a module that Python itself should have does not count.
    """
    match = _MISSING_MODULE.fullmatch(verdict.message) if verdict.exception == "ModuleNotFoundError" else None
    return match.group(1) if match is not None and match.group(1) not in sys.stdlib_module_names else ""


class Calibrations:
    """The problems under calibration: put jobs into a queue, and take their outcomes."""

    def __init__(
        self,
        mode: RequestedMode,
        limits: Limits,
        seed: int,
        queue: JobQueue,
        cache: PlanCache | None = None,
        modules: Container[str] | None = None,
    ) -> None:
        """``modules``: those that samples may import besides Python's own, where that is known."""
        self._modules = modules
        self._mode, self._limits, self._seed = mode, limits, seed
        self._queue = queue
        self._cache = cache
        self._running: dict[int, tuple[_Trials | CaseTrials | ScriptTrials, Job]] = {}
        self._last_tag = 0

    def begin(self, problem: Problem) -> Calibration | None:
        """Start on a problem; return its calibration where no trial is needed.

        The tests of a problem without a reference solution are tried on wrong programs alone.
        """
        if self._cache is not None and (plan := self._cache.find(problem)):
            return Calibration(problem=problem, plan=plan, verdict=None)
        if isinstance(problem.check, UnitTests):
            return self._begin_unit_tests(problem)
        if isinstance(problem.check, Script):
            return self._begin_script(problem, problem.check)
        if isinstance(problem.check, ProgramCases):
            return self._begin_programs(problem, problem.check)
        program = reference_program(problem)
        if isinstance(problem.check, Cases):
            return self._begin_cases(problem, problem.check, program)
        fault = find_fault(problem) if program is None else NO_TESTS if not problem.test.strip() else ""
        if program is None and not fault and self._mode != "shared" and never_calls(problem):
            fault = f"the tests never call {problem.entry_point}"
        shared = only_shared(problem)
        if shared and self._mode == "referee":
            fault = f"{shared}: --verdict auto judges it in shared mode"
        names = () if fault or program is not None else find_undefined_names(problem)
        if names and self._mode == "referee":
            fault = f"{_describe_names(names)}: --verdict auto judges it in shared mode"
        if fault:
            return self._begin_with(problem, "tests", fault)
        self._try_next(_Trials(problem, "shared" if shared else self._mode, program, names))
        return None

    def _begin_unit_tests(self, problem: Problem) -> Calibration | None:
        """Start on a problem whose tests can only run beside a program."""
        fault = find_fault(problem)
        if not fault and self._mode == "referee":
            fault = "its tests are a module of unittest: --verdict auto judges it in shared mode"
        if fault:
            return self._begin_with(problem, "tests", fault)
        self._try_next(
            _Trials(problem, "shared", reference_program(problem), missing_package=self._find_missing_package(problem))
        )
        return None

    def _begin_script(self, problem: Problem, check: Script) -> Calibration | None:
        """Start on a problem whose tests are in the language of the program: one source with it, or data."""
        plans = script_plans(check, self._mode)
        if not plans:
            return self._begin_with(
                problem, "tests", "its tests are one program with the sample: --verdict auto judges it in shared mode"
            )
        program = reference_program(problem)
        if program is None:
            return Calibration(problem=problem, plan=plans[0], verdict=None)
        self._try_next(ScriptTrials(problem, program, plans))
        return None

    def _find_missing_package(self, problem: Problem) -> str:
        """Return a package that a problem imports and that is not there; empty where none is missing."""
        tops = (name.partition(".")[0] for name in problem.packages)
        return next((name for name in tops if self._modules is not None and name not in self._modules), "")

    def _begin_cases(self, problem: Problem, check: Cases, program: str | None) -> Calibration | None:
        if program is not None:
            self._try_next(CaseTrials(problem, check, program))
            return None
        if not check.expected:
            return self._begin_with(problem, "tests", "nothing is expected, and no reference solution computes it")
        plan = msgspec.structs.replace(plan_cases(check), note=_NO_REFERENCE)
        return Calibration(problem=problem, plan=plan, verdict=None)

    def _begin_programs(self, problem: Problem, check: ProgramCases) -> Calibration:
        """Start on a problem for programs in another language, which no reference solution of ours is in."""
        if not check.cases.expected:
            return self._begin_with(problem, "tests", "nothing is expected, and no reference solution computes it")
        return Calibration(problem=problem, plan=CheckPlan(note=_NO_REFERENCE), verdict=None)

    def _begin_with(self, problem: Problem, fault: Fault | None, note: str) -> Calibration:
        plan = CheckPlan(mode=_PLANS[self._mode][0].mode, fault=fault, note=note)
        return Calibration(problem=problem, plan=plan, verdict=None)

    def owns(self, outcome: Outcome) -> bool:
        """Return whether an outcome is of a trial: the tags of trials are below zero."""
        return outcome.tag < 0

    def take(self, outcome: Outcome) -> Calibration | None:
        """Take the outcome of a trial; return the calibration of its problem once it is known."""
        trials, job = self._running.pop(outcome.tag)
        if retry := next_attempt(job, outcome):
            if isinstance(trials, _Trials) and job.replayed and not retry.job.replayed:
                trials.calls.take_failure(outcome)
            self._running[job.tag] = (trials, retry.job)
            # Samples wait for a reference that is slow: it needs no core for itself, as its limit is its own time.
            self._queue.put(retry.job, at_end=retry.at_end and outcome.ended != "slice")
            return None
        if isinstance(trials, _Trials) and job.without_sample:
            trials.calls.take(outcome)
            self._try_next(trials)
            return None
        key = SampleKey(problem_id=trials.problem.id, sample_index=0)
        calibration = trials.take(reach_verdict(key, job, outcome), outcome)
        if calibration is None:
            self._try_next(trials)
            return None
        verdict = calibration.verdict
        is_sure = calibration.plan.fault is None and verdict is not None and verdict.passed and trials.is_sure
        if self._cache is not None and is_sure:
            self._cache.add(calibration.problem, calibration.plan)
        return calibration

    def _try_next(self, trials: _Trials | CaseTrials | ScriptTrials) -> None:
        self._last_tag -= 1
        job = self._make_trial(trials, self._last_tag)
        self._running[job.tag] = (trials, job)
        self._queue.put(job)

    def _make_trial(self, trials: _Trials | CaseTrials | ScriptTrials, tag: int) -> Job:
        problem, plan = trials.problem, trials.plan
        if isinstance(trials, CaseTrials):
            return make_job(problem, trials.program, plan, self._limits, self._seed, tag, record=trials.records)
        if isinstance(trials, _Trials) and trials.must_record:
            return make_recording_job(problem, plan, self._limits, self._seed, tag, trials.wrong_programs)
        job = make_job(problem, trials.program, plan, self._limits, self._seed, tag)
        if isinstance(trials, _Trials) and trials.is_of_reference:
            # The limit of one test is for samples.
            job = msgspec.structs.replace(job, test_s=None)
            return first_attempt(job) if job.replayed else job
        return job
