"""Calibration: the first plan under which the reference solution passes is used; none is a fault."""

from __future__ import annotations

import contextlib
import os
import signal
import textwrap
import threading
from pathlib import Path

import msgspec
import pytest
from jailed import LIMITS, Jailed, ready_zygotes

from passcurve.bench.formats import read_problems
from passcurve.harness import recording
from passcurve.judging.calibration import Calibration, Calibrations
from passcurve.judging.plan import CheckPlan, make_job, make_tests_job
from passcurve.judging.plan_cache import PlanCache
from passcurve.judging.scheduler import Scheduler
from passcurve.judging.verdict import VACUOUS, reach_verdict
from passcurve.judging.wrong_programs import WrongPrograms
from passcurve.sandbox.job import Job, Outcome
from passcurve.types import Assertions, Expression, FunctionTests, Header, Jail, Problem, SampleKey


class Calibrator:
    """Calibrates problems on the jail's pool and keeps the jobs that it ran."""

    def __init__(
        self, jail: Jailed, mode: str = "auto", timeout_s: float = 20.0, cache: PlanCache | None = None
    ) -> None:
        self._scheduler: Scheduler[Job, Outcome] = Scheduler(jail.pool)
        limits = msgspec.structs.replace(LIMITS, timeout_s=timeout_s)
        self.calibrations = Calibrations(mode, limits, 0, self, cache)
        self.jobs: list[Job] = []
        self.put_at_end = 0

    def put(self, job: Job, *, first: bool = False, at_end: bool = False) -> None:
        """Queue a job."""
        self.jobs.append(job)
        self.put_at_end += at_end
        self._scheduler.put(job, first=first, at_end=at_end)

    def calibrate(self, *problems: Problem) -> list[Calibration]:
        """Return the calibration of each problem, in their order."""
        calibrations = {problem.id: self.calibrations.begin(problem) for problem in problems}
        while not self._scheduler.is_empty:
            for outcome in self._scheduler.run(1.0):
                assert self.calibrations.owns(outcome)
                if calibration := self.calibrations.take(outcome):
                    assert calibrations[calibration.problem.id] is None
                    calibrations[calibration.problem.id] = calibration
        return [calibrations[problem.id] for problem in problems]


def make_problem(reference: str | None, test: str, prompt: str = "def f(*args):\n", before: str = "") -> Problem:
    """Return a problem whose check has this body."""
    code = None if reference is None else f"    {reference}\n"
    test = f"{before}def check(candidate):\n    {test}\n"
    return Problem(
        id=f"T/{hash((reference, test))}",
        prompt=prompt,
        entry_point="f",
        check=FunctionTests(source=test),
        reference=code,
    )


def calibrate(jail: Jailed, problem: Problem, mode: str = "auto", timeout_s: float = 20.0) -> Calibration:
    """Calibrate one problem."""
    (calibration,) = Calibrator(jail, mode, timeout_s).calibrate(problem)
    return calibration


PLAIN = make_problem("return args[0] + 1", "assert candidate(1) == 2")
IN_PLACE = make_problem("args[0].sort()", "xs = [2, 1]\n    candidate(xs)\n    assert xs == [1, 2]")
LIVE = make_problem(
    "return type('A', (), {'x': 5})()", "assert candidate().x == 5", "def f(*args):\n    '''An object.'''\n"
)
WRONG = make_problem("return 3", "assert candidate(1) == 2")
LOOPING = make_problem("while True: pass", "assert candidate(1) == 2")
DYING = make_problem("import os; os._exit(3)", "assert candidate(1) == 2")
VAIN = make_problem("return 1", "pass")


def test_the_first_plan(jail: Jailed):
    """A reference solution that passes in referee mode needs one trial and no note.

    Before it the calls were recorded, and after it a wrong program is tried without a sample.
    """
    calibrator = Calibrator(jail)
    (calibration,) = calibrator.calibrate(PLAIN)
    assert ("referee", False, False, "") == (
        calibration.plan.mode,
        calibration.plan.write_back,
        calibration.plan.fault is not None,
        calibration.plan.note,
    )
    assert calibration.verdict.passed
    assert [True, False, True] == [job.without_sample for job in calibrator.jobs]


