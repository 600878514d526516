"""Files behind descriptors 0 and 1 of a script, in a new process.

They leave no object behind, so that those of the program lie where they lie in a process without files.
"""

from __future__ import annotations

import io
import os
from typing import Any

from passcurve.harness.script_streams import STANDARD, Redirection, find_stream

_open, _close, _dup, _dup2, _lseek, _pread, _write = os.open, os.close, os.dup, os.dup2, os.lseek, os.pread, os.write
_fstat = os.fstat
_WITH_FILES = (0, 1)


class Pipe(io.FileIO):
    """A file that has no place, as standard output has none in memory."""

    def seekable(self) -> bool:
        """Tell that it cannot be told a place."""
        return False


class ScriptFiles:
    """The files of one run after the other."""

    def __init__(self) -> None:
        self._files, self._saved = [-1] * 2, [-1] * 3
        """Descriptors of both files, and copies of those that 0, 1 and 2 had before."""

    def open(self, data: bytes) -> bool:
        """Put files behind descriptors 0, with the input, and 1; return whether the system has nameless ones."""
        try:
            for number in _WITH_FILES:
                self._files[number] = _open(".", os.O_RDWR | os.O_TMPFILE, 0o600)
        except (OSError, AttributeError):
            return False
        for number in STANDARD:
            self._saved[number] = _dup(number)
        for number in _WITH_FILES:
            _dup2(self._files[number], number)
        try:
            # A slice of all would stay in memory, from CPython 3.14 on, and a process without files makes none.
            while (written := _write(0, data)) < len(data):
                data = data[written:]
        except OSError:
            self.close()
            raise
        _lseek(0, 0, os.SEEK_SET)
        return True

    def read(self) -> bytes:
        """Return what was written to standard output."""
        return _pread(self._files[1], _lseek(self._files[1], 0, os.SEEK_END), 0)

    def close(self) -> None:
        """Put back what stands at 0, 1 and 2 without files."""
        for number in STANDARD:
            _dup2(self._saved[number], number)
            _close(self._saved[number])
        for number in self._files:
            _close(number)


def make_open(function: Any) -> Any:
    """Return ``open``, which finds the standard streams by name too: there may be no such file."""

    def open_stream(file: Any, *args: Any, **names: Any) -> Any:
        # What comes sixth is ``closefd``.
        return function(find_stream(file), *args[:5], **{**names, "closefd": False})

    return Redirection(function, "file", _names_stream, open_stream)


def make_os_open(function: Any) -> Any:
    """Return ``os.open``, which finds the standard streams by name too."""
    return Redirection(function, "path", _names_stream, lambda path, *_, **__: _dup(find_stream(path) or 0))


def make_os_stat(function: Any) -> Any:
    """Return ``os.stat``, which finds the standard streams by name too."""
    return Redirection(function, "path", _names_stream, lambda path, **_: _fstat(find_stream(path) or 0))


def _names_stream(file: Any) -> bool:
    return find_stream(file) is not None
