"""From outcome to verdict: every way in which a job can end, and its status."""

from __future__ import annotations

import signal

import msgspec
import pytest

from passcurve.judging.attempts import needs_retry
from passcurve.judging.plan import CheckPlan, make_job
from passcurve.judging.verdict import MESSAGE_CHARACTERS, reach_verdict
from passcurve.sandbox.job import Outcome
from passcurve.types import Call, FunctionTests, Limits, Problem, SampleKey

KEY = SampleKey(problem_id="T/1", sample_index=2)
PROBLEM = Problem(id="T/1", prompt="", entry_point="f", check=FunctionTests(source=""))
LIMITS = Limits(timeout_s=3.0, memory_bytes=1000)
REFEREE = make_job(PROBLEM, "", CheckPlan(), LIMITS, 0, 1)
SHARED = make_job(PROBLEM, "", CheckPlan(mode="shared"), LIMITS, 0, 1)


def outcome(ended: str = "report", report: dict | None = None, **facts) -> Outcome:
    """Return the outcome of a job."""
    return Outcome(tag=1, ended=ended, report=report, **facts)


def reported(status: object, **more: object) -> Outcome:
    """Return the outcome of a job that ended with a report."""
    return outcome(report={"status": status, **more}, exit_code=0)


GONE = {"status": "gone", "message": "the sample's process ended"}
TABLE = {
    "passed": (reported("passed", calls=3), "passed", ""),
    "failed": (reported("failed", message="ValueError: x"), "failed", "ValueError: x"),
    "memory": (reported("memory", message="MemoryError"), "memory", "MemoryError"),
    "output": (reported("output", message="too long"), "output", "too long"),
    "compile": (reported("compile", message="SyntaxError"), "compile", "SyntaxError"),
    "benchmark": (reported("benchmark", message="no check"), "failed", "benchmark: no check"),
    "tests": (reported("tests", message="an object"), "failed", "benchmark: an object"),
    "protocol": (reported("protocol", message="?"), "crash", "wrote nonsense on the line to the tests: ?"),
    "unknown status": (reported("wonderful"), "crash", "malformed report"),
    "status of another kind": (reported(["passed"]), "crash", "malformed report"),
    "true is no status": (reported(True), "crash", "malformed report"),
    "no results are stripped": (reported("stripped"), "crash", "malformed report"),
    "gone by exit": (
        outcome("exit", GONE, exit_code=3),
        "crash",
        "the interpreter ended with exit code 3 before the tests did",
    ),
    "gone with zero": (
        outcome("exit", GONE, exit_code=0),
        "crash",
        "the interpreter ended with exit code 0 before the tests did",
    ),
    "gone by signal": (outcome("exit", GONE, signal=11), "crash", "the interpreter died of SIGSEGV"),
    "gone by a signal without a name": (outcome("exit", GONE, signal=99), "crash", "the interpreter died of signal 99"),
    "killed at the limit of memory": (
        outcome("exit", GONE, signal=signal.SIGKILL, memory_bytes=950, doubt="who did that"),
        "memory",
        "killed at the limit of memory",
    ),
    "killed below the limit of memory": (
        outcome("exit", GONE, signal=signal.SIGKILL, memory_bytes=800, doubt="who did that"),
        "crash",
        "who did that",
    ),
    "gone below the limit of memory": (
        outcome("exit", GONE, signal=signal.SIGABRT, memory_bytes=800),
        "crash",
        "the interpreter died of SIGABRT",
    ),
    "gone by the backstop": (
        outcome("exit", GONE, signal=signal.SIGXCPU),
        "timeout",
        "over the backstop of CPU time",
    ),
    "gone and alive": (outcome("report", GONE), "crash", "it closed the line to the tests"),
    "no report": (
        outcome("exit", None, exit_code=0),
        "crash",
        "the interpreter ended with exit code 0 before the tests did",
    ),
    "an empty report": (outcome("report", {}), "crash", "malformed report"),
    "timeout": (outcome("timeout", GONE), "timeout", "over 3 s of own time"),
    "timeout after a pass": (outcome("timeout", {"status": "passed"}), "timeout", "over 3 s of own time"),
    "slice": (outcome("slice", None), "timeout", "over 3 s of own time"),
    "tests without end": (outcome("tests", None), "timeout", "the tests did not end on what it returned"),
    "wall": (outcome("wall", None, own_s=1.0, wall_s=60.0), "void", "the machine let it run for 1.0 s in 60 s"),
    "fault": (outcome("fault", None, fault="the jail's zygote ended"), "void", "the jail's zygote ended"),
    "fault after a pass": (outcome("fault", {"status": "passed"}, fault="lost"), "void", "lost"),
    "doubt": (outcome("exit", GONE, doubt="killed by nobody we know"), "crash", "killed by nobody we know"),
    "doubt after a pass": (outcome("report", {"status": "passed"}, doubt="garbage"), "crash", "garbage"),
}


