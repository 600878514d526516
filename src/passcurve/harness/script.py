"""Runs a program as a script: a text on standard input, and what it writes to standard output as the result.

It runs in the process of the sample.  A new process has real files behind descriptors 0 and 1.  A process that is to
be rewound may open none: it has streams in memory (``script_streams``).
"""

from __future__ import annotations

import atexit
import builtins
import gc
import io
import os
import sys
import threading
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any

from passcurve.harness.script_harnesses import LIVECODEBENCH, FunctionCall, is_harness
from passcurve.harness.script_state import InterpreterState, join_threads
from passcurve.harness.script_streams import BUFFER_BYTES, STANDARD, MemoryStreams, Redirection, find_stream

_BEYOND_LONG = 1 << 63
"""An exit status that no C long holds is 255; of any other the kernel keeps the last byte."""


class _ExitError(BaseException):
    """The program has called ``os._exit``: what it has not flushed is lost."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class _Pipe(io.FileIO):
    """A file that has no place, as standard output has none in memory."""

    def seekable(self) -> bool:
        return False


class ScriptRunner:
    """One program, compiled, which runs from its beginning for each test."""

    def __init__(self, code: CodeType, make_module: Callable[[], ModuleType], form: str, *, is_kept: bool) -> None:
        self._code = code
        self._make_module = make_module
        self._form = form
        self._call: FunctionCall | None = None
        """The present call of the program, where a harness makes a function of it."""
        self._is_kept = is_kept
        self._thread_codes: list[int] = []
        """The code of an ``os._exit`` in a thread."""
        builtins.__dict__.update(exit=_exit, quit=None if form == LIVECODEBENCH else _exit)
        os._exit = self._leave  # type: ignore[assignment]
        self._streams = MemoryStreams()
        if is_kept:
            self._streams.install()
        self._state = InterpreterState(code)
        atexit._clear()
        gc.freeze()

    def __call__(self, text: str) -> str:
        """Return what the program writes for an input; raise what it raises, and SystemExit for a code but zero."""
        self._call = FunctionCall(self._form, text) if is_harness(self._form) else None
        data = b"" if self._call else text.encode("utf-8", "surrogatepass")
        run = self._run_in_memory if self._is_kept else self._run_with_files
        try:
            output = run(data)
            # Bytes that are no text are equal to none that a test can expect.
            return self._call.output() if self._call else output.decode("utf-8", "surrogateescape")
        finally:
            self._state.restore()

    def _run_with_files(self, data: bytes) -> bytes:
        try:
            files = [os.open(".", os.O_RDWR | os.O_TMPFILE, 0o600) for _ in range(2)]
        except (OSError, AttributeError):
            return self._run_in_memory(data)
        saved = [os.dup(number) for number in STANDARD]
        try:
            with open(files[0], "wb", closefd=False) as file:
                file.write(data)
            os.lseek(files[0], 0, os.SEEK_SET)
            os.dup2(files[0], 0)
            os.dup2(files[1], 1)
            builtins.open = io.open = _make_open(io.open)
            os.open = _make_os_open(os.open)
            streams = io.FileIO(0, "rb", closefd=False), _Pipe(1, "wb", closefd=False)
            self._run(*streams, self._streams.begin(b"").streams()[2])
            os.lseek(files[1], 0, os.SEEK_SET)
            # `open` may be the program's or that of a harness now.
            with io.FileIO(files[1], "rb", closefd=False) as file:
                return file.readall()
        finally:
            for number, copy in zip(STANDARD, saved):
                os.dup2(copy, number)
            for descriptor in (*files, *saved):
                os.close(descriptor)

    def _run_in_memory(self, data: bytes) -> bytes:
        descriptors = self._streams.begin(data)
        streams = descriptors.streams()
        self._run(*streams)
        return descriptors.output()

    def _run(self, source: Any, output: Any, errors: Any) -> None:
        stdin = io.TextIOWrapper(io.BufferedReader(source, BUFFER_BYTES), "utf-8", "surrogateescape")
        stdout = io.TextIOWrapper(io.BufferedWriter(output, BUFFER_BYTES), "utf-8", "surrogateescape", newline="\n")
        stderr = io.TextIOWrapper(io.BufferedWriter(errors), "utf-8", "backslashreplace", newline="\n")
        # As those of an interpreter have it, which `open` makes.
        stdin.mode, stdout.mode, stderr.mode = "r", "w", "w"  # type: ignore[misc]
        _set_streams(stdin, stdout, stderr)
        sys.argv = ["sample.py"]
        module = self._make_module()
        # In a main module it is the module; `exec` would put its names there.
        module.__dict__["__builtins__"] = builtins
        self._thread_codes.clear()
        try:
            try:
                if self._call:
                    self._call.run(self._code, module)
                else:
                    exec(self._code, module.__dict__)
            except SystemExit as error:
                self._take_exit(error)
            finally:
                join_threads()
                if atexit._ncallbacks():
                    atexit._run_exitfuncs()
        except _ExitError as error:
            # What was not flushed is lost, as it is when a process ends so.
            # A harness gets no result of a process that ends.
            if error.code & 0xFF or self._call:
                raise SystemExit(error.code) from None
            return
        except KeyboardInterrupt:
            code = self._thread_codes.pop() if self._thread_codes else -1
            if code < 0:
                raise
            if code & 0xFF or self._call:
                raise SystemExit(code) from None
            return
        _flush(getattr(sys, "stdout", None))
        # As an interpreter that ends does: its own streams outlive those of the program, and what holds unwritten text.
        _set_streams(stdin, stdout, stderr)
        module.__dict__.clear()
        gc.collect()
        _flush(stdout)

    def _take_exit(self, error: SystemExit) -> None:
        code = error.code
        is_zero = code is None or (isinstance(code, int) and -_BEYOND_LONG <= code < _BEYOND_LONG and not code & 0xFF)
        if not is_zero and not self._call:
            raise error

    def _leave(self, code: int) -> None:
        if threading.current_thread() is threading.main_thread():
            raise _ExitError(code)
        import _thread

        self._thread_codes.append(code)
        _thread.interrupt_main()
        raise SystemExit


def _exit(code: object = None) -> None:
    """End the program: ``exit`` and ``quit``, which are missing without ``site``."""
    raise SystemExit(code)


def _names_stream(file: Any) -> bool:
    return find_stream(file) is not None


def _make_open(function: Any) -> Any:
    """Return ``open``, which finds the standard streams by name too: there may be no such file."""

    def open_stream(file: Any, *args: Any, **names: Any) -> Any:
        # What comes sixth is ``closefd``.
        return function(find_stream(file), *args[:5], **{**names, "closefd": False})

    return Redirection(function, "file", _names_stream, open_stream)


def _make_os_open(function: Any) -> Any:
    """Return ``os.open``, which finds the standard streams by name too."""
    return Redirection(function, "path", _names_stream, lambda path, *_, **__: os.dup(find_stream(path) or 0))


def _set_streams(stdin: io.TextIOWrapper, stdout: io.TextIOWrapper, stderr: io.TextIOWrapper) -> None:
    sys.stdin, sys.stdout, sys.stderr = stdin, stdout, stderr
    # Their types say that nobody sets these two: an interpreter does when it begins, which this stands for.
    sys.__stdin__, sys.__stdout__ = stdin, stdout  # type: ignore[misc]


def _flush(stream: Any) -> None:
    try:
        if not getattr(stream, "closed", False):
            stream.flush()
    except (ValueError, AttributeError):
        pass  # closed, detached or none: there is nothing to flush
