"""Proxy of a sample's function: sends calls to the sample's process and returns plain data.

A verdict is therefore a function of the tests and of data, and of nothing else that the sample did.
"""

from __future__ import annotations

from _thread import RLock
from collections.abc import Callable
from typing import Any

from passcurve.harness import recording
from passcurve.harness.changed_arguments import copy_changes
from passcurve.harness.exceptions import describe, rebuild
from passcurve.harness.large_results import read_record
from passcurve.harness.protocol import ExceptionRecord, Order, OrderReply, RefereeJob
from passcurve.harness.sample import flatten
from passcurve.harness.sample_connection import AS_EXPECTED, CheckStopped, SampleConnection
from passcurve.harness.wire import Encoder, Handle, WireError

EXCEPTION_BYTES = 64 << 10
"""Largest reply with an exception; ``describe`` makes none of that size."""
FLATTENED_TYPES = 64
"""Largest number of type names that are kept."""
_EXCEPTION_FIELDS = {"type": str, "message": str, "lineage": list, "arguments": tuple}


class Opaque:
    """An object that stays in the sample's process: equal to nothing but itself."""

    def __init__(self, number: int, name: str) -> None:
        self.passcurve_number = number
        self._name = name

    def __repr__(self) -> str:
        return "<an object of type %s, which stays with the sample>" % self._name


class _Iterator(Opaque):
    def __init__(self, number: int, name: str, get_next: Callable[[int], Any]) -> None:
        super().__init__(number, name)
        self._get_next = get_next

    def __iter__(self) -> _Iterator:
        return self

    def __next__(self) -> Any:
        return self._get_next(self.passcurve_number)


class _Function:
    # No function of ours, whose code and parameters would pass for the sample's.  Without a docstring, for the same
    # reason.
    __signature__ = "stays with the sample"

    def __init__(self, number: int, name: str, call: Callable[..., Any]) -> None:
        self.passcurve_number = number
        self.__name__ = self.__qualname__ = name
        self._call = call

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._call(self.passcurve_number, self.__name__, args, kwargs)
        except StopIteration as error:
            # To `map` in the tests it would be the end of what is to be called.
            raise RuntimeError("the program raised StopIteration") from error

    def __reduce_ex__(self, _: Any) -> str:
        # To copy a function is to return it.
        return self.__name__

    def __repr__(self) -> str:
        return "<function %s, which stays with the sample>" % self.__name__


