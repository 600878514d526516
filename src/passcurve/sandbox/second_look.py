"""A second look at programs that are not closed as they stand, by their text.

Two names lead far and are mostly used where they cannot: ``type(x)`` that is compared at once, and ``format`` of a
text that stands there and names no attribute.  And a program that imports a module which is not there ends at that
line, so what comes after it does not matter: it is left out of what is run.

docs/sandbox.md has the argument.
"""

from __future__ import annotations

import sys

# The classes alone: what else the module ``ast`` holds would be there at every fork.
from _ast import (
    AST,
    Attribute,
    Call,
    Compare,
    Constant,
    Import,
    ImportFrom,
    Module,
    Name,
    PyCF_ONLY_AST,
    Starred,
    alias,
)
from collections.abc import Iterator
from string import Formatter
from types import CodeType
from typing import TYPE_CHECKING, cast

from passcurve.sandbox.closed import is_closed

if TYPE_CHECKING:
    from typing import TypeGuard

TYPE, FORMAT = "gtype", "aformat"
"""As ``is_closed`` wants them."""


def second_look(text: str, name: str) -> CodeType | None:
    """Return the code of a program as it can run in company, or None when it must run apart.

    The code does all that the program does.  Raises what the compiler raises.
    """
    tree = cast("Module", compile(text, name, "exec", PyCF_ONLY_AST, dont_inherit=True))
    missing = cut(tree)
    code = compile(tree, name, "exec", dont_inherit=True)
    return code if is_closed(code, harmless(tree) | missing) else None


def cut(tree: Module) -> frozenset[str]:
    """End a program at the first import that must fail, if there is one; return the name of the module."""
    for number, node in enumerate(tree.body):
        if isinstance(node, Import):
            module = node.names[0].name
        elif isinstance(node, ImportFrom) and not node.level and node.module:
            module = node.module
        else:
            continue
        if is_missing(module.partition(".")[0]):
            last = Import(names=[alias(name=module, lineno=node.lineno, col_offset=0)])
            last.lineno, last.col_offset = node.lineno, node.col_offset
            tree.body[number:] = [last]
            return frozenset(["m" + module])
    return frozenset()


def is_missing(name: str) -> bool:
    """Say whether importing a module of this name fails here, and does nothing else."""
    return name not in sys.modules and all(finder.find_spec(name, None) is None for finder in sys.meta_path)


def harmless(tree: Module) -> frozenset[str]:
    """Return those of the two names that a program uses, and never so that they lead anywhere."""
    used: set[str] = set()
    allowed: set[int] = set()
    for node in _walk(tree):
        # What is inside comes after what it is in.
        if isinstance(node, Compare):
            allowed |= {id(each.func) for each in (node.left, *node.comparators) if _asks_type(each)}
        elif isinstance(node, Call) and _is_plain_format(node.func):
            allowed.add(id(node.func))
        elif isinstance(node, Name) and node.id == "type":
            used.add(TYPE if id(node) in allowed else "not " + TYPE)
        elif isinstance(node, Attribute) and node.attr == "format":
            used.add(FORMAT if id(node) in allowed else "not " + FORMAT)
    return frozenset(name for name in used if "not " + name not in used)


def _walk(tree: AST) -> Iterator[AST]:
    """Yield each node before those in it."""
    todo: list[AST] = [tree]
    while todo:
        node = todo.pop()
        yield node
        for field in node._fields:
            value = getattr(node, field, None)
            todo.extend(each for each in (value if isinstance(value, list) else [value]) if isinstance(each, AST))


def _asks_type(node: AST) -> TypeGuard[Call]:
    if not isinstance(node, Call) or node.keywords or len(node.args) != 1:
        return False
    return isinstance(node.func, Name) and node.func.id == "type" and not isinstance(node.args[0], Starred)


def _is_plain_format(node: AST) -> bool:
    if not isinstance(node, Attribute) or node.attr != "format" or not isinstance(node.value, Constant):
        return False
    text = node.value.value
    if type(text) is not str:
        return False
    try:
        # As far as it can be read: what comes before a mistake is looked up before that is found.
        for _, field, spec, _ in Formatter().parse(text):
            if field is not None and ("." in field or "[" in field or "{" in (spec or "")):
                return False
    except ValueError:
        pass
    return True
