"""The standard streams of a script in memory, for a process that is to be rewound, which may open no files.

A program finds them wherever it names descriptors 0, 1 and 2 or their paths: in ``open``, ``os.read``, ``os.write``,
``os.lseek`` and ``os.fstat``.  What is not answered here as the kernel would ends the process, so that the program is
run again in a new one, with files.
"""

from __future__ import annotations

import builtins
import io
import os
import stat
from collections.abc import Callable
from typing import Any, NoReturn

STANDARD = (0, 1, 2)
BUFFER_BYTES = 1 << 16
"""Buffer of a stream that a script begins with."""

_BLOCK_BYTES = 4096
"""Buffer of a stream that it opens: that of a file in a scratch."""

_NUMBERS = {
    **{"/dev/std" + name: number for number, name in enumerate(("in", "out", "err"))},
    **{folder + str(number): number for folder in ("/dev/fd/", "/proc/self/fd/") for number in STANDARD},
}
_MODES = {0: ("r", "rt", "tr", "rb", "br"), 1: ("w", "wt", "tw", "wb", "bw"), 2: ("w", "wt", "tw", "wb", "bw")}
_os_open, _os_read, _os_write, _os_pread, _os_lseek = os.open, os.read, os.write, os.pread, os.lseek
_os_fstat, _os_stat = os.fstat, os.stat
_forbidden = os.dup
_FileIO = io.FileIO


def find_stream(file: Any) -> int | None:
    """Return the number of the standard stream that a path names, or None."""
    if isinstance(file, int):
        return None
    try:
        return _NUMBERS.get(os.fsdecode(file))
    except TypeError:
        return None


def _is_standard(file: Any) -> bool:
    return file in STANDARD if isinstance(file, int) else find_stream(file) is not None


def _end_process(*_: object, **__: object) -> NoReturn:
    """Make a system call that its filter forbids."""
    _forbidden(0)
    raise OSError("this process is not confined")