class CallRecord:
    """A call of the tests; its outcome is None, or 'returned' or 'raised' with the value or exception."""

    __slots__ = ("args", "kwargs", "name", "outcome")

    def __init__(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.name, self.args, self.kwargs = name, args, kwargs
        self.outcome: tuple[str, Any] | None = None


class SampleProxy:
    """One sample, as the tests see it.

    A sample has recorded calls.  Unless it is live, it makes them before any order, and sends their outcomes in order;
    each is taken when the tests make that very call.
    """

    def __init__(self, descriptor: int, job: RefereeJob) -> None:
        self.connection = SampleConnection(
            descriptor,
            job["output_bytes"],
            can_send=job["live"],
            reduce=self._reduce,
            resolve=self._resolve,
        )
        self._write_back = job["write_back"]
        self._takes_digests = job["cases"] is not None
        self._replayed = recording.unpack_calls(job["replayed"])
        self._replayed_count = 0
        self._passed_objects: list[Any] = []
        self._lock = RLock()
        """Held during a call, so that each thread of the tests gets its own reply; callbacks run in the same thread."""
        self.last_call: CallRecord | None = None
        self.last_exception: BaseException | None = None
        """The last exception that the sample raised, as it was raised here."""
        self.flattened: set[str] = set()
        """Names of types that the sample reduced to plain data."""
        self.last_flattened: tuple[str, ...] = ()
        """Those in the last result."""
        self.calls = 0

    def make_function(self, number: int, name: str) -> Callable[..., Any]:
        """Return a function that calls an object of the sample; number 0 is the entry point."""
        return _Function(number, name, self._call)

    def as_exception(self, value: Any) -> ExceptionRecord | None:
        """Return a received value if it is an exception as ``describe`` makes it, else None."""
        if type(value) is not dict:
            return None
        if any(type(value.get(name)) is not kind for name, kind in _EXCEPTION_FIELDS.items()):
            return None
        if any(type(name) is not str for name in value["lineage"]):
            return None
        # Arguments that are handed back stand in the same frame.
        if self.connection.frame_bytes > EXCEPTION_BYTES and not (self._write_back and _is_short(value)):
            return None
        record: ExceptionRecord = value  # type: ignore[assignment]
        return record

    def call(self, name: str, args: tuple[Any, ...], expected: bytes) -> Any:
        """Call the entry point; return EQUAL where the result is shown to be the expected one, which is packed."""
        return self._call(0, name, args, {}, expected)

    def _call(
        self, number: int, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], expected: bytes = b""
    ) -> Any:
        with self._lock:
            return self._make_call(number, name, args, kwargs, expected)

    def _make_call(self, number: int, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], expected: bytes) -> Any:
        self.last_call = call = CallRecord(name, args, kwargs)
        self.calls += 1
        self.last_flattened = ()
        is_recorded = False
        if self._replayed_count < len(self._replayed):
            is_recorded = not number and recording.matches(args, kwargs, self._replayed[self._replayed_count])
            if not (is_recorded or self.connection.can_send):
                self.connection.stop("diverged", "the tests make another call than the recorded one")
        if self.connection.can_send:
            order: Order = {"call": number, "args": args, "kwargs": kwargs}
            if self._write_back:
                order["back"] = True
            # An order for the next call that came with the job says no more, so that it moves no object of the program.
            self.connection.send({} if is_recorded else order)
        self._replayed_count += is_recorded
        return self._receive_reply(call, expected)["value"]

    def _get_next(self, number: int) -> Any:
        with self._lock:
            return self._ask_next(number)

    def _ask_next(self, number: int) -> Any:
        if self._replayed_count < len(self._replayed) and not self.connection.can_send:
            self.connection.stop("diverged", "the tests use an iterator before they have made all recorded calls")
        self.connection.send({"next": number})
        return self._receive_reply(None)["value"]

    def _receive_reply(self, call: CallRecord | None, expected: bytes = b"") -> dict[str, Any]:
        while True:
            reply = self.connection.receive(expected)
            if reply is AS_EXPECTED:
                return reply
            if "callback" in reply:
                self._answer_callback(reply)
                continue
            if self._write_back and call is not None and ("value" in reply or "raised" in reply):
                self._take_arguments(call, reply)
            if "value" in reply:
                self._add_flattened(reply.get("flattened", ()))
                if call is not None:
                    call.outcome = ("returned", reply["value"])
                return reply
            if "large" in reply and self._takes_digests:
                large = read_record(reply["large"])
                if large is not None and call is not None:
                    call.outcome = ("returned", large)
                    return {"value": large}
            if "raised" in reply:
                raise self._rebuild_exception(reply["raised"], call)
            if "unsendable" in reply:
                record = self.as_exception(reply["unsendable"])
                if record is not None:
                    reason = record["message"][:200]
                    self.connection.stop("output", "the returned value cannot be passed on: %s" % reason)
            self.connection.stop("protocol", "a message that is not a reply")

    def _take_arguments(self, call: CallRecord, reply: dict[str, Any]) -> None:
        """Copy what the sample did to the arguments of a call into the objects of the tests."""
        args, kwargs = reply.get("args"), reply.get("kwargs")
        if type(args) is not tuple or type(kwargs) is not dict:
            self.connection.stop("protocol", "a reply without the arguments")
        copy_changes(call.args, args)
        copy_changes(tuple(call.kwargs.values()), tuple(map(kwargs.get, call.kwargs)))

    def _add_flattened(self, names: Any) -> None:
        if type(names) is not tuple:
            self.connection.stop("protocol", "names of types that are not a tuple")
        self.last_flattened = tuple(name[:80] for name in names[:8] if type(name) is str)
        for name in self.last_flattened:
            if len(self.flattened) < FLATTENED_TYPES:
                self.flattened.add(name)

    def _rebuild_exception(self, value: Any, call: CallRecord | None) -> BaseException:
        record = self.as_exception(value)
        if record is None:
            self.connection.stop("protocol", "a malformed exception")
        try:
            error = rebuild(record)
            error.passcurve_type = record["type"][:200]  # type: ignore[attr-defined]
        except Exception:
            # Whatever a constructor raises here, the sample's record made it do so.
            self.connection.stop("protocol", "a malformed exception")
        self.last_exception = error
        if call is not None:
            call.outcome = ("raised", error)
        return error

    def _answer_callback(self, record: dict[str, Any]) -> None:
        number, args, kwargs = record["callback"], record.get("args"), record.get("kwargs")
        if type(number) is not int or not 0 <= number < len(self._passed_objects):
            self.connection.stop("protocol", "a call of something that was never passed")
        # A range, for one, would fill the memory of this process when it is unpacked.
        if type(args) is not tuple or type(kwargs) is not dict:
            self.connection.stop("protocol", "a call with malformed arguments")
        function = self._passed_objects[number]
        reply: OrderReply
        try:
            reply = {"value": function(*args, **kwargs)}
        except CheckStopped:
            raise
        except BaseException as error:
            reply = {"raised": describe(error)}
        self.connection.send(reply)

    def _resolve(self, handle: Handle) -> Any:
        if handle.kind == "function":
            return self.make_function(handle.number, handle.name)
        if handle.kind == "iterator":
            return _Iterator(handle.number, handle.name, self._get_next)
        return Opaque(handle.number, handle.name)

    def _reduce(self, value: Any) -> Any:
        number = getattr(value, "passcurve_number", None)
        if type(number) is int:
            return Handle("opaque", number, "")
        kind = type(value)
        plain = flatten(value, kind)
        if plain is not None:
            return plain[0]
        # A file would be no file to the sample.
        if hasattr(kind, "__next__") and not hasattr(kind, "read"):
            return self._pass_object("iterator", value.__next__, kind.__name__)
        if callable(value) and not isinstance(value, type):
            return self._pass_object("function", value, str(getattr(value, "__name__", kind.__name__)))
        raise WireError("a value of type %s, which cannot cross" % kind.__name__)

    def _pass_object(self, kind: str, function: Callable[..., Any], name: str) -> Handle:
        self._passed_objects.append(function)
        return Handle(kind, len(self._passed_objects) - 1, name)


def _is_short(record: Any) -> bool:
    try:
        return len(Encoder().encode(record)) <= EXCEPTION_BYTES
    except WireError:
        return False
