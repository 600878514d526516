"""Reports of a referee: JSON from an untrusted process, each with the number of the check that it is about."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from passcurve.harness.protocol import NEXT_TEST
from passcurve.harness.wire import WireError
from passcurve.sandbox.compiled_tests import CompiledTests
from passcurve.sandbox.running_job import RunningJob
from passcurve.types.decoding import decodable

REPORT_BYTES = 64 << 20
"""Largest report: one with the code of large tests in it."""

_DECODER = msgspec.json.Decoder(dict[str, Any])


class _CheckedFields(msgspec.Struct, frozen=True):
    """The fields that the supervisor itself reads: hostile tests can write on the connection too."""

    status: str
    number: str
    lost: bool = False
    read: int = -1
    at_ns: Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)] = 0
    code: Annotated[str, msgspec.Meta(max_length=REPORT_BYTES)] = ""


def read_report(running: RunningJob, frame: bytes, compiled_tests: CompiledTests) -> dict[str, Any] | None:
    """Return the report on a job, or None for one that came before it; keep the compiled tests that one brings.

    Raises msgspec.DecodeError for what is no report, WireError or ValueError for a report that is not due.
    """
    report = _DECODER.decode(frame)
    fields = msgspec.convert(report, decodable(_CheckedFields))
    if report["number"] != running.number or running.report is not None:
        raise WireError("a report on something else")
    if report["status"] == NEXT_TEST:
        running.begin_test(report.get("calls"), fields.at_ns)
        return None
    if report["status"] != "compiled":
        return report
    # Sent before anything of the benchmark has run, and only by a referee that was given no code.
    if running.has_code:
        raise WireError("code that nobody asked for")
    running.has_code = True
    compiled_tests.put(running.key, report.get("code", ""))
    # A sample is checked by a process that has compiled nothing.
    running.is_compiled = not running.job.without_sample
    return report if running.is_compiled else None
