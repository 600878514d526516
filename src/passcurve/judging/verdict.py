"""From outcome to verdict: the one place where facts become a judgement."""

from __future__ import annotations

import re
import signal
from typing import Annotated

import msgspec

from passcurve.judging.attempts import is_endless_answer
from passcurve.judging.data_tests import SETUP as DATA_TESTS
from passcurve.judging.data_tests import read_data_report
from passcurve.judging.plan import suites_of
from passcurve.judging.program_cases import reach_program_status, read_program_report
from passcurve.judging.script_verdict import reach_script_status
from passcurve.judging.suspicion import list_suspicious_acts
from passcurve.sandbox.job import Job, Outcome
from passcurve.types import Call, Problem, SampleKey, Status, SuiteOutcome, Verdict
from passcurve.types.decoding import decodable

MESSAGE_CHARACTERS = 500
VACUOUS = "the tests pass whatever the function does: they never need it"
BENCHMARK = "benchmark: "
"""Beginning of the message of a verdict by tests that check nothing."""
_FAILURES: dict[str, Status] = {"failed": "failed", "memory": "memory", "output": "output", "compile": "compile"}
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_MEMORY_SHARE = 0.9
"""A process that was killed from outside while it held this share of its limit died of the limit."""


_Text = Annotated[str, msgspec.Meta(max_length=8000)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]


class _Report(msgspec.Struct, frozen=True):
    """The form of a report; it is checked because in shared mode the sample could have written it."""

    status: _Text
    message: _Text = ""
    exception: _Text = ""
    call: tuple[_Text, _Text] | None = None
    test_line: _Text = ""
    calls: _Count = 0
    flattened: Annotated[tuple[_Text, ...], msgspec.Meta(max_length=16)] = ()
    token: _Text = ""
    seen: Annotated[tuple[_Text, ...], msgspec.Meta(max_length=16)] = ()
    expected: _Text = ""
    suites: Annotated[tuple[tuple[_Count, _Count, int], ...], msgspec.Meta(max_length=1000)] = ()
    outcomes: Annotated[tuple[str, ...], msgspec.Meta(max_length=1000)] = ()


_NO_REPORT = _Report(status="")
_MALFORMED_REPORT = _Report(status="malformed")


def _read(job: Job, outcome: Outcome) -> _Report:
    if "program_cases" in job.setup:
        return msgspec.convert(read_program_report(job, outcome), decodable(_Report))
    if DATA_TESTS in job.setup:
        return msgspec.convert(read_data_report(job, outcome), decodable(_Report))
    if outcome.report is None:
        return _NO_REPORT
    try:
        return msgspec.convert(outcome.report, decodable(_Report))
    except (msgspec.ValidationError, UnicodeError):
        return _MALFORMED_REPORT


def reach_verdict(key: SampleKey, job: Job, outcome: Outcome) -> Verdict:
    """Return the verdict on one sample.

    The default is "not passed": a pass needs a report that says so, from the referee or, in shared mode, with the
    job's token.
    """
    is_program = "program_cases" in job.setup
    report = _read(job, outcome)
    if is_program:
        status, message = reach_program_status(job, outcome)
    else:
        status, message = reach_script_status(job, outcome) if job.attempts else _status(job, outcome, report)
    call = None
    if report.call is not None and status not in ("passed", "void"):
        arguments, ended = report.call
        call = Call(
            index=report.calls,
            arguments=_bounded(arguments, 2000),
            outcome=_bounded(ended, 2000),
            expected=_bounded(report.expected, 2000),
        )
    return Verdict(
        key=key,
        status=status,
        mode="referee" if job.referee is not None or is_program or DATA_TESTS in job.setup else "shared",
        message=_bounded(message),
        exception=_bounded(report.exception) if status not in ("passed", "void", "timeout") else "",
        call=call,
        test_line=_bounded(report.test_line),
        calls=report.calls,
        suites=_suites(job, report, status) if status != "void" else (),
        own_s=round(outcome.own_s, 6),
        wall_s=round(outcome.wall_s, 6),
        cpu_s=round(outcome.cpu_s, 6),
        memory_bytes=outcome.memory_bytes,
        flattened=tuple(_bounded(name, 80) for name in report.flattened),
        suspicious=_suspicious(job, outcome, report, status) if status != "void" else (),
    )


def judge_no_program(key: SampleKey, problem: Problem, reason: str) -> Verdict:
    """Return the verdict on a text without a program, for which no test of any suite ran."""
    suites = tuple(
        # A module of tests may not show how many it has.
        SuiteOutcome(name=suite.name, tests=max(suite.count, int(suite.alone)), alone=suite.alone, scored=suite.scored)
        for suite in suites_of(problem)
    )
    return Verdict(key=key, status="no_code", mode="none", message=reason, suites=suites)