@pytest.mark.parametrize("what", TABLE)
def test_every_outcome(what: str):
    """Every outcome has its status and message, and only a report that says so is a pass."""
    facts, status, message = TABLE[what]
    verdict = reach_verdict(KEY, REFEREE, facts)
    assert (status, message) == (verdict.status, verdict.message)
    assert (status == "passed") == verdict.passed
    assert (KEY, "referee") == (verdict.key, verdict.mode)


def test_the_default_is_not_passed():
    """An outcome without facts is not a pass, however the job ended."""
    for ended in msgspec.inspect.type_info(Outcome).fields[1].type.values:
        assert not reach_verdict(KEY, REFEREE, outcome(ended)).passed
        assert not reach_verdict(KEY, SHARED, outcome(ended)).passed


@pytest.mark.parametrize("status", ["Passed", "passed ", "PASSED", b"passed", 1, None, ["passed"], ("passed",)])
def test_a_status_that_resembles_passed(status: object):
    """Only the exact word is a pass."""
    assert not reach_verdict(KEY, REFEREE, reported(status)).passed


@pytest.mark.parametrize("token", [None, "", "x" * 32, 0, True, b""])
def test_a_pass_without_the_token(token: object):
    """In shared mode a pass without the token of the job is a crash."""
    assert "token" not in REFEREE.setup
    other = make_job(PROBLEM, "", CheckPlan(mode="shared"), LIMITS, 0, 1).setup["token"]
    for facts in (reported("passed"), reported("passed", token=token), reported("passed", token=other)):
        verdict = reach_verdict(KEY, SHARED, facts)
        assert "crash" == verdict.status
        assert verdict.message in ("a report without the job's token", "malformed report")
    right = reported("passed", token=SHARED.setup["token"])
    assert reach_verdict(KEY, SHARED, right).passed


def test_the_facts_of_a_verdict():
    """A verdict has times, memory, calls, the last call, the test line and the flattened types."""
    facts = outcome(
        report={
            "status": "failed",
            "message": "AssertionError",
            "exception": "AssertionError",
            "calls": 2,
            "call": ("f(1)", "returned 2"),
            "test_line": "assert f(1) == 1",
            "flattened": ("Counter",),
        },
        own_s=0.1234567,
        wall_s=0.2,
        cpu_s=0.1,
        memory_bytes=5000,
    )
    verdict = reach_verdict(KEY, REFEREE, facts)
    assert Call(index=2, arguments="f(1)", outcome="returned 2") == verdict.call
    assert ("AssertionError", "assert f(1) == 1", 2, ("Counter",)) == (
        verdict.exception,
        verdict.test_line,
        verdict.calls,
        verdict.flattened,
    )
    assert (0.123457, 0.2, 0.1, 5000) == (verdict.own_s, verdict.wall_s, verdict.cpu_s, verdict.memory_bytes)


def test_texts_are_bounded():
    """Long texts of a report are cut and end with an ellipsis."""
    long = "x" * 6_000
    facts = reported("failed", message=long, exception=long, call=(long, long), test_line=long, flattened=(long,))
    verdict = reach_verdict(KEY, SHARED, facts)
    for text in (verdict.message, verdict.exception, verdict.test_line, verdict.flattened[0]):
        assert len(text) <= MESSAGE_CHARACTERS
        assert text.endswith("…")
    assert len(verdict.call.arguments) <= 2000


STRANGE = [
    5,
    10**5000,
    -(10**5000),
    None,
    True,
    1.5,
    [],
    [10**5000],
    {},
    {1: 2},
    (),
    ((),),
    b"x",
    "x" * 100_000,
    range(3),
]


@pytest.mark.parametrize("part", ["message", "exception", "call", "test_line", "calls", "flattened", "token", "status"])
@pytest.mark.parametrize("status", ["failed", "protocol", "passed", "gone", "benchmark"])
def test_strange_reports(part: str, status: str):
    """No value in a report of a sample raises an error or is a pass."""
    for value in [*STRANGE, (10**5000, 10**5000), [[10**5000] * 2]]:
        facts = outcome(report={"status": status, part: value})
        assert not reach_verdict(KEY, SHARED, facts).passed
        needs_retry(facts)


@pytest.mark.parametrize(
    ("facts", "retried"),
    [
        (outcome("fault", fault="x"), True),
        (outcome("wall"), True),
        (outcome("report", GONE, doubt="x"), True),
        (reported("protocol"), True),
        (reported("passed"), False),
        (reported("failed"), False),
        (outcome("timeout"), False),
        (outcome("tests"), False),
        (outcome("exit", GONE, exit_code=1), False),
        (outcome("exit", GONE, signal=11), False),
    ],
)
def test_needs_retry(facts: Outcome, retried: bool):
    """A job runs once more when its outcome could be our doing, and not when it is that of the sample."""
    assert retried == needs_retry(facts)
