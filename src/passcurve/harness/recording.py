"""Which calls the tests make, found out without any program.

Something that goes along with everything takes the place of each result, and assertions are only evaluated.  A call
that the tests make all the same, with plain arguments, does not depend on what a program returns: it can be sent
ahead, and tells a sample nothing of what is right.

A recorded call is two things: the bytes by which it is recognised, and the bytes by which a sample is asked, which are
those of a live question: however a sample is asked, it gets the same objects.
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

from passcurve.harness import wire

CALLS = 10_000
BYTES = 512 << 10
"""Of all recorded calls together: they travel with each sample."""

SECONDS = 1.0
_STEPS = 64
"""Lines and calls between two looks at the clock."""
_USES = 100_000
"""So often a result may be used before the tests are taken to be in a loop on it."""
_OURS = (__name__, wire.__name__)
_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_COLLECTIONS = (list, tuple, set, frozenset)
_FORMAT = 2
"""The version of marshal in which equal values are equal bytes."""
_BINARY = "add sub mul truediv floordiv mod divmod pow lshift rshift and or xor matmul"
_ITSELF = "neg pos abs invert round trunc floor ceil call getitem enter"
_TRUE = "eq lt le gt ge contains bool"


def packed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes | None:
    """Return the arguments of a call as bytes, the same for the same arguments; None when they are not plain."""
    try:
        return marshal.dumps((args, kwargs), _FORMAT) if _is_plain(args) and _is_plain(kwargs) else None
    except (ValueError, RecursionError):
        return None


def same(args: tuple[Any, ...], kwargs: dict[str, Any], recorded: bytes) -> bool:
    """Say whether a call has exactly the recorded arguments."""
    try:
        return marshal.dumps((args, kwargs), _FORMAT) == recorded
    except ValueError:
        return False


class Recorded:
    """Calls in order, each as it is recognised and as it is asked."""

    def __init__(self) -> None:
        self.known: list[bytes] = []
        self._asked: list[bytes] = []
        self._size = 0

    def add(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Add a call; return False, and add nothing, when it is not plain or too much."""
        call = packed(args, kwargs)
        if call is None or len(self.known) == CALLS or self._size + len(call) > BYTES:
            return False
        self._size += len(call)
        self.known.append(call)
        self._asked.append(wire.encode((args, kwargs)))
        return True

    def first(self, count: int) -> tuple[bytes, bytes]:
        """Return the first so many calls, packed: for who recognises them, and for who is asked."""
        return marshal.dumps(self.known[:count], _FORMAT), wire.join_encoded(self._asked[:count])


def record(prompt: Any, test: str, name: str, entry_point: str, seed: int) -> Recorded:
    """Return the calls that ``check`` of the tests makes whatever it is given back.

    ``prompt`` is compiled, or None.  The first call that is not plain ends the list, and so does a second.
    """
    calls = Recorded()
    stand_in = _recorder(calls)
    names: dict[str, Any] = {"__name__": "tests"}
    random.seed(seed)
    # No timer: the process that this runs in may be one that is put back afterwards, and timers are not.
    limit = _Limit(names, time.monotonic() + SECONDS)
    sys.settrace(limit.at_step)
    try:
        tests = compile(_without_asserting(ast.parse(test)), name, "exec", dont_inherit=True)
        if prompt is not None:
            exec(prompt, names)
        names[entry_point] = names["candidate"] = stand_in
        exec(tests, names)
        names["check"](stand_in)
    except BaseException:
        pass  # what was recorded until then was called all the same
    finally:
        limit.is_over = True
        sys.settrace(None)
    return calls


class _Limit:
    """Ends what runs at its next call or, of code with these names, line, once it is so late."""

    def __init__(self, names: dict[str, Any], end_s: float) -> None:
        self._names, self._end_s = names, end_s
        self._steps = 0
        self._has_ended = False
        self.is_over = False
        """Whether there is nothing more to end."""

    def at_step(self, frame: FrameType, _event: str, _argument: object) -> Callable[..., Any] | None:
        """Count a step of anything but our own; what we do is done whole."""
        if frame.f_globals.get("__name__") in _OURS:
            return None
        self._steps += 1
        if self._has_ended or (self._steps % _STEPS == 0 and time.monotonic() > self._end_s):
            self._has_ended = True
            raise _OverTime(self, frame)
        return self.at_step if frame.f_globals is self._names else None


def unpack(packed_calls: bytes) -> list[bytes]:
    """Return calls as they are recognised; nothing for nothing."""
    calls: list[bytes] = marshal.loads(packed_calls) if packed_calls else []
    return calls


def _without_asserting(tree: ast.Module) -> ast.Module:
    """Return tests that evaluate what they asserted, and go on."""
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            block = getattr(node, name, None)
            # A conditional expression and a lambda have a body, too, which is no block.
            for place, each in enumerate(block) if isinstance(block, list) else ():
                if isinstance(each, ast.Assert) and isinstance(block, list):
                    block[place] = ast.copy_location(ast.Expr(each.test), each)
                else:
                    waiting.append(each)
    return tree


class _Enough(BaseException):
    """Nothing more is recorded."""


class _OverTime(_Enough):
    """The time is used.  The interpreter traces no more after it, so tests that catch it are traced again."""

    def __init__(self, limit: _Limit, frame: FrameType) -> None:
        super().__init__()
        self._limit, self._frame = limit, frame

    def __del__(self) -> None:
        if not self._limit.is_over:
            sys.settrace(self._limit.at_step)
            self._frame.f_trace = self._limit.at_step


def _recorder(calls: Recorded) -> Callable[..., Any]:
    def stand_in(*args: Any, **kwargs: Any) -> Any:
        if not calls.add(args, kwargs):
            raise _Enough
        return anything

    anything = _anything()
    return stand_in


def _anything() -> Any:
    """Return an object that takes part in everything, bounded in how often."""
    left = _USES

    def use() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise _Enough

    def giving(value: Any) -> Callable[..., Any]:
        def method(self: Any, *_: Any, **__: Any) -> Any:
            use()
            return self if value is Ellipsis else value

        return method

    methods: dict[str, Any] = {f"__{name}__": giving(...) for name in (_BINARY + " " + _ITSELF).split()}
    methods |= {f"__{before}{name}__": giving(...) for before in "ri" for name in _BINARY.split()}
    methods |= {f"__{name}__": giving(True) for name in _TRUE.split()}
    methods |= {"__ne__": giving(False), "__hash__": giving(0), "__len__": giving(0), "__int__": giving(0)}
    methods |= {"__index__": giving(0), "__float__": giving(0.0), "__str__": giving(""), "__repr__": giving("")}
    methods |= {
        "__iter__": lambda self: iter(str(self)),
        "__next__": giving(...),
        "__getattr__": giving(...),
        "__exit__": giving(None),
    }
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
