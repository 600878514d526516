"""Statements in shared mode: a program, then assertions that use whatever it defines, each of which counts.

What ``shared.py`` says of tokens and reports holds here too.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from passcurve.harness.compiled_problem import compile_statements
from passcurve.harness.counts import count_suites
from passcurve.harness.job_start import limit_recursion, read_job
from passcurve.harness.messages import TEST_NAME
from passcurve.harness.monitor import Monitor
from passcurve.harness.protocol import SharedReport, StatementJob
from passcurve.harness.sample import SOURCE_NAME, make_module
from passcurve.harness.shared import FINDINGS_BYTES, begin_pass, make_failure, make_reporter
from passcurve.harness.streams import use_descriptors

_SUITE_BYTES = 60
"""Most bytes that a suite takes in the report of a pass, without the outcomes of its tests."""


def main(descriptors: list[int]) -> None:
    """Run program and tests, then send one report."""
    use_descriptors()
    connection, *file = descriptors
    job = read_job(connection, file)
    leave = os._exit
    size = FINDINGS_BYTES + sum(_SUITE_BYTES + count // 6 for _, count in job["statements"]["suites"])
    # As in shared mode: the operand left of `_run` is evaluated first.
    os.write(connection, b"".join((begin_pass(job.pop("token"), size), _run(make_reporter(connection), job, size))))
    leave(0)


def _run(send_report: Callable[[SharedReport], None], job: StatementJob, size: int) -> bytes:
    """Return the end of the report of a pass; in any other case send another report and end the process.

    This is one function: a sample can change the code of a function that is called later, not of one that runs.
    """
    run, test = exec, job["test"].decode("utf-8", "surrogatepass")
    goes_on = job["statements"]["all_tests"]
    module, text = make_module(job)
    names = module.__dict__
    try:
        code = compile(text, SOURCE_NAME, "exec", dont_inherit=True)
    except BaseException as error:
        send_report(make_failure("compile", error, "", []))
        raise
    try:
        tests = compile(test, TEST_NAME, "exec", dont_inherit=True)
        setup, *rest = compile_statements(job["statements"])
        statements = tuple(rest)
    except BaseException as error:
        send_report(make_failure("failed", error, test, []))
        raise
    monitor = Monitor(text, names, test, tests, job["entry_point"])
    limit_recursion()
    outcomes: list[bool] = []
    failure: BaseException | None = None
    try:
        run(code, names)
        monitor.restore()
        run(setup, names)
        monitor.keep_tests()
        # By number: a sample finds an iterator over a tuple, and can go on with it.
        for number in range(len(statements)):
            try:
                run(statements[number], names)
            except BaseException as error:
                outcomes.append(False)
                failure = error if failure is None else failure
                if not goes_on:
                    break
            else:
                outcomes.append(True)
        if failure is not None:
            raise failure
    except BaseException as error:
        sys.setrecursionlimit(10_000)
        status = "memory" if isinstance(error, MemoryError) else "failed"
        report = make_failure(status, error, test, monitor.find_changes())
        send_report({**report, **_count(job, outcomes)})  # type: ignore[typeddict-item]
        raise
    end: dict[str, Any] = {"seen": monitor.find_changes(), **_count(job, outcomes)}
    return b", %s" % json.dumps(end)[1:].encode().ljust(size - 2)


def _count(job: StatementJob, outcomes: list[bool]) -> dict[str, Any]:
    statements = job["statements"]
    return dict(count_suites(statements["suites"], outcomes, with_outcomes=statements["all_tests"]))
