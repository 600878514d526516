"""Which calls the tests make, found out without any program.

Something that goes along with everything takes the place of each result, and assertions are only evaluated.  A call
that the tests make all the same, with plain arguments, does not depend on what a program returns: it can be sent
ahead, and tells a sample nothing of what is right.
"""

from __future__ import annotations

import ast
import marshal
import random
import signal
from collections.abc import Callable
from typing import Any

CALLS = 10_000
BYTES = 512 << 10
"""Of all recorded calls together: they travel with each sample."""

SECONDS = 1.0
_USES = 100_000
"""So often a result may be used before the tests are taken to be in a loop on it."""
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


def record(prompt: Any, test: str, name: str, entry_point: str, seed: int) -> list[bytes]:
    """Return the calls that ``check`` of the tests makes whatever it is given back, in order, each packed.

    ``prompt`` is compiled, or None.  The first call that is not plain ends the list, and so does a second of CPU time.
    """

    def enough(*_: Any) -> None:
        raise _Enough

    signal.signal(signal.SIGVTALRM, enough)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS, SECONDS / 10)
    try:
        return _record(prompt, test, name, entry_point, seed)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _record(prompt: Any, test: str, name: str, entry_point: str, seed: int) -> list[bytes]:
    calls: list[bytes] = []
    stand_in = _recorder(calls)
    names: dict[str, Any] = {"__name__": "tests"}
    random.seed(seed)
    try:
        tests = compile(_Evaluated().visit(ast.parse(test)), name, "exec", dont_inherit=True)
        if prompt is not None:
            exec(prompt, names)
        names[entry_point] = names["candidate"] = stand_in
        exec(tests, names)
        names["check"](stand_in)
    except BaseException:
        pass  # what was recorded until then was called all the same
    return calls


def pack(calls: list[bytes]) -> bytes:
    """Return recorded calls as they go to a sample."""
    return marshal.dumps(calls, _FORMAT)


def unpack(packed_calls: bytes) -> list[bytes]:
    """Return what was packed; nothing for nothing."""
    calls: list[bytes] = marshal.loads(packed_calls) if packed_calls else []
    return calls


class _Evaluated(ast.NodeTransformer):
    """Evaluates what was asserted, and goes on."""

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return ast.copy_location(ast.Expr(node.test), node)


class _Enough(BaseException):
    """Nothing more is recorded."""


def _recorder(calls: list[bytes]) -> Callable[..., Any]:
    size = 0

    def stand_in(*args: Any, **kwargs: Any) -> Any:
        nonlocal size
        call = packed(args, kwargs)
        if call is None or len(calls) == CALLS or size + len(call) > BYTES:
            raise _Enough
        size += len(call)
        calls.append(call)
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
