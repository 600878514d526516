"""Tests and sample in one jailed process, as the classic harnesses do: the declared fallback for live objects.

The supervisor reads the report, not a referee.  A pass needs the job's token.  It lies in no variable and in nothing
that the interpreter would show: the report of a pass is made before the sample runs and waits on the stack of the
call that sends it, whose code nobody can change.  A program that is out for it can still pass falsely in several
ways; docs/sandbox.md lists them.
"""

from __future__ import annotations

import builtins
import gc
import json
import os
import re
import sys
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType
from typing import Any

from passcurve.harness.exceptions import describe
from passcurve.harness.framing import send_frame
from passcurve.harness.messages import TEST_NAME, TEXT_CHARACTERS, pack_report, test_line
from passcurve.harness.sample import SOURCE_NAME, limit_recursion, prepare, read_job

SEEN_ITEMS, SEEN_CHARACTERS = 8, 80
_SEEN_BYTES = 4096
_HEAP_TYPE = 1 << 9
_BUILTINS = dict(vars(builtins))
_MODULES = frozenset(sys.modules)
"""Loaded before the fork: to look at all that they hold would copy a page of memory for nearly each."""
_OTHER_CHECK = re.compile(r"^[ \t]*(check[ \t]*[=:,]|@.*\s+def check\b)", re.MULTILINE)
_IMPORTS = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import\b|import[ \t]+([\w., \t]+))", re.MULTILINE)
_SPIES = (
    (sys, "settrace", "trace function set"),
    (sys, "setprofile", "profile function set"),
    (sys, "_current_frames", "frames of threads read"),
    (gc, "get_objects", "objects searched"),
    (gc, "get_referrers", "objects searched"),
    (gc, "get_referents", "objects searched"),
)
"""Functions that ordinary programs do not call, and what is told of those that do."""


def main(descriptors: list[int]) -> None:
    """Run program and tests, then send one report."""
    line, *file = descriptors
    setup = read_job(line, file)
    leave = os._exit
    # One expression: what stands left of the run is evaluated before it, and waits where no sample can name it.
    os.write(line, b"".join((_passed(setup.pop("token")), _run(_reporter(line), setup))))
    leave(0)


def _passed(token: str) -> bytes:
    """Return the frame of a pass but for its end, whose length is known before."""
    start = pack_report({"status": "passed", "message": "", "token": token})[:-1]
    return (len(start) + _SEEN_BYTES).to_bytes(4, "little") + start


def _run(say: Callable[[dict[str, Any]], None], setup: dict[str, Any]) -> bytes:
    """Return the end of the report of a pass; whatever else happens is said, and ends the process.

    All in one function: a sample can change the code of one that is still to be called, not of one that runs.
    """
    run, get = exec, getattr
    entry_point, test = setup["entry_point"], setup["test"].decode("utf-8", "surrogatepass")
    module, text = prepare(setup)
    names = module.__dict__
    try:
        code = compile(text, SOURCE_NAME, "exec", dont_inherit=True)
    except BaseException as error:
        say(_ended("compile", error, "", []))
        raise
    try:
        tests = compile(test, TEST_NAME, "exec", dont_inherit=True)
    except BaseException as error:
        say(_ended("failed", error, test, []))
        raise
    plain = _plain_check(tests, test)
    watch = Watch(text, names, test, tests)
    limit_recursion()
    try:
        run(code, names)
        watch.loaded()
        run(tests, names)
        check = names["check"]
        if plain is not None and (get(check, "__code__", None) is not plain or check.__globals__ is not names):
            watch.note("check replaced")
            raise RuntimeError("the sample replaced the tests' check")
        watch.tested()
        check(names[entry_point])
    except BaseException as error:
        sys.setrecursionlimit(10_000)
        seen = watch.seen()
        say(_ended("memory" if isinstance(error, MemoryError) else "failed", error, test, seen))
        raise
    return (b', "seen": %s}' % json.dumps(watch.seen()).encode()).ljust(_SEEN_BYTES)


def _plain_check(tests: CodeType, source: str) -> CodeType | None:
    """Return the code of the check that the tests define, or None when they do more with that name."""
    codes = [each for each in tests.co_consts if isinstance(each, CodeType) and each.co_name == "check"]
    return codes[0] if len(codes) == 1 and not _OTHER_CHECK.search(source) else None