def test_the_answer_of_the_reference(jail: Jailed):
    """Its report is in the plan, and is that on a sample with the same answer, on no other one."""
    if "seccomp" not in jail.probe.jail.layers:
        pytest.skip("no process is kept here: that needs a filter of system calls")
    # Nothing that other tests have seen of a problem in these processes counts for this one.
    problem = make_problem("return args[0] + 3", "assert candidate(1) == 4")
    # On a busy machine a trial may take longer than it may in a kept process, and its answer is not seen then.
    plans = (calibrate(jail, problem).plan for _ in range(50))
    plan = next(plan for plan in plans if plan.known_report is not None)
    known_report = plan.known_report
    assert known_report is not None
    assert "passed" == known_report.report["status"]
    # Tests that ran would not say this.
    report = {**known_report.report, "status": "failed", "message": "as known"}
    plan = msgspec.structs.replace(plan, known_report=msgspec.structs.replace(known_report, report=report))

    def judge(value: str, *, all_tests: bool = False) -> tuple[str, bool]:
        program = f"def f(x):\n    return {value}\n"
        job = make_job(problem, program, plan, LIMITS, 0, next(jail.tags), all_tests=all_tests)
        report = jail.run(job).report or {}
        return report["status"], report["message"] == "as known"

    assert ("failed", True) in (judge("3 + x") for _ in range(50))
    assert ("failed", False) == judge("x + 4")
    assert ("passed", False) == judge("3 + x", all_tests=True)


def test_arguments_that_change(jail: Jailed):
    """A reference solution that changes its arguments passes under the second plan, with a note."""
    calibration = calibrate(jail, IN_PLACE)
    assert ("referee", True, False) == (
        calibration.plan.mode,
        calibration.plan.write_back,
        calibration.plan.fault is not None,
    )
    assert "handed back" in calibration.plan.note
    assert calibration.verdict.passed


def test_a_live_object(jail: Jailed):
    """A reference solution that returns a live object passes in shared mode; the note has its first failure."""
    calibrator = Calibrator(jail)
    (calibration,) = calibrator.calibrate(LIVE)
    assert ("shared", False, False) == (
        calibration.plan.mode,
        calibration.plan.write_back,
        calibration.plan.fault is not None,
    )
    assert "failed (AttributeError" in calibration.plan.note
    assert calibration.verdict.passed
    assert 7 == len(calibrator.jobs)


def test_a_wrong_reference(jail: Jailed):
    """A reference solution that fails under every plan is a fault, with its first verdict."""
    calibration = calibrate(jail, WRONG)
    assert ("referee", True, "failed") == (
        calibration.plan.mode,
        calibration.plan.fault is not None,
        calibration.verdict.status,
    )
    assert calibration.plan.note.endswith(": failed (AssertionError)")


def test_a_wrong_answer_in_the_data(jail: Jailed):
    """An answer that is not right says so, and nothing of a mode in which answers are not judged."""
    question = Expression(code="def f(x):\n    return x + 1\n", asks="input", input="1", output="3")
    problem = Problem(id="C/0", prompt="", entry_point="f", check=question, reference="f(1)")
    assert calibrate(jail, problem).plan.note.endswith(": failed (AssertionError: 2 is not what was expected)")


@pytest.mark.ci
@pytest.mark.parametrize(("problem", "status"), [(LOOPING, "timeout"), (DYING, "crash")])
def test_a_reference_that_hangs_or_dies(jail: Jailed, problem: Problem, status: str):
    """A reference solution that hangs or dies under every plan is a fault, with its first verdict."""
    calibrator = Calibrator(jail, timeout_s=0.5 if problem is LOOPING else 20.0)
    (calibration,) = calibrator.calibrate(problem)
    assert ("referee", True, status) == (
        calibration.plan.mode,
        calibration.plan.fault is not None,
        calibration.verdict.status,
    )
    roles = {job.tag: job.role for job in calibrator.jobs if not job.without_sample}
    assert ["passcurve.harness.sample"] * 3 + ["passcurve.harness.shared"] == list(roles.values())


def test_without_a_reference(jail: Jailed):
    """A problem without a reference solution has its tests tried on wrong programs, and its note says so."""
    calibrator = Calibrator(jail)
    (calibration,) = calibrator.calibrate(make_problem(None, "assert candidate(1) == 2"))
    assert ("referee", False, None) == (calibration.plan.mode, calibration.plan.fault is not None, calibration.verdict)
    assert "no reference solution" in calibration.plan.note
    assert 2 == len(calibrator.jobs)


