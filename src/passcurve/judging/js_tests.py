"""Tests in JavaScript and TypeScript whose assertions compare calls with literal arguments to literals."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from passcurve.bench.formats.human_eval_scripts import THROWING_ASSERT
from passcurve.judging.data_tests import DataTests, Expectation, TestsSource, read_json
from passcurve.judging.js_literals import NotLiteralError, Reader, remove_comments
from passcurve.judging.js_values import Operator, Value, holds, is_close, is_deeply_equal, show, to_json

_RECORD = "passcurve_record"
_MODULES = ("assert", "node:assert")
_DECLARING = ("const", "let", "var")
_RESERVED = frozenset("assert await console delete function JSON Math new require typeof void yield".split())
_OPERATORS: dict[str, Operator] = {"equal": "assert.equal", "strictEqual": "assert.strictEqual"}
_COERCING = ("==", "assert.equal")
"""Comparisons that make a primitive value of an object."""
_STRICT = {"deepEqual": False, "deepStrictEqual": True}


class _Measured(NamedTuple):
    """The measured side of an assertion: a call, or its result as JSON."""

    source: str
    call: str


class _Constant(NamedTuple):
    """A value and its source."""

    source: str
    value: Value


def read_js_tests(source: TestsSource) -> DataTests:
    """Return tests as calls and what is expected of them.  Raises ValueError where they are anything else."""
    # A comment may say what is expected.
    reader = _TestReader(remove_comments(source.tests), console_throws=source.before == THROWING_ASSERT)
    reader.read()
    recorder = f'Function("place", {json.dumps(source.recorder)})({json.dumps(source.place)})'
    start = f"const {_RECORD} = {recorder};\n"
    return DataTests(start + reader.source_of_calls(), tuple(reader.expectations), show, read_json)


class _TestReader(Reader):
    """Reads tests; every statement must be one that is known here."""

    def __init__(self, source: str, *, console_throws: bool) -> None:
        super().__init__(source)
        self.expectations: list[Expectation] = []
        self._console_throws = console_throws
        self._replacements: list[tuple[int, int, str]] = []
        self._has_library = False
        """True once ``assert`` is known to be the library."""
        self._functions: list[str] = []
        self._called: list[str] = []

    def read(self) -> None:
        """Read all statements."""
        while self.token.kind != "end":
            self._read_statement()
        runs_once = len(set(self._functions)) == len(self._functions) and sorted(self._functions) == sorted(
            self._called
        )
        if not self.expectations or not runs_once:
            raise NotLiteralError(self.source)

    def source_of_calls(self) -> str:
        """Return the tests with a call of the recorder in the place of each assertion."""
        pieces, place = [], 0
        for start, end, text in self._replacements:
            pieces += [self.source[place:start], text]
            place = end
        return "".join(pieces) + self.source[place:]

    def _read_statement(self, *, in_function: bool = False) -> None:
        if self.accept(";"):
            return
        if self.accept("declare", "var"):
            self.take("name")
            self.expect(":")
            self.take("name")
        elif any(self.accept(word) for word in _DECLARING):
            self._read_declaration(in_function=in_function)
        elif not in_function and self.accept("function"):
            self._functions.append(self.take("name"))
            self.expect("(", ")", "{")
            self._read_body()
        elif not in_function and self.token.kind == "name" and self.peeks(self.token.text, "(", ")"):
            self._called.append(self.take("name"))
            self.expect("(", ")")
        else:
            self._read_assertion()
        self.accept(";")

    def _read_declaration(self, *, in_function: bool) -> None:
        """Read the rest of a declaration: the library, a helper of the tests, or the function that they test."""
        name = self.take("name")
        self.expect("=")
        if name == "assert":
            self.expect("require", "(")
            if self.take("text")[1:-1] not in _MODULES:
                raise NotLiteralError(name)
            self.expect(")")
            self._has_library = True
        elif not in_function and self.accept("(", ")", "=>", "{"):
            self._functions.append(name)
            self._read_body()
        else:
            self._read_name()

    def _read_body(self) -> None:
        while not self.accept("}"):
            self._read_statement(in_function=True)

    def _read_name(self) -> str:
        name = self.take("name")
        if name in _RESERVED or name in self._functions:
            raise NotLiteralError(name)
        return name

    def _read_assertion(self) -> None:
        start = self.token.start
        if self._console_throws and self.accept("console", ".", "assert", "("):
            self._read_condition(start)
        elif not self._has_library:
            raise NotLiteralError(self.token.text)
        elif self.accept("assert", "(") or self.accept("assert", ".", "ok", "("):
            self._read_condition(start)
        else:
            self.expect("assert", ".")
            self._read_comparison(start, self.take("name"))

    def _read_comparison(self, start: int, method: str) -> None:
        self.expect("(")
        measured, constant, _ = self._read_pair(",")
        if method in _STRICT:
            accepts = partial(is_deeply_equal, constant.value, strict=_STRICT[method])
            self._finish(start, measured, constant.source, accepts)
        elif method in _OPERATORS:
            self._compare(start, measured, constant, _OPERATORS[method])
        else:
            raise NotLiteralError(method)

    def _read_condition(self, start: int) -> None:
        if self.accept("Math", ".", "abs", "("):
            call = self._read_call()
            self.expect("-")
            place = self.token.start
            value = self.read_product()
            source = self.source[place : self.last_end]
            self.expect(")", "<")
            accepts = partial(is_close, _float(value), _float(self.read_value()))
            self._finish(start, call, source, accepts, "number")
        else:
            measured, constant, sign = self._read_pair("===", "==")
            self._compare(start, measured, constant, "===" if sign == "===" else "==")

    def _compare(self, start: int, measured: _Measured, constant: _Constant, operator: Operator) -> None:
        if isinstance(constant.value, list | dict):
            # No object is the same as a new one.
            raise NotLiteralError(constant.source)
        accepts = partial(holds, operator, constant.value)
        self._finish(start, measured, constant.source, accepts, "primitive" if operator in _COERCING else "")

    def _read_pair(self, *separators: str) -> tuple[_Measured, _Constant, str]:
        """Read a call and a constant, in either order, and the sign between them."""
        if self._is_measured():
            measured = self._read_measured()
            sign = self._read_separator(separators)
            return measured, self._read_constant(), sign
        constant = self._read_constant()
        sign = self._read_separator(separators)
        return self._read_measured(), constant, sign

    def _read_separator(self, separators: tuple[str, ...]) -> str:
        sign = self.take("sign")
        if sign not in separators:
            raise NotLiteralError(sign)
        return sign

    def _is_measured(self) -> bool:
        token = self.token
        if self.peeks("JSON", ".", "stringify", "("):
            return self.kind_after(4) == "name"
        return token.kind == "name" and self.peeks(token.text, "(")

    def _read_measured(self) -> _Measured:
        start = self.token.start
        if not self.accept("JSON", ".", "stringify", "("):
            return self._read_call()
        call = self._read_call()
        self.expect(")")
        return _Measured(self.source[start : self.last_end], call.call)

    def _read_call(self) -> _Measured:
        start = self.token.start
        self._read_name()
        self.expect("(")
        self.read_list(")")
        call = self.source[start : self.last_end]
        return _Measured(call, call)

    def _read_constant(self) -> _Constant:
        start = self.token.start
        if not self.accept("JSON", ".", "stringify", "("):
            value = self.read_value()
            return _Constant(self.source[start : self.last_end], value)
        text = to_json(self.read_value())
        self.expect(")")
        if text is None:
            raise NotLiteralError(self.source[start : self.last_end])
        return _Constant(self.source[start : self.last_end], text)

    def _finish(
        self, start: int, measured: _Measured, expected: str, accepts: Callable[[Any], bool], view: str = ""
    ) -> None:
        """Read the end of an assertion, which may have a message, and put the recorder in its place."""
        if self.accept(",") and not self.peeks(")"):
            self.take("text")
            self.accept(",")
        self.expect(")")
        number = len(self.expectations)
        more = f', "{view}"' if view else ""
        self._replacements.append((start, self.last_end, f"{_RECORD}({number}, {measured.source}{more})"))
        self.expectations.append(Expectation(measured.call, expected, accepts))


def _float(value: Value) -> float:
    if not isinstance(value, float):
        raise NotLiteralError(repr(value))
    return value
