"""Tests in PHP that compare calls with literal arguments to literals."""

from __future__ import annotations

import base64
import math
import re
import struct
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from passcurve.judging.data_tests import DataTests, Expectation, TestsSource, read_json

_NUMBER = re.compile(r"(?:(0|[1-9][0-9]*)|([0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+))(?![\w.])")
_SINGLE = re.compile(r"'(?:[^'\\]|\\[\s\S])*'")
_DOUBLE = re.compile(r'"(?:[^"\\$]|\\[\s\S])*"')
_WORD = re.compile(r"(?:true|false|null)\b", re.IGNORECASE)
_WORDS = {"true": True, "false": False, "null": None}
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|x([0-9a-fA-F]{1,2})|([0-7]{1,3})|([\s\S]))")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "v": "\v", "e": "\x1b", "f": "\f", "\\": "\\", "$": "$", '"': '"'}
_INDEX = re.compile(r"0|-?[1-9][0-9]{0,18}")
_LARGEST = 1 << 63
_MOST_SHOWN_ITEMS = 200
_ASSERTION_START = re.compile(r"if \((?=\w+\()")
_ASSERTION_END = re.compile(r"\) \{ throw new \\?Exception\((?:\"[^\"$\\]*\"|'[^'\\]*')\); \}")
_AROUND = re.compile(
    r"\s*(?:function \w+\(\.\.\.\$args\) \{\s*return \w+\(\.\.\.\$args\);\s*\}\s*)?"
    r"function (?P<name>\w+)\(\)(?:: void)? \{\s*(?:assertion;\s*)+\}\s*(?P=name)\(\);\s*"
)
"""The tests with a word in the place of each assertion: nothing else runs."""


class Array(NamedTuple):
    """An array: its keys and values, in their order."""

    pairs: tuple[tuple[Value, Value], ...]


Value: TypeAlias = "bool | int | float | bytes | Array | None"


def read_php_tests(source: TestsSource) -> DataTests:
    """Return tests as calls and what is expected of them.  Raises ValueError where they are anything else."""
    tests, place = source.tests, 0
    expectations: list[Expectation] = []
    calls, around = [], []
    while match := _ASSERTION_START.search(tests, place):
        reader = _Reader(tests, match.end())
        call = reader.read_call()
        reader.expect("!==")
        start = reader.skip_space()
        value = reader.read_value()
        expected = tests[start : reader.place]
        end = _ASSERTION_END.match(tests, reader.place)
        if end is None:
            raise ValueError("an assertion of another form")
        between = tests[place : match.start()]
        calls.append(f"{between}passcurve_record({len(expectations)}, {call});")
        around.append(f"{between}assertion;")
        expectations.append(Expectation(call, expected, partial(_is_identical, value)))
        place = end.end()
    if not _AROUND.fullmatch("".join(around) + tests[place:]):
        raise ValueError("a statement of another form")
    recorder = source.recorder.replace("{place}", source.place)
    return DataTests(recorder + "".join(calls) + tests[place:], tuple(expectations), show, read_json)


class _Reader:
    """Reads literals from a place of a source on; raises ValueError for anything else."""

    def __init__(self, source: str, place: int) -> None:
        self._source = source
        self.place = place

    def skip_space(self) -> int:
        """Skip white space; return the next place."""
        while self._source[self.place : self.place + 1].isspace():
            self.place += 1
        return self.place

    def accept(self, text: str) -> bool:
        """Take a text if it follows; tell whether it did."""
        if not self._source.startswith(text, self.skip_space()):
            return False
        self.place += len(text)
        return True

    def expect(self, text: str) -> None:
        """Take a text."""
        if not self.accept(text):
            raise ValueError(f"no {text}")

    def read_call(self) -> str:
        """Return the source of a call with literal arguments."""
        start = self.skip_space()
        if self._take(re.compile(r"(?!array\b)\w+\(")) is None:
            raise ValueError("no call")
        self._read_items(")", self.read_value)
        return self._source[start : self.place]

    def read_value(self) -> Value:
        """Return the value of a literal."""
        if self.accept("-"):
            value = self.read_value()
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError("a sign before something other than a number")
            return -value
        if self.accept("array("):
            return _make_array(self._read_items(")", self._read_pair))
        if self.accept("["):
            return _make_array(self._read_items("]", self._read_pair))
        if match := self._take(_WORD):
            return _WORDS[match[0].lower()]
        if match := self._take(_NUMBER):
            if match[1] is not None and int(match[1]) < _LARGEST:
                return int(match[1])
            return float(match[0])
        if match := self._take(_SINGLE):
            return re.sub(r"\\([\\'])", r"\1", match[0][1:-1]).encode()
        if match := self._take(_DOUBLE):
            return _unescape(match[0][1:-1])
        raise ValueError("no literal")

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self._source, self.skip_space())
        if match is not None:
            self.place = match.end()
        return match

    def _read_pair(self) -> tuple[Value, Value] | Value:
        first = self.read_value()
        return (first, self.read_value()) if self.accept("=>") else first

    def _read_items(self, end: str, read: Callable[[], Any]) -> list[Any]:
        items = []
        while not self.accept(end):
            items.append(read())
            if not self.accept(","):
                self.expect(end)
                break
        return items


