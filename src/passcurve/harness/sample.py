"""Beside the sample: runs one program and answers calls to it with plain data.

Everything here shares a process with the sample, so nothing here is believed: a reply is data and no more.  What the
sample does to this code it does to itself.

Frames out: {'loaded': True} or {'raised': ...} once; then for each call one of {'value': ...}, {'raised': ...},
{'unsendable': ...}, after any number of {'callback': ...}.
"""

from __future__ import annotations

import linecache
import marshal
import os
import socket
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from passcurve.harness.exceptions import describe, rebuild
from passcurve.harness.framing import ConnectionClosed, make_frame, receive_frame, send_frame, write_all
from passcurve.harness.wire import MAX_FRAME, Decoder, Encoder, Handle, WireError

RECURSION = 1000
"""Frames that a sample may nest, counted from its own first one: CPython's default."""

FRAME_BYTES = 256 << 20
WAITING_BYTES = 1 << 20
"""Of outcomes that wait to be sent together."""
_REHEARSALS = 20
"""From 8 runs on CPython specialises code, from some more on it leaves it alone."""
SOURCE_NAME = "sample.py"
"""Not in angle brackets: names in those have no source, says linecache."""


def main(descriptors: list[int]) -> None:
    """Wait for a program, load it, then answer calls until the line is closed."""
    line, *file = descriptors
    try:
        sample = Sample(line, read_job(line, file))
        sample.load()
        sample.serve()
    except ConnectionClosed:
        os._exit(0)


def read_job(line: int, file: list[int]) -> dict[str, Any]:
    """Return a job, from the line, on which nobody but the supervisor writes before it is read, or from its own file.

    The file is closed: nobody shall read the job again.
    """
    job: dict[str, Any] = marshal.loads(receive_frame(file[0] if file else line, MAX_FRAME))
    for descriptor in file:
        os.close(descriptor)
    return job


def rehearse() -> None:
    """Go through all that a sample's process will do, before any fork.

    The interpreter rewrites code while it runs for the first times, and each child would do so in its own copy.
    """
    limit = sys.getrecursionlimit()
    text = b"def f(x):\n    return [y for y in x if y]\n"
    calls = Encoder().encode([(([1, -2, 3],), {}), ((0.5, "a", None), {}), ((), {})])
    setup = {"program": text, "entry_point": "f", "seed": 0, "output_bytes": 1 << 20}
    for number in range(2 * _REHEARSALS):
        setup["replayed"] = calls if number % 2 else b""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            for value in ([1, -2, 3], [0.5, "a", None], (("b", True), {"c": [4]})):
                send_frame(ours.fileno(), Encoder().encode({"call": 0, "args": (value,), "kwargs": {}}))
            send_frame(ours.fileno(), Encoder().encode({"call": 0, "args": (), "kwargs": {}}))
            ours.shutdown(socket.SHUT_WR)
            sample = Sample(theirs.fileno(), setup)
            try:
                sample.load()
                sample.serve()
            except ConnectionClosed:
                pass
    del sys.modules["sample"], linecache.cache[SOURCE_NAME]
    sys.setrecursionlimit(limit)
    if "random" in sys.modules:
        sys.modules["random"].seed(0)


def prepare(setup: dict[str, Any]) -> tuple[ModuleType, str]:
    """Make the module that a program becomes; its source can be read by itself, as from a file."""
    text = setup["program"].decode("utf-8", "surrogatepass")
    module = ModuleType("sample")
    module.__dict__["__file__"] = SOURCE_NAME
    sys.modules["sample"] = module
    linecache.cache[SOURCE_NAME] = (lambda: text,)
    # Whoever gets at it without naming it finds it seeded before the fork.
    if b"random" in setup["program"] and "random" in sys.modules:
        sys.modules["random"].seed(setup["seed"])
    return module, text


def limit_recursion() -> None:
    """Let the sample nest as deep as in a fresh interpreter, wherever we stand now."""
    depth = 0
    frame: Any = sys._getframe()
    while frame is not None:
        depth += 1
        frame = frame.f_back
    sys.setrecursionlimit(RECURSION + depth)


