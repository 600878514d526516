"""Process of a sample: runs one program and answers calls to it with plain data.

All of this shares a process with the sample, so nothing trusts it: a reply is data and nothing more.  A sample that
changes this code affects only itself.

Frames out: {'loaded': True} or {'raised': ...} once; then for each call one of {'value': ...}, {'raised': ...},
{'unsendable': ...} or {'large': ...}, after any number of {'callback': ...}.  The last frame is empty.
"""

from __future__ import annotations

import linecache
import marshal
import os
import socket
import sys
import typing
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from passcurve.harness.exceptions import describe, rebuild
from passcurve.harness.framing import EMPTY, ConnectionClosed, make_frame, receive_frame, send_frame, write_all
from passcurve.harness.job_start import limit_recursion, read_job
from passcurve.harness.large_results import is_large, make_record
from passcurve.harness.protocol import Callback, ExceptionRecord, Order, SampleJob
from passcurve.harness.script import ScriptRunner
from passcurve.harness.script_harnesses import make_function
from passcurve.harness.streams import open_null_streams, use_descriptors
from passcurve.harness.wire import Decoder, Encoder, Handle, WireError

FRAME_BYTES = 256 << 20
PENDING_BYTES = 1 << 20
"""Total size of the replies that are kept to be sent together, in bytes."""
_REHEARSALS = 20
"""CPython specialises code in its first 8 runs, and leaves it unchanged after a few more."""
SOURCE_NAME = "sample.py"
"""Not in angle brackets: for ``linecache`` such a name has no source."""


def main(descriptors: list[int]) -> None:
    """Read a job, load its program, and answer calls until the connection is closed."""
    connection, *file = descriptors
    leave = os._exit
    try:
        sample = SampleServer(connection, read_job(connection, file))
        sample.load()
        sample.serve()
    except ConnectionClosed:
        leave(0)


def rehearse() -> None:
    """Serve programs before any fork, so that CPython specialises this code once and not in each child."""
    limit = sys.getrecursionlimit()
    text = b"def f(x):\n    return [y for y in x if y]\n"
    calls = marshal.dumps([marshal.dumps((args, {}), 2) for args in (([1, -2, 3],), (0.5, "a", None), ())], 2)
    job: SampleJob = {
        "program": text,
        "entry_point": "f",
        "seed": 0,
        "output_bytes": 1 << 20,
        "replayed": b"",
        "live": False,
        "digests": False,
    }
    # A program finds its objects at the same addresses only if all forms of questions are rehearsed as often: code that
    # is not specialised yet looks names up in types, and the cache of these frees another name for each.
    for number in range(3 * _REHEARSALS):
        job["replayed"], job["live"] = ((b"", True), (calls, False), (calls, True))[number % 3]
        ours, theirs = socket.socketpair()
        with ours, theirs:
            if job["live"] and job["replayed"]:
                write_all(ours.fileno(), 3 * EMPTY)
            for value in ([1, -2, 3], [0.5, "a", None], (("b", True), {"c": [4]})):
                send_frame(ours.fileno(), Encoder().encode({"call": 0, "args": (value,), "kwargs": {}}))
            send_frame(ours.fileno(), Encoder().encode({"call": 0, "args": (), "kwargs": {}}))
            ours.shutdown(socket.SHUT_WR)
            sample = SampleServer(theirs.fileno(), job)
            try:
                sample.load()
                sample.serve()
            except ConnectionClosed:
                pass
    del sys.modules["sample"], linecache.cache[SOURCE_NAME]
    sys.setrecursionlimit(limit)
    open_null_streams()
    if "random" in sys.modules:
        sys.modules["random"].seed(0)


def make_module(job: SampleJob, name: str = "sample") -> tuple[ModuleType, str]:
    """Return an empty module for a program, and its source, which the program can read as if from a file."""
    text = job["program"].decode("utf-8", "surrogatepass")
    module = ModuleType(name)
    module.__dict__["__file__"] = SOURCE_NAME
    sys.modules[name] = module
    linecache.cache[SOURCE_NAME] = (lambda: text,)
    # A program that uses it without its name finds it as it was seeded before the fork.
    if b"random" in job["program"] and "random" in sys.modules:
        sys.modules["random"].seed(job["seed"])
    return module, text


def find_entry_point(module: ModuleType, name: str) -> tuple[Any, ...]:
    """Return the entry point in a 1-tuple, or nothing where a program has none.

    ``Class.method`` makes an instance for each call; where there is no such class, it is the function of that name.
    """
    owner, _, attribute = name.rpartition(".")
    names = module.__dict__
    if not owner:
        return (names[name],) if name in names else ()
    if owner not in names:
        return (names[attribute],) if attribute in names else ()
    kind = names[owner]

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(kind(), attribute)(*args, **kwargs)

    return (call,) if hasattr(kind, attribute) else ()


