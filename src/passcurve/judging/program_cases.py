"""Programs in other languages that read standard input: compiled once, run for each case, compared outside of the jail.

What is expected never enters the jail, and the jail of a run reports nothing but the output and the end of the program:
no program can claim that it is right.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, NamedTuple

import msgspec

from passcurve.bench.languages import find_language
from passcurve.harness.comparators import Comparator
from passcurve.harness.counts import count_suites
from passcurve.judging.script_verdict import EndReport, describe_output, reach_death, reach_end, read_report
from passcurve.judging.static_tests import NO_TESTS
from passcurve.judging.whole_programs import make_program_steps
from passcurve.sandbox.job import Job, Outcome
from passcurve.types import Cases, Language, Limits, ProgramCases, Status, unpack_values

_SPARE_BYTES = 1 << 20
"""Bytes of output that are taken beyond what is expected."""
_MOST_BYTES = 16 << 20
"""Bytes of output that are taken at most where less is expected."""
_SHOWN_CHARACTERS = 2000
_LAST_CHARACTERS = 16 << 10
"""Characters at the end of the output in which a runtime may say why it ends."""


class _Case(NamedTuple):
    """One case: what a program reads, and what it is to write."""

    text: str
    data: bytes
    expected: str

    @property
    def output_bytes(self) -> int:
        """The bytes of output that are taken: more cannot be right."""
        expected_bytes = len(self.expected.encode("utf-8", "surrogatepass"))
        return max(min(2 * expected_bytes, _MOST_BYTES), expected_bytes) + _SPARE_BYTES


def make_program_job(check: ProgramCases, program: str, limits: Limits, tag: int, *, all_tests: bool) -> Job:
    """Return the job that compiles ``program`` and runs it for each case."""
    language = find_language(check.language)
    *compilers, run = make_program_steps(language, program, check.compile_s, limits)
    # The samples of a problem without cases, which is excluded, run once all the same.
    runs = tuple(
        msgspec.structs.replace(
            run,
            setup={**run.setup, "stdin": case.data, "head_bytes": case.output_bytes},
            timeout_s=_limit_s(check.cases, limits),
            accepts=partial(_is_right, check.cases, case),
            goes_on=all_tests,
        )
        for case in _read_cases(check.cases.inputs, check.cases.expected)
    ) or (run,)
    return Job(
        tag=tag,
        role="",
        setup={"program_cases": check, "all_tests": all_tests},
        referee=None,
        limits=limits,
        slice_s=limits.timeout_s,
        allow_kept=False,
        suites=check.cases.suites,
        attempts=((*compilers, *runs),),
    )


def read_program_report(job: Job, outcome: Outcome) -> dict[str, Any]:
    """Return what the runs show, in the form of the report of a referee."""
    check: ProgramCases = job.setup["program_cases"]
    cases = _read_cases(check.cases.inputs, check.cases.expected)
    results = _results(job, outcome)
    report: dict[str, Any] = {"status": "failed", "calls": len(results)}
    suites = [(suite.name, suite.count) for suite in check.cases.suites]
    report.update(count_suites(suites, results, with_outcomes=job.setup["all_tests"]))
    if cases and len(results) == len(cases) and all(results):
        report["status"] = "passed"
    elif not all(results):
        number = results.index(False)
        end = read_report(_runs(outcome)[number].report)
        report["call"] = (_shown(cases[number].text), f"wrote {_shown(end.out)}")
        report["expected"] = _shown(cases[number].expected)
    return report


def reach_program_status(job: Job, outcome: Outcome) -> tuple[Status, str]:
    """Return the status of a program: that of the first case that it does not pass."""
    check: ProgramCases = job.setup["program_cases"]
    language = find_language(check.language)
    runs = _runs(outcome)
    cases = _read_cases(check.cases.inputs, check.cases.expected)
    results = _results(job, outcome)
    number = len(results) if all(results) else results.index(False)
    if cases and number == len(cases):
        return "passed", ""
    faults = [run for run in runs if run.ended in ("fault", "wall")]
    first = faults[0] if faults else runs[number] if number < len(runs) else outcome
    steps = job.attempts[0]
    step = steps[0] if first.step == "compile" else steps[-1]
    report = read_report(first.report)
    if status := reach_end(job, first, language, report, step):
        return _in_case(check.cases, number, status) if first.step != "compile" else status
    if not cases:
        return "failed", NO_TESTS
    return _in_case(check.cases, number, _describe_failure(job, language, report, cases[number]))


def _describe_failure(job: Job, language: Language, report: EndReport, case: _Case) -> tuple[Status, str]:
    last = report.out[-_LAST_CHARACTERS:]
    if death := reach_death(job, language, msgspec.structs.replace(report, out=last)):
        return death
    if report.exit != 0:
        # What it writes to standard output is its answer.
        line = describe_output(msgspec.structs.replace(report, out=""), language)
        return "failed", f"exit status {report.exit}{f': {line}' if line else ''}"
    if report.out_bytes > case.output_bytes:
        return "output", f"wrote {report.out_bytes:,} bytes"
    return "failed", "wrong output"


def _in_case(cases: Cases, number: int, status: tuple[Status, str]) -> tuple[Status, str]:
    """Return a status with the case in front of its message."""
    for suite in cases.suites:
        if number < suite.count:
            return status[0], f"{suite.name} test {number}: {status[1]}"
        number -= suite.count
    return status


def _limit_s(cases: Cases, limits: Limits) -> float:
    limit_s = limits.test_timeout_s or cases.timeout_s
    return min(limit_s, limits.timeout_s) if limit_s else limits.timeout_s


@lru_cache(maxsize=8)
def _read_cases(inputs: bytes, expected: bytes) -> tuple[_Case, ...]:
    pairs = zip(unpack_values(inputs), unpack_values(expected), strict=True)
    return tuple(_Case(text, text.encode("utf-8", "surrogatepass"), answer) for (text,), answer in pairs)


def _is_right(cases: Cases, case: _Case, report: dict[str, Any]) -> bool:
    """Tell whether the output of a program is what is expected."""
    output = report.get("out")
    if not isinstance(output, str) or report.get("out_bytes", 0) > case.output_bytes:
        return False
    comparator = Comparator(cases.comparator, cases.tolerance, cases.floats)
    return comparator.accepts((case.text,), output, case.expected)


def _results(job: Job, outcome: Outcome) -> list[bool]:
    """Return whether each run has passed: without all tests one that another follows has, and is not compared again."""
    check: ProgramCases = job.setup["program_cases"]
    cases, runs = _read_cases(check.cases.inputs, check.cases.expected), _runs(outcome)
    first = 0 if job.setup["all_tests"] else max(len(runs) - 1, 0)
    rest = zip(cases[first:], runs[first:], strict=False)
    return [True] * first + [_has_passed(check.cases, case, run) for case, run in rest]


def _has_passed(cases: Cases, case: _Case, run: Outcome) -> bool:
    report = run.report or {}
    has_ended = run.ended == "report" and report.get("status") == "ended" and report.get("exit") == 0
    return has_ended and _is_right(cases, case, report)


def _runs(outcome: Outcome) -> list[Outcome]:
    return [step for step in outcome.steps if step.step == "run"]


def _shown(text: str) -> str:
    # A character may take ten in it.
    shown = repr(text[:_SHOWN_CHARACTERS])[: 2 * _SHOWN_CHARACTERS]
    return shown if len(text) <= _SHOWN_CHARACTERS else f"{shown}..."
