"""Unit tests in shared mode: a program, then a module of ``unittest`` that uses the program's own objects.

What ``shared.py`` says of tokens and reports holds here too.  Tests and program are in one module.  The classes of
``unittest`` are kept before the program runs, restored before the tests run, and compared when they have ended: a
program that has changed them does not pass.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from types import CodeType

from passcurve.harness.class_clock import ClassClock
from passcurve.harness.job_start import limit_recursion, read_job
from passcurve.harness.messages import TEST_NAME
from passcurve.harness.monitor import Monitor
from passcurve.harness.protocol import SharedReport, UnitTestJob
from passcurve.harness.sample import SOURCE_NAME, make_module
from passcurve.harness.shared import FINDINGS_BYTES, begin_pass, make_failure, make_reporter
from passcurve.harness.streams import use_descriptors
from passcurve.harness.unit_framework import Framework
from passcurve.harness.unit_suite import OwnSkips, SuiteRun, make_result_type

MODULE_NAME = "__test__"
_SUITE_BYTES = 40
"""Most bytes that a suite takes in the report of a pass."""

_OUTCOMES_BYTES = 16384
"""Room for the outcomes of all tests in the report of a pass."""


def main(descriptors: list[int]) -> None:
    """Run program and tests, then send one report."""
    use_descriptors()
    connection, *file = descriptors
    job = read_job(connection, file)
    leave = os._exit
    size = FINDINGS_BYTES + _SUITE_BYTES * len(job["suites"]) + (_OUTCOMES_BYTES if job["all_tests"] else 0)
    # As in shared mode: the operand left of `_run` is evaluated first.
    os.write(connection, b"".join((begin_pass(job.pop("token"), size), _run(make_reporter(connection), job, size))))
    leave(0)


def _run(send_report: Callable[[SharedReport], None], job: UnitTestJob, size: int) -> bytes:
    """Return the end of the report of a pass; in any other case send another report and end the process.

    This is one function: a sample can change the code of a function that is called later, not of one that runs.
    """
    run, test = exec, job["test"].decode("utf-8", "surrogatepass")
    # Taken out of the job, whose lists a sample can change: what is to run, and for how long.
    planned = tuple((name, bool(is_alone)) for name, is_alone in job["suites"]) or (("", False),)
    named, has_suites = tuple(job["classes"]), bool(job["suites"])
    goes_on, class_s = job["all_tests"], job["class_s"]
    module, text = make_module(job, MODULE_NAME)
    names = module.__dict__
    try:
        code = compile(text, SOURCE_NAME, "exec", dont_inherit=True)
    except BaseException as error:
        send_report(make_failure("compile", error, "", []))
        raise
    try:
        tests = compile(test, TEST_NAME, "exec", dont_inherit=True)
    except BaseException as error:
        send_report(make_failure("tests", error, test, []))
        raise
    monitor = Monitor(text, names, test, tests, job["entry_point"], all_builtins=True)
    framework = Framework()
    result_type = make_result_type(framework.result)
    own_skips = None if job["any_skip"] else OwnSkips(tests, test, framework)
    limit_recursion()
    suites: list[SuiteRun] = []
    is_held = True
    try:
        run(code, names)
        monitor.restore()
        framework.restore()
        run(tests, names)
        monitor.keep_tests()
        # By number: a sample finds an iterator over a tuple, and can go on with it.
        for number in range(len(planned)):
            name, is_alone = planned[number]
            classes = [name] if name else [*named] or framework.find_classes(names)
            suite = SuiteRun([names[class_name] for class_name in classes], _test_names(tests, classes), framework)
            suites.append(suite)
            if is_held or is_alone or goes_on:
                clock = ClassClock(class_s)
                result = result_type(suite, clock, own_skips, go_on=goes_on or is_alone)
                suite.run(result, clock)
            is_held = is_held and (is_alone or suite.has_passed)
        changes = framework.find_changes()
    except BaseException as error:
        sys.setrecursionlimit(10_000)
        report = make_failure("memory" if isinstance(error, MemoryError) else "failed", error, test, [])
        _complete(report, monitor, suites, job)
        send_report(report)
        raise
    sys.setrecursionlimit(10_000)
    failed = next((suite for suite in suites if not suite.has_passed), None)
    if changes or failed is not None:
        if changes:
            change = RuntimeError("the program changed unittest: %s" % ", ".join(changes[:4]))
            report = make_failure("failed", change, "", [])
        else:
            report = failed.make_report(test) if failed is not None else {}
        _complete(report, monitor, suites, job)
        send_report(report)
        raise RuntimeError
    outcomes = [suite.bits for suite in suites] if has_suites and goes_on else []
    end = b', "seen": %s, "suites": %s, "outcomes": %s}' % (
        json.dumps(monitor.find_changes()).encode(),
        json.dumps([suite.counts for suite in suites] if has_suites else []).encode(),
        json.dumps(outcomes if sum(map(len, outcomes)) < _OUTCOMES_BYTES // 2 else []).encode(),
    )
    return end.ljust(size)


def _complete(report: SharedReport, monitor: Monitor, suites: list[SuiteRun], job: UnitTestJob) -> None:
    """Add the findings and the counts to a report."""
    report["seen"] = monitor.find_changes()
    report["suites"] = [suite.counts for suite in suites]
    if job["all_tests"]:
        report["outcomes"] = [suite.bits for suite in suites]


def _test_names(code: CodeType, classes: list[str]) -> list[set[str]]:
    """Return the names of the tests that each class shows in the code of the tests."""
    shown: dict[str, set[str]] = {}
    for const in code.co_consts:
        if isinstance(const, CodeType):
            functions = {inner.co_name for inner in const.co_consts if isinstance(inner, CodeType)}
            shown[const.co_name] = {name for name in const.co_names if name[:4] == "test" and name in functions}
    return [shown.get(name, set()) for name in classes]
