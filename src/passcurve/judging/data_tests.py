"""Tests of other languages that are plain data in and out: calls go into the jail, and what is expected stays outside.

Theory of operation.  Tests in the program's own language run beside it, so it can read what they expect and change what
compares.  Where each assertion is a call with literal arguments and compares with a literal, neither has to be there:
the source in the jail holds the calls alone, in their places, and a recorder of ours writes their results to a file.
The supervisor reads that file as a stranger's and compares.

- A pass needs a right result for each call.  A program that writes the file itself, ends early, or changes the recorder
  has to know the results all the same, and nothing in its jail tells them.
- Exit status 0 and the job's token, written behind the last call, are needed as for other tests.
- Calls that follow a wrong result run, because nobody in the jail knows that it is wrong.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from passcurve.sandbox.job import Job, Outcome

RESULTS = ".passcurve-results"
"""Name of the file with the results, in the working folder."""

SETUP = "data_tests"
"""Key of these tests in the setup of a job."""

_SHOWN_CHARACTERS = 300
"""Characters of a result that a verdict shows."""

_SOURCE_CHARACTERS = 2000
"""Characters of a call, and of its expected value, that a verdict shows."""


class TestsSource(NamedTuple):
    """Tests in the program's own language, and the parts that replace their assertions."""

    tests: str
    """Without the statement that shows their end."""
    before: str
    """Source in front of the program."""
    recorder: str
    """Source of the recorder."""
    place: str
    """Path of the file that it writes."""


class Expectation(NamedTuple):
    """One call of the tests, and what is expected of it."""

    call: str
    """Its source."""
    expected: str
    """Source of the value that it is compared with."""
    accepts: Callable[[Any], bool]
    """Tells whether a recorded value is right."""


class DataTests(NamedTuple):
    """Tests as calls, and apart from them what is expected."""

    source: str
    """Source that follows the program: it records the result of each call under its number."""
    expectations: tuple[Expectation, ...]
    show: Callable[[Any], str]
    """Returns a recorded value as a reader expects it."""
    read: Callable[[bytes], tuple[Any, Any]]
    """Returns the number and the value of a record; raises ValueError or TypeError for any other bytes."""
    separator: bytes = b"\n"
    """The end of each record."""


class Failure(NamedTuple):
    """The first call without a right result."""

    call: str
    outcome: str
    expected: str


def find_failure(job: Job, outcome: Outcome) -> Failure | None:
    """Return the first call of a job's tests whose result is not right; None where all are."""
    tests: DataTests = job.setup[SETUP]
    return _first_failure(tests, _read_results(tests, outcome))


def read_data_report(job: Job, outcome: Outcome) -> dict[str, Any]:
    """Return what the results show, in the form of the report of a referee."""
    tests: DataTests = job.setup[SETUP]
    results = _read_results(tests, outcome)
    report: dict[str, Any] = {"status": "", "calls": len(results)}
    if outcome.step == "run" and (failure := _first_failure(tests, results)) is not None:
        report.update(call=(failure.call, failure.outcome), expected=failure.expected)
    return report


def _first_failure(tests: DataTests, results: dict[int, list[Any]]) -> Failure | None:
    for number, expectation in enumerate(tests.expectations):
        values = results.get(number, [])
        if len(values) == 1 and expectation.accepts(values[0]):
            continue
        ended = f"returned {tests.show(values[0])[:_SHOWN_CHARACTERS]}" if values else "did not return"
        return Failure(
            call=expectation.call[:_SOURCE_CHARACTERS],
            outcome="has several results" if len(values) > 1 else ended,
            expected=expectation.expected[:_SOURCE_CHARACTERS],
        )
    return None


def has_results(outcome: Outcome) -> bool:
    """Tell whether there is a file with results."""
    return bool(_read_file(outcome))


def _read_results(tests: DataTests, outcome: Outcome) -> dict[int, list[Any]]:
    """Return the values that were recorded under each number, as a stranger wrote them."""
    count = len(tests.expectations)
    results: dict[int, list[Any]] = {}
    # One record more than there are calls shows that a call has two results; more of them only take time.
    for record in _read_file(outcome).split(tests.separator, count + 1)[: count + 1]:
        try:
            number, value = tests.read(record)
        except (ValueError, TypeError, RecursionError):
            continue
        if isinstance(number, int | float) and number in range(count):
            results.setdefault(int(number), []).append(value)
    return results


def read_json(record: bytes) -> tuple[Any, Any]:
    """Return the number and the value of a record that is JSON; all its numbers are floats."""
    number, value = json.loads(record, parse_int=float)
    return number, value


def _read_file(outcome: Outcome) -> bytes:
    try:
        files = msgspec.convert((outcome.report or {}).get("files", {}), dict[str, str])
        return base64.b64decode(files.get(RESULTS, ""), validate=True)
    except (msgspec.ValidationError, ValueError):
        return b""
