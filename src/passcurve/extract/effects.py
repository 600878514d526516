"""The names whose objects the statements of a program change, by themselves or by the functions that they call."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable

import msgspec

from passcurve.extract.source import is_definition, walk_outside_functions

_INPUTS = frozenset({"input", "stdin"})
_PREPARING = frozenset({"heapq", "heapify", "heappush", "random", "shuffle", "bisect", "insort", "setattr"})
"""Functions and modules of Python that are called for what they do to an argument."""
_MAX_REACHED = 200
"""Largest number of functions to look into for what one call changes."""


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """A statement of the program with the names that tie it to others."""

    node: ast.stmt
    bound: set[str]
    used: set[str]
    changed: set[str]
    """Names of the objects that it changes."""
    is_always_kept: bool
    is_never_kept: bool


class Effects:
    """Tells what a statement changes by the functions of the program that it calls."""

    def __init__(self, functions: dict[str, Statement], entry_point: str) -> None:
        self._functions = functions
        self._tested = set(entry_point.split("."))
        self._reach: dict[str, tuple[set[str], set[str]]] = {}
        """By function: the names that it and the functions it may call look up, and those that they change."""
        self._changed: dict[str, set[str]] = {}

    def of(self, statement: Statement) -> set[str]:
        """Return names; none of a demonstration: it calls the entry point, reads input, prints or tests."""
        if is_definition(statement.node):
            decorators: list[ast.expr] = getattr(statement.node, "decorator_list", [])
            return set().union(*(self._reached(_root_name(one))[1] for one in decorators))
        if isinstance(statement.node, ast.Assert) or _is_print(statement.node):
            return set()
        calls = {_root_name(inner) for inner in walk_outside_functions(statement.node) if isinstance(inner, ast.Call)}
        if any(name.startswith("test") for name in calls):
            return set()
        reached = [self._reached(name) for name in calls]
        names = (statement.used - statement.bound).union(*(used for used, _ in reached))
        if names & (self._tested | _INPUTS):
            return set()
        return _passed_names(statement.node, self._functions.keys() | _PREPARING).union(
            *(changed for _, changed in reached)
        )

    def _reached(self, name: str) -> tuple[set[str], set[str]]:
        if name not in self._reach:
            used, changed, names, seen = set[str](), set[str](), {name} & self._functions.keys(), set[str]()
            while names and len(seen) < _MAX_REACHED:
                seen.add(one := names.pop())
                used |= self._functions[one].used
                changed |= self._changed_inside(one)
                names |= (self._functions[one].used & self._functions.keys()) - seen
            self._reach[name] = used, changed
        return self._reach[name]

    def _changed_inside(self, name: str) -> set[str]:
        """Return the names of the module whose objects a function changes when it is called, or that it binds."""
        if name not in self._changed:
            function = self._functions[name]
            names = changed_names(function.node, ast.walk(function.node))
            names |= _passed_names(function.node, self._functions.keys() | _PREPARING, ast.walk(function.node))
            names &= function.used
            for inner in ast.walk(function.node):
                if isinstance(inner, ast.Global):
                    names.update(inner.names)
            self._changed[name] = names
        return self._changed[name]


def _is_print(node: ast.stmt) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and _root_name(call.func) == "print"


def _passed_names(node: ast.stmt, preparing: Collection[str], nodes: Iterable[ast.AST] | None = None) -> set[str]:
    """Return the names whose objects are passed to calls of these functions and modules that are made for their effect.

    ``nodes``: those to look at, where these are not the ones outside of functions.
    """
    names: set[str] = set()
    for inner in walk_outside_functions(node) if nodes is None else nodes:
        call = _call_for_effect(inner)
        if call is not None and _root_name(call.func) in preparing:
            names |= {_root_name(argument) for argument in call.args}
    return names - {""}


def changed_names(node: ast.stmt, nodes: Iterable[ast.AST] | None = None) -> set[str]:
    """Return the names whose objects a statement changes: a part, by a method, or by a decorator of theirs.

    ``nodes``: as for ``_passed_names``.
    """
    names: set[str] = set()
    for inner in walk_outside_functions(node) if nodes is None else nodes:
        if isinstance(inner, ast.Attribute | ast.Subscript) and not isinstance(inner.ctx, ast.Load):
            names.add(_name_in_globals(inner) or _root_name(inner))
        elif (call := _call_for_effect(inner)) is not None:
            if isinstance(call.func, ast.Attribute):
                names.add(_root_name(call.func))
        elif isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            decorators = inner.decorator_list
            names |= {_root_name(one) for one in decorators if isinstance(_callee(one), ast.Attribute)}
    return names - {""}


def _call_for_effect(node: ast.AST) -> ast.Call | None:
    """Return the call that is a statement, also as a list that nobody keeps: ``[items.append(i) for i in other]``."""
    value = node.value if isinstance(node, ast.Expr) else None
    while isinstance(value, ast.ListComp):
        value = value.elt
    return value if isinstance(value, ast.Call) else None


def _name_in_globals(node: ast.Attribute | ast.Subscript) -> str:
    """Return the name of the module that ``globals()["name"]`` stands for; empty for anything else."""
    if isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Call) or _root_name(node) != "globals":
        return ""
    return str(node.slice.value) if isinstance(node.slice, ast.Constant) else ""


def _callee(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def _root_name(node: ast.expr) -> str:
    """Return the name that an attribute, an item or a call begins with; empty where there is none."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
