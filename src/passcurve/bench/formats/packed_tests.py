"""Tests that a benchmark packs as base64, zlib and pickle, read without unpickling: a pickle can run any code."""

from __future__ import annotations

import base64
import binascii
import pickletools
import zlib

from passcurve.bench.formats.json_text import read_json_text

MAX_BYTES = 1 << 29
"""Largest unpacked tests of one problem, against bombs."""

_TEXTS = ("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE")
_NOTHING = ("PROTO", "FRAME", "MEMOIZE", "BINPUT", "LONG_BINPUT", "PUT", "STOP")
"""Operations that leave the stack as it is, where nothing is taken from the memo."""

_PICKLES = (b"\x80", b"V", b"X", b"\x8c")


def unpack_tests(text: str) -> object:
    """Return the value of packed tests: JSON, or a text or dictionary of texts in a pickle whose texts are JSON.

    Raises ValueError where it is anything else.
    """
    try:
        data = base64.b64decode(text, validate=True)
        inflater = zlib.decompressobj()
        data = inflater.decompress(data, MAX_BYTES)
    except (binascii.Error, zlib.error) as error:
        raise ValueError(f"it is not base64 of zlib ({error})") from None
    if inflater.unconsumed_tail or not inflater.eof:
        raise ValueError("it is cut short, or unpacks to too much")
    value = read_pickle(data) if data.startswith(_PICKLES) else data.decode("utf-8")
    return read_json_text(value) if isinstance(value, str) else value


def read_pickle(data: bytes) -> str | dict[str, str]:
    """Return the text, or the dictionary of texts, of a pickle that holds nothing else; raise ValueError for others."""
    stack: list[object] = []
    marks: list[int] = []
    try:
        for operation, argument, _ in pickletools.genops(data):
            if operation.name in _TEXTS:
                stack.append(argument)
            elif operation.name == "EMPTY_DICT":
                stack.append({})
            elif operation.name == "MARK":
                marks.append(len(stack))
            elif operation.name in ("SETITEM", "SETITEMS"):
                start = marks.pop() if operation.name == "SETITEMS" else len(stack) - 2
                items, target = stack[start:], stack[start - 1]
                del stack[start:]
                if start < 1 or not isinstance(target, dict):
                    raise ValueError("its operations are in no order that packs texts")
                target.update(zip(items[::2], items[1::2], strict=True))
            elif operation.name not in _NOTHING:
                raise ValueError(f"its pickle has the operation {operation.name}; only texts are read")
    except (IndexError, UnicodeDecodeError, TypeError) as error:
        raise ValueError(f"its pickle is damaged ({error})") from None
    if len(stack) != 1 or marks:
        raise ValueError("its pickle holds no one value")
    value = stack[0]
    if isinstance(value, dict) and all(type(item) is str for pair in value.items() for item in pair):
        return value
    if isinstance(value, str):
        return value
    raise ValueError("its pickle holds something else than texts")