def _suites(job: Job, report: _Report, status: Status) -> tuple[SuiteOutcome, ...]:
    """Return the outcome of each suite of the job; one that was not begun has no test that ran."""
    outcomes = []
    for number, suite in enumerate(job.suites):
        ran, right, first = report.suites[number] if number < len(report.suites) else (0, 0, -1)
        if status == "passed" and not suite.scored:
            # In shared mode a pass shows only that all tests of a function have held.
            ran, right, first = suite.count, suite.count, -1
        bits = report.outcomes[number] if number < len(report.outcomes) else ""
        # A module of tests may not show how many it has: one that has not begun has one at least.
        tests = max(suite.count, ran, 1) if job.referee is None and suite.scored else suite.count
        ran = min(ran, tests)
        outcomes.append(
            SuiteOutcome(
                name=suite.name,
                tests=tests,
                ran=ran,
                right=min(right, ran),
                first_failed=first if 0 <= first < ran else -1,
                alone=suite.alone,
                scored=suite.scored,
                outcomes=bits if len(bits) <= tests // 6 + 4 else "",
            )
        )
    return tuple(outcomes)


def _suspicious(job: Job, outcome: Outcome, report: _Report, status: Status) -> tuple[str, ...]:
    reported = tuple(_bounded(act, 120) for act in report.seen)
    if "token" in job.setup and report.status == "passed" and report.token != job.setup["token"]:
        reported = ("sent a report without the job's token", *reported)
    elif report is _MALFORMED_REPORT:
        reported = ("sent a malformed report", *reported)
    return list_suspicious_acts(outcome, status, report.status, report.exception, reported)


def _status(job: Job, outcome: Outcome, report: _Report) -> tuple[Status, str]:
    limit = job.limits
    status = report.status
    if outcome.ended == "fault":
        return "void", outcome.fault
    if outcome.ended == "wall":
        return "void", f"the machine let it run for {outcome.own_s:.1f} s in {outcome.wall_s:.0f} s"
    if outcome.ended in ("timeout", "slice"):
        return "timeout", f"over {limit.timeout_s:g} s of {limit.clock} time"
    if outcome.ended == "test timeout":
        return "timeout", f"over {job.test_s or limit.timeout_s:g} s of {limit.clock} time in one test"
    if is_endless_answer(job, outcome):
        return "timeout", "the function in question did not end on the answer"
    if outcome.ended == "tests":
        return "timeout", "the tests did not end on what it returned"
    if outcome.signal == signal.SIGKILL and outcome.memory_bytes >= _MEMORY_SHARE * limit.memory_bytes:
        return "memory", "killed at the limit of memory"
    if outcome.holds_too_much:
        return "memory", f"all its processes together hold over {limit.memory_bytes >> 20} MiB"
    if outcome.overfull:
        return "failed", "more files or bytes than its scratch may hold"
    if outcome.doubt or status == "protocol":
        return "crash", outcome.doubt or f"wrote nonsense on the line to the tests: {report.message}"
    if status == "gone" or (status == "" and outcome.ended in ("report", "exit")):
        return _died(outcome)
    if status in ("benchmark", "tests"):
        return "failed", f"{BENCHMARK}{report.message}"
    if status == "passed":
        if job.referee is None and report.token != job.setup["token"]:
            return "crash", "a report without the job's token"
        return "passed", ""
    if status == "timeout":
        return "timeout", report.message
    if status in _FAILURES:
        return _FAILURES[status], report.message
    return "crash", "malformed report"


def _died(outcome: Outcome) -> tuple[Status, str]:
    if outcome.signal is not None:
        try:
            name = signal.Signals(outcome.signal).name
        except ValueError:
            name = f"signal {outcome.signal}"
        if outcome.signal == signal.SIGXCPU:
            return "timeout", "over the backstop of CPU time"
        return "crash", f"the interpreter died of {name}"
    if outcome.exit_code is not None:
        return "crash", f"the interpreter ended with exit code {outcome.exit_code} before the tests did"
    return "crash", "it closed the line to the tests"


def _bounded(text: str, characters: int = MESSAGE_CHARACTERS) -> str:
    """Return the beginning of a text, with the addresses of objects masked: they change from run to run."""
    text = _ADDRESS.sub(" at 0x...", text)
    return text if len(text) <= characters else text[: characters - 1] + "…"


def describe_verdict(verdict: Verdict) -> str:
    """Return the status of a verdict, with its message as one line without colours."""
    return f"{verdict.status} ({' '.join(_COLOUR.sub('', verdict.message).split())})"


def describe_failure(verdict: Verdict) -> str:
    """Return how a reference solution has failed, as ``describe_verdict`` does, and what to do about its time."""
    remedy = "; if it needs longer, raise --timeout" if verdict.status == "timeout" else ""
    return f"{describe_verdict(verdict)}{remedy}"
