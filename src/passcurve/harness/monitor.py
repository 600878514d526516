"""The watch over what a program beside its tests could change in its favour.

It is kept before the program runs, restored before the tests, and compared after them.
"""

from __future__ import annotations

import builtins
import gc
import os
import re
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

MAX_FINDINGS, FINDING_CHARACTERS = 8, 80
_HEAP_TYPE = 1 << 9
_BUILTINS = dict(vars(builtins))
_IMPORTS = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import\b|import[ \t]+([\w., \t]+))", re.MULTILINE)
_ALWAYS_USED = frozenset(("__import__", "__build_class__"))
"""Builtins that statements use without naming them."""
_METHODS = (classmethod, staticmethod, property)
_PARTS = ("__code__", "__defaults__", "__kwdefaults__")
_MONITORED = (
    (sys, "settrace", "trace function set"),
    (sys, "setprofile", "profile function set"),
    (sys, "_current_frames", "frames of threads read"),
    (gc, "get_objects", "objects searched"),
    (gc, "get_referrers", "objects searched"),
    (gc, "get_referents", "objects searched"),
)
"""Functions that ordinary programs do not call, with the finding about a program that does."""


class Monitor:
    """Objects that a sample could change in its favour.

    They are kept before the sample runs, restored before the tests run, and compared after that.
    """

    def __init__(
        self,
        source: str,
        names: dict[str, Any],
        test: str,
        tests: CodeType,
        entry_point: str,
        *,
        all_builtins: bool = False,
    ) -> None:
        """``all_builtins``: keep those that the tests do not name as well."""
        self._names = names
        self._findings: list[str] = []
        self._namespace: dict[str, Any] = {}
        self._ctypes = "ctypes" in source
        for module, name, finding in _MONITORED:
            setattr(module, name, self._wrap(getattr(module, name), finding))
        used = _used_names(tests)
        self._used_builtins = used & _BUILTINS.keys()
        # Without an entry point the tests use whatever the program defines.
        self._own_builtins = self._used_builtins - set(entry_point.split(".")) if entry_point else set()
        kept_builtins = (
            _BUILTINS
            if all_builtins or "builtins" in source
            else {name: _BUILTINS[name] for name in self._used_builtins | _ALWAYS_USED}
        )
        self._kept: list[tuple[Any, str, dict[str, Any]]] = [
            (builtins, "builtins", kept_builtins),
            (os, "os", {"write": os.write, "_exit": os._exit}),
        ]
        # Reading all that is in modules loaded before the fork would copy nearly all their pages of memory.
        before_fork = frozenset(sys.modules)
        self._table = sys.modules
        self._modules = {name: sys.modules[name] for name in _import_modules(test)}
        for name, module in _reached_modules(self._modules, used).items():
            self._kept += _find_callables(name, module, used, every=name not in before_fork)
        self._shapes = [_shape_of(name, owner) for owner, name, _ in self._kept]
        self._codes = [
            ("%s changed: %s" % (name, key), *_parts(function))
            for _, name, kept in self._kept
            for key, function in _own_functions(kept)
        ]

    def add_finding(self, finding: str) -> None:
        """Add a finding, unless it is there."""
        if finding not in self._findings:
            self._findings.append(finding[:FINDING_CHARACTERS])

    def restore(self) -> None:
        """Restore what the program changed while it was loaded."""
        self._compare(restore=True)
        # Not put back: a program may well use a function of its own of that name, or one of ``math``.
        for name in sorted(self._own_builtins & self._names.keys()):
            if name[0] != "_" and isinstance(self._names[name], FunctionType):
                self.add_finding("hides the builtin: %s" % name)
        self._namespace = dict(self._names)

    def keep_tests(self) -> None:
        """Keep what the tests have defined."""
        self._namespace = {
            name: value
            for name, value in self._names.items()
            if callable(value) and self._namespace.get(name) is not value
        }
        self._codes += [
            ("tests changed: %s" % name, *_parts(function)) for name, function in _own_functions(self._namespace)
        ]

    def find_changes(self) -> list[str]:
        """Return the findings, in a few words each."""
        self._compare(restore=False)
        if self._ctypes and "ctypes" in sys.modules:
            self.add_finding("ctypes used")
        for name, value in self._namespace.items():
            if callable(value) and self._names.get(name) is not value:
                self.add_finding("tests changed: %s" % name)
        monitoring = getattr(sys, "monitoring", None)
        if monitoring is not None and any(monitoring.get_tool(number) for number in range(6)):
            self.add_finding("monitoring tool set")
        return self._findings[:MAX_FINDINGS]

    def _wrap(self, function: Callable[..., Any], finding: str) -> Callable[..., Any]:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            # Some packages look at frames themselves, for a window that is open.
            is_none = len(args) == 1 and args[0] is None
            if not is_none and "/packages/" not in sys._getframe(1).f_code.co_filename:
                self.add_finding(finding)
            return function(*args, **kwargs)

        wrapper.__name__ = wrapper.__qualname__ = function.__name__
        return wrapper

    def _compare(self, restore: bool) -> None:
        # The module of the program finds its builtins by this name, and the tests are in it.
        in_use = self._names.get("__builtins__")
        if in_use is not None and in_use is not builtins and in_use is not vars(builtins):
            self.add_finding("builtins replaced")
            if restore:
                self._names["__builtins__"] = builtins
        if sys.modules is not self._table:
            self.add_finding("sys.modules changed: all of it")
            if restore:
                sys.modules = self._table
        for shape in self._shapes:
            self._compare_shape(*shape, restore=restore)
        for owner, name, kept in self._kept:
            present = vars(owner)
            for key, value in kept.items():
                if present.get(key) is not value and not _is_from_package(present.get(key), name):
                    self.add_finding("%s changed: %s" % (name, key))
                    if restore:
                        setattr(owner, key, value)
        for finding, function, *parts in self._codes:
            for attribute, part in zip(_PARTS, parts):
                if getattr(function, attribute) is not part:
                    self.add_finding(finding)
                    if restore:
                        setattr(function, attribute, part)
        for name, module in self._modules.items():
            if self._table.get(name) is not module:
                self.add_finding("sys.modules changed: %s" % name)
                if restore:
                    self._table[name] = module

    def _compare_shape(
        self, name: str, owner: Any, kind: type, bases: tuple[type, ...], keys: frozenset[str], *, restore: bool
    ) -> None:
        """Compare a module or class with what decides which attributes it has."""
        is_class = issubclass(kind, type)
        # That of the owner itself may be the sample's by now.
        change = type.__setattr__ if is_class else object.__setattr__
        if type(owner) is not kind:
            self.add_finding("%s changed: __class__" % name)
            if restore:
                change(owner, "__class__", kind)
        if not is_class:
            return
        if owner.__bases__ != bases:
            self.add_finding("%s changed: __bases__" % name)
            if restore:
                change(owner, "__bases__", bases)
        for key in vars(owner).keys() - keys:
            value = vars(owner)[key]
            # A program may well add a method of its own, but not one in the place of another.
            is_method = callable(value) or type(value) in _METHODS
            if is_method and not _is_from_package(value, name) and any(key in vars(base) for base in owner.__mro__[1:]):
                self.add_finding("%s changed: %s" % (name, key))
                if restore:
                    type.__delattr__(owner, key)


