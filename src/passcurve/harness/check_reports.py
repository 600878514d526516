"""Reports of a check, whatever its tests are."""

from __future__ import annotations

from typing import Any

from passcurve.harness.messages import TEXT_CHARACTERS, bounded_repr, failing_line, message_of, truncate
from passcurve.harness.protocol import Report
from passcurve.harness.sample_proxy import CallRecord, SampleProxy

_CALL_CHARACTERS = 2 * TEXT_CHARACTERS
"""Longest text of a call: each argument has a text, and a report with too long a one is malformed."""


def make_report(proxy: SampleProxy, status: str, message: str) -> Report:
    """Return a report with what the proxy has seen: the number of calls, the last one, and what became plain data."""
    report: Report = {"status": status, "message": message, "calls": proxy.calls}
    if status == "gone":
        report["lost"] = True
    if proxy.flattened:
        report["flattened"] = sorted(proxy.flattened)[:8]
    if status != "passed" and proxy.last_call is not None:
        report["call"] = describe_call(proxy.last_call)
    return report


def make_stop_report(proxy: SampleProxy) -> Report:
    """Return the report of a check that could not continue."""
    return make_report(proxy, *(proxy.connection.stop_reason or ("gone", "")))


def make_missing_report(proxy: SampleProxy, entry_point: str) -> Report:
    """Return the report on a program that does not define its function."""
    report = make_report(proxy, "failed", "NameError: name %r is not defined" % entry_point)
    report["exception"] = "NameError"
    return report


def make_load_report(proxy: SampleProxy, reply: dict[str, Any]) -> Report:
    """Return the report on a program whose module raised an exception."""
    record = proxy.as_exception(reply["raised"])
    if record is None:
        return {"status": "protocol", "message": "a malformed exception"}
    kind = record["type"][:200]
    status = "compile" if reply.get("while") == "compile" else "failed"
    if "MemoryError" in record["lineage"]:
        status = "memory"
    report = make_report(proxy, status, describe_error(kind, record["message"][:TEXT_CHARACTERS]))
    report["exception"] = kind
    return report


def make_error_report(proxy: SampleProxy, error: BaseException, test: str) -> Report:
    """Return the report on tests that raised an exception; ``test`` is their source."""
    kind = type(error).__name__
    message = message_of(error)
    from_sample = error is proxy.last_exception
    status = "failed"
    if isinstance(error, MemoryError):
        status = "memory" if from_sample else "output"
        if not from_sample:
            message = "the returned value needs more memory than the tests may use"
    report = make_report(proxy, status, describe_error(kind, message))
    report["exception"] = getattr(error, "passcurve_type", kind) if from_sample else kind
    report["from_sample"] = from_sample
    report["test_line"] = failing_line(error, test)
    return report


def describe_call(call: CallRecord) -> tuple[str, str]:
    """Return a call and its outcome, as bounded text."""
    arguments = [bounded_repr(value) for value in call.args]
    arguments += ["%s=%s" % (name, bounded_repr(value)) for name, value in call.kwargs.items()]
    outcome = "did not return"
    if call.outcome is not None:
        outcome = "%s %s" % (call.outcome[0], bounded_repr(call.outcome[1]))
    return ("%s(%s)" % (call.name, ", ".join(arguments)))[:_CALL_CHARACTERS], outcome


def describe_error(kind: str, message: str) -> str:
    """Return the type and the message of an exception, truncated."""
    return truncate("%s: %s" % (kind, message) if message else kind)
