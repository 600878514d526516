"""Faults and names of the tests of a problem, found without running them."""

from __future__ import annotations

import ast
import builtins
import re
import symtable
import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from passcurve.harness.compiled_problem import complete_prompt
from passcurve.types import Assertions, FunctionTests, Problem, UnitTests

NO_TESTS = "it has no tests"
NO_UNIT_TESTS = "the tests define no method whose name begins with test"
NO_CHECK = "the tests define no check(candidate), which is all that is called"

_DYNAMIC = frozenset({"eval", "exec", "globals", "locals", "vars", "__import__"})
"""Code that uses these can reach any name without spelling it."""

_PLAIN_ATTRIBUTES = frozenset(
    name for kind in (int, float, complex, str, bytes, bytearray, list, tuple, dict, set, range) for name in dir(kind)
)
"""Attributes of the plain data that a program may return to tests in another process."""

_FUNCTION = re.compile(r"^(?:async )?def \w", re.MULTILINE)
_STAR = re.compile(r"^\s*from\s+[\w.]+\s+import\s*\*", re.MULTILINE)


class _Names(NamedTuple):
    """Names in a piece of source."""

    tables: tuple[symtable.SymbolTable, ...] = ()
    """The scope of the module, then all others."""
    has_star: bool = False

    @property
    def defined(self) -> set[str]:
        """The names that it defines for the whole module."""
        top = {symbol.get_name() for table in self.tables[:1] for symbol in table.get_symbols() if _is_bound(symbol)}
        return top | {
            symbol.get_name()
            for table in self.tables[1:]
            for symbol in table.get_symbols()
            if symbol.is_declared_global() and _is_bound(symbol)
        }

    @property
    def referenced(self) -> set[str]:
        """All names that it looks up."""
        return {symbol.get_name() for table in self.tables for symbol in table.get_symbols() if symbol.is_referenced()}

    @property
    def referenced_globals(self) -> set[str]:
        """The names that it looks up in the module."""
        symbols = (symbol for table in self.tables for symbol in table.get_symbols())
        return {symbol.get_name() for symbol in symbols if symbol.is_referenced() and symbol.is_global()}


def find_fault(problem: Problem) -> str:
    """Return why the tests of a problem can check nothing; the empty string where that does not show."""
    if not problem.test.strip():
        return NO_TESTS
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(problem.test, "<tests>", "exec", dont_inherit=True)
        tests = _names_in(problem.test)
    except (SyntaxError, ValueError) as error:
        return f"the tests do not compile: {error}"
    except (RecursionError, MemoryError):
        return ""
    if isinstance(problem.check, UnitTests):
        return _find_unit_test_fault(problem.check, tests)
    if not isinstance(problem.check, FunctionTests):
        return ""
    prompt = _names_in_prompt(problem.prompt)
    if "check" not in tests.defined | prompt.defined and not (tests.has_star or prompt.has_star):
        return NO_CHECK
    # A reference that passes shows that the name is right.
    name = problem.entry_point.rpartition(".")[2]
    if problem.reference is None and _FUNCTION.search(problem.prompt) and name not in problem.prompt:
        return f"entry_point {problem.entry_point!r} is not defined in the prompt, which defines another function"
    return ""


def _find_unit_test_fault(check: UnitTests, tests: _Names) -> str:
    """Return what a module of unittest lacks: a class that is to count, or tests."""
    if tests.has_star:
        return ""
    defined = tests.defined
    for name in (*check.classes, *(suite.name for suite in check.suites)):
        if name not in defined:
            return f"the tests define no class {name}"
    if not any(symbol.startswith("test") for table in tests.tables[1:] for symbol in table.get_identifiers()):
        return NO_UNIT_TESTS
    return ""


def never_calls(problem: Problem) -> bool:
    """Return whether the tests of a problem show no way to call its function, or anything else of a program."""
    try:
        tests, prompt = _names_in(problem.test), _names_in_prompt(problem.prompt)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    if isinstance(problem.check, Assertions):
        return not (tests.has_star or tests.referenced & {problem.entry_point, *_DYNAMIC})
    # Where the prompt defines `check`, or the tests make it by other means, its parameter is not known.
    parameters = _check_parameters(tests)
    ways = {problem.entry_point, "candidate", *parameters, *_DYNAMIC}
    needs_program = tests.has_star or tests.referenced & ways or _undefined(tests, prompt, problem)
    return bool(parameters) and not needs_program and not _loaded(problem.test) & ways


def uses_own_objects(problem: Problem) -> bool:
    """Return whether statements use what the program returns as an object of its own: a class, or attributes of one."""
    name = problem.entry_point
    if not isinstance(problem.check, Assertions) or not name:
        return False
    try:
        nodes = list(ast.walk(ast.parse(problem.test)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    results = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and _is_call_of(node.value, name)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return any(
        _is_named(node.value, name)
        or (
            node.attr not in _PLAIN_ATTRIBUTES
            and (_is_call_of(node.value, name) or any(_is_named(node.value, result) for result in results))
        )
        for node in nodes
        if isinstance(node, ast.Attribute)
    )


def discards_results(problem: Problem) -> bool:
    """Return whether tests call the function for what it does to its arguments: nothing uses the result of a call."""
    names = (problem.entry_point, "candidate")
    try:
        nodes = ast.walk(ast.parse(problem.test))
        return any(
            isinstance(node, ast.Expr) and any(_is_call_of(node.value, name) for name in names) for node in nodes
        )
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _is_named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_call_of(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and _is_named(node.func, name)


def _loaded(text: str) -> set[str]:
    """Return all names that a source looks up, at the price of its tree.

    From 3.12 on ``symtable`` does not tell that a comprehension looks up a name that its function has.
    """
    nodes = ast.walk(ast.parse(text))
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def find_undefined_names(problem: Problem) -> tuple[str, ...]:
    """Return the names that the tests use, and that neither they nor the prompt define."""
    try:
        tests = _names_in(problem.test)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(sorted(_undefined(tests, _names_in_prompt(problem.prompt), problem)))


def _undefined(tests: _Names, prompt: _Names, problem: Problem) -> set[str]:
    if tests.has_star or prompt.has_star:
        return set()
    return (
        tests.referenced_globals - tests.defined - prompt.defined - {problem.entry_point, "candidate", *dir(builtins)}
    )


def _check_parameters(tests: _Names) -> tuple[str, ...]:
    """Return the parameters of the function ``check``; none where it is no plain function."""
    for table in tests.tables[1:]:
        if table.get_name() == "check" and isinstance(table, symtable.Function):
            return table.get_parameters()
    return ()


def _names_in_prompt(prompt: str) -> _Names:
    """Return the names in a prompt, which may end where a body should begin."""
    for text in complete_prompt(prompt):
        try:
            return _names_in(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return _Names()


@lru_cache(maxsize=4)
def _names_in(text: str) -> _Names:
    with warnings.catch_warnings():
        # Warnings about the source of a benchmark are not for our user.
        warnings.simplefilter("ignore")
        return _Names(tuple(_walk(symtable.symtable(text, "<text>", "exec"))), bool(_STAR.search(text)))


def _walk(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _walk(child)


def _is_bound(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
