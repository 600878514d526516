"""Check: the prompt and the tests of a problem, run against the proxy of one sample."""

from __future__ import annotations

import random
from typing import Any

from passcurve.harness.compiled_problem import CompiledProblem
from passcurve.harness.messages import TEXT_CHARACTERS, bounded_repr, failing_line, message_of, truncate
from passcurve.harness.protocol import Report
from passcurve.harness.sample_connection import CheckStopped
from passcurve.harness.sample_proxy import SampleProxy


class Check:
    """One sample against the tests of one problem."""

    def __init__(self, problem: CompiledProblem, proxy: SampleProxy) -> None:
        self._problem = problem
        self._proxy = proxy
        self._connection = proxy.connection

    def run(self) -> Report:
        """Run the tests and return the report."""
        problem = self._problem
        if problem.error:
            return {"status": "benchmark", "message": problem.error}
        try:
            load_reply = self._connection.receive()
        except CheckStopped:
            return self._report_stop()
        if "raised" in load_reply:
            return self._report_load_error(load_reply)
        random.seed(problem.seed)
        names: dict[str, Any] = {"__name__": "tests"}
        candidate = self._proxy.make_function(0, problem.entry_point)
        try:
            if problem.prompt_code is not None:
                exec(problem.prompt_code, names)
            names[problem.entry_point] = names["candidate"] = candidate
            exec(problem.test_code, names)
            check = names.get("check")
            if check is None:
                return {"status": "benchmark", "message": "the tests define no check(candidate)"}
            if not load_reply.get("has_entry_point"):
                return self._report_missing_function()
            check(candidate)
        except BaseException as error:
            if self._connection.stop_reason is None:
                return self._report_exception(error)
        if self._connection.stop_reason is not None:
            return self._report_stop()
        if not self._proxy.calls:
            return self._report("benchmark", "the tests never call %s" % problem.entry_point)
        return self._report("passed", "")

    def _report_stop(self) -> Report:
        return self._report(*(self._connection.stop_reason or ("gone", "")))

    def _report_missing_function(self) -> Report:
        report = self._report("failed", "NameError: name %r is not defined" % self._problem.entry_point)
        report["exception"] = "NameError"
        return report

    def _report_load_error(self, reply: dict[str, Any]) -> Report:
        record = self._proxy.as_exception(reply["raised"])
        if record is None:
            return {"status": "protocol", "message": "a malformed exception"}
        kind = record["type"][:200]
        status = "compile" if reply.get("while") == "compile" else "failed"
        if "MemoryError" in record["lineage"]:
            status = "memory"
        report = self._report(status, _describe(kind, record["message"][:TEXT_CHARACTERS]))
        report["exception"] = kind
        return report

    def _report_exception(self, error: BaseException) -> Report:
        kind = type(error).__name__
        message = message_of(error)
        from_sample = error is self._proxy.last_exception
        status = "failed"
        if isinstance(error, MemoryError):
            status = "memory" if from_sample else "output"
            if not from_sample:
                message = "the returned value needs more memory than the tests may use"
        report = self._report(status, _describe(kind, message))
        report["exception"] = getattr(error, "passcurve_type", kind) if from_sample else kind
        report["from_sample"] = from_sample
        report["test_line"] = failing_line(error, self._problem.test)
        return report

    def _report(self, status: str, message: str) -> Report:
        report: Report = {"status": status, "message": message, "calls": self._proxy.calls}
        if status == "gone":
            report["lost"] = True
        if self._proxy.flattened:
            report["flattened"] = sorted(self._proxy.flattened)[:8]
        call = self._proxy.last_call
        if status != "passed" and call is not None:
            arguments = [bounded_repr(value) for value in call.args]
            arguments += ["%s=%s" % (name, bounded_repr(value)) for name, value in call.kwargs.items()]
            outcome = "did not return"
            if call.outcome is not None:
                outcome = "%s %s" % (call.outcome[0], bounded_repr(call.outcome[1]))
            report["call"] = ("%s(%s)" % (call.name, ", ".join(arguments)), outcome)
        return report


def _describe(kind: str, message: str) -> str:
    return truncate("%s: %s" % (kind, message) if message else kind)
