"""Exceptions as plain data: ``describe`` makes a record of one, ``rebuild`` makes an exception of a record.

A record that comes from a sample may hold anything.  ``rebuild`` therefore calls the constructors in ``REBUILDABLE``
and no others, and each only with arguments that its rule allows: some constructors trust their arguments, and what
they build then reads memory outside its object when it is shown (CPython gh-123378).
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from typing import Any

from passcurve.harness.wire import Encoder

MESSAGE_CHARACTERS = 2000
LINEAGE_NAMES = 32
"""Builtin ancestors in one record."""
_POSITIONS = 1_000_000
"""Largest line number or column in a syntax error: to underline a column takes as many characters."""
_SMALL = 1 << 31
"""Bound on an error number, a file descriptor, or a count of characters written."""

_ATOMS = {type(None), bool, int, float, complex, str, bytes, bytearray, range}
_COLLECTIONS = {list, tuple, set, frozenset}


def describe(error: BaseException) -> dict[str, Any]:
    """Return an exception as data: its builtin ancestors, nearest first, its message, its plain arguments."""
    kind = type(error)
    lineage = [str(base.__name__)[:80] for base in type.mro(kind)[:LINEAGE_NAMES] if base.__module__ == "builtins"]
    try:
        message = str(error)[:MESSAGE_CHARACTERS]
    except BaseException:
        message = "(its message cannot be read)"
    try:
        arguments = tuple(error.args)
        if isinstance(error, OSError) and error.filename is not None:
            # Its constructor keeps the file name apart from the arguments.
            arguments += (error.filename,)
        if len(repr(arguments)) > MESSAGE_CHARACTERS:
            arguments = (message,)
        Encoder().encode(arguments)
    except BaseException:
        arguments = (message,)
    return {"type": str(kind.__name__)[:200], "lineage": lineage, "message": str(message), "arguments": arguments}


def rebuild(record: dict[str, Any]) -> BaseException:
    """Return the nearest exception of ``REBUILDABLE`` for a record of ``describe``.

    A class that refuses the arguments is built with the message alone, and so is every later ancestor.
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
                    return _build(kind, candidate)
                except Exception:
                    continue
        arguments = (message,)
    return Exception(message)


def _build(kind: type[BaseException], arguments: tuple[Any, ...]) -> BaseException:
    error: Any = kind(*arguments)
    if type(error) is not kind:
        # OSError picks a subclass by the error number; what was described is none of that subclass.
        error = kind()
        error.errno, error.strerror = arguments[:2]
        error.args = arguments
        if len(arguments) > 2 and arguments[2] is not None:
            error.filename, error.args = arguments[2], arguments[:2]
    built: BaseException = error
    return built


def is_plain(value: object) -> bool:
    """Return whether a value is builtin data through and through: no subclass, and no stand-in for a live object."""
    fraction = getattr(sys.modules.get("fractions"), "Fraction", None)
    decimal = getattr(sys.modules.get("decimal"), "Decimal", None)
    left: list[Any] = [value]
    while left:
        item = left.pop()
        kind = type(item)
        if kind in _COLLECTIONS:
            left.extend(item)
        elif kind is dict:
            left.extend(item)
            left.extend(item.values())
        elif kind not in _ATOMS and kind is not fraction and kind is not decimal:
            return False
    return True


def _stored(arguments: tuple[Any, ...]) -> bool:
    """Allow any plain arguments: the constructor stores the tuple, or references to its items, and reads nothing."""
    return is_plain(arguments)


def _os_error(arguments: tuple[Any, ...]) -> bool:
    """Allow short texts and small numbers where the constructor reads them: it does with 2 to 5."""
    if not 2 <= len(arguments) <= 5:
        return is_plain(arguments)
    return all(
        item is None or _is_text(item) or _is_bytes(item) or _is_number(item, -_SMALL, _SMALL) for item in arguments
    )


def _blocking_error(arguments: tuple[Any, ...]) -> bool:
    """Allow what ``_os_error`` allows; a number in the third place is a count of characters."""
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
    """Allow (), (message,) and (message, (file, line, column, text[, last line, last column])) with small numbers."""
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


def _is_number(value: object, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _is_span(start: object, end: object, size: int) -> bool:
    return type(start) is int and type(end) is int and 0 <= start < end <= size


_STORED = """
BaseException Exception GeneratorExit KeyboardInterrupt SystemExit
ArithmeticError FloatingPointError OverflowError ZeroDivisionError
AssertionError AttributeError BufferError EOFError
ImportError ModuleNotFoundError
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
"""Each builtin exception that may be rebuilt, with the rule for its arguments; some exist in newer Pythons only.

Groups are missing: they hold live exceptions, which do not cross.
"""

_CLASSES: dict[str, type[BaseException]] = {
    name: getattr(builtins, name) for name in REBUILDABLE if hasattr(builtins, name)
}
