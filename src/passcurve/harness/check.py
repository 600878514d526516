"""Check: the prompt and the tests of a problem, run against the proxy of one sample."""

from __future__ import annotations

import random
from typing import Any

from passcurve.harness.check_reports import (
    make_error_report,
    make_load_report,
    make_missing_report,
    make_report,
    make_stop_report,
)
from passcurve.harness.compiled_problem import CompiledProblem
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
            return make_stop_report(self._proxy)
        if "raised" in load_reply:
            return make_load_report(self._proxy, load_reply)
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
                return make_missing_report(self._proxy, problem.entry_point)
            check(candidate)
        except BaseException as error:
            if self._connection.stop_reason is None:
                return make_error_report(self._proxy, error, problem.test)
        if self._connection.stop_reason is not None:
            return make_stop_report(self._proxy)
        if not self._proxy.calls:
            return make_report(self._proxy, "benchmark", "the tests never call %s" % problem.entry_point)
        return make_report(self._proxy, "passed", "")
