"""The verdict on a program that ran with tests in its own language: what its compiler and its end show."""

from __future__ import annotations

import re
import signal
from typing import Any

import msgspec

from passcurve.bench.languages import find_language
from passcurve.judging.data_tests import SETUP as DATA_TESTS
from passcurve.judging.data_tests import find_failure, has_results
from passcurve.sandbox.job import Job, Outcome, Step
from passcurve.types import Language, Script, Status
from passcurve.types.decoding import decodable


class EndReport(msgspec.Struct, frozen=True, kw_only=True):
    """Report of ``harness/command.py`` on one command."""

    status: str
    error: str = ""
    exit: int | None = None
    signal: int | None = None
    out: str = ""
    err: str = ""
    out_bytes: int = 0
    err_bytes: int = 0
    memory_bytes: int = 0
    files: dict[str, str] = {}
    """The files that were fetched, in base64, by name."""


_WHERE = re.compile(r"(?:/tmp/)+")
_LINE_CHARACTERS = 4000
"""Most of a line that is searched: where a pattern begins at each place of a long one, the search takes seconds."""
_MEMORY_SHARE = 0.95
"""A program that was killed while its processes held this share of their limit died of the limit."""


def reach_script_status(job: Job, outcome: Outcome) -> tuple[Status, str]:
    """Return the status of a program, and the line of its output that says most."""
    check: Script = job.setup["check"]
    language = find_language(check.language)
    report = read_report(outcome.report)
    step = job.attempts[0][-1] if outcome.step != "compile" else job.attempts[0][0]
    status = reach_end(job, outcome, language, report, step) or _run_status(check, job, language, report)
    return _check_results(job, outcome) if status[0] == "passed" and DATA_TESTS in job.setup else status


def _check_results(job: Job, outcome: Outcome) -> tuple[Status, str]:
    """Return the status of a program that came to the end of its calls: that of their results."""
    if not has_results(outcome):
        return "output", "its results were not written, or are too large"
    failure = find_failure(job, outcome)
    return ("passed", "") if failure is None else ("failed", f"wrong result: {failure.call} {failure.outcome}")


def reach_end(
    job: Job, outcome: Outcome, language: Language, report: EndReport, step: Step
) -> tuple[Status, str] | None:
    """Return the status of a program that did not come to an end of its own; None where it did."""
    if outcome.ended == "fault":
        return "void", outcome.fault
    if report.status == "command":
        return "void", f"{language.title}: {report.error}"
    if outcome.ended == "wall":
        return "void", f"the machine let it run for {outcome.own_s:.1f} s in {outcome.wall_s:.0f} s"
    if outcome.overfull:
        limit_bytes = max(job.limits.memory_bytes, step.jail.memory_bytes)
        text = f"all its processes together hold over {limit_bytes >> 20} MiB"
        return ("compile", f"the compiler: {text}") if outcome.step == "compile" else ("memory", text)
    if outcome.step == "compile":
        if outcome.ended == "timeout":
            return "compile", f"the compiler takes over {step.timeout_s:g} s"
        return "compile", describe_output(report, language) or f"the compiler ended with exit status {report.exit}"
    if outcome.ended == "timeout":
        return "timeout", f"over {step.timeout_s:g} s of {job.limits.clock} time"
    if report.status != "ended":
        return "crash", "the process that starts it has ended"
    return None


def read_report(report: dict[str, Any] | None) -> EndReport:
    """Return a report; one that is none says so."""
    try:
        return msgspec.convert(report or {"status": ""}, decodable(EndReport))
    except (msgspec.ValidationError, UnicodeError):
        return EndReport(status="malformed")


def _run_status(check: Script, job: Job, language: Language, report: EndReport) -> tuple[Status, str]:
    if _is_accepted(check, job, language, report):
        return "passed", ""
    line_of_output = describe_output(report, language)
    if death := reach_death(job, language, report):
        return death
    if report.exit == 0 and check.accepts == "token":
        return "failed", line_of_output or "it ended with exit status 0 before the tests did"
    return "failed", line_of_output or f"exit status {report.exit}"


def reach_death(job: Job, language: Language, report: EndReport) -> tuple[Status, str] | None:
    """Return the status of a program that a signal or the limit of memory has ended; None for any other."""
    if _says_memory(language, report):
        return "memory", describe_output(report, language) or "out of memory"
    if report.signal is not None:
        name = (
            signal.Signals(report.signal).name if report.signal in list(signal.Signals) else f"signal {report.signal}"
        )
        if report.memory_bytes >= _MEMORY_SHARE * job.limits.memory_bytes:
            return "memory", f"the program died of {name} at the limit of memory"
        if report.signal == signal.SIGXCPU:
            return "timeout", "over the backstop of CPU time"
        if report.signal == signal.SIGABRT and (error := _find_error(report, language)):
            return "failed", error
        return "crash", f"the program died of {name}"
    return None


def _says_memory(language: Language, report: EndReport) -> bool:
    # What a program writes that ends by itself is its answer.
    text = report.err if report.exit == 0 else f"{report.err}\n{report.out}"
    return bool(language.memory) and re.search(language.memory, text, re.MULTILINE) is not None


def _is_accepted(check: Script, job: Job, language: Language, report: EndReport) -> bool:
    match check.accepts:
        case "silence":
            return not report.out_bytes and not report.err_bytes
        case "no-fail":
            # The rule forgives every end but a failed assertion; that our own limit ended the program says nothing.
            return "Fail" not in report.err and (report.exit == 0 or not _says_memory(language, report))
        case "exit":
            return report.exit == 0
        case "no-errors":
            return report.exit == 0 and not report.err_bytes
        case "no-error-word":
            return report.exit == 0 and "ERROR" not in report.out + report.err
    if report.exit != 0 or _has_failed_assertion(job, language, report):
        return False
    token = job.setup["token"]
    if check.line:
        return re.search(check.line.replace("{token}", token), report.out, re.MULTILINE) is not None
    words = report.out.split()
    return bool(words) and words[-1] == token


def _has_failed_assertion(job: Job, language: Language, report: EndReport) -> bool:
    """Tell whether an assertion has failed without ending the program; tests that are data have none beside it."""
    is_beside = bool(language.fails) and DATA_TESTS not in job.setup
    return is_beside and re.search(language.fails, report.err, re.MULTILINE) is not None


def describe_output(report: EndReport, language: Language) -> str:
    """Return the line of the output that says what is wrong, or its first; the empty string where there is none."""
    return _find_error(report, language) or next((_WHERE.sub("", line) for line in _lines(report)), "")


def _find_error(report: EndReport, language: Language) -> str:
    """Return the line that an error of the language stands in; the empty string where there is none."""
    lines = _lines(report)
    for pattern in language.errors:
        for line in lines:
            if re.search(pattern, line):
                return _WHERE.sub("", line)
    return ""


def _lines(report: EndReport) -> list[str]:
    lines = (line.strip() for text in (report.err, report.out) for line in text.splitlines())
    return [line[:_LINE_CHARACTERS] for line in lines if line]
