"""Cases: inputs for the function of a sample, each with an expected value, which never leaves the tests' process."""

from __future__ import annotations

import base64
import marshal
import time
from collections.abc import Callable
from typing import Any

from passcurve.harness import recording
from passcurve.harness.check_reports import describe_call, make_load_report, make_missing_report, make_report
from passcurve.harness.comparators import Comparator
from passcurve.harness.counts import count_tests, pack_bits
from passcurve.harness.messages import bounded_repr, message_of, truncate
from passcurve.harness.packed_results import can_unpack, has_floats, has_nothing, pack, strip, unpack
from passcurve.harness.protocol import STRIPPED, CaseData, RefereeJob, Report
from passcurve.harness.recording import RecordedCalls
from passcurve.harness.sample_connection import EQUAL, CheckStopped
from passcurve.harness.sample_proxy import SampleProxy
from passcurve.harness.wire import WireError

PACK_VERSION = 2
_STRIPPED_BYTES = 1 << 20
"""Bytes that stripping must save: where it saves fewer, the results of a problem stay whole."""
_SLOW_S = 0.01
"""Time of a test from which the reference solution says it."""
_SURE_S = 1.0
"""Time of a test below which a wait for a core could be most of it."""


class CaseTests:
    """The inputs of a problem with the expected results, unpacked."""

    def __init__(self, data: CaseData) -> None:
        self.suites = data["suites"]
        self.inputs: list[tuple[Any, ...]] = marshal.loads(data["inputs"])
        self.expected: list[bytes] | None = marshal.loads(data["expected"]) if data["expected"] else None
        """The packed result for each input; None where the reference solution is to compute them."""