class Descriptors:
    """Descriptors 0, 1 and 2 for one run of a program."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        """The input."""
        self._place = 0
        self._pieces: list[bytes] = []
        self._closed: set[int] = set()
        self.has_opened = False
        """True if the program has opened one of them once more."""

    def output(self) -> bytes:
        """Return what was written to standard output."""
        return b"".join(self._pieces)

    def stream(self, number: int) -> io.RawIOBase:
        """Return a stream that a program begins with."""
        return _Raw(self, number)

    def is_closed(self, number: int) -> bool:
        """Tell whether the program has closed a descriptor."""
        return number in self._closed

    def read(self, number: int, size: int) -> bytes:
        """Read from where the last read has ended."""
        if number != 0 or number in self._closed:
            _end_process()
        piece = self.data[self._place : self._place + size]
        self._place += len(piece)
        return piece

    def write(self, number: int, data: bytes) -> int:
        """Write; what goes to standard error is lost."""
        if number == 0 or number in self._closed:
            _end_process()
        if number == 1:
            self._pieces.append(data)
        return len(data)

    def seek(self, number: int, offset: int, whence: int) -> int:
        """Go to a place in the input."""
        if number != 0 or number in self._closed or whence not in (os.SEEK_SET, os.SEEK_CUR, os.SEEK_END):
            _end_process()
        place = (0, self._place, len(self.data))[whence] + offset
        if place < 0:
            _end_process()
        self._place = place
        return place

    def close(self, number: int) -> None:
        """Close a descriptor: nothing that names it is answered any more."""
        self._closed.add(number)


class _Raw(io.RawIOBase):
    """A stream at a descriptor in memory."""

    def __init__(self, descriptors: Descriptors, number: int, *, closes: bool = False) -> None:
        super().__init__()
        self._descriptors, self._number, self._closes = descriptors, number, closes
        self.name = number
        self.mode = "wb" if number else "rb"

    def readable(self) -> bool:
        return not self._number

    def writable(self) -> bool:
        return bool(self._number)

    def seekable(self) -> bool:
        return not self._number

    def fileno(self) -> int:
        return self._number

    def isatty(self) -> bool:
        return False

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if self._number:
            # A buffer asks for the place of whatever it is made for.
            raise io.UnsupportedOperation("seek")
        return self._descriptors.seek(self._number, offset, whence)

    def readinto(self, buffer: Any) -> int:
        piece = self._descriptors.read(self._number, len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def readall(self) -> bytes:
        return self._descriptors.read(self._number, len(self._descriptors.data))

    def write(self, data: Any) -> int:
        return self._descriptors.write(self._number, bytes(data))

    def truncate(self, _: Any = None) -> int:
        _end_process()

    def close(self) -> None:
        if not self.closed and self._closes:
            self._descriptors.close(self._number)
        super().close()


class _GuardedFileIO(_FileIO):
    """A file, none of the standard streams."""

    def __init__(self, file: Any, *args: Any, **kwargs: Any) -> None:
        if _is_standard(file):
            _end_process()
        super().__init__(file, *args, **kwargs)


class MemoryStreams:
    """The functions by which a program reaches its descriptors, where these are in memory."""

    def __init__(self) -> None:
        self._now = Descriptors(b"")
        """Those of the present run."""

    def begin(self, data: bytes) -> Descriptors:
        """Return the descriptors of a run that begins."""
        self._now = Descriptors(data)
        return self._now

    def install(self) -> None:
        """Take the place of the functions by which a program reaches a descriptor."""
        builtins.open = io.open = self._guard(io.open, self._open)
        io.FileIO = _GuardedFileIO  # type: ignore[misc]
        os.read = self._guard(_os_read, self._os_read)
        os.write = self._guard(_os_write, self._os_write)
        os.lseek = self._guard(_os_lseek, self._os_lseek)
        os.fstat = self._guard(_os_fstat, self._os_fstat)
        os.stat = self._guard(_os_stat, self._os_fstat)
        os.open = self._guard(_os_open, _end_process)
        os.pread = self._guard(_os_pread, _end_process)

    def _guard(self, function: Any, replacement: Callable[..., Any]) -> Any:
        """Return a function that leaves the standard streams to another one."""

        def guarded(*args: Any, **kwargs: Any) -> Any:
            name = next((name for name in ("file", "path", "fd") if name in kwargs), "")
            file = args[0] if args else kwargs.get(name)
            if not _is_standard(file):
                return function(*args, **kwargs)
            kwargs.pop(name, None)
            return replacement(file, *args[1:], **kwargs)

        return guarded

    def _open(
        self,
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: None = None,
    ) -> Any:
        """Open a standard stream once more; one that a path names is not closed, as there may be no such file."""
        is_number = isinstance(file, int)
        number = int(file) if is_number else find_stream(file)
        assert number is not None
        if mode not in _MODES[number]:
            _end_process()
        is_binary = "b" in mode
        is_odd = is_binary and (buffering == 1 or (encoding, errors, newline) != (None, None, None))
        is_known = type(buffering) is int and (buffering or is_binary)
        if is_odd or not is_known or opener is not None or self._now.is_closed(number):
            _end_process()
        self._now.has_opened = True
        raw = _Raw(self._now, number, closes=is_number and bool(closefd))
        raw.name = file
        if buffering == 0:
            return raw
        size = buffering if buffering > 1 else _BLOCK_BYTES
        buffered: Any = io.BufferedWriter(raw, size) if number else io.BufferedReader(raw, size)
        if is_binary:
            return buffered
        text = io.TextIOWrapper(buffered, encoding, errors, newline, buffering == 1)
        text.mode = mode  # type: ignore[misc]
        return text

    def _os_read(self, number: int, size: int, /) -> bytes:
        if type(size) is not int or size < 0:
            _end_process()
        return self._now.read(number, size)

    def _os_write(self, number: int, data: Any, /) -> int:
        if not isinstance(data, (bytes, bytearray, memoryview)):
            _end_process()
        return self._now.write(number, bytes(data))

    def _os_lseek(self, number: int, offset: int, whence: int, /) -> int:
        if type(offset) is not int or type(whence) is not int:
            _end_process()
        return self._now.seek(number, offset, whence)

    def _os_fstat(self, number: Any, **options: object) -> os.stat_result:
        if options or not isinstance(number, int) or number != 0 or self._now.is_closed(number):
            _end_process()
        size = len(self._now.data)
        fields = (stat.S_IFREG | 0o600, 0, 0, 0, os.getuid(), os.getgid(), size, 0, 0, 0)
        return os.stat_result(fields, {"st_blksize": _BLOCK_BYTES, "st_blocks": -(-size // _BLOCK_BYTES) * 8})
