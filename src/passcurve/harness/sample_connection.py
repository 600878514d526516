"""Connection to a sample: frames in both directions, within the limits of one check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from passcurve.harness.framing import ConnectionClosed, receive_frame, send_frame
from passcurve.harness.packed_results import is_reply
from passcurve.harness.wire import Decoder, Encoder, Handle, TooMuchError, WireError

VALUE_BYTES = 4
"""Bytes of replies for each plain value that may be decoded: a few seconds, and one GiB, with the usual limit."""
UNKNOWN = -1
EQUAL = object()
"""The value of a reply that equals what is expected: it was not decoded."""
AS_EXPECTED: dict[str, Any] = {"value": EQUAL}


class CheckStopped(BaseException):
    """The check cannot continue.  The connection keeps the reason: tests that catch this exception change nothing."""


class SampleConnection:
    """Sender of orders to a sample and receiver of its replies; the first problem stops the check for good."""

    def __init__(
        self,
        descriptor: int,
        output_bytes: int,
        *,
        can_send: bool,
        reduce: Callable[[Any], Any],
        resolve: Callable[[Handle], Any],
    ) -> None:
        self._descriptor = descriptor
        self._remaining_bytes = output_bytes
        self.can_send = can_send
        """False if the sample makes all calls without orders."""
        self._encode = Encoder(reduce).encode
        self._decode = Decoder(resolve, output_bytes // VALUE_BYTES).decode
        self.stop_reason: tuple[str, str] | None = None
        """Status and message of the report, once the check is stopped."""
        self.frame_bytes = 0
        """Size of the last reply."""
        self.bytes_read = 0
        """Size of all frames read, or UNKNOWN once one of them was incomplete or malformed."""
        self._awaits_reply = False
        """A record was sent, at least in part, and no other has come since."""

    def send(self, record: Mapping[str, Any]) -> None:
        """Send a record; an empty one is an empty frame."""
        if self.stop_reason is not None:
            raise CheckStopped
        if not self.can_send:
            self.stop("diverged", "the tests make a call that was not recorded")
        if self._awaits_reply or self.bytes_read == UNKNOWN:
            self._stop_interrupted()
        try:
            data = self._encode(record) if record else b""
            self._awaits_reply = True
            send_frame(self._descriptor, data)
        except WireError as error:
            self.stop("tests", "the tests pass %s" % error)
        except ConnectionClosed:
            self.stop("gone", "the sample's process ended")

    def receive(self, expected: bytes = b"") -> dict[str, Any]:
        """Return the next record, or AS_EXPECTED for a reply with exactly the expected result, which is packed.

        Only the outermost type of a record is checked.
        """
        if self.stop_reason is not None:
            raise CheckStopped
        if self.bytes_read == UNKNOWN:
            self._stop_interrupted()
        bytes_read, self.bytes_read = self.bytes_read, UNKNOWN
        try:
            # No byte after the frame is read: bytes that the sample sends later must not change this check.
            data = receive_frame(self._descriptor, self._remaining_bytes)
            self.frame_bytes = len(data)
            self._remaining_bytes -= len(data)
            record = AS_EXPECTED if expected and is_reply(expected, data) else self._decode(data)
        except ConnectionClosed:
            self.stop("gone", "the sample's process ended")
        except TooMuchError as error:
            self.stop("output", str(error))
        except WireError as error:
            self.stop("protocol", str(error))
        except MemoryError:
            self.stop("output", "the returned value needs more memory than the tests may use")
        except RecursionError:
            self.stop("output", "the returned value is nested too deeply")
        if type(record) is not dict:
            self.stop("protocol", "a message that is not a dictionary")
        self._awaits_reply = False
        self.bytes_read = bytes_read + 4 + len(data)
        return record

    def _stop_interrupted(self) -> NoReturn:
        """Stop the check: the tests have left a call before its reply came, which would be taken for the next one."""
        self.stop("timeout", "the tests interrupted a call of the program and made another one")

    def stop(self, status: str, message: str) -> NoReturn:
        """Stop the check, for the first reason that is given."""
        if self.stop_reason is None:
            self.stop_reason = (status, message)
        raise CheckStopped