@pytest.mark.parametrize(
    ("test", "reason"),
    [("assert candidate(N()).v == 3", "type N, which cannot"), ("assert candidate(io.StringIO('x'))", "type StringIO")],
)
def test_what_cannot_cross_without_a_reference(jail: Jailed, test: str, reason: str):
    """Tests that pass a wrong program what cannot cross are judged in shared mode, if that may be."""
    problem = make_problem(None, test, before="import io\nclass N:\n    v = 3\n")
    plan = calibrate(jail, problem).plan
    assert ("shared", None) == (plan.mode, plan.fault)
    assert "to calibrate with; judged in shared mode: the tests pass a value of" in plan.note
    assert reason in plan.note
    plan = calibrate(jail, problem, "referee").plan
    assert ("tests", True) == (plan.fault, "--verdict auto" in plan.note)


def test_a_missing_package_without_a_reference(jail: Jailed):
    """Tests that import what is not there are at fault, whatever the program."""
    plan = calibrate(jail, make_problem(None, "assert candidate(1)", before="import no_such_package\n")).plan
    assert ("package", True) == (plan.fault, "'no_such_package'" in plan.note)


def test_a_module_that_programs_write(jail: Jailed):
    """A module that the tests import after a call may be one that the program has to write."""
    test = "candidate()\n    import written\n    assert written.VALUE == 3"
    assert calibrate(jail, make_problem(None, test), "shared").plan.fault is None


def test_what_cannot_cross_after_a_wrong_answer(jail: Jailed):
    """Tests that pass such a thing only where a program raises stay apart from it."""
    test = "try:\n        r = candidate(1)\n    except Exception:\n        candidate(object())\n    assert r == 1"
    for mode in ("auto", "referee"):
        plan = calibrate(jail, make_problem(None, test), mode).plan
        assert ("referee", None) == (plan.mode, plan.fault)


def test_an_iterator_of_the_tests_crosses(jail: Jailed):
    """A class of iterators crosses as what it is iterated over, unless it is a file."""
    cls = "class It:\n    def __iter__(self): return self\n    def __next__(self): raise StopIteration\n"
    before = f"{cls}    def reset(self): pass\n"
    calibration = calibrate(jail, make_problem("return sum(args[0])", "assert candidate(It()) == 0", before=before))
    assert ("referee", None) == (calibration.plan.mode, calibration.plan.fault)


SECOND = "assert g(1) == 2 and g(2) == 3"
"""Tests that call another function than the entry point."""


def test_arguments_that_change_without_a_reference(jail: Jailed):
    """Tests see what a program does to its arguments, as nothing tells that none does anything."""
    problem = make_problem(None, "items = [2, 1]\n    candidate(items)\n    assert items == [1, 2]")
    plan = calibrate(jail, problem).plan
    assert ("referee", True) == (plan.mode, plan.write_back)
    for body, status in (("x.sort()", "passed"), ("x.pop()", "failed")):
        program = f"def f(x):\n    {body}\n"
        job = make_job(problem, program, plan, LIMITS, 0, next(jail.tags))
        assert status == reach_verdict(SampleKey(problem_id=problem.id, sample_index=0), job, jail.run(job)).status


def test_a_second_function(jail: Jailed):
    """Where the tests call a function that only the reference solution defines, samples are judged in shared mode."""
    calibration = calibrate(jail, make_problem("return args[0] + 1\ndef g(x):\n    return f(x)", SECOND))
    assert ("shared", None) == (calibration.plan.mode, calibration.plan.fault)
    assert calibration.verdict.passed
    assert "'g'" in calibration.plan.note


def test_a_second_function_without_a_reference(jail: Jailed):
    """Without a reference solution, a name that only the program can define leads to shared mode, and is named."""
    one = calibrate(jail, make_problem(None, SECOND))
    other = calibrate(jail, make_problem(None, SECOND, "def g(x):\n    return x + 1\ndef f(*args):\n"))
    assert ("shared", None, None) == (one.plan.mode, one.plan.fault, one.verdict)
    assert "no reference solution" in one.plan.note
    assert "'g'" in one.plan.note
    # The tests need nothing of the program where the prompt defines all that they call.
    assert "tests" == other.plan.fault
    assert "never call f" in other.plan.note