class CaseCheck:
    """One sample against the cases of one problem; without expected results it reports those of the sample."""

    def __init__(self, job: RefereeJob, data: CaseData, proxy: SampleProxy, notify: Callable[[int], None]) -> None:
        self._tests = CaseTests(data)
        self._runs_each_suite = data["each_suite"]
        self._goes_on, self._records = data["all_tests"], job["record"] is not None
        self._comparator = data["comparator"], data["tolerance"], data["floats"], data["flattened"]
        self._proxy = proxy
        self._notify = notify
        self._connection = proxy.connection
        self._entry_point = job["entry_point"]
        self._outcomes: list[list[bool]] = []
        """The outcomes of the tests that have run, by suite."""
        self._failure: Report = {}
        """What the report says about the first test that failed."""

    def run(self) -> Report:
        """Run the tests and return the report."""
        try:
            load_reply = self._connection.receive()
            if "raised" in load_reply:
                return make_load_report(self._proxy, load_reply)
            if not load_reply.get("has_entry_point"):
                return make_missing_report(self._proxy, self._entry_point)
            if self._tests.expected is None:
                # Nothing to compare with: only a reference solution may be run so.
                return self._report_results() if self._records else self._report("benchmark", "nothing is expected")
            self._run_suites(self._tests.expected)
        except CheckStopped:
            return self._report(*(self._connection.stop_reason or ("gone", "")))
        if self._failure:
            return self._report("failed", self._failure["message"])
        return self._report("passed", "")

    def _run_suites(self, expected: list[bytes]) -> None:
        start = 0
        for name, count in self._tests.suites:
            comparator = Comparator(*self._comparator)
            outcomes: list[bool] = []
            self._outcomes.append(outcomes)
            for number in range(count):
                arguments = self._tests.inputs[start + number]
                is_right = self._passes(comparator, arguments, expected[start + number], "%s test %d" % (name, number))
                outcomes.append(is_right)
                if not is_right and not self._goes_on:
                    break
            if not (all(outcomes) or self._goes_on or self._runs_each_suite):
                return
            start += count

    def _passes(self, comparator: Comparator, arguments: tuple[Any, ...], packed: bytes, test: str) -> bool:
        self._notify(self._proxy.calls)
        try:
            value = self._proxy.call(self._entry_point, arguments, packed if comparator.accepts_equal else b"")
        except CheckStopped:
            raise
        except BaseException as error:
            if self._connection.stop_reason is not None:
                raise CheckStopped from None
            kind = getattr(error, "passcurve_type", type(error).__name__)
            is_first = not self._failure
            self._note_failure(test, "%s: %s" % (kind, message_of(error)), self._unpack(packed), kind)
            if is_first and isinstance(error, MemoryError) and error is self._proxy.last_exception:
                self._failure["status"] = "memory"
            return False
        if value is EQUAL:
            comparator.note_expected(is_float=has_floats(packed), is_empty=has_nothing(packed))
            return True
        expected = self._unpack(packed)
        if comparator.accepts(arguments, value, expected, self._proxy.last_flattened):
            return True
        self._note_failure(test, "wrong result", expected, "")
        return False

    def _unpack(self, packed: bytes) -> Any:
        """Return an expected result; stop the check where this job has only its digest."""
        if not can_unpack(packed):
            self._connection.stop(STRIPPED, "the job has only the digest of an expected result")
        return unpack(packed)

    def _note_failure(self, test: str, message: str, expected: Any, exception: str) -> None:
        if self._failure:
            return
        self._failure = {
            "message": truncate("%s: %s" % (test, message)),
            "exception": exception,
            "call": describe_call(self._proxy.last_call) if self._proxy.last_call is not None else ("", ""),
            "expected": bounded_repr(expected),
        }

    def _report_results(self) -> Report:
        results: list[bytes] = []
        slow: list[tuple[int, float]] = []
        keep = Comparator(*self._comparator).keep
        for number, arguments in enumerate(self._tests.inputs):
            began_s = time.monotonic()
            try:
                results.append(pack(keep(self._proxy.call(self._entry_point, arguments, b""))))
            except CheckStopped:
                raise
            except (WireError, RecursionError) as error:
                return self._report("benchmark", "a result of the reference solution cannot be kept: %s" % error)
            except BaseException as error:
                if self._connection.stop_reason is not None:
                    raise CheckStopped from None
                kind = getattr(error, "passcurve_type", type(error).__name__)
                self._note_failure("test %d" % number, "%s: %s" % (kind, message_of(error)), None, kind)
                return self._report("failed", self._failure["message"])
            if (seconds := time.monotonic() - began_s) > _SLOW_S:
                slow.append((number, self._time_again(arguments, seconds)))
        report = self._report("passed", "")
        report["slow"] = slow
        whole, stripped = split_results(results)
        report["results"], report["stripped"] = (base64.b64encode(data).decode() for data in (whole, stripped))
        return report

    def _time_again(self, arguments: tuple[Any, ...], seconds: float) -> float:
        """Return the time of a call, less what it may have waited for a core: the smaller one of two."""
        if seconds > _SURE_S:
            return seconds
        began_s = time.monotonic()
        try:
            self._proxy.call(self._entry_point, arguments, b"")
        except CheckStopped:
            raise
        except BaseException:
            pass  # the first call has said how it ends
        return min(seconds, time.monotonic() - began_s)

    def _report(self, status: str, message: str) -> Report:
        report: Report = {**make_report(self._proxy, status, message), **self._failure}
        report["message"] = message
        if self._outcomes:
            report["suites"] = [count_tests(outcomes) for outcomes in self._outcomes]
            if self._goes_on:
                report["outcomes"] = [pack_bits(outcomes) for outcomes in self._outcomes]
        return report


def pack_calls(inputs: list[tuple[Any, ...]]) -> bytes:
    """Return the calls of cases, packed together; nothing where they are too many to be sent at once."""
    calls = RecordedCalls()
    if all(calls.add(tuple(arguments), {}) for arguments in inputs):
        return recording.pack_calls(calls.packed)
    return b""


def split_results(results: list[bytes]) -> tuple[bytes, bytes]:
    """Return packed results as ``CaseCheck`` takes them, whole and stripped; the second is empty where it saves little.

    Stripped results recognise replies, and most samples need no more.
    """
    whole = marshal.dumps(results, PACK_VERSION)
    stripped = marshal.dumps(list(map(strip, results)), PACK_VERSION)
    return whole, stripped if len(whole) - len(stripped) >= _STRIPPED_BYTES else b""
