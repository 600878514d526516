"""The tests of one suite: which there are, what became of each, and which failed first."""

from __future__ import annotations

import sys
from typing import Any

from passcurve.harness.class_clock import ClassClock, ClassTimeoutError
from passcurve.harness.counts import pack_bits
from passcurve.harness.protocol import SharedReport
from passcurve.harness.sample import SOURCE_NAME
from passcurve.harness.shared import make_failure

RIGHT, FAILED, ERROR, SKIPPED, TIMEOUT, NOT_RUN = "1", "0", "e", "s", "t", "-"
"""The letters of outcomes."""


class SuiteRun:
    """The tests of some classes, before and after they have run."""

    def __init__(self, classes: list[Any], shown: list[set[str]], loader: Any) -> None:
        """``shown``: the tests that the source of each class shows, all of which must run."""
        self._tests: list[Any] = []
        self.outcomes: dict[str, str] = {}
        """A letter for each test, by name."""
        self._missing = ""
        self._error: BaseException | None = None
        self._first = ""
        for cls, names in zip(classes, shown):
            suite = loader.loadTestsFromTestCase(cls)
            present = set()
            for test in suite:
                present.add(test._testMethodName)
                self.outcomes[_name_of(test)] = NOT_RUN
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

    def __init__(self, outcomes: dict[str, str], clock: ClassClock, *, go_on: bool, any_skip: bool) -> None:
        super().__init__()
        self.outcomes, self.clock, self.go_on, self.any_skip = outcomes, clock, go_on, any_skip
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
        if error is not None and not self.any_skip and _is_from_program(error):
            self._note(test, ERROR, error)
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


def _is_from_program(error: BaseException) -> bool:
    """Return whether an exception was raised in the code of the program."""
    trace, name = error.__traceback__, ""
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        trace = trace.tb_next
    return name == SOURCE_NAME
