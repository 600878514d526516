"""Expressions: an answer about a function ``f`` crosses as plain data, and is compared where the function is.

A function among the arguments stays with the sample and is called there; what stays there is equal to nothing.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from passcurve.harness.check_reports import (
    make_error_report,
    make_load_report,
    make_report,
    make_stop_report,
)
from passcurve.harness.compiled_problem import CompiledProblem
from passcurve.harness.job_start import limit_recursion
from passcurve.harness.messages import bounded_repr
from passcurve.harness.protocol import ExpressionData, Report
from passcurve.harness.sample_proxy import SampleProxy

FUNCTION = "f"


class ExpressionCheck:
    """The answer of one sample to one question."""

    def __init__(self, problem: CompiledProblem, data: ExpressionData, proxy: SampleProxy) -> None:
        self._problem = problem
        self._data = data
        self._proxy = proxy

    def run(self) -> Report:
        """Get the answer, compare it, and return the report."""
        if self._problem.error:
            return {"status": "benchmark", "message": self._problem.error}
        report = self._run()
        # The function may catch what tells it that the check is stopped: whatever it does then says nothing.
        return report if self._proxy.connection.stop_reason is None else make_stop_report(self._proxy)

    def _run(self) -> Report:
        try:
            load_reply = self._proxy.connection.receive()
            if "raised" in load_reply:
                return make_load_report(self._proxy, load_reply)
            answer = self._proxy.make_function(0, self._problem.entry_point)()
            return self._compare(answer)
        except BaseException as error:
            return make_error_report(self._proxy, error, self._problem.test)

    def _compare(self, answer: Any) -> Report:
        names: dict[str, Any] = {"__name__": "tests"}
        exec(self._problem.test_code, names)
        expected = eval(self._data["output"].decode("utf-8", "surrogatepass"), names)
        if self._data["asks"] == "input":
            if not _are_arguments(answer):
                return self._fail("TypeError: the answer is no call of %s" % FUNCTION)
            began_s = time.process_time()
            answer = _call_as_program(names[FUNCTION], *answer)
            # Where it does not end, the process is ended from outside: nothing is raised that it could catch.
            if time.process_time() - began_s > self._data["timeout_s"]:
                message = "%s took more than %g s on the arguments" % (FUNCTION, self._data["timeout_s"])
                return make_report(self._proxy, "timeout", message)
        if expected == answer:
            return make_report(self._proxy, "passed", "")
        report = self._fail("AssertionError: %s is not what was expected" % bounded_repr(answer))
        report["expected"] = bounded_repr(expected)
        return report

    def _fail(self, message: str) -> Report:
        report = make_report(self._proxy, "failed", message)
        report["exception"] = message.partition(":")[0]
        return report


def _call_as_program(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function that may nest its calls as deep as a program, and no deeper."""
    limit = sys.getrecursionlimit()
    limit_recursion()
    try:
        return function(*args, **kwargs)
    finally:
        sys.setrecursionlimit(limit)


def _are_arguments(answer: Any) -> bool:
    return (
        type(answer) is tuple
        and len(answer) == 2
        and type(answer[0]) is tuple
        and type(answer[1]) is dict
        and all(type(name) is str for name in answer[1])
    )
