"""Shared mode: tests and sample in one jailed process, as in classic harnesses, for tests that need live objects.

The process reports to the supervisor without a referee.  The report of a pass must hold the job's token.  No variable
holds the token, and the interpreter shows it nowhere: the report of a pass is made before the sample runs, and stays
on the stack of the call that sends it, whose code a sample cannot change.  A program that looks for it can still pass
falsely in several ways; docs/verdicts.md lists them.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from types import CodeType

from passcurve.harness.exceptions import describe
from passcurve.harness.framing import send_frame
from passcurve.harness.function_tests import count_until, find_tests
from passcurve.harness.job_start import limit_recursion, read_job
from passcurve.harness.messages import TEST_NAME, TEXT_CHARACTERS, encode_report, failing_line
from passcurve.harness.monitor import Monitor
from passcurve.harness.protocol import SharedJob, SharedReport
from passcurve.harness.sample import SOURCE_NAME, make_module
from passcurve.harness.streams import use_descriptors

FINDINGS_BYTES = 4096
_OTHER_CHECK = re.compile(r"^[ \t]*(check[ \t]*[=:,]|@.*\s+def check\b)", re.MULTILINE)


def main(descriptors: list[int]) -> None:
    """Run program and tests, then send one report."""
    use_descriptors()
    connection, *file = descriptors
    job = read_job(connection, file)
    leave = os._exit
    # One expression: the operand left of `_run` is evaluated first, and stays where no sample can name it.
    os.write(connection, b"".join((begin_pass(job.pop("token")), _run(make_reporter(connection), job))))
    leave(0)


def begin_pass(token: str, end_bytes: int = FINDINGS_BYTES) -> bytes:
    """Return the frame of a pass without its end, whose size is known before."""
    start = encode_report({"status": "passed", "message": "", "token": token})[:-1]
    return (len(start) + end_bytes).to_bytes(4, "little") + start


def _run(send_report: Callable[[SharedReport], None], job: SharedJob) -> bytes:
    """Return the end of the report of a pass; in any other case send another report and end the process.

    This is one function: a sample can change the code of a function that is called later, not of one that runs.
    """
    run, get = exec, getattr
    entry_point, test = job["entry_point"], job["test"].decode("utf-8", "surrogatepass")
    module, text = make_module(job)
    names = module.__dict__
    try:
        code = compile(text, SOURCE_NAME, "exec", dont_inherit=True)
    except BaseException as error:
        send_report(make_failure("compile", error, "", []))
        raise
    try:
        tests = compile(test, TEST_NAME, "exec", dont_inherit=True)
    except BaseException as error:
        send_report(make_failure("failed", error, test, []))
        raise
    check_code = _find_check(tests, test)
    monitor = Monitor(text, names, test, tests, entry_point)
    limit_recursion()
    try:
        run(code, names)
        monitor.restore()
        run(tests, names)
        check = names["check"]
        if check_code is not None and (
            get(check, "__code__", None) is not check_code or check.__globals__ is not names
        ):
            monitor.add_finding("check replaced")
            raise RuntimeError("the sample replaced the tests' check")
        monitor.keep_tests()
        check(names[entry_point])
    except BaseException as error:
        sys.setrecursionlimit(10_000)
        findings = monitor.find_changes()
        report = make_failure("memory" if isinstance(error, MemoryError) else "failed", error, test, findings)
        send_report({**report, **count_until(find_tests(test), error)})
        raise
    return (b', "seen": %s}' % json.dumps(monitor.find_changes()).encode()).ljust(FINDINGS_BYTES)


def _find_check(tests: CodeType, source: str) -> CodeType | None:
    """Return the code of the function ``check`` of the tests, or None if they use that name for more."""
    codes = [const for const in tests.co_consts if isinstance(const, CodeType) and const.co_name == "check"]
    return codes[0] if len(codes) == 1 and not _OTHER_CHECK.search(source) else None


def make_reporter(descriptor: int) -> Callable[[SharedReport], None]:
    """Return a function that sends a report and exits, with what it needs bound before the sample can replace it."""
    write, encode, send, leave = os.write, encode_report, send_frame, os._exit

    def send_report(report: SharedReport) -> None:
        send(descriptor, encode(report), write)
        leave(0)

    return send_report


def make_failure(status: str, error: BaseException, test: str, findings: list[str]) -> SharedReport:
    """Return the report of an exception that ended the check."""
    record = describe(error)
    kind, message = record["type"], record["message"]
    return {
        "status": status,
        "message": ("%s: %s" % (kind, message) if message else kind)[:TEXT_CHARACTERS],
        "exception": kind,
        "test_line": failing_line(error, test) if test else "",
        "seen": findings,
    }
