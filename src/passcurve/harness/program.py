"""Runs a Python file in this process as a new interpreter runs its script: same module, streams, traceback and end.

The interpreter is ready, which saves its start.  Nothing is reported: output goes to files that were handed over, and
the end of this process is seen from outside.  Before the program begins a frame says so; then nothing is left that it
could write to but these files.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import json
import marshal
import os
import resource
import signal
import site
import socket
import sys
import threading
from collections.abc import Set as AbstractSet
from contextlib import suppress
from importlib.machinery import BuiltinImporter, FrozenImporter
from types import ModuleType, TracebackType
from typing import Any, NoReturn

from passcurve.harness.command import fetch_files, set_streams, write_file
from passcurve.harness.framing import send_frame
from passcurve.harness.job_start import limit_recursion, read_job
from passcurve.harness.protocol import BEGUN, MARSHAL_VERSION
from passcurve.harness.streams import open_streams

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
}
"""The variables that every program finds; its scratch is there."""

_REHEARSALS = 40
"""CPython specialises code in its first 8 runs, and leaves it unchanged after a few more."""
_BEYOND_LONG = 1 << 63
"""CPython takes a status outside of a C long for -1."""
_FLUSH_FAILED = 120
"""Exit status of an interpreter whose standard streams cannot be written at its end, whatever it would have been."""
_HIGHEST_DESCRIPTOR = 1 << 10

_IS_LATE = sys.version_info >= (3, 14)
_FLUSHING = "while flushing sys.stdout" if _IS_LATE else "on flushing sys.stdout"
_MAIN_NAMES: dict[str, object] = {} if _IS_LATE else {"__annotations__": {}}
"""Names of the main module besides those of every module."""
if sys.version_info < (3, 15):
    _MAIN_NAMES["__cached__"] = None

_display = sys.__excepthook__
_flush_c = ctypes.CDLL(None).fflush


def main(descriptors: list[int]) -> NoReturn:
    """Write the files of a job, run the first of them, and end as its interpreter would."""
    connection, out, err, fetched, *file = descriptors
    job = read_job(connection, file)
    for name, data in job["files"].items():
        write_file(name, data)
    set_streams(job["stdin"], out, err)
    if job["fetch"]:
        # The program may signal this process before its next line runs, and it then ends for the program.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if pid := os.fork():
            _fetch_files(pid, job["fetch"], fetched)
    path = os.path.abspath(job["argv"][0])
    _prepare(path, job["argv"][1:])
    send_frame(connection, BEGUN)
    os.closerange(3, _HIGHEST_DESCRIPTOR)
    resource.setrlimit(resource.RLIMIT_AS, (job["memory_bytes"], job["memory_bytes"]))
    loaded = sys.modules.keys() - {"__main__"}
    _hide_modules(job["files"].keys(), loaded)
    status = 1
    try:
        limit_recursion()
        if sys.version_info < (3, 12):
            # The call of exec is a level there, too.
            sys.setrecursionlimit(sys.getrecursionlimit() + 1)
        status = _execute(path)
        status = _end(status, loaded)
    finally:
        os._exit(status & 0xFF)


def _fetch_files(pid: int, names: list[str], target: int) -> NoReturn:
    """Wait for the process that runs the program, write the files that it leaves, and end as it has ended."""
    _, status = os.waitpid(pid, 0)
    with open(target, "wb", closefd=False) as file:
        file.write(json.dumps(fetch_files(names)).encode())
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def rehearse() -> None:
    """Do before any fork what is the same for every program, and the rest often enough for it to be specialised."""
    environment = os.__dict__["environ"]
    environment.clear()
    environment.update(ENVIRONMENT)
    # The interpreter was started without it.
    site.setquit()
    site.setcopyright()
    site.sethelper()
    own, main_module = [os.dup(number) for number in range(3)], sys.modules["__main__"]
    read, write = os.pipe()
    set_streams(b"", write, write)
    open_streams((0, 1, 2))
    job = marshal.dumps({"files": {}, "stdin": b""}, MARSHAL_VERSION)
    for _ in range(_REHEARSALS):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            send_frame(ours.fileno(), job)
            read_job(theirs.fileno(), [])
        write_file(os.devnull, b"")
        _prepare(os.devnull, [])
        del sys.path[0]
        _execute(os.devnull)
    sys.modules["__main__"] = main_module
    for number, descriptor in enumerate(own):
        os.dup2(descriptor, number)
    for descriptor in (*own, read, write):
        os.close(descriptor)


def _prepare(path: str, arguments: list[str]) -> None:
    """Make this interpreter look like one that starts with these arguments."""
    sys.argv = [path, *arguments]
    sys.path.insert(0, os.path.dirname(path))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # CPython updates its other number after a fork, but not this one.  The stubs lack the function.
    threading.main_thread()._set_native_id()  # type: ignore[attr-defined]
    atexit._clear()
    if "random" in sys.modules:
        # It would have the state of the process that this one was forked from.
        sys.modules["random"].seed()


def _hide_modules(files: AbstractSet[str], loaded: AbstractSet[str]) -> None:
    """Forget what was imported for all programs where this one has a file of that name, which an import finds first."""
    for own in {name.partition("/")[0].removesuffix(".py") for name in files} & loaded:
        if not BuiltinImporter.find_spec(own) and not FrozenImporter.find_spec(own):
            for name in [name for name in loaded if name.partition(".")[0] == own]:
                del sys.modules[name]


def _execute(path: str) -> int:
    """Run the file as the main module; return its exit status, below zero for a signal."""
    module = sys.modules["__main__"] = ModuleType("__main__")
    names = module.__dict__
    names.update(__file__=path, __builtins__=sys.modules["builtins"], **_MAIN_NAMES)
    # Nothing here may hold the module, whose last reference the program can drop.
    del module
    try:
        try:
            with open(path, "rb") as file:
                code = compile(file.read(), path, "exec", dont_inherit=True)
            exec(code, names)
        finally:
            sys.settrace(None)
            sys.setprofile(None)
    except SystemExit as error:
        return _exit_status(error)
    except BaseException as error:
        status = _show(error, _own_traceback(error))
        return -signal.SIGINT if _is_interrupt(error) else status
    return 0


def _end(status: int, loaded: AbstractSet[str]) -> int:
    """Do what an interpreter does at its end; return the exit status.

    ``loaded``: the modules that were there before the program.
    """
    try:
        # It waits for the threads that are no daemons.
        threads: Any = sys.modules.get("threading")
        if threads is not None:
            threads._shutdown()
    except BaseException as error:
        _show_ignored(error, threads, "on threading shutdown")
    atexit._run_exitfuncs()
    is_written = _flush_standard()
    # What the program holds goes with its modules.
    sys.last_type = sys.last_value = sys.last_traceback = None
    for name in [name for name in sys.modules if name not in loaded]:
        del sys.modules[name]
    gc.collect()
    for name in ("stdout", "stderr", "__stdout__", "__stderr__"):
        _flush(getattr(sys, name, None))
    _flush_c(None)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status if is_written else _FLUSH_FAILED


def _exit_status(error: SystemExit) -> int:
    code = error.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF if -_BEYOND_LONG <= code < _BEYOND_LONG else 0xFF
    with suppress(BaseException):
        stream = getattr(sys, "stderr", None)
        if stream is None:
            os.write(2, str(code).encode("utf-8", "backslashreplace"))
        else:
            stream.write(str(code))
    _write_error("\n")
    return 1


def _own_traceback(error: BaseException) -> TracebackType | None:
    """Return the traceback without the frame of this file."""
    return error.__traceback__.tb_next if error.__traceback__ is not None else None


def _show(error: BaseException, traceback: TracebackType | None) -> int:
    """Show an error that nothing has caught; return the exit status."""
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, traceback
    try:
        sys.excepthook(type(error), error.with_traceback(traceback), traceback)
    except SystemExit as end:
        return _exit_status(end)
    except BaseException as failure:
        _write_error("Error in sys.excepthook:\n")
        failure.__context__, failure.__traceback__ = None, _own_traceback(failure)
        _display(type(failure), failure, failure.__traceback__)
        _write_error("\nOriginal exception was:\n")
        _display(type(error), error.with_traceback(traceback), traceback)
    return 1


def _is_interrupt(error: BaseException) -> bool:
    """Tell whether an error ends the interpreter by SIGINT; before 3.14 its subclasses are errors like any other."""
    return isinstance(error, KeyboardInterrupt) if _IS_LATE else type(error) is KeyboardInterrupt


def _show_ignored(error: BaseException, source: object, when: str) -> None:
    place = f"{when}:" if sys.version_info >= (3, 13) else f"in: {source!r}"
    _write_error(f"Exception ignored {place}\n")
    _display(type(error), error.with_traceback(_own_traceback(error)), error.__traceback__)


def _write_error(text: str) -> None:
    """Write to standard error, to the descriptor where the stream does not work."""
    try:
        sys.stderr.write(text)
    except BaseException:
        with suppress(OSError):
            os.write(2, text.encode())


def _flush_standard() -> bool:
    """Write what the standard streams hold when the program has ended; return whether that worked."""
    out, err = getattr(sys, "stdout", None), getattr(sys, "stderr", None)
    is_written = True
    if out is not None and not getattr(out, "closed", False):
        try:
            out.flush()
        except BaseException as error:
            _show_ignored(error, out, _FLUSHING)
            is_written = False
    return _flush(err) and is_written


def _flush(stream: Any) -> bool:
    """Write what a stream still holds; return whether that worked."""
    try:
        if stream is not None and not getattr(stream, "closed", False):
            stream.flush()
    except BaseException:
        return False
    return True
