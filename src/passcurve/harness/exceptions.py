"""Exceptions as plain data: ``describe`` makes a record of an exception, ``rebuild`` an exception of a record.

A record from a sample may hold anything.  ``rebuild`` therefore calls the constructors in ``REBUILDABLE`` only, and
each only with arguments that its rule allows.  Some constructors trust their arguments: the exceptions that they build
read memory outside the object when they are shown (CPython gh-123378).
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from typing import Any

from passcurve.harness.protocol import ExceptionRecord
from passcurve.harness.wire import Encoder

MESSAGE_CHARACTERS = 2000
LINEAGE_NAMES = 32
"""Largest number of builtin ancestors in a record."""
_POSITIONS = 1_000_000
"""Largest line number or column in a syntax error: Python underlines a column with as many characters."""
_MAX_INTEGER = 1 << 31
"""Largest size of an error number, a file descriptor, or a number of characters written."""

_ATOMS = {type(None), bool, int, float, complex, str, bytes, bytearray, range}
_COLLECTIONS = {list, tuple, set, frozenset}


def describe(error: BaseException) -> ExceptionRecord:
    """Return an exception as plain data."""
    kind = type(error)
    lineage = [str(base.__name__)[:80] for base in type.mro(kind)[:LINEAGE_NAMES] if base.__module__ == "builtins"]
    try:
        message = str(error)[:MESSAGE_CHARACTERS]
    except BaseException:
        message = "(its message cannot be read)"
    try:
        arguments = tuple(error.args)
        if isinstance(error, OSError) and error.filename is not None:
            # Its constructor removes the file name from the arguments.
            arguments += (error.filename,)
        if len(repr(arguments)) > MESSAGE_CHARACTERS:
            arguments = (message,)
        Encoder().encode(arguments)
    except BaseException:
        arguments = (message,)
    return {"type": str(kind.__name__)[:200], "lineage": lineage, "message": str(message), "arguments": arguments}


def rebuild(record: ExceptionRecord) -> BaseException:
    """Return an exception of the nearest ancestor in ``REBUILDABLE``.

    An ancestor whose rule or constructor refuses the arguments gets the message only, and so does every later one.
    Where a class of the sample's own makes another message than that ancestor, it is one of that name with the message.
    """
    message = record["message"]
    message = message[:MESSAGE_CHARACTERS] if type(message) is str else ""
    arguments = record["arguments"] if type(record["arguments"]) is tuple else (message,)
    for name in record["lineage"][:LINEAGE_NAMES]:
        kind = _CLASSES.get(name) if type(name) is str else None
        if kind is None:
            continue
        for candidate in (arguments, (message,)):
            if REBUILDABLE[name](candidate):
                try:
                    error = _build(kind, candidate)
                    if record["type"] == name or str(error)[:MESSAGE_CHARACTERS] == message:
                        return error
                    return _build(_subclass(kind, record["type"], message), candidate)
                except Exception:
                    continue
        arguments = (message,)
    return Exception(message)


def _subclass(kind: type[BaseException], name: str, message: str) -> type[BaseException]:
    return type(name[:200], (kind,), {"__module__": "sample", "__str__": lambda _: message})


def _build(kind: type[BaseException], arguments: tuple[Any, ...]) -> BaseException:
    error: Any = kind(*arguments)
    if type(error) is not kind:
        # OSError picks a subclass by the error number, but the record names another class.
        error = kind()
        error.errno, error.strerror = arguments[:2]
        error.args = arguments
        if len(arguments) > 2 and arguments[2] is not None:
            error.filename, error.args = arguments[2], arguments[:2]
    built: BaseException = error
    return built


def is_plain(value: object) -> bool:
    """Return whether a value consists of builtin data only, without subclasses and without proxies of live objects."""
    fraction = getattr(sys.modules.get("fractions"), "Fraction", None)
    decimal = getattr(sys.modules.get("decimal"), "Decimal", None)
    pending: list[Any] = [value]
    while pending:
        item = pending.pop()
        kind = type(item)
        if kind in _COLLECTIONS:
            pending.extend(item)
        elif kind is dict:
            pending.extend(item)
            pending.extend(item.values())
        elif kind not in _ATOMS and kind is not fraction and kind is not decimal:
            return False
    return True


def _stored(arguments: tuple[Any, ...]) -> bool:
    """Allow any plain arguments: the constructor stores them and reads nothing."""
    return is_plain(arguments)


def _os_error(arguments: tuple[Any, ...]) -> bool:
    """Allow short texts and small numbers if there are 2 to 5 arguments: then the constructor reads them."""
    if not 2 <= len(arguments) <= 5:
        return is_plain(arguments)
    return all(
        item is None or _is_text(item) or _is_bytes(item) or _is_number(item, -_MAX_INTEGER, _MAX_INTEGER)
        for item in arguments
    )


def _blocking_error(arguments: tuple[Any, ...]) -> bool:
    """Allow what ``_os_error`` allows; a third argument that is a number counts characters."""
    if not _os_error(arguments):
        return False
    return not (2 < len(arguments) <= 5 and type(arguments[2]) is int) or arguments[2] >= 0


def _decode_error(arguments: tuple[Any, ...]) -> bool:
    """Allow (encoding, bytes, start, end, reason) with offsets inside the bytes."""
    if len(arguments) != 5:
        return False
    encoding, data, start, end, reason = arguments
    return _is_text(encoding) and _is_bytes(data) and _is_span(start, end, len(data)) and _is_text(reason)


def _encode_error(arguments: tuple[Any, ...]) -> bool:
    """Allow (encoding, text, start, end, reason) with offsets inside the text."""
    if len(arguments) != 5:
        return False
    encoding, text, start, end, reason = arguments
    return _is_text(encoding) and _is_text(text) and _is_span(start, end, len(text)) and _is_text(reason)


def _translate_error(arguments: tuple[Any, ...]) -> bool:
    """Allow (text, start, end, reason) with offsets inside the text."""
    if len(arguments) != 4:
        return False
    text, start, end, reason = arguments
    return _is_text(text) and _is_span(start, end, len(text)) and _is_text(reason)


def _syntax_error(arguments: tuple[Any, ...]) -> bool:
    """Allow (), (message,) and (message, (file, line, column, text[, last line, last column])), small numbers."""
    if len(arguments) > 2 or not all(item is None or _is_text(item) for item in arguments[:1]):
        return False
    if len(arguments) < 2:
        return True
    place = arguments[1]
    if type(place) is not tuple or len(place) not in (4, 6):
        return False
    texts, numbers = (place[0], place[3]), place[1:3] + place[4:]
    return all(item is None or _is_text(item) for item in texts) and all(
        item is None or _is_number(item, -1, _POSITIONS) for item in numbers
    )


def _is_text(value: object) -> bool:
    return type(value) is str and len(value) <= MESSAGE_CHARACTERS


def _is_bytes(value: object) -> bool:
    return type(value) is bytes and len(value) <= MESSAGE_CHARACTERS


def _is_number(value: object, low: int, high: int) -> bool:
    return type(value) is int and low <= value <= high


def _is_span(start: object, end: object, size: int) -> bool:
    return type(start) is int and type(end) is int and 0 <= start < end <= size


_STORED = """
BaseException Exception GeneratorExit KeyboardInterrupt SystemExit
ArithmeticError FloatingPointError OverflowError ZeroDivisionError
AssertionError AttributeError BufferError EOFError
ImportError ImportCycleError ModuleNotFoundError
LookupError IndexError KeyError
MemoryError NameError UnboundLocalError ReferenceError
RuntimeError NotImplementedError PythonFinalizationError RecursionError
StopAsyncIteration StopIteration SystemError TypeError ValueError UnicodeError
Warning BytesWarning DeprecationWarning EncodingWarning FutureWarning ImportWarning PendingDeprecationWarning
ResourceWarning RuntimeWarning SyntaxWarning UnicodeWarning UserWarning
""".split()
_OS_ERRORS = """
OSError ChildProcessError ConnectionError BrokenPipeError ConnectionAbortedError ConnectionRefusedError
ConnectionResetError FileExistsError FileNotFoundError InterruptedError IsADirectoryError NotADirectoryError
PermissionError ProcessLookupError TimeoutError
""".split()

REBUILDABLE: dict[str, Callable[[tuple[Any, ...]], bool]] = {
    **dict.fromkeys(_STORED, _stored),
    **dict.fromkeys(_OS_ERRORS, _os_error),
    **dict.fromkeys(("SyntaxError", "IndentationError", "TabError"), _syntax_error),
    "BlockingIOError": _blocking_error,
    "UnicodeDecodeError": _decode_error,
    "UnicodeEncodeError": _encode_error,
    "UnicodeTranslateError": _translate_error,
}
"""The builtin exceptions that are rebuilt, with the rules for their arguments; some exist in newer Pythons only.

Exception groups are missing: they hold live exceptions, which cannot cross.
"""

_CLASSES: dict[str, type[BaseException]] = {
    name: getattr(builtins, name) for name in REBUILDABLE if hasattr(builtins, name)
}
