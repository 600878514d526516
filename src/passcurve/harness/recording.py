"""Recording of the calls that tests make, without any sample.

An object that accepts every operation takes the place of each result, and assertions are only evaluated.  A call that
the tests make nevertheless, with plain arguments, does not depend on what a sample returns.  It can be sent to a
sample in advance, and tells it nothing about the right result.

Recorded calls are packed: the referee compares them so with the calls of the tests, and the sample makes them.  It gets
the same objects as by an order.
"""

from __future__ import annotations

import ast
import marshal
import random
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

MAX_CALLS = 10_000
MAX_BYTES = 512 << 10
"""Total size of the recorded calls, in bytes: they are sent with each sample."""

MAX_STEPS = 2_000_000
"""Number of lines and calls that are traced: about a second, and the same ones whatever else the machine does."""
SECONDS = 5.0
"""Time after which tests end that take it with few steps, as those that sleep."""
_STEPS = 64
"""Number of lines and calls between two looks at both."""
_USES = 100_000
"""Number of operations on results after which the tests are considered to loop on one."""
_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_COLLECTIONS = (list, tuple, set, frozenset)
_FORMAT = 2
"""Version of marshal in which equal values have equal bytes."""
_BINARY = "add sub mul truediv floordiv mod divmod pow lshift rshift and or xor matmul"
_UNARY = "neg pos abs invert round trunc floor ceil call getitem enter"
_TRUE = "eq lt le gt ge contains bool"


def pack_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes | None:
    """Return the arguments of a call as bytes, equal for equal arguments of equal types; None if they are not plain."""
    try:
        return marshal.dumps((args, kwargs), _FORMAT) if _is_plain(args) and _is_plain(kwargs) else None
    except (ValueError, RecursionError):
        return None


def matches(args: tuple[Any, ...], kwargs: dict[str, Any], recorded: bytes) -> bool:
    """Return whether a call has exactly the recorded arguments."""
    try:
        if marshal.dumps((args, kwargs), _FORMAT) != recorded:
            return False
    except ValueError:
        return False
    # A bytearray, and whatever else has a buffer, is written as bytes are, with this letter before it.
    return b"s" not in recorded or (_is_plain(args) and _is_plain(kwargs))


