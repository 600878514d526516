"""Referee: the process that runs the tests of a problem against one sample and reports to the supervisor.

It runs in a jail of its own.  After the check it ends, or the supervisor rewinds it to where it waits for a job.
"""

from __future__ import annotations

import base64
import marshal
import os
import socket
import sys
from collections.abc import Callable, Mapping
from time import monotonic_ns
from typing import Any

from passcurve.harness.cases import CaseCheck
from passcurve.harness.check import Check
from passcurve.harness.compiled_problem import CompiledProblem
from passcurve.harness.exceptions import describe
from passcurve.harness.expressions import ExpressionCheck
from passcurve.harness.framing import ConnectionClosed, make_frame, send_frame, write_all
from passcurve.harness.job_start import read_job
from passcurve.harness.messages import TEST_NAME, encode_report
from passcurve.harness.protocol import (
    NEXT_TEST,
    RECORDED,
    CompiledReport,
    LoadReply,
    OrderReply,
    RecordedReport,
    RefereeJob,
    Report,
    TestForm,
)
from passcurve.harness.recording import RecordedCalls, pack_arguments, record_calls
from passcurve.harness.sample_proxy import SampleProxy
from passcurve.harness.statements import StatementCheck
from passcurve.harness.wire import encode
from passcurve.harness.wrong_program import make_proxy

RECURSION_LIMIT = 10_000
REHEARSALS = 20
"""CPython specialises code in its first 8 runs, and leaves it unchanged after a few more."""


def main(descriptors: list[int]) -> None:
    """Read a job, run its check, send the report, and wait for the end of file.

    A process that is rewound gets one connection to supervisor and sample; a new one gets two, and a large job in a
    file.
    """
    control, connection, *file = descriptors
    try:
        run_job(control, connection, read_job(control, file))
        while os.read(control, 1):
            pass
    except ConnectionClosed:
        pass
    os._exit(0)


def rehearse() -> None:
    """Run checks before any fork, so that CPython specialises this code once and not in each child."""
    limit = sys.getrecursionlimit()
    job: RefereeJob = {
        "prompt": b"from typing import List\n\ndef f(x: int) -> int:\n",
        "test": b"def check(candidate):\n    for x in [1, 2]:\n        assert candidate(x) == x + 1\n",
        "code": b"",
        "entry_point": "f",
        "seed": 0,
        "number": "",
        "output_bytes": 1 << 20,
        "write_back": False,
        "replayed": b"",
        "live": True,
        # Calls are not recorded: that sets a trace function, after which, from Python 3.12 on, each function makes an
        # object when it runs for the first time, those of programs too.
        "record": {"wrong": b"def f(*_):\n    raise ValueError\n", "calls": False},
        "cases": None,
        "form": None,
    }
    code = CompiledProblem(job).new_code
    calls = marshal.dumps((pack_arguments((1,), {}), pack_arguments((2,), {})))
    loaded: LoadReply = {"loaded": True, "has_entry_point": True}
    right: list[OrderReply] = [{"value": 2}, {"value": 3}]
    wrong: list[OrderReply] = [{"value": 2}, {"raised": describe(ValueError("no"))}]
    for number in range(2 * REHEARSALS):
        if number:
            job["code"], job["record"] = code, None
        job["replayed"], job["live"] = (calls, False) if number % 4 else (b"", True)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            for reply in (loaded, *(right if number % 2 else wrong)):
                send_frame(ours.fileno(), encode(reply))
            run_job(theirs.fileno(), theirs.fileno(), job)
    sys.setrecursionlimit(limit)


def run_job(control: int, connection: int, job: RefereeJob) -> None:
    """Run a check and send its report; before any code of the problem runs, send that code if it was compiled here.

    A sample is checked only with code from another process, so that every check finds the same memory.
    """
    sys.setrecursionlimit(RECURSION_LIMIT)
    problem = CompiledProblem(job)
    order = job["record"] if job["cases"] is None else None
    if problem.new_code:
        code: CompiledReport = {"status": "compiled", "number": job["number"], "code": _to_base64(problem.new_code)}
        if order is None:
            _send_last(control, code)
            return
        send_frame(control, encode_report(code))
    if order is not None:
        # The wrong program comes first: what the tests leave behind could make it fail.
        passed = _passes(job, problem, order["wrong"]) if order["wrong"] else None
        calls = _find_replayable_calls(problem, job["form"]).packed if order["calls"] else []
        recorded: RecordedReport = {
            "status": RECORDED,
            "number": job["number"],
            "recorded": [_to_base64(call) for call in calls],
            "passed": passed,
        }
        _send_last(control, recorded)
        return
    proxy = SampleProxy(connection, job)

    def notify(tests: int) -> None:
        """Tell the supervisor, which has a clock for each test, that the next one begins."""
        if job["live"]:
            begun = {"status": NEXT_TEST, "number": job["number"], "calls": tests, "at_ns": monotonic_ns()}
            send_frame(control, encode_report(begun))

    try:
        result = _run_check(job, problem, proxy, notify)
    except BaseException as error:
        result = {"status": "protocol", "message": type(error).__name__}
    result["number"], result["read"] = job["number"], proxy.connection.bytes_read
    _send_last(control, result)


def _send_last(control: int, report: Mapping[str, Any]) -> None:
    """Send the last report, and the empty frame that ends all that a check sends."""
    write_all(control, make_frame(encode_report(report)) + make_frame(b""))


def _run_check(job: RefereeJob, problem: CompiledProblem, proxy: SampleProxy, notify: Callable[[int], None]) -> Report:
    """Return the report of a check by the kind of the tests."""
    if job["cases"] is not None:
        return CaseCheck(job, job["cases"], proxy, notify).run()
    form = job["form"]
    if form is not None and form["kind"] == "statements":
        return StatementCheck(problem, form, proxy, notify).run()
    if form is not None and form["kind"] == "expression":
        return ExpressionCheck(problem, form, proxy).run()
    return Check(problem, proxy, notify, all_tests=form is not None and form["all_tests"]).run()


def _passes(job: RefereeJob, problem: CompiledProblem, source: bytes) -> bool:
    """Tell whether a wrong program, which runs in this process, passes the tests."""
    try:
        proxy = make_proxy(source, job)
    except Exception:
        # As a sample it would not load either: where the function is a method, the text of the program is no syntax.
        return False
    return _run_check(job, problem, proxy, lambda _: None)["status"] == "passed"


def _find_replayable_calls(problem: CompiledProblem, form: TestForm | None) -> RecordedCalls:
    """Return the calls that the tests make whatever the results."""
    if form is not None and form["kind"] == "expression":
        calls = RecordedCalls()
        calls.add((), {})
        return calls
    return record_calls(problem.prompt_code, problem.test, TEST_NAME, problem.entry_point, problem.seed)


def _to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
