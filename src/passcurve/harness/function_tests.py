"""The tests in ``check(candidate)``: its statements that assert something, each of which is a test that counts."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from typing import Any

from passcurve.harness.counts import count_suites
from passcurve.harness.messages import TEST_NAME, bounded_repr
from passcurve.harness.protocol import Report

SUITE = "tests"
"""Name of the only suite of such tests."""
_CHECK = "check"
_BEGIN_HOOK, _FAILURE_HOOK = "__test_begins__", "__test_failed__"
_SOURCE_CHARACTERS = 200_000
"""Longest source whose tests are counted: longer ones hold data, and take long to parse."""

FunctionTest = tuple[int, int, str]
"""The first and the last line of a test, and the value that it expects, as text, where that is a literal."""


def find_tests(source: str) -> list[FunctionTest]:
    """Return the tests in their order; none where the statements of ``check`` do not show them."""
    check = _find_check(source)[1]
    if check is None:
        return []
    return [
        (statement.lineno, statement.end_lineno or statement.lineno, _expected_by(statement))
        for statement in _tests_of(check)
    ]


def compile_tests(source: str, *, goes_on: bool) -> Any:
    """Return the code of tests each of which calls a function of ours before it begins.

    Where the next test is to go on after a failure, a test that fails calls another function.
    """
    tree, check = _find_check(source)
    tests = _tests_of(check) if check is not None else []
    if tree is None or check is None or not tests:
        return compile(source, TEST_NAME, "exec", dont_inherit=True)
    for number, statement in enumerate(tests):
        begin = ast.copy_location(ast.Expr(ast.Call(ast.Name(_BEGIN_HOOK, ast.Load()), [], [])), statement)
        body: list[ast.stmt] = [ast.fix_missing_locations(begin), statement]
        if goes_on:
            call = ast.Call(ast.Name(_FAILURE_HOOK, ast.Load()), [ast.Constant(number)], [])
            handler = ast.ExceptHandler(None, None, [ast.Expr(call)])
            wrapper = ast.copy_location(ast.Try(body, [handler], [], []), statement)
            body = [ast.fix_missing_locations(wrapper)]
        place = check.body.index(statement)
        check.body[place : place + 1] = body
    return compile(tree, TEST_NAME, "exec", dont_inherit=True)


def _find_check(source: str) -> tuple[ast.Module | None, ast.FunctionDef | None]:
    """Return the module, and its function ``check`` where that is plain; None for what cannot be read."""
    if len(source) > _SOURCE_CHARACTERS:
        return None, None
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None, None
    bound = [node for node in tree.body if getattr(node, "name", "") == _CHECK]
    # To walk the tree takes several times as long as to parse it.
    may_bind_twice = source.count(_CHECK) > 1
    if len(bound) != 1 or (may_bind_twice and any(_binds_check(node) for node in _walk(tree.body))):
        return tree, None
    check = bound[0]
    if not isinstance(check, ast.FunctionDef) or check.decorator_list:
        return tree, None
    # A function that returns earlier may run fewer tests, one that yields runs none.
    if any(isinstance(statement, ast.Return) for statement in _statements(check.body)):
        return tree, None
    if "yield" in source and any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in _walk(check.body)):
        return tree, None
    return tree, check


def _binds_check(node: ast.AST) -> bool:
    if isinstance(node, ast.alias):
        return _CHECK in (node.name, node.asname)
    return isinstance(node, ast.Name) and node.id == _CHECK and isinstance(node.ctx, ast.Store)


def _walk(statements: list[ast.stmt]) -> list[ast.AST]:
    """Return all nodes of some statements but those of functions and classes inside them."""
    nodes: list[ast.AST] = []
    pending: list[ast.AST] = list(statements)
    while pending:
        node = pending.pop()
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            nodes.append(node)
            pending.extend(ast.iter_child_nodes(node))
    return nodes


def _statements(statements: list[ast.stmt]) -> list[ast.AST]:
    """Return some statements and all inside them, but those of functions and classes."""
    nodes: list[ast.AST] = []
    pending: list[ast.AST] = list(statements)
    while pending:
        node = pending.pop()
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            nodes.append(node)
            for part in ("body", "orelse", "finalbody", "handlers", "cases"):
                pending.extend(getattr(node, part, ()))
    return nodes


def _tests_of(check: ast.FunctionDef) -> list[ast.stmt]:
    return [
        statement for statement in check.body if any(isinstance(node, ast.Assert) for node in _statements([statement]))
    ]


def _expected_by(statement: ast.stmt) -> str:
    """Return the literal with which an assertion compares a result, as bounded text; nothing where it is none."""
    test = statement.test if isinstance(statement, ast.Assert) else None
    if not isinstance(test, ast.Compare) or len(test.ops) > 1 or not isinstance(test.ops[0], (ast.Eq, ast.Is)):
        return ""
    try:
        return bounded_repr(ast.literal_eval(test.comparators[0]))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return ""


def count_until(tests: list[FunctionTest], error: BaseException | None) -> Report:
    """Return the part of a report that counts tests, of which an exception has ended the last; None ended them all."""
    if not tests:
        return {}
    line = _failing_line(error) if error is not None else tests[-1][1] + 1
    outcomes = [True] * sum(last < line for _, last, _ in tests)
    if error is not None and any(first <= line <= last for first, last, _ in tests):
        outcomes.append(False)
    return count_suites([(SUITE, len(tests))], outcomes, with_outcomes=False)


def bind_begin(names: dict[str, Any], begin: Callable[[], None]) -> None:
    """Add the function that each test calls before it begins, where tests are compiled so."""
    names[_BEGIN_HOOK] = begin


def find_expected(tests: list[FunctionTest], error: BaseException) -> str:
    """Return the value that the test expects that an exception has ended; empty where it is no literal."""
    line = _failing_line(error)
    return next((expected for first, last, expected in tests if first <= line <= last), "")


def _failing_line(error: BaseException) -> int:
    """Return the line of ``check`` that raised an exception, or 0."""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == TEST_NAME and code.co_name == _CHECK:
            return trace.tb_lineno
        trace = trace.tb_next
    return 0


class AllTests:
    """The tests of a check that goes on after a failure: which failed, and the report on the first."""

    def __init__(self, tests: list[FunctionTest], make_failure: Callable[[BaseException], Report]) -> None:
        self._tests = tests
        self._make_failure = make_failure
        self._failed: set[int] = set()
        self.failure: Report = {}
        """The report on the first test that failed."""

    def bind(self, names: dict[str, Any]) -> None:
        """Add the function that is called by tests that fail."""
        names[_FAILURE_HOOK] = self._note

    def _note(self, number: int) -> None:
        error = sys.exc_info()[1]
        if error is None:
            return
        # Raises what ends the check.
        report = self._make_failure(error)
        self._failed.add(number)
        self.failure = self.failure or report

    def count(self, error: BaseException | None) -> Report:
        """Return the part of a report that counts tests; ``error`` is what has ended ``check`` before its end."""
        line = _failing_line(error) if error is not None else self._tests[-1][1] + 1
        ended = sum(last < line for _, last, _ in self._tests)
        outcomes = [number not in self._failed for number in range(ended)]
        return count_suites([(SUITE, len(self._tests))], outcomes, with_outcomes=True)