def _import_modules(test: str) -> list[str]:
    """Import the modules that the tests import, so that a sample finds them loaded; return their names."""
    names: list[str] = []
    for module, modules in _IMPORTS.findall(test):
        for text in [module] if module else modules.split(","):
            name = text.split()[0] if text.split() else ""
            if name not in sys.modules:
                try:
                    exec("import %s" % name, {})
                except Exception:
                    continue  # the tests raise the same exception when they import it
            if name in sys.modules and name != "sample" and name not in names:
                names.append(name)
    return names


def _used_names(code: CodeType) -> set[str]:
    """Return all names that some code looks up, including those of attributes."""
    names = set(code.co_names)
    for const in code.co_consts:
        if isinstance(const, CodeType):
            names |= _used_names(const)
    return names


def _reached_modules(modules: dict[str, ModuleType], used: set[str]) -> dict[str, ModuleType]:
    """Return modules and those that code can reach from them by attributes of the names in ``used``, as ``os.path``."""
    reached = dict(modules)
    waiting = list(modules.values())
    for module in waiting:
        for key in sorted(used):
            submodule = _find_submodule(module, key)
            if submodule is not None and submodule.__name__ not in reached:
                reached[submodule.__name__] = submodule
                waiting.append(submodule)
    return reached


def _find_submodule(module: ModuleType, key: str) -> ModuleType | None:
    """Return the module that is an attribute of another, or becomes one when it is first asked for."""
    members = vars(module)
    value = members.get(key)
    if value is None and "__getattr__" in members and "__path__" in members:
        from importlib.util import find_spec

        try:
            # Not before it is known to be a module: some packages warn of other names.
            value = getattr(module, key) if find_spec("%s.%s" % (module.__name__, key)) is not None else None
        except Exception:
            return None  # the tests raise the same exception when they ask for it
    return value if issubclass(type(value), ModuleType) else None


