"""Check: the prompt and the tests of a problem, run against the proxy of one sample."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from passcurve.harness.check_reports import (
    make_error_report,
    make_load_report,
    make_missing_report,
    make_report,
    make_stop_report,
)
from passcurve.harness.compiled_problem import CompiledProblem
from passcurve.harness.function_tests import AllTests, bind_begin, count_until, find_expected
from passcurve.harness.protocol import Report
from passcurve.harness.sample_connection import CheckStopped
from passcurve.harness.sample_proxy import SampleProxy


class Check:
    """One sample against the tests of one problem."""

    def __init__(
        self, problem: CompiledProblem, proxy: SampleProxy, notify: Callable[[int], None], *, all_tests: bool
    ) -> None:
        self._problem = problem
        self._proxy = proxy
        self._notify = notify
        self._connection = proxy.connection
        self._all_tests = (
            AllTests(problem.function_tests, self._report_failure) if all_tests and problem.function_tests else None
        )
        self._is_begun = False
        self._error: BaseException | None = None
        """What has ended the check."""

    def run(self) -> Report:
        """Run the tests and return the report."""
        report = self._run()
        # Tests that go on although the check is stopped show no line.
        is_known = self._error is not None or self._connection.stop_reason is None
        if self._is_begun and self._problem.function_tests and self._proxy.calls and is_known:
            counts = count_until(self._problem.function_tests, self._error)
            report.update(counts if self._all_tests is None else self._all_tests.count(self._error))
        return report

    def _run(self) -> Report:
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
            bind_begin(names, lambda: self._notify(self._proxy.calls))
            if self._all_tests is not None:
                self._all_tests.bind(names)
            exec(problem.test_code, names)
            check = names.get("check")
            if check is None:
                return {"status": "benchmark", "message": "the tests define no check(candidate)"}
            if not load_reply.get("has_entry_point"):
                return make_missing_report(self._proxy, problem.entry_point)
            self._is_begun = True
            check(candidate)
        except BaseException as error:
            self._error = error
            if self._connection.stop_reason is None:
                return self._report_failure(error)
        if self._connection.stop_reason is not None:
            return make_stop_report(self._proxy)
        if self._all_tests is not None and self._all_tests.failure:
            return self._all_tests.failure
        if not self._proxy.calls:
            return make_report(self._proxy, "benchmark", "the tests never call %s" % problem.entry_point)
        return make_report(self._proxy, "passed", "")

    def _report_failure(self, error: BaseException) -> Report:
        """Return the report on what the tests have raised; raise CheckStopped where that says nothing."""
        if self._connection.stop_reason is not None:
            raise CheckStopped from None
        report = make_error_report(self._proxy, error, self._problem.test)
        if report.get("call") is not None and (expected := find_expected(self._problem.function_tests, error)):
            report["expected"] = expected
        return report
