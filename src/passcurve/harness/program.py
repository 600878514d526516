"""Runs a Python file in this process as a new interpreter runs its script: same module, streams, traceback and end.

The interpreter is ready, which saves its start.  Nothing is reported: output goes to files that were handed over, and
the end of this process is seen from outside.  Before the program begins a frame says so; then nothing is left that it
could write to but these files.
"""

from __future__ import annotations

import atexit
import gc
import io
import json
import marshal
import os
import resource
import signal
import site
import socket
import sys
import threading
from types import ModuleType, TracebackType
from typing import Any, NoReturn

from passcurve.harness.command import fetch_files, set_streams, write_file
from passcurve.harness.framing import send_frame
from passcurve.harness.job_start import limit_recursion, read_job
from passcurve.harness.protocol import MARSHAL_VERSION

BEGUN = b"begun"

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
_FLUSH_FAILED = 120
"""Exit status of an interpreter whose standard output cannot be written at its end."""
_HIGHEST_DESCRIPTOR = 1 << 10


def main(descriptors: list[int]) -> NoReturn:
    """Write the files of a job, run the first of them, and end as its interpreter would."""
    connection, out, err, fetched, *file = descriptors
    job = read_job(connection, file)
    for name, data in job["files"].items():
        write_file(name, data)
    set_streams(job["stdin"], out, err)
    path = os.path.abspath(job["argv"][0])
    _prepare(path, job["argv"][1:])
    send_frame(connection, BEGUN)
    if job["fetch"] and (pid := os.fork()):
        _fetch_files(pid, job["fetch"], fetched)
    os.closerange(3, _HIGHEST_DESCRIPTOR)
    resource.setrlimit(resource.RLIMIT_AS, (job["memory_bytes"], job["memory_bytes"]))
    status = 1
    try:
        limit_recursion()
        module = ModuleType("__main__")
        sys.modules["__main__"] = module
        status = _end(module, _execute(path, module))
    except BaseException as error:
        _show(error, None)
    os._exit(status)


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
    own = [os.dup(number) for number in range(3)]
    read, write = os.pipe()
    set_streams(b"", write, write)
    _open_streams()
    job = marshal.dumps({"files": {}, "stdin": b""}, MARSHAL_VERSION)
    for _ in range(_REHEARSALS):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            send_frame(ours.fileno(), job)
            read_job(theirs.fileno(), [])
        write_file(os.devnull, b"")
        _prepare(os.devnull, [])
        del sys.path[0]
        _execute(os.devnull, ModuleType("__main__"))
    for number, descriptor in enumerate(own):
        os.dup2(descriptor, number)
    for descriptor in (*own, read, write):
        os.close(descriptor)


def _open_streams() -> None:
    """Open the standard streams on what is there now; they remember whether it can be sought in."""
    # The stubs call these three final; an interpreter that starts sets them too.
    sys.stdin = sys.__stdin__ = _open(0, "r", "surrogateescape")  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = _open(1, "w", "surrogateescape")  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _open(2, "w", "backslashreplace", line_buffering=True)  # type: ignore[misc]


def _prepare(path: str, arguments: list[str]) -> None:
    """Make this interpreter look like one that starts with these arguments."""
    sys.argv = [path, *arguments]
    sys.path.insert(0, os.path.dirname(path))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    atexit._clear()
    if "random" in sys.modules:
        # It would have the state of the process that this one was forked from.
        sys.modules["random"].seed()


def _open(number: int, mode: str, errors: str, *, line_buffering: bool = False) -> io.TextIOWrapper:
    raw = io.FileIO(number, mode, closefd=False)
    raw.name = f"<std{('in', 'out', 'err')[number]}>"
    buffer: Any = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
    newline = None if mode == "r" else "\n"
    stream = io.TextIOWrapper(buffer, "utf-8", errors, newline=newline, line_buffering=line_buffering)
    # A new interpreter sets it too, which the stubs call read-only.
    stream.mode = mode  # type: ignore[misc]
    return stream


def _execute(path: str, module: ModuleType) -> int:
    """Run the file as a module; return its exit status, below zero for a signal."""
    module.__dict__.update(__file__=path, __builtins__=sys.modules["builtins"], __annotations__={}, __cached__=None)
    try:
        with open(path, "rb") as file:
            code = compile(file.read(), path, "exec", dont_inherit=True)
        exec(code, module.__dict__)
    except SystemExit as error:
        return _exit_status(error)
    except KeyboardInterrupt as error:
        _show(error, _own_traceback(error))
        return -signal.SIGINT
    except BaseException as error:
        _show(error, _own_traceback(error))
        return 1
    return 0


def _end(module: ModuleType, status: int) -> int:
    """Do what an interpreter does at its end; return the exit status."""
    # It waits for the threads that are no daemons.  The stubs lack the function.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    module.__dict__.clear()
    gc.collect()
    is_written = _flush(sys.stdout)
    for stream in (sys.stderr, sys.__stdout__, sys.__stderr__):
        _flush(stream)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status if is_written or status else _FLUSH_FAILED


def _exit_status(error: SystemExit) -> int:
    code = error.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    sys.stderr.write("%s\n" % (code,))
    return 1


def _own_traceback(error: BaseException) -> TracebackType | None:
    """Return the traceback without the frame of this file."""
    return error.__traceback__.tb_next if error.__traceback__ is not None else None


def _show(error: BaseException, traceback: TracebackType | None) -> None:
    try:
        sys.excepthook(type(error), error.with_traceback(traceback), traceback)
    except BaseException as failure:
        sys.stderr.write("Error in sys.excepthook:\n")
        failure.__context__, failure.__traceback__ = None, _own_traceback(failure)
        sys.__excepthook__(type(failure), failure, failure.__traceback__)
        sys.stderr.write("\nOriginal exception was:\n")
        sys.__excepthook__(type(error), error.with_traceback(traceback), traceback)


def _flush(stream: Any) -> bool:
    """Write what a stream still holds; return whether that worked."""
    try:
        if stream is not None and not stream.closed:
            stream.flush()
    except BaseException:
        return False
    return True
