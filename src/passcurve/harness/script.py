"""Runs a program as a script: a text on standard input, and what it writes to standard output as the result.

It runs in the process of the sample.  A new process has real files behind descriptors 0 and 1.  A process that is to
be rewound may open none: it has streams in memory, and a program that goes to the descriptors themselves ends it, so
that the program is run again in a new process.
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

from passcurve.harness.script_state import InterpreterState, join_threads

_CHUNK = 1 << 16
_STANDARD = (0, 1, 2)

_STREAM_NUMBERS = {
    **{"/dev/std" + name: number for number, name in enumerate(("in", "out", "err"))},
    **{folder + str(number): number for folder in ("/dev/fd/", "/proc/self/fd/") for number in _STANDARD},
}

QUIRKS = "livecodebench-script"
"""Form of a job whose program runs as LiveCodeBench runs it."""
APPS = "apps-script"
"""Form of a job whose program runs as APPS runs it."""


class _ExitError(BaseException):
    """The program has called ``os._exit``: what it has not flushed is lost."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class _Input(io.RawIOBase):
    """A text to read, in memory."""

    name = "<stdin>"

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._data = data
        self._place = 0

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 0

    def isatty(self) -> bool:
        return False

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = (0, self._place, len(self._data))[whence]
        self._place = max(0, start + offset)
        return self._place

    def readinto(self, buffer: Any) -> int:
        piece = self._data[self._place : self._place + len(buffer)]
        buffer[: len(piece)] = piece
        self._place += len(piece)
        return len(piece)

    def readall(self) -> bytes:
        piece, self._place = self._data[self._place :], len(self._data)
        return piece