def test_a_second_function_in_referee_mode(jail: Jailed):
    """No sample counts in referee mode where the tests call what only a program can define."""
    reference = make_problem("return args[0] + 1\ndef g(x):\n    return f(x)", SECOND)
    faults = {calibrate(jail, problem, "referee").plan.fault for problem in (reference, make_problem(None, SECOND))}
    assert {"reference", "tests"} == faults


def test_tests_that_call_themselves(jail: Jailed):
    """Where the reference solution fails, its failure is the reason, although the tests never call it."""
    calibration = calibrate(jail, make_problem("return 1", "assert check(70) == 1"))
    assert "reference" == calibration.plan.fault
    assert "RecursionError" in calibration.plan.note


def test_both_failures(jail: Jailed):
    """A reference solution that fails in both modes is a fault, and the reason has both failures."""
    calibration = calibrate(
        jail, msgspec.structs.replace(LIVE, check=FunctionTests(source=LIVE.test.replace("5", "6")))
    )
    assert "reference" == calibration.plan.fault
    assert "AttributeError" in calibration.plan.note
    assert "AssertionError" in calibration.plan.note.partition("shared mode")[2]


WAITING = make_problem(
    "while not args[0]: pass\n    return 5",
    "import threading\n    xs = []\n    threading.Timer(0.01, xs.append, (1,)).start()\n    assert candidate(xs) == 5",
)
LEAVING = make_problem("import os; 'check' in globals() or os._exit(3)\n    return 5", "assert candidate() == 5")


@pytest.mark.ci
@pytest.mark.parametrize(("problem", "status"), [(WAITING, "timeout"), (LEAVING, "crash")])
def test_a_reference_that_hangs_or_dies_apart_from_its_tests(jail: Jailed, problem: Problem, status: str):
    """A reference solution that hangs or dies in referee mode and passes in shared mode is judged there."""
    calibration = calibrate(jail, problem, timeout_s=0.5 if problem is WAITING else 20.0)
    assert ("shared", None) == (calibration.plan.mode, calibration.plan.fault)
    assert f": {status}" in calibration.plan.note


def test_a_reference_that_does_not_compile(jail: Jailed):
    """A reference solution that does not compile is a fault after one trial, for no mode could change that."""
    calibrator = Calibrator(jail)
    (calibration,) = calibrator.calibrate(make_problem("return (", "assert candidate(1) == 2"))
    assert "reference" == calibration.plan.fault
    assert [True, False] == [job.without_sample for job in calibrator.jobs]


@pytest.mark.parametrize(
    ("reference", "test", "fault"),
    [
        ("import no_such_package", "candidate()", "package"),
        ("import no_such_package.part", "candidate()", "package"),
        ("pass", "import no_such_package\n    candidate()", "package"),
        ("import os.no_such_part", "candidate()", "reference"),
        ("import json.no_such_part", "candidate()", "reference"),
        ("import winreg", "candidate()", "reference"),
        ("raise ModuleNotFoundError('no data here')", "candidate()", "reference"),
        ("from os import no_such_name", "candidate()", "reference"),
    ],
)
def test_a_missing_package(jail: Jailed, reference: str, test: str, fault: str):
    """Only a top-level module that is not Python's own is a missing package; the note says how to add it."""
    calibration = calibrate(jail, make_problem(reference, test))
    assert fault == calibration.plan.fault
    assert ("--packages no_such_package" in calibration.plan.note) == (fault == "package")


@pytest.mark.parametrize("mode", ["auto", "referee", "shared"])
@pytest.mark.parametrize("reference", ["    return 1\n", None])
@pytest.mark.parametrize("test", ["", "def check(:\n", "assert f(1) == 1\n", "def check(candidate):\n    pass\n"])
def test_tests_that_check_nothing(jail: Jailed, test: str, reference: str | None, mode: str):
    """Tests that are not there or check nothing are at fault in every mode, with a reference solution and without."""
    problem = Problem(
        id="T/n", prompt="def f(*args):\n", entry_point="f", check=FunctionTests(source=test), reference=reference
    )
    assert "tests" == calibrate(jail, problem, mode).plan.fault


