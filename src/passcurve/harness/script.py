"""Runs a program as a script: a text on standard input, and what it writes to standard output as the result.

It runs in the process of the sample.  A new process has real files behind descriptors 0 and 1 (``script_files``).  A
process that is to be rewound may open none: it has streams in memory (``script_streams``).

Both make and free the same objects in the same order, so that those of the program have the same addresses, as long as
it uses no function of descriptors itself.
"""

from __future__ import annotations

import atexit
import builtins
import codecs
import gc
import io
import os
import sys
import weakref
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any

from passcurve.harness.script_exit import ExitError, ExitWatch
from passcurve.harness.script_files import Pipe, ScriptFiles, make_open, make_os_open, make_os_stat
from passcurve.harness.script_harnesses import LIVECODEBENCH, FunctionCall, is_harness
from passcurve.harness.script_state import InterpreterState, join_threads
from passcurve.harness.script_streams import BUFFER_BYTES, MemoryStreams, end_process

_FileIO = io.FileIO
_STREAM = io.FileIO.__mro__[-2]
"""The base of all streams."""
_DIGITS = 50_000
"""What LiveCodeBench sets: ``lcb_runner/evaluation/compute_code_generation_metrics.py``."""
_NESTED = range(8)
"""Numbers of calls in memory that wait for one another, with one to spare."""

_BEYOND_LONG = 1 << 63
"""An exit status that no C long holds is 255; of any other the kernel keeps the last byte."""


class ScriptRunner:
    """One program, compiled, which runs from its beginning for each test."""

    def __init__(
        self, code: CodeType, make_module: Callable[[], ModuleType], form: str, *, is_kept: bool, spare: int
    ) -> None:
        """``spare``: a descriptor for streams that are not used."""
        self._code = code
        self._make_module = make_module
        self._form = form
        self._call: FunctionCall | None = None
        """The present call of the program, where a harness makes a function of it."""
        self._is_kept = is_kept
        self._spare = spare
        builtins.__dict__.update(exit=_exit, quit=None if form == LIVECODEBENCH else _exit)
        # On the class itself: programs see the type of what `codecs.lookup` returns, and CPython has cached it already.
        codecs.CodecInfo.__getattribute__ = _get_codec_attribute  # type: ignore[assignment]
        self._exit_watch = ExitWatch(has_threads=not is_kept)
        self._streams, self._files = MemoryStreams(), ScriptFiles()
        # What only one form needs is made in both: objects of a program have the same addresses then.
        in_memory, open_file = self._streams.make_functions(), make_open(io.open)
        os_open, os_stat = make_os_open(os.open), make_os_stat(os.stat)
        with_files = (
            (builtins, "open", open_file),
            (io, "open", open_file),
            (os, "open", os_open),
            (os, "stat", os_stat),
        )
        self._functions = in_memory, with_files
        for module, name, function in in_memory if is_kept else with_files:
            module.__dict__[name] = function
        self._raw_streams: list[io.RawIOBase] = []
        """Those of the last run, used or not."""
        if form == LIVECODEBENCH and hasattr(sys, "set_int_max_str_digits"):
            sys.set_int_max_str_digits(_DIGITS)
        self._state = InterpreterState(code)
        atexit._clear()
        gc.freeze()
        _make_bytes_writer()

    def __call__(self, text: str) -> str:
        """Return what the program writes for an input; raise what it raises, and SystemExit for a code but zero."""
        self._call = FunctionCall(self._form, text) if is_harness(self._form) else None
        data = b"" if self._call else text.encode("utf-8", "surrogatepass")
        try:
            output = self._run_with(data)
            # Bytes that are no text are equal to none that a test can expect.
            return self._call.output() if self._call else output.decode("utf-8", "surrogateescape")
        except RecursionError:
            if self._is_kept:
                # Streams in memory nest a few calls deeper than files.
                end_process()
            raise
        finally:
            self._state.restore()

    def _run_with(self, data: bytes) -> bytes:
        descriptors, last = self._streams.begin(data), self._raw_streams
        has_files = not self._is_kept and self._files.open(data)
        try:
            self._raw_streams = [
                *descriptors.streams(),
                _FileIO(0 if has_files else self._spare, "rb", closefd=False),
                Pipe(1 if has_files else self._spare, "wb", closefd=False),
            ]
            source, output, errors, source_file, output_file = self._raw_streams
            self._run(source_file if has_files else source, output_file if has_files else output, errors)
            return self._files.read() if has_files else descriptors.output()
        finally:
            if has_files:
                self._files.close()
            # They outlive the streams above them, in both forms.
            for stream in last:
                stream.close()
            last.clear()

    def _run(self, source: Any, output: Any, errors: Any) -> None:
        stdin = io.TextIOWrapper(io.BufferedReader(source, BUFFER_BYTES), "utf-8", "surrogateescape", newline="\n")
        stdout = io.TextIOWrapper(io.BufferedWriter(output, BUFFER_BYTES), "utf-8", "surrogateescape", newline="\n")
        stderr = io.TextIOWrapper(io.BufferedWriter(errors), "utf-8", "backslashreplace", newline="\n")
        # As those of an interpreter have it, which `open` makes.
        stdin.mode, stdout.mode, stderr.mode = "r", "w", "w"  # type: ignore[misc]
        _set_streams(stdin, stdout, stderr)
        sys.argv = ["sample.py"]
        module = self._make_module()
        # In a main module it is the module; `exec` would put its names there.
        module.__dict__["__builtins__"] = builtins
        _fill_free_lists()
        try:
            self._exit_watch.begin()
            try:
                if self._call:
                    self._call.run(self._code, module)
                else:
                    exec(self._code, module.__dict__)
            except SystemExit as error:
                self._take_exit(error)
            finally:
                if not self._exit_watch.codes:
                    join_threads()
                    if atexit._ncallbacks():
                        _run_exit_functions()
                self._exit_watch.end()
        except ExitError as error:
            # What was not flushed is lost, as it is when a process ends so.
            # A harness gets no result of a process that ends.
            self._exit_watch.codes.clear()
            self._exit_watch.end()
            if error.code & 0xFF or self._call:
                raise SystemExit(error.code) from None
            return
        _flush(getattr(sys, "stdout", None))
        # As an interpreter that ends does: its own streams outlive those of the program, and what holds unwritten text.
        _set_streams(stdin, stdout, stderr)
        rest = weakref.ref(module)
        if _has_finalizers(module):
            # They find the names of the module, which ends with its last reference.
            sys.modules.pop("__main__", None)
            del module
            gc.collect()
        if (module_left := rest()) is not None:
            module_left.__dict__.clear()
            del module_left
        gc.collect()
        _make_bytes_writer()
        _flush(stdout)

    def _take_exit(self, error: SystemExit) -> None:
        code = error.code
        is_zero = code is None or (isinstance(code, int) and -_BEYOND_LONG <= code < _BEYOND_LONG and not code & 0xFF)
        if not is_zero and not self._call:
            raise error


