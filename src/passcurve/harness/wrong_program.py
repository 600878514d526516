"""A wrong program of ours, which the tests of a problem run against in their own process: no sample is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from passcurve.harness.exceptions import describe
from passcurve.harness.protocol import RefereeJob
from passcurve.harness.sample_connection import UNKNOWN, CheckStopped, SampleConnection
from passcurve.harness.sample_proxy import SampleProxy


def make_proxy(source: bytes, job: RefereeJob) -> SampleProxy:
    """Return a proxy of a program whose function returns plain data or raises an exception."""
    proxy = SampleProxy(-1, job)
    proxy.connection = _WrongProgram(source, job["entry_point"])
    return proxy


class _WrongProgram(SampleConnection):
    """Takes the place of a connection: calls the function for an order, and replies as a sample does."""

    def __init__(self, source: bytes, entry_point: str) -> None:
        names: dict[str, Any] = {}
        exec(source, names)
        self._function = names[entry_point]
        self._reply: dict[str, Any] = {"loaded": True, "has_entry_point": True}
        self.can_send = True
        self.stop_reason: tuple[str, str] | None = None
        self.frame_bytes = 0
        self.bytes_read = UNKNOWN

    def send(self, record: Mapping[str, Any]) -> None:
        """Make the call of an order; there are no others, as it returns neither functions nor iterators."""
        if self.stop_reason is not None:
            raise CheckStopped
        try:
            self._reply = {"value": self._function(*record["args"], **record["kwargs"])}
        except Exception as error:
            self._reply = {"raised": describe(error)}

    def receive(self, _: bytes = b"") -> dict[str, Any]:
        """Return the reply."""
        if self.stop_reason is not None:
            raise CheckStopped
        return self._reply