@pytest.mark.skipif(
    not Path(os.environ.get("PASSCURVE_TEST_DATA", ""), "mbpp_sanitized_codet.jsonl").is_file(),
    reason="PASSCURVE_TEST_DATA names no folder with MBPP",
)
def test_published_problems_with_a_second_function(jail: Jailed):
    """Problems of MBPP whose tests call a second function are judged in shared mode (with their indentation mended)."""
    path = Path(os.environ["PASSCURVE_TEST_DATA"], "mbpp_sanitized_codet.jsonl")
    by_id = {problem.id: problem for problem in read_problems(path)}
    problems = []
    for problem in (by_id[f"MbppEval/{number}"] for number in (18, 70, 164, 580, 630)):
        indent = problem.reference[: len(problem.reference) - len(problem.reference.lstrip(" \t"))]
        prompt = problem.prompt.replace("\n    ", "\n" + indent)
        problems.append(msgspec.structs.replace(problem, prompt=prompt))
    without = [msgspec.structs.replace(problem, reference=None) for problem in problems]
    for chosen in (problems, without):
        plans = [calibration.plan for calibration in Calibrator(jail).calibrate(*chosen)]
        assert [("shared", None)] * 5 == [(plan.mode, plan.fault) for plan in plans]
    assert ["'remove_dirty_chars'" in plans[0].note, "'get_equal'" in plans[1].note] == [True, True]


def test_vacuous_tests(jail: Jailed):
    """Tests that call nothing are a fault in every mode."""
    calibration = calibrate(jail, VAIN)
    assert ("referee", True) == (calibration.plan.mode, calibration.plan.fault is not None)
    assert VACUOUS in calibration.plan.note
    calibration = calibrate(jail, VAIN, "shared")
    assert ("shared", True) == (calibration.plan.mode, calibration.plan.fault is not None)
    assert VACUOUS in calibration.plan.note


@pytest.mark.parametrize(("reference", "is_faulty"), [("    return 2\n", True), ("\n", False), ("    \n", False)])
def test_a_prompt_that_passes_alone(jail: Jailed, reference: str, is_faulty: bool):
    """It is a fault unless its reference adds nothing to it, as some of those do that fill a gap."""
    problem = make_problem("", "assert candidate(1) == 2", "def f(*args):\n    return args[0] + 1\n")
    plan = calibrate(jail, msgspec.structs.replace(problem, reference=reference)).plan
    assert is_faulty == ("the prompt alone passes" in plan.note) == (plan.fault == "tests")


def test_vacuous_without_a_reference(jail: Jailed):
    """In shared mode, vacuous tests are found without a reference solution."""
    calibration = calibrate(jail, make_problem(None, "pass"), "shared")
    assert ("shared", True, VACUOUS) == (
        calibration.plan.mode,
        calibration.plan.fault is not None,
        calibration.plan.note,
    )
    calibration = calibrate(jail, make_problem(None, "assert candidate(1) == 2"), "shared")
    assert ("shared", False, None) == (calibration.plan.mode, calibration.plan.fault is not None, calibration.verdict)
    assert "no reference solution" in calibration.plan.note


@pytest.mark.parametrize(
    ("test", "is_vacuous"),
    [
        ("try:\n        candidate(1)\n    except Exception:\n        pass", True),
        ("try:\n        candidate(1)\n    except NotImplementedError:\n        pass", True),
        ("candidate(1)", True),
        ("candidate(1) == 1", True),
        ("assert candidate(1) or True", True),
        ("assert candidate(1)", False),
        ("assert candidate(0) is None", False),
        ("try:\n        candidate('')\n        assert False\n    except ValueError:\n        pass", False),
    ],
)
def test_tests_that_pass_wrong_programs(jail: Jailed, test: str, is_vacuous: bool):
    """Tests that pass what can only raise, or two unlike values, check nothing; a reference makes no difference."""
    reference = "return int(args[0]) or None"
    for problem, mode in ((make_problem(reference, test), "auto"), (make_problem(None, test), "auto")):
        plan = calibrate(jail, problem, mode).plan
        assert ("referee", is_vacuous) == (plan.mode, plan.fault == "tests")
    assert is_vacuous == (calibrate(jail, make_problem(reference, test), "shared").plan.fault == "tests")


