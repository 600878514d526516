"""Python source, parsed but never run, with a bound on the work for hostile text.

CPython's parser refuses text that is nested too deeply, but its time and memory can grow with the square of the
text: ``import a.a.a...`` of 200 kB takes twenty seconds and ten gigabytes.  So a Parser reads no text above MAX_CHARS,
none with more dots than _MAX_DOTS, and BUDGET_CHARS in all.
"""

from __future__ import annotations

import ast
import symtable
import warnings
from collections.abc import Iterator
from operator import itemgetter

import msgspec

from passcurve.types import trees

MAX_CHARS = 1 << 16
"""Largest text to parse; solutions of benchmark problems are far shorter."""

BUDGET_CHARS = 1 << 19
_MAX_DOTS = 1 << 13
"""Largest number of dots in a text; a name of so many parts takes a hundred megabytes."""
_MAX_CUTS = 40
"""Largest number of times that the end of a text is cut off to parse the rest."""


class Reading(msgspec.Struct, frozen=True):
    """The result of parsing a text."""

    tree: ast.Module | None
    """None when the text is not Python, or was not parsed."""
    line: int = 0
    """Line of the syntax error, from 1; 0 when it is unknown."""


class Parser:
    """Parses each text once, as long as its budget lasts."""

    def __init__(self, budget: int = BUDGET_CHARS) -> None:
        self._left = budget
        self._readings: dict[str, Reading] = {}
        self.spent = False
        """True once a text was refused; no honest reply exceeds the budget."""

    def read(self, text: str) -> Reading:
        """Return the tree of a text, or the line of its syntax error."""
        if text not in self._readings:
            if len(text) > min(MAX_CHARS, self._left) or text.count(".") > _MAX_DOTS:
                self.spent = True
                return Reading(None)
            self._left -= len(text)
            self._readings[text] = _read(text)
        return self._readings[text]

    def prefix(self, text: str) -> str:
        """Return the longest start of a text, in whole lines, that parses; empty when no line does."""
        lines = text.split("\n")
        for _ in range(_MAX_CUTS):
            reading = self.read("\n".join(lines))
            if reading.tree is not None:
                return "\n".join(lines) if reading.tree.body else ""
            lines = lines[: max(0, min(reading.line, len(lines)) - 1)]
            if not lines:
                return ""
        return ""


def _read(text: str) -> Reading:
    with warnings.catch_warnings():
        # Warnings about a sample's source are not for our user.
        warnings.simplefilter("ignore")
        try:
            return Reading(trees.parse(text))
        except SyntaxError as error:
            line = error.lineno or _line_of_forbidden(text)
        except ValueError:
            line = _line_of_forbidden(text)
        except (RecursionError, MemoryError):
            line = 0
    return Reading(None, line)


def _line_of_forbidden(text: str) -> int:
    """Return the line of the first character that no source may contain: a null or a lone surrogate."""
    at = next((at for at, c in enumerate(text) if c == "\0" or "\ud800" <= c <= "\udfff"), None)
    return 0 if at is None else text.count("\n", 0, at) + 1


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_IMPORTS = (ast.Import, ast.ImportFrom)


def is_definition(statement: ast.stmt) -> bool:
    """Tell whether a statement defines a function or a class."""
    return isinstance(statement, _DEFINITIONS)