class Sample:
    """One program, its live objects by number, and the line to the referee."""

    def __init__(self, descriptor: int, setup: dict[str, Any]) -> None:
        self._fd = descriptor
        self._setup = setup
        self._objects: list[Any] = []
        self._flattened: list[str] = []
        self._waiting: list[bytes] | None = [] if setup["replayed"] else None
        self._waiting_bytes = 0
        # Bound now: a sample may replace what os and wire offer.
        self._read, self._write, self._frame = os.read, os.write, make_frame
        self._encode = Encoder(self._reduce, setup["output_bytes"]).encode
        self._decode = Decoder(self._resolve).decode

    def load(self) -> None:
        """Run the program's module level and say how that went."""
        module, text = prepare(self._setup)
        limit_recursion()
        try:
            code = compile(text, SOURCE_NAME, "exec", dont_inherit=True)
        except BaseException as error:
            self._give_up("compile", error)
            return
        try:
            exec(code, module.__dict__)
        except BaseException as error:
            self._give_up("load", error)
            return
        entry = module.__dict__.get(self._setup["entry_point"])
        self._objects.append(entry)
        self._send({"loaded": True, "found": self._setup["entry_point"] in module.__dict__})

    def _say_end(self) -> None:
        """Send what waits; after what was told at once, an empty frame says that there is no more."""
        if self._waiting is not None:
            self._waiting.append(self._frame(b""))
        self._flush()
        self._waiting = None

    def _give_up(self, where: str, error: BaseException) -> None:
        self._send({"raised": self._describe(error), "while": where})
        self._say_end()

    def _describe(self, error: BaseException) -> dict[str, Any]:
        return describe(error)

    def serve(self) -> None:
        """Make the calls that came with the program, then answer calls until the line is closed."""
        if self._waiting is not None:
            # What waits is sent by its size and never by the time that has passed: that would move later objects.
            for args, kwargs in self._decode(self._setup["replayed"]):
                self._answer({"call": 0, "args": args, "kwargs": kwargs})
            self._say_end()
        while True:
            self._answer(self._receive())

    def _receive(self) -> Any:
        return self._decode(receive_frame(self._fd, FRAME_BYTES, self._read))

    def _send(self, record: dict[str, Any]) -> None:
        self._flattened.clear()
        try:
            data = self._encode(record)
        except (ConnectionClosed, MemoryError):
            raise
        except BaseException as error:
            data = Encoder().encode({"unsendable": self._describe(error)})
        self._post(data)

    def _post(self, data: bytes) -> None:
        """Send a frame, or keep it until the calls that came with the program have been made."""
        if self._waiting is None:
            send_frame(self._fd, data, self._write)
            return
        self._waiting.append(self._frame(data))
        self._waiting_bytes += len(data)
        if self._waiting_bytes > WAITING_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            write_all(self._fd, b"".join(self._waiting), self._write)
            self._waiting.clear()
            self._waiting_bytes = 0

    def _answer(self, order: dict[str, Any]) -> None:
        try:
            if "next" in order:
                value = next(self._objects[order["next"]])
            else:
                value = self._objects[order["call"]](*order["args"], **order["kwargs"])
        except ConnectionClosed:
            raise
        except BaseException as error:
            self._send({"raised": self._describe(error)})
            return
        reply: dict[str, Any] = {"value": value}
        if order.get("back"):
            reply["args"] = order["args"]
        self._flattened.clear()
        try:
            data = self._encode(reply)
            if self._flattened:
                reply["flattened"] = tuple(sorted(set(self._flattened)))[:8]
                data = self._encode(reply)
            if len(data) > FRAME_BYTES:
                raise WireError("a value of %d bytes" % len(data))
        except ConnectionClosed:
            raise
        except MemoryError as error:
            data = Encoder().encode({"raised": self._describe(error)})
        except BaseException as error:
            data = Encoder().encode({"unsendable": self._describe(error)})
        self._post(data)

    def _resolve(self, handle: Handle) -> Any:
        if handle.kind == "function":
            return self._callback(handle.number, handle.name)
        if handle.kind == "iterator":
            return iter(_Forever(self._callback(handle.number, handle.name)))
        return self._objects[handle.number]

    def _callback(self, number: int, name: str) -> Callable[..., Any]:
        def callback(*args: Any, **kwargs: Any) -> Any:
            self._send({"callback": number, "args": args, "kwargs": kwargs})
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
        """Turn what is not plain into plain data or a handle; what cannot cross becomes an opaque object."""
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


class _Forever:
    """An iterator of the tests: each item is asked for when the sample wants it."""

    def __init__(self, ask: Callable[[], Any]) -> None:
        self._ask = ask

    def __iter__(self) -> _Forever:
        return self

    def __next__(self) -> Any:
        return self._ask()


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
"""Each plain type with a way to read a subclass of it that asks nothing of the subclass's own methods."""


def flatten(value: Any, kind: type) -> tuple[Any] | None:
    """Return plain data in a one-tuple for a subclass of a plain type or a numpy value, else None."""
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