def _exit(code: object = None) -> None:
    """End the program: ``exit`` and ``quit``, which are missing without ``site``."""
    raise SystemExit(code)


def _run_exit_functions() -> None:
    try:
        atexit._run_exitfuncs()
    except BaseException:
        pass  # Python 3.9 raises the last one that an interpreter shows and leaves at that


def _get_codec_attribute(codec: codecs.CodecInfo, name: str) -> Any:
    """Look an attribute up by the one copy of its name that stays.

    A text stream makes a new copy for each codec.  CPython's cache of attributes would keep that until another name
    takes its place, which in a process with files happens at another time than in one without.
    """
    return object.__getattribute__(codec, sys.intern(name))


def _fill_free_lists() -> None:
    """Have CPython keep memory for the short-lived tuples and dictionaries that functions in memory make.

    Elsewhere they would take the memory of later objects, which a process with files gives to these at once.
    """
    held: list[object] = []
    for number in _NESTED:
        held += ((number,), (number, number), (number, number, number), {})


def _make_bytes_writer() -> None:
    """Have CPython make a `PyBytesWriter`, which from 3.15 on it keeps until a full garbage collection.

    Reading a file makes one, so a process with streams in memory needs one too: else later objects lie elsewhere.
    """
    bytes(bytearray(1))


def _has_finalizers(module: ModuleType) -> bool:
    """Tell whether something in a module runs code when it ends: an object, a generator, or those of a class."""
    for value in list(module.__dict__.values()):
        mro = type.mro(value if isinstance(value, type) else type(value))
        # Not by `issubclass`: an abstract class remembers each class that it was asked about.
        if _STREAM in mro:
            continue
        for cls in mro:
            if "__del__" in cls.__dict__:
                return True
    return False


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
