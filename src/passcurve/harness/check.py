"""A check: a problem's prompt and tests, run against a stand-in for the sample's function.

The stand-in sends each call to the sample's jail and takes plain data back, so that a verdict is a function of the
tests and of data, and of nothing else that the sample did.
"""

from __future__ import annotations

import marshal
import random
from collections.abc import Callable
from typing import Any, NoReturn

from passcurve.harness import recording
from passcurve.harness.exceptions import describe, rebuild
from passcurve.harness.framing import ConnectionClosed, receive_frame, send_frame
from passcurve.harness.messages import TEST_NAME, TEXT_CHARACTERS, bounded, message_of, shown, test_line
from passcurve.harness.sample import flatten
from passcurve.harness.wire import Decoder, Encoder, Handle, TooMuchError, WireError

DECODED_VALUES = 1 << 24
"""What a sample returns over one check, in values as ``Decoder`` counts them: a few seconds of work, a GiB at most."""
RAISED_BYTES = 64 << 10
"""Of a described exception; ``describe`` makes none so long."""
FLATTENED_TYPES = 64
UNKNOWN = -1
PROMPT_NAME = "<prompt>"


class Bench:
    """A problem ready to be run: its code is compiled, here or in an earlier process that had run nothing of it."""

    def __init__(self, setup: dict[str, Any]) -> None:
        self.entry_point = setup["entry_point"]
        self.seed = setup["seed"]
        self.test = setup["test"].decode("utf-8", "surrogatepass")
        self.compiled = b""
        """The code as another process can take it; nothing when it was given to us."""
        if setup["code"]:
            self.prompt, self.code, self.fault = marshal.loads(setup["code"])
            return
        self.prompt, self.code, self.fault = compile_prompt(setup["prompt"].decode("utf-8", "surrogatepass")), None, ""
        try:
            self.code = compile(self.test, TEST_NAME, "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            self.fault = "the tests do not compile: %s" % error
        self.compiled = marshal.dumps((self.prompt, self.code, self.fault))

    def recorded(self) -> recording.Recorded:
        """Return the calls that the tests make whatever is returned."""
        return recording.record(self.prompt, self.test, TEST_NAME, self.entry_point, self.seed)


def compile_prompt(prompt: str) -> Any:
    """Compile a prompt that ends where a body should begin; None when nothing makes it whole."""
    lines = [line for line in prompt.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    indent = " " * (len(last) - len(last.lstrip()) + 4)
    for ending in ("", "\n%spass\n" % indent, "\n    pass\n"):
        try:
            return compile(prompt + ending, PROMPT_NAME, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            continue
    return None


class _Stop(BaseException):
    """The check cannot go on; why is kept in the check, so that tests which swallow this change nothing."""


class Opaque:
    """An object that stayed in the sample's jail: equal to nothing but itself."""

    def __init__(self, number: int, name: str) -> None:
        self.passcurve_number = number
        self._name = name

    def __repr__(self) -> str:
        return "<an object of type %s, which stays with the sample>" % self._name


class _Iterator(Opaque):
    def __init__(self, number: int, name: str, ask: Callable[[int], Any]) -> None:
        super().__init__(number, name)
        self._ask = ask

    def __iter__(self) -> _Iterator:
        return self

    def __next__(self) -> Any:
        return self._ask(self.passcurve_number)


class _LastCall:
    __slots__ = ("args", "kwargs", "outcome", "what")

    def __init__(self, what: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.what, self.args, self.kwargs = what, args, kwargs
        self.outcome: tuple[str, Any] | None = None


class Check:
    """One sample against the tests of one problem.

    ``replayed``: the calls that the sample makes unasked.  It sends their outcomes in order, and each is taken when the
    tests come to that very call.  ``asks``: it can be asked more.
    """

    def __init__(
        self,
        descriptor: int,
        output_bytes: int,
        replayed: list[bytes],
        *,
        asks: bool = True,
        write_back: bool = False,
        record: bool = False,
    ) -> None:
        self._fd = descriptor
        self._left = output_bytes
        self._write_back = write_back
        self._replayed = replayed
        self._taken = 0
        self._record = record
        self._asked: list[bytes | None] = []
        self._arguments: list[Any] = []
        self._encode = Encoder(self._reduce).encode
        self._decode = Decoder(self._resolve, DECODED_VALUES).decode
        self._asks = asks
        self._stop: tuple[str, str] | None = None
        self._last: _LastCall | None = None
        self._raised: BaseException | None = None
        self._flattened: set[str] = set()
        self._size = 0
        self.read = 0
        """Bytes of whole frames that were read and made sense; UNKNOWN once one did not."""
        self.calls = 0

    @property
    def asked(self) -> int:
        """How often anything was asked of the sample, where that is recorded."""
        return len(self._asked)

    def run(self, bench: Bench) -> dict[str, Any]:
        """Return the report: a status and what it rests on."""
        if bench.fault:
            return {"status": "benchmark", "message": bench.fault}
        try:
            loaded = self._receive()
        except _Stop:
            return self._report(*self._why())
        if "raised" in loaded:
            return self._not_loaded(loaded)
        random.seed(bench.seed)
        names: dict[str, Any] = {"__name__": "tests"}
        candidate = self._function(0, bench.entry_point)
        try:
            if bench.prompt is not None:
                exec(bench.prompt, names)
            names[bench.entry_point] = names["candidate"] = candidate
            exec(bench.code, names)
            check = names.get("check")
            if check is None:
                return {"status": "benchmark", "message": "the tests define no check(candidate)"}
            if not loaded.get("found"):
                return self._missing(bench.entry_point)
            check(candidate)
        except BaseException as error:
            if self._stop is None:
                return self._failed(error, bench)
        if self._stop is not None:
            return self._report(*self._why())
        if not self.calls:
            return self._report("benchmark", "the tests never call %s" % bench.entry_point)
        return self._report("passed", "")

    def foreseen(self, recorded: list[bytes]) -> int:
        """Return how many of the recorded calls, from the first on, this check has made."""
        made = 0
        while made < min(len(recorded), len(self._asked)) and recorded[made] == self._asked[made]:
            made += 1
        return made

    def _why(self) -> tuple[str, str]:
        return self._stop or ("gone", "")

    def _missing(self, name: str) -> dict[str, Any]:
        report = self._report("failed", "NameError: name %r is not defined" % name)
        report["exception"] = "NameError"
        return report

    def _not_loaded(self, record: dict[str, Any]) -> dict[str, Any]:
        raised = self._described(record["raised"])
        if raised is None:
            return {"status": "protocol", "message": "an exception that is none"}
        kind, message = raised["type"][:200], raised["message"][:TEXT_CHARACTERS]
        where = record.get("while")
        status = "memory" if "MemoryError" in raised["lineage"] else "compile" if where == "compile" else "failed"
        report = self._report(status, bounded("%s: %s" % (kind, message) if message else kind))
        report["exception"] = kind
        return report

    def _failed(self, error: BaseException, bench: Bench) -> dict[str, Any]:
        kind = type(error).__name__
        message = message_of(error)
        from_sample = error is self._raised
        status = "failed"
        if isinstance(error, MemoryError):
            status = "memory" if from_sample else "output"
            if not from_sample:
                message = "what it returned needs more memory than the tests may use"
        report = self._report(status, bounded("%s: %s" % (kind, message) if message else kind))
        report["exception"] = getattr(error, "passcurve_type", kind) if from_sample else kind
        report["from_sample"] = from_sample
        report["test_line"] = test_line(error, bench.test)
        return report

    def _report(self, status: str, message: str) -> dict[str, Any]:
        report: dict[str, Any] = {"status": status, "message": message, "calls": self.calls}
        if status == "gone":
            report["lost"] = True
        if self._flattened:
            report["flattened"] = sorted(self._flattened)[:8]
        if status != "passed" and self._last is not None:
            last = self._last
            arguments = [shown(value) for value in last.args]
            arguments += ["%s=%s" % (name, shown(value)) for name, value in last.kwargs.items()]
            outcome = "did not return"
            if last.outcome is not None:
                outcome = "%s %s" % (last.outcome[0], shown(last.outcome[1]))
            report["call"] = ("%s(%s)" % (last.what, ", ".join(arguments)), outcome)
        return report

    def _function(self, number: int, name: str) -> Callable[..., Any]:
        def stand_in(*args: Any, **kwargs: Any) -> Any:
            return self._call(number, name, args, kwargs)

        stand_in.__name__ = stand_in.__qualname__ = name
        stand_in.passcurve_number = number  # type: ignore[attr-defined]
        return stand_in

    def _call(self, number: int, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._last = last = _LastCall(name, args, kwargs)
        self.calls += 1
        if self._taken < len(self._replayed):
            if number or not recording.same(args, kwargs, self._replayed[self._taken]):
                self._halt("diverged", "not the call that was recorded")
            self._taken += 1
            return self._reply(last)["value"]
        if self._record:
            self._asked.append(None if number else recording.packed(args, kwargs))
        order = {"call": number, "args": args, "kwargs": kwargs}
        if self._write_back:
            order["back"] = True
        reply = self._ask(order, last)
        if self._write_back:
            if type(reply.get("args")) is not tuple:
                self._halt("protocol", "a reply without its arguments")
            _copy_back(args, reply["args"])
        return reply["value"]

    def _next(self, number: int) -> Any:
        if self._record:
            self._asked.append(None)
        return self._ask({"next": number}, None)["value"]

    def _ask(self, order: dict[str, Any], last: _LastCall | None) -> dict[str, Any]:
        if self._taken < len(self._replayed):
            self._halt("diverged", "a question before the recorded calls were through")
        if self._stop is not None:
            raise _Stop
        self._send(order)
        return self._reply(last)

    def _reply(self, last: _LastCall | None) -> dict[str, Any]:
        if self._stop is not None:
            raise _Stop
        while True:
            reply = self._receive()
            if "callback" in reply:
                self._call_back(reply)
                continue
            if "value" in reply:
                self._note_flattened(reply.get("flattened", ()))
                if last is not None:
                    last.outcome = ("returned", reply["value"])
                return reply
            if "raised" in reply:
                raise self._rebuilt(reply["raised"], last)
            if "unsendable" in reply:
                said = self._described(reply["unsendable"])
                if said is not None:
                    self._halt("output", "what it returned cannot be passed on: %s" % said["message"][:200])
            self._halt("protocol", "a reply that is none")

    def _described(self, said: Any) -> dict[str, Any] | None:
        """Return an exception as ``describe`` makes it, or None for anything else."""
        kinds = {"type": str, "message": str, "lineage": list, "arguments": tuple}
        if self._size > RAISED_BYTES or type(said) is not dict:
            return None
        if any(type(said.get(name)) is not kind for name, kind in kinds.items()):
            return None
        return said if all(type(name) is str for name in said["lineage"]) else None

    def _note_flattened(self, names: Any) -> None:
        if type(names) is not tuple:
            self._halt("protocol", "types that are none")
        for name in names[:8]:
            if type(name) is str and len(self._flattened) < FLATTENED_TYPES:
                self._flattened.add(name[:80])

    def _rebuilt(self, said: Any, last: _LastCall | None) -> BaseException:
        record = self._described(said)
        if record is None:
            self._halt("protocol", "an exception that is none")
        try:
            error = rebuild(record)
            error.passcurve_type = record["type"][:200]  # type: ignore[attr-defined]
        except Exception:
            self._halt("protocol", "an exception that is none")
        self._raised = error
        if last is not None:
            last.outcome = ("raised", error)
        return error

    def _call_back(self, record: dict[str, Any]) -> None:
        number, args, kwargs = record["callback"], record.get("args"), record.get("kwargs")
        if type(number) is not int or not 0 <= number < len(self._arguments):
            self._halt("protocol", "a call of something that was never passed")
        # Unpacking a range would fill the memory of this process.
        if type(args) is not tuple or type(kwargs) is not dict:
            self._halt("protocol", "a call without its arguments")
        function = self._arguments[number]
        try:
            reply = {"value": function(*args, **kwargs)}
        except _Stop:
            raise
        except BaseException as error:
            reply = {"raised": describe(error)}
        self._send(reply)

    def _send(self, record: dict[str, Any]) -> None:
        if not self._asks:
            self._halt("diverged", "a question that was not sent along")
        try:
            data = self._encode(record)
        except WireError as error:
            self._halt("tests", "the tests pass %s" % error)
        try:
            send_frame(self._fd, data)
        except WireError as error:
            self._halt("tests", "the tests pass %s" % error)
        except ConnectionClosed:
            self._halt("gone", "the sample's process ended")

    def _receive(self) -> dict[str, Any]:
        read, self.read = self.read, UNKNOWN
        try:
            # Not a byte more than the frame: what comes later must not change anything here.
            data = receive_frame(self._fd, self._left)
            self._size = len(data)
            self._left -= self._size
            record = self._decode(data)
        except ConnectionClosed:
            self._halt("gone", "the sample's process ended")
        except TooMuchError as error:
            self._halt("output", str(error))
        except WireError as error:
            self._halt("protocol", str(error))
        except MemoryError:
            self._halt("output", "what it returned needs more memory than the tests may use")
        except RecursionError:
            self._halt("output", "what it returned is nested too deeply")
        if type(record) is not dict:
            self._halt("protocol", "a message that is none")
        self.read = read + 4 + self._size
        return record

    def _halt(self, status: str, message: str) -> NoReturn:
        if self._stop is None:
            self._stop = (status, message)
        raise _Stop

    def _resolve(self, handle: Handle) -> Any:
        if handle.kind == "function":
            return self._function(handle.number, handle.name)
        if handle.kind == "iterator":
            return _Iterator(handle.number, handle.name, self._next)
        return Opaque(handle.number, handle.name)

    def _reduce(self, value: Any) -> Any:
        number = getattr(value, "passcurve_number", None)
        if type(number) is int:
            return Handle("opaque", number, "")
        kind = type(value)
        plain = flatten(value, kind)
        if plain is not None:
            return plain[0]
        if hasattr(kind, "__next__"):
            self._arguments.append(value.__next__)
            return Handle("iterator", len(self._arguments) - 1, kind.__name__)
        if callable(value) and not isinstance(value, type):
            self._arguments.append(value)
            return Handle("function", len(self._arguments) - 1, str(getattr(value, "__name__", kind.__name__)))
        raise WireError("a value of type %s, which cannot cross" % kind.__name__)


def _copy_back(originals: tuple[Any, ...], returned: tuple[Any, ...]) -> None:
    """Make what the sample did to its arguments true of the tests' own objects."""
    for mine, theirs in zip(originals, returned):
        if type(mine) is not type(theirs) or mine is theirs:
            continue
        if isinstance(mine, (list, bytearray)):
            mine[:] = theirs
        elif isinstance(mine, (dict, set)):
            mine.clear()
            mine.update(theirs)
