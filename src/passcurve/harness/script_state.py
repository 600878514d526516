"""The state of the interpreter that a script finds, and its return to it before the next test.

One process runs all tests of a script, and each test begins as in a new interpreter: what the script has put into
modules and classes that it names, into ``sys``, the environment or a timer is taken back.  Threads that would end with
their interpreter are told to end.
"""

from __future__ import annotations

import atexit
import builtins
import gc
import io
import opcode
import os
import sys
import threading
from collections.abc import Iterator
from types import CodeType, ModuleType
from typing import Any

_IMPORT, _EXTENDED = opcode.opmap["IMPORT_NAME"], opcode.opmap["EXTENDED_ARG"]
_FLAG_BITS = 2 if sys.version_info >= (3, 15) else 0
"""Bits below the number of a name in an import's argument: whether it is lazy."""
_WITH_EFFECTS = frozenset(("__main__", "antigravity", "this"))
"""Modules whose import does something that a user sees."""

_STANDARD_LIBRARY: frozenset[str] = getattr(sys, "stdlib_module_names", frozenset())
_HEAP_TYPE = 1 << 9
"""The flag of classes whose attributes can be set."""

_UNKNOWN = -1


class InterpreterState:
    """The state in which a script begins: modules and classes that it names, ``sys``, the environment, settings."""

    def __init__(self, code: CodeType) -> None:
        codes = list(_nested_codes(code))
        imported = {name for one in codes for name in _imported_names(one)}
        # Imported before they are kept: the script would do it first thing.
        for name in imported:
            _import(name)
        modules = [builtins, os, io, sys, *(sys.modules[name] for name in sorted(imported) if name in sys.modules)]
        modules = [module for module in dict.fromkeys(modules) if type(module) is ModuleType]
        names = {name for one in codes for name in one.co_names}
        self._modules = [(module, dict(module.__dict__)) for module in modules]
        self._classes = [(cls, dict(vars(cls))) for cls in _classes_of(modules, names)]
        self._table = sys.modules
        self._loaded = {name: sys.modules[name] for name in imported if name in sys.modules}
        # As a name in a module, to be put back: nothing is configured by it here.
        self._environment = os.__dict__["environ"]
        self._variables = dict(self._environment)
        self._path = list(sys.path)
        self._folder = os.getcwd()
        self._stack_bytes = threading.stack_size()
        self._digits = sys.get_int_max_str_digits() if hasattr(sys, "get_int_max_str_digits") else _UNKNOWN
        self._handlers = _signal_handlers() if "signal" in imported else {}

    def restore(self) -> None:
        """Put everything back, so that the next test begins as the first did."""
        _end_threads()
        for module, names in self._modules:
            if module.__dict__ != names:
                _restore_names(module.__dict__, names)
        for cls, attributes in self._classes:
            _restore_class(cls, attributes)
        sys.modules = self._table
        sys.modules.update(self._loaded)
        sys.path[:] = self._path
        # Only where there is one: from Python 3.12 on each such call has all functions make objects when they next run.
        if sys.gettrace() is not None:
            sys.settrace(None)
        if sys.getprofile() is not None:
            sys.setprofile(None)
        atexit._clear()
        if self._environment != self._variables:
            self._environment.clear()
            self._environment.update(self._variables)
        if os.getcwd() != self._folder:
            os.chdir(self._folder)
        if threading.stack_size() != self._stack_bytes:
            threading.stack_size(self._stack_bytes)
        if self._digits != _UNKNOWN and sys.get_int_max_str_digits() != self._digits:
            sys.set_int_max_str_digits(self._digits)
        if not gc.isenabled():
            gc.enable()
        if "decimal" in sys.modules:
            decimal = sys.modules["decimal"]
            decimal.setcontext(decimal.Context())
        if "logging" in self._loaded:
            _restore_logging(self._loaded["logging"])
        if "asyncio" in self._loaded:
            self._loaded["asyncio"].set_event_loop_policy(None)
        if self._handlers:
            _restore_signals(self._handlers)


def join_threads() -> None:
    """Wait for the threads that an interpreter waits for at its end, and have those of idle pools end."""
    pools: Any = sys.modules.get("concurrent.futures.thread")
    if pools is not None and len(pools._threads_queues):
        pools._python_exit()
        pools._shutdown = False
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def _nested_codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if type(const) is CodeType:
            yield from _nested_codes(const)


def _imported_names(code: CodeType) -> Iterator[str]:
    """Yield the names of the modules that the statements of a code object import."""
    operations, arguments = code.co_code[::2], code.co_code[1::2]
    place = operations.find(_IMPORT)
    while place >= 0:
        number = arguments[place]
        if place and operations[place - 1] == _EXTENDED:
            number |= arguments[place - 1] << 8
        yield code.co_names[number >> _FLAG_BITS]
        place = operations.find(_IMPORT, place + 1)


def _import(name: str) -> None:
    """Import a module of the standard library, if it is one."""
    top = name.partition(".")[0]
    if name in sys.modules or top not in _STANDARD_LIBRARY or top in _WITH_EFFECTS:
        return
    try:
        __import__(name)
    except BaseException:
        pass  # the script will meet it itself


def _classes_of(modules: list[ModuleType], names: set[str]) -> Iterator[Any]:
    """Yield the classes of modules that a script names and could change."""
    for module in modules:
        for name in names & module.__dict__.keys():
            cls = module.__dict__[name]
            if isinstance(cls, type) and cls.__flags__ & _HEAP_TYPE:
                yield cls


def _restore_names(present: dict[str, Any], names: dict[str, Any]) -> None:
    added = present.keys() - names.keys()
    present.update(names)
    for name in added:
        del present[name]


def _restore_class(cls: Any, attributes: dict[str, Any]) -> None:
    present = dict(vars(cls))
    if present.keys() == attributes.keys() and all(present[name] is item for name, item in attributes.items()):
        return
    for name in present.keys() - attributes.keys():
        delattr(cls, name)
    for name, item in attributes.items():
        if present.get(name) is not item:
            setattr(cls, name, item)


def _end_threads() -> None:
    """Have the threads that still run raise SystemExit: an interpreter that ends would not wait for them."""
    if len(threading._active) < 2:  # type: ignore[attr-defined]
        return
    import ctypes

    for thread in threading.enumerate():
        if thread is not threading.current_thread() and thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))


def _restore_logging(logging: Any) -> None:
    """Take back what ``basicConfig`` and other settings of the root have done."""
    for handler in list(logging.root.handlers):
        logging.root.removeHandler(handler)
    logging.root.setLevel(logging.WARNING)
    logging.root.manager.loggerDict.clear()
    logging.disable(logging.NOTSET)


def _signal_handlers() -> dict[int, Any]:
    import signal

    return {number: signal.getsignal(number) for number in signal.valid_signals()}


def _restore_signals(handlers: dict[int, Any]) -> None:
    """Stop the timers and put back the handlers."""
    import signal

    for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
        signal.setitimer(timer, 0)
    for number, handler in handlers.items():
        if handler is not None and signal.getsignal(number) is not handler:
            signal.signal(number, handler)