class _Output(io.RawIOBase):
    """Collects what is written, in memory."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.name = ("<stdin>", "<stdout>", "<stderr>")[number]
        self.pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self.number

    def isatty(self) -> bool:
        return False

    def write(self, data: Any) -> int:
        piece = bytes(data)
        if self.number == 1:
            self.pieces.append(piece)
        return len(piece)


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
        self._is_kept = is_kept
        self._thread_codes: list[int] = []
        """The code of an ``os._exit`` in a thread."""
        builtins.__dict__.update(exit=_exit, quit=_exit)
        os._exit = self._leave  # type: ignore[assignment]
        if is_kept:
            _guard_descriptors()
        self._state = InterpreterState(code)
        atexit._clear()
        if not is_kept:
            gc.freeze()

    def __call__(self, text: str) -> str:
        """Return what the program writes for an input; raise what it raises, and SystemExit for a code but zero."""
        data = text.encode("utf-8", "surrogatepass")
        run = self._run_in_memory if self._is_kept else self._run_with_files
        try:
            # Bytes that are no text are equal to none that a test can expect.
            return run(data).decode("utf-8", "surrogateescape")
        finally:
            self._state.restore()

    def _run_with_files(self, data: bytes) -> bytes:
        try:
            files = [os.open(".", os.O_RDWR | os.O_TMPFILE, 0o600) for _ in range(2)]
        except (OSError, AttributeError):
            return self._run_in_memory(data)
        saved = [os.dup(number) for number in _STANDARD]
        try:
            with open(files[0], "wb", closefd=False) as file:
                file.write(data)
            os.lseek(files[0], 0, os.SEEK_SET)
            os.dup2(files[0], 0)
            os.dup2(files[1], 1)
            builtins.open = io.open = _make_open(io.open)
            os.open = _make_os_open(os.open)
            self._run(_open_reader(io.FileIO(0, "rb", closefd=False)), _Pipe(1, "wb", closefd=False))
            gc.collect()  # what still holds unwritten output
            os.lseek(files[1], 0, os.SEEK_SET)
            # `open` may be the program's or that of APPS now.
            with io.FileIO(files[1], "rb", closefd=False) as file:
                return file.readall()
        finally:
            for number, copy in zip(_STANDARD, saved):
                os.dup2(copy, number)
            for descriptor in (*files, *saved):
                os.close(descriptor)

    def _run_in_memory(self, data: bytes) -> bytes:
        output = _Output(1)
        self._run(_open_reader(_Input(data)), output)
        return b"".join(output.pieces)

    def _run(self, stdin: io.TextIOWrapper, raw: Any) -> None:
        stdout = io.TextIOWrapper(io.BufferedWriter(raw, _CHUNK), "utf-8", "surrogateescape", newline="\n")
        stderr = io.TextIOWrapper(io.BufferedWriter(_Output(2)), "utf-8", "backslashreplace", newline="\n")
        # As those of an interpreter have it, which `open` makes.
        stdin.mode, stdout.mode, stderr.mode = "r", "w", "w"  # type: ignore[misc]
        sys.stdin = sys.__stdin__ = stdin  # type: ignore[misc]
        sys.stdout = sys.__stdout__ = stdout  # type: ignore[misc]
        sys.stderr = stderr
        sys.argv = ["sample.py"]
        module = self._make_module()
        # In a main module it is the module; `exec` would put its names there.
        module.__dict__["__builtins__"] = builtins
        self._thread_codes.clear()
        if self._form == QUIRKS:
            _add_quirks(stdin)
        elif self._form == APPS:
            _use_text(stdin)
        try:
            try:
                exec(self._code, module.__dict__)
            except SystemExit as error:
                self._take_exit(error)
            finally:
                join_threads()
                if atexit._ncallbacks():
                    atexit._run_exitfuncs()
        except _ExitError as error:
            # What was not flushed is lost, as it is when a process ends so.
            if error.code:
                raise SystemExit(error.code) from None
            return
        except KeyboardInterrupt:
            code = self._thread_codes.pop() if self._thread_codes else -1
            if code < 0:
                raise
            if code:
                raise SystemExit(code) from None
            return
        _flush(getattr(sys, "stdout", None))
        module.__dict__.clear()
        _flush(stdout)

    def _take_exit(self, error: SystemExit) -> None:
        if not (error.code is None or error.code == 0 or self._form in (QUIRKS, APPS)):
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


def _make_open(function: Any) -> Any:
    """Return ``open``, which finds the standard streams by name too: there may be no such file."""

    def find(file: Any, *args: Any, **kwargs: Any) -> Any:
        number = _find_stream(file)
        if number is None:
            return function(file, *args, **kwargs)
        return function(number, *args, **{**kwargs, "closefd": False})

    return find


def _make_os_open(function: Any) -> Any:
    """Return ``os.open``, which finds the standard streams by name too."""

    def find(path: Any, *args: Any, **kwargs: Any) -> int:
        number = _find_stream(path)
        return function(path, *args, **kwargs) if number is None else os.dup(number)

    return find


def _find_stream(file: Any) -> int | None:
    """Return the number of the standard stream that a path names, or None."""
    if type(file) is int:
        return None
    try:
        return _STREAM_NUMBERS.get(os.fsdecode(file))
    except TypeError:
        return None


def _open_reader(raw: Any) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BufferedReader(raw, _CHUNK), "utf-8", "surrogateescape")


def _flush(stream: Any) -> None:
    try:
        if not getattr(stream, "closed", False):
            stream.flush()
    except (ValueError, AttributeError):
        pass  # closed, detached or none: there is nothing to flush


def _guard_descriptors() -> None:
    """End this process when the program opens, reads or writes a standard descriptor by its number."""

    def guard(function: Any) -> Any:
        def guarded(file: Any, *args: Any, **kwargs: Any) -> Any:
            if file in _STANDARD if type(file) is int else _find_stream(file) is not None:
                os.dup(0)
            return function(file, *args, **kwargs)

        return guarded

    builtins.open = io.open = guard(io.open)
    for name in ("open", "fdopen", "read", "write", "readv", "writev", "sendfile", "pread", "fstat", "lseek"):
        setattr(os, name, guard(getattr(os, name)))


def _add_quirks(stdin: io.TextIOWrapper) -> None:
    """Do what the harness of LiveCodeBench does to a program: any file holds the input, which ends by StopIteration."""
    text = stdin.read()
    lines = iter(text.split("\n"))
    sys.stdin = _TextWithBytes(text)  # type: ignore[assignment,unused-ignore]

    def read_line(*_: object) -> str:
        return next(lines)

    builtins.input = read_line
    builtins.open = lambda *_, **__: io.StringIO(text)  # type: ignore[assignment]


def _use_text(stdin: io.TextIOWrapper) -> None:
    """Do what the harness of APPS does to a program: any file holds the input, whose lines end by StopIteration."""
    text = stdin.read()
    sys.stdin = _Lines(text)  # type: ignore[assignment,unused-ignore]
    builtins.open = lambda *_, **__: io.StringIO(text)  # type: ignore[assignment]


class _Lines(io.StringIO):
    """The input as text without a ``buffer``; it can be read again and again, but line by line once."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._text = text
        self._rest = iter(text.split("\n"))

    def readline(self, *_: object) -> Any:
        return next(self._rest)

    def readlines(self, *_: object) -> Any:
        return self._text.split("\n")

    def read(self, *_: object) -> str:
        return self._text


class _TextWithBytes(io.StringIO):
    """The input as text, with a ``buffer``."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._bytes = _FirstLine(text)

    @property
    def buffer(self) -> Any:
        """The input as bytes."""
        return self._bytes


class _FirstLine(io.BytesIO):
    """The input as bytes, whose ``readline`` returns the first line each time."""

    def __init__(self, text: str) -> None:
        super().__init__(text.encode())
        self._first = text.encode().split(b"\n")[0] + b"\n"

    def readline(self, *_: object) -> bytes:
        return self._first
