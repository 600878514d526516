"""The reference solution decides how a problem is checked: down the ladder, with a fault at its foot."""

from __future__ import annotations

import msgspec
import pytest
from jailed import LIMITS, Jailed

from passcurve.judging.calibration import Calibrations, Settled
from passcurve.judging.scheduler import Local
from passcurve.judging.verdict import VACUOUS
from passcurve.sandbox.job import Job, Outcome
from passcurve.types import Problem


class Calibration:
    """Calibrates problems on the jail's pool and keeps what was run."""

    def __init__(self, jail: Jailed, wanted: str = "auto", timeout_s: float = 20.0) -> None:
        self._local: Local[Job, Outcome] = Local(jail.pool)
        limits = msgspec.structs.replace(LIMITS, timeout_s=timeout_s)
        self.calibrations = Calibrations(wanted, limits, 0, self._put, self._local.put_last)
        self.jobs: list[Job] = []

    def _put(self, job: Job) -> None:
        self.jobs.append(job)
        self._local.put(job)

    def settle(self, *problems: Problem) -> list[Settled]:
        """Return what is settled of each problem, in their order."""
        settled = {each.id: self.calibrations.begin(each) for each in problems}
        while not self._local.empty:
            for outcome in self._local.run(1.0):
                assert self.calibrations.owns(outcome)
                if one := self.calibrations.take(outcome):
                    assert settled[one.problem.id] is None
                    settled[one.problem.id] = one
        return [settled[each.id] for each in problems]


def problem(reference: str | None, test: str, prompt: str = "def f(*args):\n") -> Problem:
    """Return a problem whose check has this body."""
    code = None if reference is None else f"    {reference}\n"
    test = f"def check(candidate):\n    {test}\n"
    return Problem(id=f"T/{hash((reference, test))}", prompt=prompt, entry_point="f", test=test, reference=code)


def settle(jail: Jailed, one: Problem, wanted: str = "auto", timeout_s: float = 20.0) -> Settled:
    """Calibrate one problem."""
    (settled,) = Calibration(jail, wanted, timeout_s).settle(one)
    return settled


PLAIN = problem("return args[0] + 1", "assert candidate(1) == 2")
IN_PLACE = problem("args[0].sort()", "xs = [2, 1]\n    candidate(xs)\n    assert xs == [1, 2]")
LIVE = problem("return type('A', (), {'x': 5})()", "assert candidate().x == 5", "def f(*args):\n    '''An object.'''\n")
WRONG = problem("return 3", "assert candidate(1) == 2")
LOOPING = problem("while True: pass", "assert candidate(1) == 2")
DYING = problem("import os; os._exit(3)", "assert candidate(1) == 2")
VAIN = problem("return 1", "pass")


def test_apart(jail: Jailed):
    """A reference solution that passes apart from the tests settles it at the first trial, without a note."""
    calibration = Calibration(jail)
    (settled,) = calibration.settle(PLAIN)
    assert ("referee", False, False, "") == (
        settled.plan.mode,
        settled.plan.write_back,
        settled.plan.fault,
        settled.plan.note,
    )
    assert settled.verdict.passed
    assert 1 == len(calibration.jobs)


def test_written_back(jail: Jailed):
    """One that changes its arguments passes at the second, and the note says what is done."""
    settled = settle(jail, IN_PLACE)
    assert ("referee", True, False) == (settled.plan.mode, settled.plan.write_back, settled.plan.fault)
    assert "handed back" in settled.plan.note
    assert settled.verdict.passed


def test_shared(jail: Jailed):
    """One that returns a live object passes at the third, and the note says what happens apart from the tests."""
    calibration = Calibration(jail)
    (settled,) = calibration.settle(LIVE)
    assert ("shared", False, False) == (settled.plan.mode, settled.plan.write_back, settled.plan.fault)
    assert "apart from the tests the reference solution failed (AttributeError" in settled.plan.note
    assert settled.verdict.passed
    assert 4 == len(calibration.jobs)


