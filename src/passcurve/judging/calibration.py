"""Calibration: the reference solution decides, once per problem, in which mode its samples are judged."""

from __future__ import annotations

from collections.abc import Container
from typing import Protocol

import msgspec

from passcurve.bench.languages import find_language
from passcurve.judging.attempts import Retry, first_attempt, next_attempt
from passcurve.judging.case_trials import Calibration, CaseTrials, plan_cases
from passcurve.judging.code_trials import NO_REFERENCE, PLANS, CodeTrials, RequestedMode, describe_names
from passcurve.judging.plan import CheckPlan, make_job, make_tests_job, only_shared, reference_program
from passcurve.judging.plan_cache import PlanCache
from passcurve.judging.script_trials import ScriptTrials, script_plans
from passcurve.judging.static_tests import NO_TESTS, find_fault, find_undefined_names, never_calls, uses_own_objects
from passcurve.judging.verdict import reach_verdict
from passcurve.sandbox.job import Job, Outcome
from passcurve.types import Cases, Expression, Limits, Problem, ProgramCases, SampleKey, Script, UnitTests


class JobQueue(Protocol):
    """Where jobs wait for a worker."""

    def put(self, item: Job, *, first: bool = False, at_end: bool = False) -> None:
        """Queue a job; ``first``: before the others."""
        ...


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
        self._running: dict[int, tuple[CodeTrials | CaseTrials | ScriptTrials, Job]] = {}
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
        if isinstance(problem.check, Expression) and self._mode == "shared":
            return self._conclude_faulty(problem, "an answer is compared apart from it: --verdict auto judges it")
        program = reference_program(problem)
        if isinstance(problem.check, Cases):
            return self._begin_cases(problem, problem.check, program)
        fault = find_fault(problem) if program is None else NO_TESTS if not problem.test.strip() else ""
        shared = only_shared(problem)
        if program is None and not shared and uses_own_objects(problem):
            # A reference solution would show it.
            shared = "the tests use objects of the program"
        if program is None and not fault and not shared and self._mode != "shared" and never_calls(problem):
            fault = f"the tests never call {problem.entry_point}"
        if shared and self._mode == "referee":
            fault = f"{shared}: --verdict auto judges it in shared mode"
        names = () if fault or program is not None else find_undefined_names(problem)
        if names and self._mode == "referee":
            fault = f"{describe_names(names)}: --verdict auto judges it in shared mode"
        if fault:
            return self._conclude_faulty(problem, fault)
        # An answer is judged in referee mode only.
        mode = "referee" if isinstance(problem.check, Expression) else self._mode
        self._try_next(CodeTrials(problem, "shared" if shared else mode, program, names))
        return None

    def forget(self, problem: Problem) -> None:
        """Forget the plan that was kept of a problem, so that ``begin`` makes a new one."""
        if self._cache is not None:
            self._cache.forget(problem)

    def _begin_unit_tests(self, problem: Problem) -> Calibration | None:
        """Start on a problem whose tests can only run beside a program."""
        fault = find_fault(problem)
        if not fault and self._mode == "referee":
            fault = "its tests are a module of unittest: --verdict auto judges it in shared mode"
        if fault:
            return self._conclude_faulty(problem, fault)
        self._try_next(
            CodeTrials(
                problem, "shared", reference_program(problem), missing_package=self._find_missing_package(problem)
            )
        )
        return None

    def _begin_script(self, problem: Problem, check: Script) -> Calibration | None:
        """Start on a problem whose tests are in the language of the program: one source with it, or data."""
        # What shows that the end was reached is no test.
        if not check.tests.replace(find_language(check.language).confirm, "").strip():
            return self._conclude_faulty(problem, NO_TESTS)
        plans = script_plans(check, self._mode)
        if not plans:
            return self._conclude_faulty(
                problem, "its tests are one program with the sample: --verdict auto judges it in shared mode"
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
        if not sum(suite.count for suite in check.suites):
            return self._conclude_faulty(problem, NO_TESTS)
        if program is not None:
            self._try_next(CaseTrials(problem, check, program))
            return None
        if not check.expected:
            return self._conclude_faulty(problem, "nothing is expected, and no reference solution computes it")
        plan = msgspec.structs.replace(plan_cases(check), note=NO_REFERENCE)
        return Calibration(problem=problem, plan=plan, verdict=None)

    def _begin_programs(self, problem: Problem, check: ProgramCases) -> Calibration:
        """Start on a problem for programs in another language, which no reference solution of ours is in."""
        if not sum(suite.count for suite in check.cases.suites):
            return self._conclude_faulty(problem, NO_TESTS)
        if not check.cases.expected:
            return self._conclude_faulty(problem, "nothing is expected, and no reference solution computes it")
        return Calibration(problem=problem, plan=CheckPlan(note=NO_REFERENCE), verdict=None)

    def _conclude_faulty(self, problem: Problem, note: str) -> Calibration:
        """Return the calibration of a problem whose tests cannot judge a program."""
        plan = CheckPlan(mode=PLANS[self._mode][0].mode, fault="tests", note=note)
        return Calibration(problem=problem, plan=plan, verdict=None)

    def owns(self, outcome: Outcome) -> bool:
        """Return whether an outcome is of a trial: the tags of trials are below zero."""
        return outcome.tag < 0

    def take(self, outcome: Outcome) -> Calibration | None:
        """Take the outcome of a trial; return the calibration of its problem once it is known."""
        trials, job = self._running.pop(outcome.tag)
        if retry := self._next_attempt(trials, job, outcome):
            if isinstance(trials, CodeTrials) and job.replays and retry.job.live:
                trials.calls.take_failure(outcome)
            self._running[job.tag] = (trials, retry.job)
            # Samples wait for a reference that is slow: it needs no core for itself, as its limit is its own time.
            self._queue.put(retry.job, first=True, at_end=retry.at_end and outcome.ended != "slice")
            return None
        if isinstance(trials, CodeTrials) and job.without_sample:
            calibration = trials.take_alone(outcome)
        else:
            key = SampleKey(problem_id=trials.problem.id, sample_index=0)
            calibration = trials.take(reach_verdict(key, job, outcome), outcome)
        if calibration is None:
            # Before the other problems begin, so that the samples of this one need not wait for all of them.
            self._try_next(trials, first=True)
            return None
        verdict = calibration.verdict
        is_sure = calibration.plan.fault is None and verdict is not None and verdict.passed and trials.is_sure
        if self._cache is not None and is_sure:
            self._cache.add(calibration.problem, calibration.plan)
        return calibration

    @staticmethod
    def _next_attempt(trials: CodeTrials | CaseTrials | ScriptTrials, job: Job, outcome: Outcome) -> Retry | None:
        """Return the attempt that must follow, as for a sample.

        But calls are known only where the reference solution passes with them, however long that takes.
        """
        if isinstance(trials, CodeTrials) and trials.is_of_reference and job.replays:
            if outcome.ended == "slice":
                job = msgspec.structs.replace(job, slice_s=job.limits.timeout_s, allow_kept=False)
                return Retry(job, at_end=False)
            if outcome.ended == "timeout":
                return None
        return next_attempt(job, outcome)

    def _try_next(self, trials: CodeTrials | CaseTrials | ScriptTrials, *, first: bool = False) -> None:
        self._last_tag -= 1
        job = self._make_trial(trials, self._last_tag)
        self._running[job.tag] = (trials, job)
        self._queue.put(job, first=first)

    def _make_trial(self, trials: CodeTrials | CaseTrials | ScriptTrials, tag: int) -> Job:
        problem, plan = trials.problem, trials.plan
        if isinstance(trials, CaseTrials):
            return make_job(problem, trials.program, plan, self._limits, self._seed, tag, record=trials.records)
        if isinstance(trials, CodeTrials) and (alone := trials.tests_alone):
            return make_tests_job(problem, self._limits, self._seed, tag, alone.wrong, record=alone.record)
        job = make_job(problem, trials.program, plan, self._limits, self._seed, tag)
        if isinstance(trials, CodeTrials) and trials.is_of_reference:
            # The limit of one test is for samples.
            job = msgspec.structs.replace(job, test_s=None)
            return first_attempt(job) if job.replayed else job
        return job