def walk_outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run when a statement does: all but the bodies of functions."""
    rest = [node]
    while rest:
        node = rest.pop()
        yield node
        if isinstance(node, _FUNCTIONS):
            rest += [child for child in _signature_nodes(node) if child is not None]
        else:
            rest += ast.iter_child_nodes(node)


def _signature_nodes(node: ast.AST) -> Iterator[ast.AST | None]:
    arguments: ast.arguments = node.args  # type: ignore[attr-defined]
    yield from getattr(node, "decorator_list", ())
    yield from (*arguments.defaults, *arguments.kw_defaults, getattr(node, "returns", None))
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
    yield from (argument.annotation for argument in every if argument is not None)


def bound_names(statement: ast.stmt) -> set[str]:
    """Return the names that a statement binds."""
    if isinstance(statement, _DEFINITIONS):
        return {statement.name}
    names: set[str] = set()
    for node in walk_outside_functions(statement):
        if isinstance(node, _DEFINITIONS):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, _IMPORTS):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    return names - {"*"}


def used_names(node: ast.AST) -> set[str]:
    """Return every name that a statement or a module looks up."""
    return {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and not isinstance(name.ctx, ast.Store)}


def has_entry_point(tree: ast.Module | None, entry_point: str) -> bool:
    """Tell whether a program defines the entry point with a body, and compiles.

    That of ``Class.method`` is the class, or the function alone; a script has none, and any statement will do.
    """
    if tree is None:
        return False
    if not entry_point:
        return bool(tree.body) and not _has_stray_return(tree)
    names = set(entry_point.split("."))
    last = next((node for node in reversed(tree.body) if names & bound_names(node)), None)
    return last is not None and not _is_stub(last, entry_point) and not _has_stray_return(tree)


def is_answer(tree: ast.Module, entry_point: str) -> bool:
    """Tell whether a block gives the entry point a meaning of its own, and is no test, example or outline of it.

    A script is one if it does something beyond definitions.
    """
    if not entry_point:
        return any(not isinstance(node, (*_DEFINITIONS, *_IMPORTS, ast.Assign, ast.Assert)) for node in tree.body)
    names = set(entry_point.split("."))
    return any(
        names & bound_names(node)
        and not isinstance(node, _IMPORTS)
        and (isinstance(node, _DEFINITIONS) or not names & used_names(node))
        and not _is_outline(node, entry_point)
        for node in tree.body
    )


def _is_outline(statement: ast.stmt, entry_point: str) -> bool:
    """Tell whether a function, or each method of a class, is left open by the model that wrote it.

    It has no body but ``pass`` or ``raise NotImplementedError``, as models write outlines before or behind an answer.
    """
    if isinstance(statement, ast.ClassDef):
        methods = [inner for inner in statement.body if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef)]
        return bool(methods) and all(_is_outline(method, entry_point) for method in methods)
    if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return all(
        isinstance(inner, ast.Pass) or _is_unwritten(inner) or _is_no_body(inner, entry_point)
        for inner in statement.body
    )


def _is_unwritten(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Raise) and "NotImplementedError" in used_names(statement)


def defines_all(text: str, entry_point: str) -> bool:
    """Tell whether a text by itself is a program that defines the entry point with a body."""
    return bool(entry_point) and f"def {entry_point}" in text and has_entry_point(_read(text).tree, entry_point)


def _is_stub(statement: ast.stmt, entry_point: str) -> bool:
    """Tell whether a function has only a docstring, helpers and calls of itself."""
    if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return all(_is_no_body(inner, entry_point) for inner in statement.body)


def _is_no_body(statement: ast.stmt, entry_point: str) -> bool:
    is_example = isinstance(statement, ast.Expr | ast.Assert) and entry_point in used_names(statement)
    is_constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_example or is_constant or isinstance(statement, (*_DEFINITIONS, *_IMPORTS))


def _has_stray_return(tree: ast.Module) -> bool:
    """Tell whether a return, yield or await stands outside a function, which the parser accepts."""
    return any(
        isinstance(node, ast.Return | ast.Yield | ast.YieldFrom | ast.Await) for node in walk_outside_functions(tree)
    )


def global_lookups(text: str, tree: ast.Module) -> list[tuple[int, set[str]]]:
    """Return the line of each function and class in a program, and the module names that it looks up."""
    names_by_line: list[tuple[int, set[str]]] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rest = symtable.symtable(text, "sample.py", "exec").get_children()
        while rest:
            table = rest.pop()
            names = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()}
            names_by_line.append((table.get_lineno(), names))
            rest += table.get_children()
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # It does not compile, so every name may matter.
        names = used_names(tree)
        return [(line, names) for line in range(1, text.count("\n") + 2)]
    return sorted(names_by_line, key=itemgetter(0))


def unbound_names(text: str) -> set[str]:
    """Return the names that a program looks up in its module and does not bind there, builtins among them.

    Raises SyntaxError, ValueError, RecursionError or MemoryError for a text that has no symbol table.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = symtable.symtable(text, "sample.py", "exec")
    bound = {symbol.get_name() for symbol in module.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    used = {symbol.get_name() for symbol in module.get_symbols() if symbol.is_referenced()}
    rest = list(module.get_children())
    while rest:
        table = rest.pop()
        rest += table.get_children()
        used |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global() and symbol.is_referenced()}
        bound |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_declared_global()}
    return used - bound


def first_line(statement: ast.stmt) -> int:
    """Return the first line of a statement, from 1, with its decorators."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def lines_of(text: str, first: int, last: int) -> str:
    """Return the lines of a text from the first to the last, counted from 1."""
    return "\n".join(text.split("\n")[first - 1 : last])