def test_wrong_everywhere(jail: Jailed):
    """One that fails in every way is the benchmark's fault, with the verdict of the first way."""
    settled = settle(jail, WRONG)
    assert ("referee", True, "failed") == (settled.plan.mode, settled.plan.fault, settled.verdict.status)
    assert "the reference solution does not pass: failed (AssertionError)" == settled.plan.note


@pytest.mark.parametrize(("one", "status"), [(LOOPING, "timeout"), (DYING, "crash")])
def test_broken(jail: Jailed, one: Problem, status: str):
    """One that loops or dies is a fault to be shown and no reason for shared mode: nothing else is tried."""
    calibration = Calibration(jail, timeout_s=0.5 if one is LOOPING else 20.0)
    (settled,) = calibration.settle(one)
    assert ("referee", True, status) == (settled.plan.mode, settled.plan.fault, settled.verdict.status)
    assert {"passcurve.harness.sample"} == {job.role for job in calibration.jobs}
    assert 1 == len(calibration.jobs)


def test_without_a_reference(jail: Jailed):
    """A problem without a reference solution is settled at once, apart, and says so."""
    calibration = Calibration(jail)
    (settled,) = calibration.settle(problem(None, "assert candidate(1) == 2"))
    assert ("referee", False, None) == (settled.plan.mode, settled.plan.fault, settled.verdict)
    assert "no reference solution" in settled.plan.note
    assert [] == calibration.jobs


def test_vacuous(jail: Jailed):
    """Tests that call nothing are a fault, though shared mode by itself would let everybody pass."""
    settled = settle(jail, VAIN)
    assert ("referee", True) == (settled.plan.mode, settled.plan.fault)
    assert VACUOUS in settled.plan.note
    asked = settle(jail, VAIN, "shared")
    assert ("shared", True) == (asked.plan.mode, asked.plan.fault)
    assert VACUOUS in asked.plan.note


def test_vacuous_without_a_reference(jail: Jailed):
    """Where shared mode is demanded for a problem without a reference solution, its tests are tried all the same."""
    settled = settle(jail, problem(None, "pass"), "shared")
    assert ("shared", True, VACUOUS) == (settled.plan.mode, settled.plan.fault, settled.plan.note)
    settled = settle(jail, problem(None, "assert candidate(1) == 2"), "shared")
    assert ("shared", False, None) == (settled.plan.mode, settled.plan.fault, settled.verdict)
    assert "no reference solution" in settled.plan.note


def test_tests_that_let_an_error_pass(jail: Jailed):
    """Tests that a function which can only raise would pass are vacuous in shared mode."""
    one = problem("return 1", "try:\n        candidate(1)\n    except Exception:\n        pass")
    assert settle(jail, one, "shared").plan.fault


def test_only_what_is_wanted(jail: Jailed):
    """Where referee mode is demanded shared mode is not tried, and the other way round."""
    settled = settle(jail, LIVE, "referee")
    assert ("referee", True) == (settled.plan.mode, settled.plan.fault)
    calibration = Calibration(jail, "shared")
    (settled,) = calibration.settle(PLAIN)
    assert ("shared", False) == (settled.plan.mode, settled.plan.fault)
    assert {"passcurve.harness.shared"} == {job.role for job in calibration.jobs}


def test_tests_that_do_not_compile(jail: Jailed):
    """Tests that are no Python are a fault."""
    one = msgspec.structs.replace(PLAIN, id="T/none", test="def check(:\n")
    assert settle(jail, one).plan.fault


def test_many_at_once(jail: Jailed):
    """Problems that are calibrated together do not take each other's verdicts."""
    problems = [PLAIN, WRONG, LIVE, IN_PLACE, VAIN]
    settled = Calibration(jail).settle(*problems)
    assert problems == [each.problem for each in settled]
    assert [False, True, False, False, True] == [each.plan.fault for each in settled]
    assert ["referee", "referee", "shared", "referee", "referee"] == [each.plan.mode for each in settled]
    assert [False, False, False, True, False] == [each.plan.write_back for each in settled]


def test_the_same_plan_twice(jail: Jailed):
    """Calibration says the same each time."""
    assert settle(jail, LIVE).plan == settle(jail, LIVE).plan