class SampleServer:
    """One program, its live objects by number, and the connection to the referee."""

    def __init__(self, descriptor: int, job: SampleJob) -> None:
        self._descriptor = descriptor
        self._job = job
        self._objects: list[Any] = []
        self._flattened: list[str] = []
        self._pending: list[bytes] | None = [] if job["replayed"] else None
        """Frames of replies that are not sent yet; None once the calls that came with the job have been made.

        A live job keeps as many, though it has sent them, so that objects lie where they lie without orders.
        """
        self._pending_bytes = 0
        # Bound now: a sample may replace the functions of these modules.
        self._read, self._write, self._make_frame, self._load = os.read, os.write, make_frame, marshal.loads
        self._encoder = Encoder(self._reduce, job["output_bytes"])
        self._decode = Decoder(self._resolve).decode

    def load(self) -> None:
        """Run the program's module level and send the outcome."""
        module, text = make_module(self._job)
        limit_recursion()
        try:
            form = self._job.get("form", "")
            code = compile(make_function(text, form), SOURCE_NAME, "exec", dont_inherit=True)
        except BaseException as error:
            self._send_load_error("compile", error)
            return
        if form:
            is_kept = self._job.get("kept", False)
            self._objects.append(ScriptRunner(code, self._make_main, form, is_kept=is_kept, spare=self._descriptor))
            self._send({"loaded": True, "has_entry_point": True})
            return
        use_descriptors()
        if self._job.get("typing"):
            module.__dict__.update({name: getattr(typing, name) for name in typing.__all__})
        try:
            exec(code, module.__dict__)
        except BaseException as error:
            self._send_load_error("load", error)
            return
        function = find_entry_point(module, self._job["entry_point"])
        self._objects.append(function[0] if function else None)
        self._send({"loaded": True, "has_entry_point": bool(function)})

    def _make_main(self) -> ModuleType:
        """Return an empty ``__main__``, for one run of a script."""
        limit_recursion()
        return make_module(self._job, "__main__")[0]

    def _send_end(self) -> None:
        """Send the pending frames; an empty frame marks the end of the replies to calls made without an order."""
        if self._pending is not None and not self._job["live"]:
            self._pending.append(self._make_frame(b""))
        self._flush()
        self._pending = None

    def _send_load_error(self, where: str, error: BaseException) -> None:
        self._send({"raised": describe(error), "while": where})
        self._send_end()

    def serve(self) -> None:
        """Make the calls that came with the job, a live one at an order each, and answer orders to the end of file."""
        if self._pending is not None:
            for number, call in enumerate(self._load(self._job["replayed"]), 1):
                if self._job["live"]:
                    self._answer_until_replay()
                args, kwargs = self._load(call)
                self._answer({"call": 0, "args": args, "kwargs": kwargs})
                # Tests that stop at one of the first replies need no more, whatever a later call does.  Nothing is sent
                # after a time: that would move later objects in memory.
                if not number & (number - 1):
                    self._flush()
            self._send_end()
        while True:
            self._answer(self._receive())

    def _answer_until_replay(self) -> None:
        """Answer orders until an empty frame, which orders the next of the calls that came with the job."""
        while data := receive_frame(self._descriptor, FRAME_BYTES, self._read):
            self._answer(self._decode(data))

    def _receive(self) -> Any:
        return self._decode(receive_frame(self._descriptor, FRAME_BYTES, self._read))

    def _send(self, record: Mapping[str, Any]) -> None:
        self._flattened.clear()
        try:
            data = self._encoder.encode(record)
        except (ConnectionClosed, MemoryError):
            raise
        except BaseException as error:
            data = Encoder().encode({"unsendable": describe(error)})
        self._send_frame(data)

    def _send_frame(self, data: bytes) -> None:
        """Send a frame, or keep it until the calls that came with the job have been made."""
        if self._pending is None:
            send_frame(self._descriptor, data, self._write)
            return
        frame = self._make_frame(data)
        if self._job["live"]:
            write_all(self._descriptor, frame, self._write)
        self._pending.append(frame)
        self._pending_bytes += len(data)
        if self._pending_bytes > PENDING_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._pending:
            # A live job joins them too: what is allocated here moves later objects.
            frames = b"".join(self._pending)
            if not self._job["live"]:
                write_all(self._descriptor, frames, self._write)
            self._pending.clear()
            self._pending_bytes = 0

    def _answer(self, order: Order) -> None:
        raised: ExceptionRecord | None = None
        try:
            if "next" in order:
                value = next(self._objects[order["next"]])
            else:
                value = self._objects[order["call"]](*order["args"], **order["kwargs"])
        except ConnectionClosed:
            raise
        except BaseException as error:
            raised = describe(error)
        if raised is not None:
            # Now that the frames of the call are gone, and with them what has filled the memory.
            self._send({"raised": raised, **_arguments_of(order)})
            return
        if self._job["digests"] and is_large(value):
            self._send_large(value)
            return
        arguments = _arguments_of(order)
        reply: dict[str, Any] = {"value": value, **arguments}
        self._flattened.clear()
        try:
            data = self._encoder.encode(reply) if arguments else self._encoder.encode_reply(value)
            if self._flattened:
                reply["flattened"] = tuple(sorted(set(self._flattened)))[:8]
                data = self._encoder.encode(reply)
            if len(data) > FRAME_BYTES:
                raise WireError("a value of %d bytes" % len(data))
        except ConnectionClosed:
            raise
        except MemoryError as error:
            data = Encoder().encode({"raised": describe(error)})
        except BaseException as error:
            data = Encoder().encode({"unsendable": describe(error)})
        self._send_frame(data)

    def _send_large(self, value: Any) -> None:
        try:
            data = Encoder().encode({"large": make_record(value)})
        except ConnectionClosed:
            raise
        except BaseException as error:
            data = Encoder().encode({"unsendable": describe(error)})
        self._send_frame(data)

    def _resolve(self, handle: Handle) -> Any:
        if handle.kind == "function":
            return self._make_callback(handle.number, handle.name)
        if handle.kind == "iterator":
            return iter(_CallIterator(self._make_callback(handle.number, handle.name)))
        return self._objects[handle.number]

    def _make_callback(self, number: int, name: str) -> Callable[..., Any]:
        def callback(*args: Any, **kwargs: Any) -> Any:
            request: Callback = {"callback": number, "args": args, "kwargs": kwargs}
            self._send(request)
            reply = self._receive()
            while "call" in reply or "next" in reply:
                self._answer(reply)
                reply = self._receive()
            if "raised" in reply:
                raise rebuild(reply["raised"])
            return reply["value"]

        callback.__name__ = callback.__qualname__ = name
        return callback

    def _reduce(self, value: Any) -> Any:
        """Return plain data or a handle in place of a value that is not plain."""
        kind = type(value)
        plain = flatten(value, kind)
        if plain is not None:
            self._flattened.append(str(kind.__name__)[:80])
            return plain[0]
        self._objects.append(value)
        number = len(self._objects) - 1
        if hasattr(kind, "__next__"):
            return Handle("iterator", number, str(kind.__name__)[:80])
        if callable(value) and not isinstance(value, type):
            return Handle("function", number, str(getattr(value, "__name__", kind.__name__))[:80])
        return Handle("opaque", number, str(kind.__name__)[:80])


