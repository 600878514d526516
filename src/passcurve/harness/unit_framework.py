"""The modules of ``unittest``: kept before a sample runs, restored before the tests, compared after them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

_MADE_ON_USE = frozenset(("__annotations__", "__annotations_cache__", "__doc__", "__abstractmethods__"))
"""Attributes of classes that Python itself adds later."""

_ABSENT = object()


class Framework:
    """The contents of the modules and classes of ``unittest``."""

    def __init__(self) -> None:
        # Imported here: only programs with such tests need it.  The others of its modules come with it.
        import unittest

        guard_parts(unittest.case)
        self._table = sys.modules
        self._modules = {
            name: module
            for name, module in list(sys.modules.items())
            if name.partition(".")[0] == "unittest" and isinstance(module, ModuleType)
        }
        self._kept: list[tuple[str, Any, dict[str, Any]]] = []
        self._bases: list[tuple[str, type, tuple[type, ...], type]] = []
        self._codes: list[tuple[str, FunctionType, CodeType, Any, Any]] = []
        for name, module in self._modules.items():
            self._keep_module(name, module)
        self.case, self.loader, self.result = unittest.TestCase, unittest.TestLoader(), unittest.TestResult

    def _keep_module(self, name: str, module: ModuleType) -> None:
        # Plain values are left out: `mock` makes some of its own on first use.
        members = {key: value for key, value in vars(module).items() if callable(value) or type(value) is ModuleType}
        self._kept.append((name, module, members))
        for key, value in members.items():
            if getattr(value, "__module__", None) != name:
                continue
            if isinstance(value, FunctionType):
                self._keep_code("%s.%s" % (name, key), value)
            elif isinstance(value, type):
                attributes = {key: item for key, item in vars(value).items() if key not in _MADE_ON_USE}
                self._kept.append((key, value, attributes))
                self._bases.append((key, value, value.__bases__, type(value)))
                for attribute, item in attributes.items():
                    function = getattr(item, "__func__", None) or getattr(item, "fget", None) or item
                    if isinstance(function, FunctionType):
                        self._keep_code("%s.%s" % (key, attribute), function)

    def _keep_code(self, name: str, function: FunctionType) -> None:
        self._codes.append((name, function, function.__code__, function.__defaults__, function.__kwdefaults__))

    def restore(self) -> None:
        """Restore what the program changed while it was loaded."""
        sys.modules = self._table
        for name, module in self._modules.items():
            sys.modules[name] = module
        for _, owner, kept in self._kept:
            present = dict(vars(owner))
            for key, value in kept.items():
                if present.get(key, _ABSENT) is not value:
                    setattr(owner, key, value)
            for key in _added(owner, present, kept):
                delattr(owner, key)
        for _, cls, bases, kind in self._bases:
            if type(cls) is not kind:
                cls.__class__ = kind
            if cls.__bases__ != bases:
                cls.__bases__ = bases
        for _, function, code, defaults, keywords in self._codes:
            if function.__code__ is not code:
                function.__code__ = code
            if function.__defaults__ is not defaults:
                function.__defaults__ = defaults
            if function.__kwdefaults__ is not keywords:
                function.__kwdefaults__ = keywords

    def find_changes(self) -> list[str]:
        """Return the names of what is not as it was, in the order in which it is kept."""
        changes: list[str] = []
        if sys.modules is not self._table:
            changes.append("sys.modules")
        changes += [name for name, module in self._modules.items() if self._table.get(name) is not module]
        for name, owner, kept in self._kept:
            present = dict(vars(owner))
            changed = [key for key, value in kept.items() if present.get(key, _ABSENT) is not value]
            changes += ["%s.%s" % (name, key) for key in (*changed, *_added(owner, present, kept))]
        changes += [name for name, cls, bases, kind in self._bases if type(cls) is not kind or cls.__bases__ != bases]
        changes += [
            name
            for name, function, code, defaults, keywords in self._codes
            if function.__code__ is not code
            or function.__defaults__ is not defaults
            or function.__kwdefaults__ is not keywords
        ]
        return changes

    def find_classes(self, names: dict[str, Any]) -> list[str]:
        """Return the names of the classes of tests in a module, in the order of their definition."""
        return [
            name
            for name, value in names.items()
            if isinstance(value, type) and issubclass(value, self.case) and value.__module__ == names["__name__"]
        ]


def guard_parts(case: Any) -> None:
    """Have a test fail where its program raises what ``unittest`` takes for the end of a test that is right.

    Only its own ``subTest`` raises that.  ``case`` is the module of test cases.
    """
    execute, stop = case._Outcome.testPartExecutor, case._ShouldStop
    own = case.TestCase.subTest.__wrapped__.__code__

    @contextlib.contextmanager
    def execute_part(*args: Any, **kwargs: Any) -> Iterator[None]:
        with execute(*args, **kwargs):
            try:
                yield
            except stop as error:
                trace = error.__traceback__
                while trace.tb_next is not None:
                    trace = trace.tb_next
                frame = trace.tb_frame
                if frame.f_code is own and getattr(frame.f_locals.get("self"), "_outcome", None) is args[0]:
                    raise
                raise RuntimeError("the program ended the test") from error

    case._Outcome.testPartExecutor = execute_part


def _added(owner: Any, present: dict[str, Any], kept: dict[str, Any]) -> list[str]:
    """Return the attributes that a class has got since; a module may get some of its own."""
    if not isinstance(owner, type):
        return []
    return [key for key in present if key not in kept and key not in _MADE_ON_USE]