def _find_callables(
    name: str, module: ModuleType, used: set[str], *, every: bool
) -> list[tuple[Any, str, dict[str, Any]]]:
    """Return the callables of a module and of its own classes, and its modules; ``every``: not only those in ``used``.

    Of its modules only those in ``used`` are kept in any case: a package may change others when it is used.
    """
    members = vars(module)
    callables = {key: members[key] for key in (members if every else used & members.keys()) if callable(members[key])}
    callables.update({key: members[key] for key in used & members.keys() if type(members[key]) is ModuleType})
    kept: list[tuple[Any, str, dict[str, Any]]] = [(module, name, callables)]
    kinds: dict[type, str] = {}
    for key, value in callables.items():
        if isinstance(value, type) and value.__module__.split(".")[0] == _package(name):
            kinds[value] = "%s.%s" % (name, key)
            # Methods may come from a base in another module.
            for base in value.__mro__[1:]:
                kinds.setdefault(base, "%s.%s" % (base.__module__, base.__name__))
    for kind, label in kinds.items():
        if kind.__flags__ & _HEAP_TYPE:
            methods = {key: item for key, item in vars(kind).items() if callable(item) or type(item) in _METHODS}
            kept.append((kind, label, methods))
    return kept


def _shape_of(name: str, owner: Any) -> tuple[str, Any, type, tuple[type, ...], frozenset[str]]:
    """Return a module or a class with what decides which attributes it has: its class, its bases, its own names."""
    if isinstance(owner, type):
        return name, owner, type(owner), owner.__bases__, frozenset(vars(owner))
    return name, owner, type(owner), (), frozenset()


def _own_functions(kept: dict[str, Any]) -> Iterator[tuple[str, FunctionType]]:
    """Yield name and function of each that is written in Python: its code can be changed."""
    for key, value in kept.items():
        function = _function_of(value)
        if function is not None:
            yield key, function


def _function_of(value: Any) -> FunctionType | None:
    """Return a function, or that of a method or a property, if it is written in Python."""
    if type(value) in _METHODS:
        value = value.fget if type(value) is property else value.__func__
    return value if type(value) is FunctionType else None


def _parts(function: FunctionType) -> tuple[Any, ...]:
    """Return a function and what decides what it does."""
    return (function, *(getattr(function, attribute) for attribute in _PARTS))


def _is_from_package(value: Any, name: str) -> bool:
    """Return whether a function is from the files of the package itself: some replace their functions on first use."""
    function = _function_of(value)
    return function is not None and "/%s/" % _package(name) in function.__code__.co_filename


def _package(name: str) -> str:
    return name.partition(".")[0]
