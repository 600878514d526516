"""Statements: assertions that call the function of a sample by its name, each of which is a test that counts."""

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
from passcurve.harness.counts import count_suites
from passcurve.harness.protocol import Report, StatementData
from passcurve.harness.sample_connection import CheckStopped
from passcurve.harness.sample_proxy import SampleProxy


class StatementCheck:
    """One sample against the statements of one problem."""

    def __init__(
        self, problem: CompiledProblem, data: StatementData, proxy: SampleProxy, notify: Callable[[int], None]
    ) -> None:
        self._problem = problem
        self._suites, self._goes_on = data["suites"], data["all_tests"]
        self._proxy = proxy
        self._notify = notify
        self._outcomes: list[bool] = []
        """The outcomes of the tests that have ended."""
        self._failure: Report = {}
        """The report on the first test that failed."""

    def run(self) -> Report:
        """Run the tests and return the report."""
        report = self._run()
        report.update(count_suites(self._suites, self._outcomes, with_outcomes=self._goes_on))
        return report

    def _run(self) -> Report:
        problem, connection = self._problem, self._proxy.connection
        if problem.error:
            return {"status": "benchmark", "message": problem.error}
        try:
            load_reply = connection.receive()
        except CheckStopped:
            return make_stop_report(self._proxy)
        if "raised" in load_reply:
            return make_load_report(self._proxy, load_reply)
        if not load_reply.get("has_entry_point"):
            return make_missing_report(self._proxy, problem.entry_point)
        random.seed(problem.seed)
        names: dict[str, Any] = {"__name__": "tests"}
        candidate = self._proxy.make_function(0, problem.entry_point)
        try:
            if problem.prompt_code is not None:
                exec(problem.prompt_code, names)
            names[problem.entry_point] = candidate
            exec(problem.test_code, names)
            names[problem.entry_point] = candidate
            self._run_tests(names)
        except BaseException as error:
            if connection.stop_reason is None:
                return make_error_report(self._proxy, error, problem.test)
        if connection.stop_reason is not None:
            return make_stop_report(self._proxy)
        if self._failure:
            return self._failure
        if not self._proxy.calls:
            return make_report(self._proxy, "benchmark", "the tests never call %s" % problem.entry_point)
        return make_report(self._proxy, "passed", "")

    def _run_tests(self, names: dict[str, Any]) -> None:
        for code in self._problem.statements:
            self._notify(self._proxy.calls)
            is_right = True
            try:
                exec(code, names)
            except CheckStopped:
                raise
            except BaseException as error:
                is_right = False
                # What the tests raise once a check is stopped says nothing.
                if not self._failure and self._proxy.connection.stop_reason is None:
                    self._failure = make_error_report(self._proxy, error, self._problem.test)
            if self._proxy.connection.stop_reason is not None:
                return
            self._outcomes.append(is_right)
            if not is_right and not self._goes_on:
                return