class Watch:
    """What a sample could change in its favour: kept before it runs, put back before the tests, compared after them."""

    def __init__(self, source: str, names: dict[str, Any], test: str, tests: CodeType) -> None:
        self._names = names
        self._notes: list[str] = []
        self._old: dict[str, Any] = {}
        self._ctypes = "ctypes" in source
        for module, name, what in _SPIES:
            setattr(module, name, self._spied(getattr(module, name), what))
        used = _used(tests)
        known = _BUILTINS if "builtins" in source else {name: _BUILTINS[name] for name in used & _BUILTINS.keys()}
        self._kept: list[tuple[Any, str, dict[str, Any]]] = [
            (builtins, "builtins", known),
            (os, "os", {"write": os.write, "_exit": os._exit}),
        ]
        self._modules = {name: sys.modules[name] for name in _imported(test)}
        for name, module in self._modules.items():
            self._kept += _callables(name, module, used if name in _MODULES else None)

    def note(self, what: str) -> None:
        """Remember something, once."""
        if what not in self._notes:
            self._notes.append(what[:SEEN_CHARACTERS])

    def loaded(self) -> None:
        """Put back what the program changed while it was loaded."""
        self._compare(restore=True)
        self._old = dict(self._names)

    def tested(self) -> None:
        """Take in what the tests have defined."""
        self._old = {
            name: value for name, value in self._names.items() if callable(value) and self._old.get(name) is not value
        }

    def seen(self) -> list[str]:
        """Return what was seen, in a few words each."""
        self._compare(restore=False)
        if self._ctypes and "ctypes" in sys.modules:
            self.note("ctypes used")
        for name, value in self._old.items():
            if callable(value) and self._names.get(name) is not value:
                self.note("tests changed: %s" % name)
        monitoring = getattr(sys, "monitoring", None)
        if monitoring is not None and any(monitoring.get_tool(number) for number in range(6)):
            self.note("monitoring tool set")
        return self._notes[:SEEN_ITEMS]

    def _spied(self, function: Callable[..., Any], what: str) -> Callable[..., Any]:
        def spy(*args: Any, **kwargs: Any) -> Any:
            if args != (None,):
                self.note(what)
            return function(*args, **kwargs)

        spy.__name__ = spy.__qualname__ = function.__name__
        return spy

    def _compare(self, restore: bool) -> None:
        for owner, name, kept in self._kept:
            now = vars(owner)
            for key, value in kept.items():
                if now.get(key) is not value and not _is_own(now.get(key), name):
                    self.note("%s changed: %s" % (name, key))
                    if restore:
                        setattr(owner, key, value)
        for name, module in self._modules.items():
            if sys.modules.get(name) is not module:
                self.note("sys.modules changed: %s" % name)
                if restore:
                    sys.modules[name] = module


def _imported(test: str) -> list[str]:
    """Import what the tests are going to import, so that a sample finds it already there; return the names."""
    found = []
    for one, many in _IMPORTS.findall(test):
        for each in [one] if one else many.split(","):
            name = each.split()[0] if each.split() else ""
            if name not in sys.modules:
                try:
                    exec("import %s" % name, {})
                except Exception:
                    continue  # it says so itself when the tests come to it
            if name in sys.modules and name != "sample" and name not in found:
                found.append(name)
    return found


def _used(code: CodeType) -> set[str]:
    """Return all names that some code looks up, those of attributes included."""
    names = set(code.co_names)
    for each in code.co_consts:
        if isinstance(each, CodeType):
            names |= _used(each)
    return names


def _callables(name: str, module: ModuleType, used: set[str] | None) -> list[tuple[Any, str, dict[str, Any]]]:
    """Return what a module offers to call, and the same of its own classes; only what is used where that is given."""
    there = vars(module)
    wanted = there if used is None else used & there.keys()
    offered = {key: there[key] for key in wanted if callable(there[key])}
    kept: list[tuple[Any, str, dict[str, Any]]] = [(module, name, offered)]
    for key, value in offered.items():
        if isinstance(value, type) and value.__flags__ & _HEAP_TYPE and value.__module__.split(".")[0] == _top(name):
            methods = {each: method for each, method in vars(value).items() if callable(method)}
            kept.append((value, "%s.%s" % (name, key), methods))
    return kept


def _is_own(value: Any, name: str) -> bool:
    """Whether a function lies in the files of the package itself: some put others in their place when first used."""
    return isinstance(value, FunctionType) and "/%s/" % _top(name) in value.__code__.co_filename


def _top(name: str) -> str:
    return name.partition(".")[0]


def _reporter(descriptor: int) -> Callable[[dict[str, Any]], None]:
    """Bind what a report needs before the sample can replace it."""
    write, pack, send, leave = os.write, pack_report, send_frame, os._exit

    def say(report: dict[str, Any]) -> None:
        send(descriptor, pack(report), write)
        leave(0)

    return say


def _ended(status: str, error: BaseException, test: str, seen: list[str]) -> dict[str, Any]:
    said = describe(error)
    message = "%s: %s" % (said["type"], said["message"]) if said["message"] else said["type"]
    return {
        "status": status,
        "message": message[:TEXT_CHARACTERS],
        "exception": said["type"],
        "test_line": test_line(error, test) if test else "",
        "seen": seen,
    }