def _arguments_of(order: Order) -> dict[str, Any]:
    """Return what is handed back with the reply to an order: its arguments, where the tests want them."""
    return {"args": order["args"], "kwargs": order["kwargs"]} if order.get("back") else {}


class _CallIterator:
    """Iterator of the tests: each item is the result of a call, until one raises StopIteration."""

    def __init__(self, get_next: Callable[[], Any]) -> None:
        self._get_next = get_next

    def __iter__(self) -> _CallIterator:
        return self

    def __next__(self) -> Any:
        return self._get_next()


_PLAIN_BASES: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (int, int.__index__),
    (float, float.__float__),
    (complex, lambda value: complex(value.real, value.imag)),
    (str, lambda value: str.__getitem__(value, slice(None))),
    (bytes, lambda value: bytes.__getitem__(value, slice(None))),
    (bytearray, lambda value: bytearray(bytearray.__iter__(value))),
    (list, lambda value: list(list.__iter__(value))),
    (tuple, lambda value: tuple(tuple.__iter__(value))),
    (set, lambda value: set(set.__iter__(value))),
    (frozenset, lambda value: frozenset(frozenset.__iter__(value))),
    (dict, lambda value: {key: dict.__getitem__(value, key) for key in dict.__iter__(value)}),
)
"""Each plain type with a function that reads an instance of a subclass without the methods of the subclass."""


def flatten(value: Any, kind: type) -> tuple[Any] | None:
    """Return plain data in a 1-tuple for a numpy value or an instance of a subclass of a plain type, else None."""
    if kind.__module__ == "numpy" and hasattr(kind, "tolist"):
        return (value.tolist(),)
    mro = type.mro(kind)
    for plain, read in _PLAIN_BASES:
        if plain in mro:
            return (read(value),)
    if kind.__module__ == "collections" and kind.__name__ in ("deque", "UserList"):
        return (list(value),)
    if kind is type({}.keys()):
        return (set(value),)
    return None