def test_a_requested_mode(jail: Jailed):
    """With a requested mode, no plan of the other mode is tried."""
    calibration = calibrate(jail, LIVE, "referee")
    assert ("referee", True) == (calibration.plan.mode, calibration.plan.fault is not None)
    calibrator = Calibrator(jail, "shared")
    (calibration,) = calibrator.calibrate(PLAIN)
    assert ("shared", False) == (calibration.plan.mode, calibration.plan.fault is not None)
    assert {"passcurve.harness.shared"} == {job.role for job in calibrator.jobs}


class UnstableCalibrator(Calibrator):
    """Has another program judged in place of the first ones, as if the reference solution were unstable."""

    failures = 1

    def put(self, job: Job, *, first: bool = False, at_end: bool = False) -> None:
        """Queue a job."""
        if not job.without_sample and sum(not other.without_sample for other in self.jobs) < self.failures:
            job = msgspec.structs.replace(job, setup={**job.setup, "program": b"def f(*args): return 7\n"})
        super().put(job, first=first, at_end=at_end)


def make_header(mode: str) -> Header:
    """Return the header of a run in this mode."""
    return Header(
        version="1",
        benchmark="b",
        benchmark_source="b",
        benchmark_digest="d",
        samples="s",
        limits=LIMITS,
        verdict=mode,
        dedup=True,
        jail=Jail(isolation="full", layers=(), python="3"),
    )


@pytest.mark.parametrize("mode", ["auto", "shared"])
def test_an_unstable_reference(jail: Jailed, tmp_path: Path, mode: str):
    """A reference that fails once and passes the same trial again is used and told, and its plan is not kept."""
    cache = PlanCache(tmp_path, make_header(mode))
    (calibration,) = UnstableCalibrator(jail, mode, cache=cache).calibrate(PLAIN)
    plan = calibration.plan
    assert (None, True, mode == "shared") == (plan.fault, calibration.verdict.passed, plan.mode == "shared")
    assert "unstable" in plan.note
    assert cache.find(PLAIN) is None
    assert "" == Calibrator(jail, mode, cache=cache).calibrate(PLAIN)[0].plan.note
    assert cache.find(PLAIN) is not None


class KilledCalibrator(Calibrator):
    """Has the zygote of the samples killed again and again until the first plan is given up."""

    def __init__(self, jail: Jailed, cache: PlanCache) -> None:
        super().__init__(jail, cache=cache)
        self._jail = jail
        self._is_over = threading.Event()
        self._killer = threading.Thread(target=self._kill, daemon=True)

    def put(self, job: Job, *, first: bool = False, at_end: bool = False) -> None:
        """Queue a job, which never ends where the first plan is tried."""
        if not self._killer.ident:
            self._killer.start()
        if not job.without_sample and not job.referee.setup["write_back"]:
            job = msgspec.structs.replace(job, setup={**job.setup, "program": b"def f(*args):\n    while True: pass\n"})
        elif not job.without_sample:
            self._is_over.set()
            self._killer.join()
        super().put(job, first=first, at_end=at_end)

    def _kill(self) -> None:
        while not self._is_over.wait(0.3):
            # One that is killed twice before its walls stand is an error, as it should be.
            if zygote := ready_zygotes(self._jail.pool).get("jail"):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(zygote.pid, signal.SIGKILL)


def test_a_plan_that_was_given_up_for_our_failures(jail: Jailed, tmp_path: Path):
    """A better plan may have been given up because our processes were killed: what is found then is not kept."""
    cache = PlanCache(tmp_path, make_header("auto"))
    (calibration,) = KilledCalibrator(jail, cache).calibrate(PLAIN)
    assert (True, True) == (calibration.plan.write_back, calibration.verdict.passed)
    assert cache.find(PLAIN) is None
    assert not Calibrator(jail, cache=cache).calibrate(PLAIN)[0].plan.write_back
    assert cache.find(PLAIN) is not None


def test_a_reference_that_fails_twice(jail: Jailed):
    """A reference that fails the first trial twice goes on to the next plan."""
    calibrator = UnstableCalibrator(jail)
    calibrator.failures = 2
    assert calibrator.calibrate(PLAIN)[0].plan.write_back