class RecordedCalls:
    """Calls in order, each packed."""

    def __init__(self) -> None:
        self.packed: list[bytes] = []
        self._size = 0

    def __len__(self) -> int:
        return len(self.packed)

    def add(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Add a call; return False, with nothing added, if it is not plain or the list is full."""
        call = pack_arguments(args, kwargs)
        if call is None or len(self.packed) == MAX_CALLS or self._size + len(call) > MAX_BYTES:
            return False
        self._size += len(call)
        self.packed.append(call)
        return True


def record_calls(prompt: Any, test: str, name: str, entry_point: str, seed: int) -> RecordedCalls:
    """Return the calls that ``check`` of the tests makes whatever results it gets.

    ``prompt`` is a code object or None.  Recording ends at the first call that is not plain, after
    MAX_STEPS, or after SECONDS.
    """
    calls = RecordedCalls()
    recorder = _make_recorder(calls)
    names: dict[str, Any] = {"__name__": "tests"}
    random.seed(seed)
    # No timer: this process may be rewound afterwards, and a rewind does not restore timers.
    limit = _TimeLimit(names)
    sys.settrace(limit.trace)
    try:
        tests = compile(_remove_assertions(ast.parse(test)), name, "exec", dont_inherit=True)
        if prompt is not None:
            exec(prompt, names)
        names[entry_point] = names["candidate"] = recorder
        exec(tests, names)
        names["check"](recorder)
    except BaseException:
        pass  # the calls before it were made all the same
    finally:
        limit.is_over = True
        sys.settrace(None)
    return calls


class _TimeLimit:
    """Trace function that raises an exception in the traced code after MAX_STEPS or SECONDS.

    It does so at the next call, or at the next line of code whose globals are ``names``.
    """

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names
        self._end_s = time.monotonic() + SECONDS
        self._steps = 0
        self._has_ended = False
        self.is_over = False
        """Recording is over: raise nothing more."""

    def trace(self, frame: FrameType, _event: str, _argument: object) -> Callable[..., Any] | None:
        """Count a step of the traced code.  Our own functions are not traced, so that they run to their end."""
        if frame.f_globals.get("__name__") == __name__:
            return None
        self._steps += 1
        if self._has_ended or (self._steps % _STEPS == 0 and self._is_late()):
            self._has_ended = True
            raise _TimeOverError(self, frame)
        return self.trace if frame.f_globals is self._names else None

    def _is_late(self) -> bool:
        return self._steps > MAX_STEPS or time.monotonic() > self._end_s


def pack_calls(calls: list[bytes]) -> bytes:
    """Return packed calls as bytes; none for none."""
    return marshal.dumps(calls, _FORMAT) if calls else b""


def unpack_calls(data: bytes) -> list[bytes]:
    """Return the packed calls that ``pack_calls`` put together; none for no bytes."""
    calls: list[bytes] = marshal.loads(data) if data else []
    return calls


def _remove_assertions(tree: ast.Module) -> ast.Module:
    """Replace each assertion by its expression, which is then only evaluated."""
    pending: list[Any] = [tree]
    while pending:
        node = pending.pop()
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            block = getattr(node, name, None)
            if not isinstance(block, list):
                continue  # a conditional expression and a lambda have a body too, which is one expression
            for place, statement in enumerate(block):
                if isinstance(statement, ast.Assert):
                    block[place] = ast.copy_location(ast.Expr(statement.test), statement)
                else:
                    pending.append(statement)
    return tree


class _RecordingEndedError(BaseException):
    """Nothing more is recorded."""


class _TimeOverError(_RecordingEndedError):
    """The deadline has passed.

    The interpreter stops tracing when a trace function raises an exception.  When the tests have caught
    it, its destruction starts the tracing again.
    """

    def __init__(self, limit: _TimeLimit, frame: FrameType) -> None:
        super().__init__()
        self._limit, self._frame = limit, frame

    def __del__(self) -> None:
        if not self._limit.is_over:
            sys.settrace(self._limit.trace)
            self._frame.f_trace = self._limit.trace


def _make_recorder(calls: RecordedCalls) -> Callable[..., Any]:
    """Return a function that records its calls and returns an object which accepts every operation."""

    def recorder(*args: Any, **kwargs: Any) -> Any:
        if not calls.add(args, kwargs):
            raise _RecordingEndedError
        return anything

    anything = _make_anything()
    return recorder


def _make_anything() -> Any:
    """Return an object that accepts every operation, up to a number of them."""
    remaining = _USES

    def count_use() -> None:
        nonlocal remaining
        remaining -= 1
        if remaining < 0:
            raise _RecordingEndedError

    def returning(value: Any) -> Callable[..., Any]:
        """Return a method that returns a value, or the object itself for an ellipsis."""

        def method(self: Any, *_: Any, **__: Any) -> Any:
            count_use()
            return self if value is Ellipsis else value

        return method

    methods: dict[str, Any] = {f"__{name}__": returning(...) for name in (_BINARY + " " + _UNARY).split()}
    methods |= {f"__{prefix}{name}__": returning(...) for prefix in "ri" for name in _BINARY.split()}
    methods |= {f"__{name}__": returning(True) for name in _TRUE.split()}
    methods |= {"__ne__": returning(False), "__hash__": returning(0), "__len__": returning(0), "__int__": returning(0)}
    methods |= {"__index__": returning(0), "__float__": returning(0.0), "__str__": returning("")}
    methods |= {"__repr__": returning(""), "__next__": returning(...), "__getattr__": returning(...)}
    methods |= {"__iter__": lambda self: iter(str(self)), "__exit__": returning(None)}
    return type("Anything", (), methods)()


def _is_plain(value: Any, depth: int = 0) -> bool:
    kind = type(value)
    if kind in _PLAIN:
        return True
    if depth > 50:
        return False
    if kind in _COLLECTIONS:
        return all(_is_plain(item, depth + 1) for item in value)
    if kind is dict:
        return all(_is_plain(key, depth + 1) and _is_plain(item, depth + 1) for key, item in value.items())
    return False