def _make_array(items: list[Any]) -> Array:
    """Return the array of items, some with a key; PHP numbers the others."""
    pairs: dict[Value, Value] = {}
    following = 0
    for item in items:
        is_pair = isinstance(item, tuple) and not isinstance(item, Array)
        key, value = item if is_pair else (following, item)
        key = _make_key(key)
        if isinstance(key, int):
            if key < 0:
                # The number after it depends on the version.
                raise ValueError("a key below zero")
            following = max(following, key + 1)
        pairs[key] = value
    return Array(tuple(pairs.items()))


def _make_key(key: Value) -> int | bytes:
    if isinstance(key, bytes):
        text = key.decode()
        return int(text) if _INDEX.fullmatch(text) and -_LARGEST <= int(text) < _LARGEST else key
    if isinstance(key, int) and not isinstance(key, bool):
        return key
    raise ValueError("a key that is converted")


def _unescape(text: str) -> bytes:
    """Return the bytes of a text in double quotes."""
    parts, place = [], 0
    for match in _ESCAPE.finditer(text):
        parts.append(text[place : match.start()].encode())
        place = match.end()
        if match[1]:
            parts.append(chr(int(match[1], 16)).encode())
        elif match[2] or match[3]:
            parts.append(bytes([int(match[2] or match[3], 16 if match[2] else 8) & 0xFF]))
        else:
            parts.append(_ESCAPES.get(match[4], match[0]).encode())
    return b"".join(parts) + text[place:].encode()


def _is_identical(expected: Value, recorded: Any) -> bool:
    """Tell whether ``===`` holds between a recorded value and a literal."""
    try:
        return _is_same(expected, *recorded)
    except (TypeError, ValueError, struct.error):
        return False


def _is_same(expected: Value, kind: Any, content: Any = None) -> bool:
    match expected:
        case None:
            return bool(kind == "n")
        case bool():
            return kind == "b" and content is expected
        case int():
            return bool(kind == "i" and content == str(expected))
        case float():
            return kind == "f" and _read_float(content) == expected
        case bytes():
            return kind == "s" and base64.b64decode(content, validate=True) == expected
    return (
        kind == "a"
        and len(content) == len(expected.pairs)
        and all(
            _is_same(pair[0], *key) and _is_same(pair[1], *value)
            for pair, (key, value) in zip(expected.pairs, content, strict=True)
        )
    )


def _read_float(content: Any) -> float:
    number: float = struct.unpack(">d", bytes.fromhex(content))[0]
    return number


def show(recorded: Any) -> str:
    """Return a recorded value as a reader of PHP expects it."""
    try:
        return _show(*recorded)
    except (TypeError, ValueError, struct.error, RecursionError):
        return "no value"


def _show(kind: Any, content: Any = None) -> str:
    match kind:
        case "n":
            return "null"
        case "b":
            return "true" if content else "false"
        case "i":
            return str(content)
        case "f":
            number = _read_float(content)
            return repr(number) if math.isfinite(number) else str(number).upper()
        case "s":
            return repr(base64.b64decode(content, validate=True).decode("utf-8", "replace"))
        case "a":
            pairs = content[:_MOST_SHOWN_ITEMS]
            is_list = [["i", str(number)] for number in range(len(pairs))] == [key for key, _ in pairs]
            items = (_show(*value) if is_list else f"{_show(*key)} => {_show(*value)}" for key, value in pairs)
            return f"[{', '.join(items)}]"
        case _:
            return str(content)[:100]