def test_tests_that_do_not_compile(jail: Jailed):
    """Tests that do not compile are a fault."""
    problem = msgspec.structs.replace(PLAIN, id="T/none", check=FunctionTests(source="def check(:\n"))
    assert calibrate(jail, problem).plan.fault


def test_many_at_once(jail: Jailed):
    """Problems under calibration at the same time get their own verdicts."""
    problems = [PLAIN, WRONG, LIVE, IN_PLACE, VAIN]
    calibrations = Calibrator(jail).calibrate(*problems)
    assert problems == [calibration.problem for calibration in calibrations]
    assert [False, True, False, False, True] == [calibration.plan.fault is not None for calibration in calibrations]
    assert ["referee", "referee", "shared", "referee", "referee"] == [
        calibration.plan.mode for calibration in calibrations
    ]
    assert [False, False, False, True, False] == [calibration.plan.write_back for calibration in calibrations]


def test_calibration_is_deterministic(jail: Jailed):
    """Two calibrations of a problem have the same plan."""
    assert calibrate(jail, LIVE).plan == calibrate(jail, LIVE).plan


def first_two(entry_point: str) -> list[str]:
    """Return the wrong programs that sound tests meet."""
    wrong_programs = WrongPrograms(entry_point)
    first = wrong_programs.program
    assert wrong_programs.take(passed=False) is None
    return [first, wrong_programs.program]


LOOPING_ON_WRONG = make_problem("return 3", "while candidate(1) != 3:\n        pass")


@pytest.mark.parametrize(
    ("body", "passed"),
    [
        ("assert candidate(1) == 2", [False, False]),
        ("try:\n        candidate(1)\n    except NotImplementedError:\n        pass", [True, True]),
        ("candidate(1)", [False, True]),
        ("assert candidate(1) is not None and len(candidate(2)) == 3", [False, True]),
        ("pass", [False, False]),
        ("import sys; sys.exit()", [False, False]),
    ],
)
@pytest.mark.parametrize("form", ["function", "statements"])
def test_wrong_programs_where_calls_are_recorded(jail: Jailed, body: str, passed: list[bool], form: str):
    """The tests say of each wrong program what they say of it as a sample."""
    problem = make_problem("return 2", body)
    if form == "statements":
        check = Assertions(tests=(textwrap.dedent(f"    {body}").replace("candidate", "f"),))
        problem = msgspec.structs.replace(problem, check=check)
    wrong = (*first_two("f"), *first_two("Solution.f"), "def g(): pass\n")
    passed = [*passed, False, False, False]
    for program, has_passed in zip(wrong, passed, strict=True):
        outcome = jail.run(make_tests_job(problem, LIMITS, 0, 1, program, record=True))
        assert has_passed == outcome.report["passed"], outcome
        report = jail.run(make_job(problem, program, CheckPlan(), LIMITS, 0, 1)).report
        assert has_passed == (report["status"] == "passed")


def test_tests_that_loop_on_a_wrong_result(jail: Jailed):
    """They take long only where a wrong program is tried as a sample: their calls are known all the same."""
    second = first_two("f")[1]
    outcome = jail.run(make_tests_job(LOOPING_ON_WRONG, LIMITS, 0, 1, second, record=True))
    assert (None, 1) == (outcome.report["passed"], len(outcome.report["recorded"]))
    calibrator = Calibrator(jail, timeout_s=0.5)
    (calibration,) = calibrator.calibrate(LOOPING_ON_WRONG)
    assert (None, True, True) == (calibration.plan.fault, calibration.verdict.passed, bool(calibration.plan.calls))
    assert second.encode() in {job.setup["program"] for job in calibrator.jobs}


@pytest.mark.parametrize("asks", ["input", "output"])
def test_an_answer(jail: Jailed, asks: str):
    """Where a program is made of an answer, wrong programs are tried as samples only."""
    check = Expression(asks=asks, code="def f(x):\n    return x + 1\n", input="1", output="2")
    problem = Problem(id="T/e", prompt="", entry_point="f", check=check, reference="f(1)" if asks == "input" else "2")
    calibrator = Calibrator(jail)
    (calibration,) = calibrator.calibrate(problem)
    assert (None, True, 1) == (
        calibration.plan.fault,
        calibration.verdict.passed,
        len(recording.unpack_calls(calibration.plan.calls)),
    )
    assert [True, False, False, False] == [job.without_sample for job in calibrator.jobs]


