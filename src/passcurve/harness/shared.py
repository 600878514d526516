"""Shared mode: tests and sample in one jailed process, as in classic harnesses, for tests that need live objects.

The process reports to the supervisor without a referee.  The report of a pass must hold the job's token.  No variable
holds the token, and the interpreter shows it nowhere: the report of a pass is made before the sample runs, and stays
on the stack of the call that sends it, whose code a sample cannot change.  A program that looks for it can still pass
falsely in several ways; docs/verdicts.md lists them.
"""

from __future__ import annotations

import builtins
import gc
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from passcurve.harness.exceptions import describe
from passcurve.harness.framing import send_frame
from passcurve.harness.function_tests import count_until, find_tests
from passcurve.harness.job_start import limit_recursion, read_job
from passcurve.harness.messages import TEST_NAME, TEXT_CHARACTERS, encode_report, failing_line
from passcurve.harness.protocol import SharedJob, SharedReport
from passcurve.harness.sample import SOURCE_NAME, make_module
from passcurve.harness.streams import use_descriptors

MAX_FINDINGS, FINDING_CHARACTERS = 8, 80
FINDINGS_BYTES = 4096
_HEAP_TYPE = 1 << 9
_BUILTINS = dict(vars(builtins))
_OTHER_CHECK = re.compile(r"^[ \t]*(check[ \t]*[=:,]|@.*\s+def check\b)", re.MULTILINE)
_IMPORTS = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import\b|import[ \t]+([\w., \t]+))", re.MULTILINE)
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


def main(descriptors: list[int]) -> None:
    """Run program and tests, then send one report."""
    use_descriptors()
    connection, *file = descriptors
    job = read_job(connection, file)
    leave = os._exit
    # One expression: the operand left of `_run` is evaluated first, and stays where no sample can name it.
    os.write(connection, b"".join((begin_pass(job.pop("token")), _run(make_reporter(connection), job))))
    leave(0)


def begin_pass(token: str, end_bytes: int = FINDINGS_BYTES) -> bytes:
    """Return the frame of a pass without its end, whose size is known before."""
    start = encode_report({"status": "passed", "message": "", "token": token})[:-1]
    return (len(start) + end_bytes).to_bytes(4, "little") + start


def _run(send_report: Callable[[SharedReport], None], job: SharedJob) -> bytes:
    """Return the end of the report of a pass; in any other case send another report and end the process.

    This is one function: a sample can change the code of a function that is called later, not of one that runs.
    """
    run, get = exec, getattr
    entry_point, test = job["entry_point"], job["test"].decode("utf-8", "surrogatepass")
    module, text = make_module(job)
    names = module.__dict__
    try:
        code = compile(text, SOURCE_NAME, "exec", dont_inherit=True)
    except BaseException as error:
        send_report(make_failure("compile", error, "", []))
        raise
    try:
        tests = compile(test, TEST_NAME, "exec", dont_inherit=True)
    except BaseException as error:
        send_report(make_failure("failed", error, test, []))
        raise
    check_code = _find_check(tests, test)
    monitor = Monitor(text, names, test, tests, entry_point)
    limit_recursion()
    try:
        run(code, names)
        monitor.restore()
        run(tests, names)
        check = names["check"]
        if check_code is not None and (
            get(check, "__code__", None) is not check_code or check.__globals__ is not names
        ):
            monitor.add_finding("check replaced")
            raise RuntimeError("the sample replaced the tests' check")
        monitor.keep_tests()
        check(names[entry_point])
    except BaseException as error:
        sys.setrecursionlimit(10_000)
        findings = monitor.find_changes()
        report = make_failure("memory" if isinstance(error, MemoryError) else "failed", error, test, findings)
        send_report({**report, **count_until(find_tests(test), error)})
        raise
    return (b', "seen": %s}' % json.dumps(monitor.find_changes()).encode()).ljust(FINDINGS_BYTES)


def _find_check(tests: CodeType, source: str) -> CodeType | None:
    """Return the code of the function ``check`` of the tests, or None if they use that name for more."""
    codes = [const for const in tests.co_consts if isinstance(const, CodeType) and const.co_name == "check"]
    return codes[0] if len(codes) == 1 and not _OTHER_CHECK.search(source) else None


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
            else {name: _BUILTINS[name] for name in self._used_builtins}
        )
        self._kept: list[tuple[Any, str, dict[str, Any]]] = [
            (builtins, "builtins", kept_builtins),
            (os, "os", {"write": os.write, "_exit": os._exit}),
        ]
        # Reading all that is in modules loaded before the fork would copy nearly all their pages of memory.
        before_fork = frozenset(sys.modules)
        self._modules = {name: sys.modules[name] for name in _import_modules(test)}
        for name, module in _reached_modules(self._modules, used).items():
            self._kept += _find_callables(name, module, used, every=name not in before_fork)
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
            if sys.modules.get(name) is not module:
                self.add_finding("sys.modules changed: %s" % name)
                if restore:
                    sys.modules[name] = module


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
    for key, value in callables.items():
        if (
            isinstance(value, type)
            and value.__flags__ & _HEAP_TYPE
            and value.__module__.split(".")[0] == _package(name)
        ):
            methods = {
                attribute: method
                for attribute, method in vars(value).items()
                if callable(method) or type(method) in _METHODS
            }
            kept.append((value, "%s.%s" % (name, key), methods))
    return kept


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


def make_reporter(descriptor: int) -> Callable[[SharedReport], None]:
    """Return a function that sends a report and exits, with what it needs bound before the sample can replace it."""
    write, encode, send, leave = os.write, encode_report, send_frame, os._exit

    def send_report(report: SharedReport) -> None:
        send(descriptor, encode(report), write)
        leave(0)

    return send_report


def make_failure(status: str, error: BaseException, test: str, findings: list[str]) -> SharedReport:
    """Return the report of an exception that ended the check."""
    record = describe(error)
    kind, message = record["type"], record["message"]
    return {
        "status": status,
        "message": ("%s: %s" % (kind, message) if message else kind)[:TEXT_CHARACTERS],
        "exception": kind,
        "test_line": failing_line(error, test) if test else "",
        "seen": findings,
    }
