"""The tests of one suite: which there are, what became of each, and which failed first."""

from __future__ import annotations

import ast
import opcode
import sys
from types import CodeType
from typing import Any

from passcurve.harness.class_clock import ClassClock, ClassTimeoutError
from passcurve.harness.counts import pack_bits
from passcurve.harness.protocol import SharedReport
from passcurve.harness.shared import make_failure
from passcurve.harness.unit_framework import Framework

RIGHT, FAILED, ERROR, SKIPPED, TIMEOUT, NOT_RUN = "1", "0", "e", "s", "t", "-"
"""The letters of outcomes."""


_RAISE = opcode.opmap["RAISE_VARARGS"]


class OwnSkips:
    """Tells the skips of tests from those of the program that they call.  Make it before the program runs."""

    def __init__(self, tests: CodeType, source: str, framework: Framework) -> None:
        self._codes = _nested_codes(tests)
        self._ends = {
            (node.end_lineno, node.end_col_offset)
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "skipTest"
        }
        """Where the calls end that are written as calls of ``skipTest``."""
        self._skip_test: CodeType = framework.case.skipTest.__code__

    def has(self, error: BaseException) -> bool:
        """Tell whether tests have raised this themselves, or have called ``skipTest``."""
        steps: list[tuple[CodeType, int]] = []
        trace = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            if steps or self._is_own(code):
                steps.append((code, trace.tb_lasti))
            trace = trace.tb_next
        if not steps:
            return False
        code, place = steps[-1]
        if code is self._skip_test:
            steps.pop()
            if not steps or not self._calls_skip(*steps[-1]):
                return False  # a function of C has called it, from whatever object
        elif code.co_code[place] != _RAISE:
            return False  # a function of C has raised it
        return all(self._is_own(code) for code, _ in steps)

    def _calls_skip(self, code: CodeType, place: int) -> bool:
        """Tell whether a call in the tests is written as one of ``skipTest``."""
        _, line, _, column = list(code.co_positions())[place // 2]
        return (line, column) in self._ends

    def _is_own(self, code: CodeType) -> bool:
        return any(code is own for own in self._codes)


def _nested_codes(code: CodeType) -> list[CodeType]:
    inner = [const for const in code.co_consts if type(const) is CodeType]
    return [code, *(nested for one in inner for nested in _nested_codes(one))]


class SuiteRun:
    """The tests of some classes, before and after they have run."""

    def __init__(self, classes: list[Any], shown: list[set[str]], framework: Framework) -> None:
        """``shown``: the tests that the source of each class shows, all of which must run."""
        self._tests: list[Any] = []
        self.outcomes: dict[str, str] = {}
        """A letter for each test, by name."""
        self.skipped: set[str] = set()
        """Names of the tests that are marked to be skipped."""
        self._missing = ""
        self._error: BaseException | None = None
        self._first = ""
        for cls, names in zip(classes, shown):
            suite: Any = framework.loader.loadTestsFromTestCase(cls)
            present = set()
            for test in suite:
                present.add(test._testMethodName)
                self.outcomes[_name_of(test)] = NOT_RUN
                if _is_marked(test, "__unittest_skip__"):
                    self.skipped.add(_name_of(test))
                _bind(test)
            self._tests.append(suite)
            self._missing = self._missing or next(iter(sorted(names - present)), "")

    def run(self, result: Any, clock: ClassClock) -> None:
        """Run the tests, within the time of the clock."""
        try:
            with clock:
                for suite in self._tests:
                    if not result.shouldStop:
                        suite.run(result)
        except ClassTimeoutError as error:
            result.note_first("", error)
        self._first, self._error = result.first, result.error
        if clock.is_over and not isinstance(self._error, ClassTimeoutError):
            self._error = self._error or ClassTimeoutError()

    @property
    def letters(self) -> list[str]:
        """A letter for each test, in order."""
        return list(self.outcomes.values())

    @property
    def bits(self) -> str:
        """The outcome of each test, right or skipped or not, as bits in base64."""
        return pack_bits([letter in (RIGHT, SKIPPED) for letter in self.letters])

    @property
    def has_passed(self) -> bool:
        """True if there are tests, and all have run and were right or were skipped."""
        letters = self.letters
        is_clean = self._error is None and not self._missing
        return is_clean and bool(letters) and all(letter in (RIGHT, SKIPPED) for letter in letters)

    @property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of the tests that ran and that were right, and the place of the first that failed, or -1."""
        letters = self.letters
        ran = len(letters) - letters.count(NOT_RUN)
        right = letters.count(RIGHT) + letters.count(SKIPPED)
        if isinstance(self._error, ClassTimeoutError):
            right = 0
        elif not self.has_passed:
            # What is done when all tests have ended may fail as well.
            right = max(0, min(right, len(letters) - 1))
        first = next((place for place, letter in enumerate(letters) if letter in (FAILED, ERROR, TIMEOUT)), -1)
        return ran, right, first

    def make_report(self, test: str) -> SharedReport:
        """Return the report of a failure."""
        if not self.outcomes:
            return make_failure("tests", ValueError("there are no tests"), "", [])
        error = self._error
        if error is None:
            what = self._missing or next((name for name, letter in self.outcomes.items() if letter == NOT_RUN), "")
            return make_failure("failed", RuntimeError("the test %s did not run" % what), "", [])
        if isinstance(error, ClassTimeoutError):
            return {"status": "timeout", "message": "a class of tests went over its time limit"}
        report = make_failure("memory" if isinstance(error, MemoryError) else "failed", error, test, [])
        if self._first:
            report["test_line"] = ("%s: %s" % (self._first, report["test_line"]))[:300]
        return report


def make_result_type(base: type) -> Any:
    """Return the class of results, made here because ``unittest`` is loaded only where tests need it."""
    return type("Result", (_Notes, base), {})


class _Notes:
    """A result of ``unittest`` that notes what became of each test, and the first exception."""

    shouldStop: bool  # noqa: N815 - the name is that of unittest

    def __init__(self, suite: SuiteRun, clock: ClassClock, own_skips: OwnSkips | None, *, go_on: bool) -> None:
        """``own_skips``: None where any skip is right."""
        super().__init__()
        self.outcomes, self.skipped = suite.outcomes, suite.skipped
        self.clock, self.own_skips, self.go_on = clock, own_skips, go_on
        self.first = ""
        self.error: BaseException | None = None

    def note_first(self, name: str, error: BaseException) -> None:
        if self.error is None or isinstance(error, ClassTimeoutError):
            self.first, self.error = name, error
        if not self.go_on or self.clock.is_over or isinstance(error, ClassTimeoutError):
            self.shouldStop = True

    def _note(self, test: Any, letter: str, error: BaseException | None = None) -> None:
        name = _name_of(test)
        if isinstance(error, ClassTimeoutError):
            letter = TIMEOUT
        # An error of a class or module has no test; one that has failed stays so.
        if name in self.outcomes and self.outcomes[name] in (NOT_RUN, RIGHT, SKIPPED):
            self.outcomes[name] = letter
        if error is not None:
            self.note_first(name, error)

    def addSuccess(self, test: Any) -> None:  # noqa: N802
        if self.outcomes.get(_name_of(test)) == NOT_RUN:
            self._note(test, RIGHT)

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802
        self._note(test, ERROR, err[1])

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        self._note(test, FAILED, err[1])

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: ARG002, N802
        if err is not None:
            self._note(test, FAILED if issubclass(err[0], test.failureException) else ERROR, err[1])

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: ARG002, N802
        error = sys.exc_info()[1]
        own = self.own_skips
        if own is not None and not (own.has(error) if error is not None else _name_of(test) in self.skipped):
            self._note(test, ERROR, error or RuntimeError("the program skipped the test"))
        elif self.outcomes.get(_name_of(test)) == NOT_RUN:
            self._note(test, SKIPPED)
        elif _name_of(test) not in self.outcomes:
            self._skip_class(test)

    def _skip_class(self, holder: Any) -> None:
        """Note a class whose ``setUpClass`` has skipped it."""
        for name, letter in self.outcomes.items():
            if letter == NOT_RUN and name.partition(".")[0] in str(holder):
                self.outcomes[name] = SKIPPED

    def addExpectedFailure(self, test: Any, err: Any) -> None:  # noqa: ARG002, N802
        self._note(test, RIGHT)

    def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: N802
        # The harnesses that publish such tests count failures and errors only.
        self._note(test, RIGHT)


def _name_of(test: Any) -> str:
    method = getattr(test, "_testMethodName", None)
    return "%s.%s" % (type(test).__name__, method) if method else ""


def _is_marked(test: Any, mark: str) -> bool:
    return any(getattr(owner, mark, False) for owner in (test, getattr(test, test._testMethodName)))


def _bind(test: Any) -> None:
    """Bind the function of a test now: a program may replace those that are still to come."""
    setattr(test, test._testMethodName, getattr(test, test._testMethodName))