SLEEPING = "import time; time.sleep(0.3); return args[0] + 1"


@pytest.mark.parametrize(
    ("reference", "test", "count", "slices"),
    [
        ("return args[0] + 1", "assert candidate(1) == 2", 1, [0.1]),
        (SLEEPING, "assert candidate(1) == 2", 1, [0.1, 20.0]),
        (SLEEPING, "if candidate(1) != 1: candidate(2)\n    assert candidate(2) == 3", 0, [0.1, 20.0, 20.0]),
    ],
)
def test_the_calls_of_a_slow_reference(jail: Jailed, reference: str, test: str, count: int, slices: list[float]):
    """A reference that outlasts its slice has all its time; the calls stay known where it passes with them.

    It does not wait for the end, as its samples wait for it.
    """
    calibrator = Calibrator(jail)
    (calibration,) = calibrator.calibrate(make_problem(reference, test))
    assert (None, True, count) == (
        calibration.plan.fault,
        calibration.verdict.passed,
        len(recording.unpack_calls(calibration.plan.calls)),
    )
    assert slices == [job.slice_s for job in calibrator.jobs if not job.without_sample]
    assert not calibrator.put_at_end


# Each test below is the text of a benchmark: it sleeps between two calls, or swallows errors, as some benchmarks do.
TIME_BETWEEN = """
    import time
    a = candidate()
    time.sleep(0.05)
    assert candidate() - a > 0.04
"""
A_BUFFER = """
    inner = [1]
    box = [inner]
    r = candidate(b"ab", box)
    assert box[0] is inner
    assert candidate(bytearray(b"cd") if type(r) is int else b"cd", box) == "bytearray"
"""


@pytest.mark.parametrize(
    ("reference", "test", "jobs"),
    [
        # With all calls at once, without, and at once again; then wrong programs.
        ("import time; return time.time()", TIME_BETWEEN, 5),
        # The same, but with all calls at once it outlasts its slice first.
        ("import time; time.sleep(0.06); return time.time()", TIME_BETWEEN.replace("0.0", "0.1"), 7),
        # At the first call that differs, all are made when the tests come to them.
        ("return 2 if args[0] == b'ab' else type(args[0]).__name__", A_BUFFER, 4),
    ],
)
def test_a_reference_that_passes_call_by_call_only(jail: Jailed, reference: str, test: str, jobs: int):
    """No calls are known then, and nothing else is said of it."""
    calibrator = Calibrator(jail)
    (calibration,) = calibrator.calibrate(make_problem(reference, test))
    plan = calibration.plan
    assert (None, "", b"", "referee", False) == (plan.fault, plan.note, plan.calls, plan.mode, plan.write_back)
    assert jobs == len(calibrator.jobs)


ADDING = """
    import logging
    log = logging.getLogger("sol")
    log.addHandler(logging.NullHandler())
    try: candidate(1)
    except Exception: pass
    assert len(log.handlers) == 1
"""
INTERRUPTED = """
    import math
    real = math.sqrt; math.sqrt = None
    try: candidate(candidate(1))
    except Exception: pass
    math.sqrt = real
    math.sqrt(4.0)
"""


@pytest.mark.parametrize("test", [ADDING, INTERRUPTED])
@pytest.mark.parametrize("reference", ["return args[0] + 1", None])
def test_vacuous_tests_that_leave_something_behind(jail: Jailed, test: str, reference: str | None):
    """Each wrong program meets tests that have not run before, so that what they left cannot make it fail."""
    calibration = calibrate(jail, make_problem(reference, test))
    assert ("tests", VACUOUS) == (calibration.plan.fault, calibration.plan.note)


def test_no_answer_is_judged_beside_the_question(jail: Jailed):
    """A question about a function has no tests that could run with an answer, so nothing is said of one."""
    check = Expression(asks="output", code="def f(x): return x\n", input="1", output="1")
    calibration = calibrate(jail, Problem(id="e", prompt="", entry_point="f", check=check), "shared")
    assert "tests" == calibration.plan.fault
