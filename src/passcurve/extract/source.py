"""Python source, read but never run, with a bound on the work that hostile text can ask for.

The parser of CPython refuses what is nested too deeply by itself, but its time and memory can grow with the square of
the text: ``import a.a.a...`` of 200 kB takes twenty seconds and ten gigabytes.  So no text above MAX_CHARS is read,
none with that many dots, and one Parser reads BUDGET_CHARS over its life.
"""

from __future__ import annotations

import ast
import symtable
import warnings
from collections.abc import Iterator

import msgspec

MAX_CHARS = 1 << 16
"""Of a text that is taken apart; programs that solve a task of a benchmark are far shorter."""

BUDGET_CHARS = 1 << 19
_DOTS = 1 << 13
"""In a text that is read; a name of so many parts takes a hundred megabytes."""
_CUTS = 40
"""How often the end of a text is cut off to find out whether the rest is Python."""


class Reading(msgspec.Struct, frozen=True):
    """What the parser says of a text."""

    tree: ast.Module | None
    """None when it is no Python, or when it was not read."""
    line: int = 0
    """The line, from 1, at which it stops being Python; 0 when that is not known."""


class Parser:
    """Reads source as long as its budget lasts, each text once."""

    def __init__(self, budget: int = BUDGET_CHARS) -> None:
        self._left = budget
        self._known: dict[str, Reading] = {}
        self.spent = False
        """Whether a text was refused: what was asked for is more than any honest reply takes."""

    def read(self, text: str) -> Reading:
        """Return the tree of a text, or where it stops being Python."""
        if text not in self._known:
            if len(text) > min(MAX_CHARS, self._left) or text.count(".") > _DOTS:
                self.spent = True
                return Reading(None)
            self._left -= len(text)
            self._known[text] = _read(text)
        return self._known[text]

    def prefix(self, text: str) -> str:
        """Return the first lines of a text, as many as are Python; empty when not even the first is."""
        lines = text.split("\n")
        for _ in range(_CUTS):
            found = self.read("\n".join(lines))
            if found.tree is not None:
                return "\n".join(lines) if found.tree.body else ""
            lines = lines[: max(0, min(found.line, len(lines)) - 1)]
            if not lines:
                return ""
        return ""


def _read(text: str) -> Reading:
    with warnings.catch_warnings():
        # What a sample's source would be warned of is not for our user.
        warnings.simplefilter("ignore")
        try:
            return Reading(ast.parse(text))
        except SyntaxError as error:
            line = error.lineno or _line_of_odd(text)
        except ValueError:
            line = _line_of_odd(text)
        except (RecursionError, MemoryError):
            line = 0
    return Reading(None, line)


def _line_of_odd(text: str) -> int:
    """Return the line of the first character that no source can hold: a null, or half a surrogate pair."""
    at = next((at for at, c in enumerate(text) if c == "\0" or "\ud800" <= c <= "\udfff"), None)
    return 0 if at is None else text.count("\n", 0, at) + 1


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def defines(statement: ast.stmt) -> bool:
    """Say whether a statement is a function or a class."""
    return isinstance(statement, _DEFINITIONS)


def outside(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what runs when a statement does: all of it but the bodies of functions."""
    rest = [node]
    while rest:
        node = rest.pop()
        yield node
        if isinstance(node, _FUNCTIONS):
            rest += [child for child in _not_body(node) if child is not None]
        else:
            rest += ast.iter_child_nodes(node)


def _not_body(node: ast.AST) -> Iterator[ast.AST | None]:
    arguments: ast.arguments = node.args  # type: ignore[attr-defined]
    yield from getattr(node, "decorator_list", ())
    yield from (*arguments.defaults, *arguments.kw_defaults, getattr(node, "returns", None))
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
    yield from (each.annotation for each in every if each is not None)


def bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement gives a meaning."""
    if isinstance(statement, _DEFINITIONS):
        return {statement.name}
    names: set[str] = set()
    for node in outside(statement):
        if isinstance(node, _DEFINITIONS):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    return names - {"*"}


def used(node: ast.AST) -> set[str]:
    """Return every name that is looked up anywhere in a statement or a module."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Store)}


def answers(tree: ast.Module | None, entry_point: str) -> bool:
    """Say whether a program has the entry point, with something in it, and could be compiled."""
    if tree is None:
        return False
    last = next((each for each in reversed(tree.body) if entry_point in bound(each)), None)
    return last is not None and not _stub(last, entry_point) and not _stray(tree)


def _stub(statement: ast.stmt, entry_point: str) -> bool:
    """Say whether a function has a docstring, helpers and calls of itself, but nothing that could be an answer."""
    if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    for each in statement.body:
        shown = isinstance(each, ast.Expr | ast.Assert) and entry_point in used(each)
        constant = isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
        if not (shown or constant or isinstance(each, (*_DEFINITIONS, ast.Import, ast.ImportFrom))):
            return False
    return True


def _stray(tree: ast.Module) -> bool:
    """Say whether something that belongs into a function stands outside; the parser alone does not mind."""
    return any(isinstance(node, ast.Return | ast.Yield | ast.YieldFrom | ast.Await) for node in outside(tree))


def lookups(text: str, tree: ast.Module) -> list[tuple[int, set[str]]]:
    """Return, for each function and class in a program, its line and the names that it looks up in the module."""
    found: list[tuple[int, set[str]]] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rest = symtable.symtable(text, "sample.py", "exec").get_children()
        while rest:
            table = rest.pop()
            found.append((table.get_lineno(), {each.get_name() for each in table.get_symbols() if each.is_global()}))
            rest += table.get_children()
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # It could not be compiled: every name may matter then.
        names = used(tree)
        return [(line, names) for line in range(1, text.count("\n") + 2)]
    return sorted(found, key=lambda each: each[0])


def first_line(statement: ast.stmt) -> int:
    """Return the line, from 1, on which a statement begins, its decorators with it."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(each.lineno for each in decorators)])


def lines_of(text: str, first: int, last: int) -> str:
    """Return some lines of a text, from 1, both ends with them."""
    return "\n".join(text.split("\n")[first - 1 : last])
