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
from types import ModuleType
from typing import Any, NoReturn

STANDARD = (0, 1, 2)
BUFFER_BYTES = 1 << 16
"""Buffer of a stream that a script begins with."""

_BLOCK_BYTES = 4096
"""Buffer of a stream that it opens: that of a file in a scratch."""

_MOST_BYTES = 1 << 26
"""A larger read may be more than the memory that a sample has."""

_SPACE_BYTES = 1 << 20
"""Space that a read takes at most: the input of a job in a kept process is shorter."""

_OUTPUT_BYTES = 1 << 12
"""Output for which there is room beforehand."""

_NUMBERS = {
    **{"/dev/std" + name: number for number, name in enumerate(("in", "out", "err"))},
    **{folder + str(number): number for folder in ("/dev/fd/", "/proc/self/fd/") for number in STANDARD},
}
_OTHER_NAMES = tuple("/fd/%d" % number for number in STANDARD)
_BUFFERS, _PLAIN = (bytearray, memoryview), (bytes, bytearray)
_MODES = {0: ("r", "rt", "tr", "rb", "br"), 1: ("w", "wt", "tw", "wb", "bw"), 2: ("w", "wt", "tw", "wb", "bw")}
_forbidden, _os_fstat = os.dup, os.fstat
_FileIO = io.FileIO


def find_stream(file: Any) -> int | None:
    """Return the number of the standard stream that a path names, or None."""
    try:
        return _NUMBERS.get(os.fsdecode(file))
    except TypeError:
        return None


def is_standard(file: Any) -> bool:
    """Tell whether a number or a path may stand for one of the standard streams."""
    if type(file) is int:
        return file in STANDARD
    if isinstance(file, int) or hasattr(type(file), "__index__"):
        return True
    try:
        return os.fsdecode(file).endswith(_OTHER_NAMES) or find_stream(file) is not None
    except TypeError:
        return False


def end_process(*_: object, **__: object) -> NoReturn:
    """Make a system call that the filter of a process that is kept forbids: the program is run again in a new one."""
    _forbidden(0)
    raise OSError("this process is not confined")


class Redirection:
    """Calls a function, or another one where its first argument is a standard stream.

    Like a function of C it is no method where it stands in a class; its attributes are those of the function.
    """

    __slots__ = ("_concerns", "_function", "_parameter", "_replacement")

    def __init__(
        self, function: Any, parameter: str, concerns: Callable[[Any], bool], replacement: Callable[..., Any]
    ) -> None:
        """``parameter``: the name of the first argument, where it has one."""
        self._function, self._parameter = function, parameter
        self._concerns, self._replacement = concerns, replacement

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    def __copy__(self) -> Redirection:
        return self

    def __deepcopy__(self, _: object) -> Redirection:
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call one of the two."""
        has_file = bool(args) or self._parameter in kwargs
        file = args[0] if args else kwargs.get(self._parameter)
        function = self._replacement if has_file and self._concerns(file) else self._function
        return function(*args, **kwargs)


class Descriptors:
    """Descriptors 0, 1 and 2 for one run of a program."""

    def __init__(self, data: bytes) -> None:
        self._source, self._output = io.BytesIO(data), io.BytesIO()
        # Types ask for a raw stream; one of bytes has all that is used of it.
        self._reader = io.BufferedReader(self._source, 1)  # type: ignore[type-var,unused-ignore]
        # With room: what grows would move later objects, which it does not in a file.
        self._output.seek(_OUTPUT_BYTES)
        self._output.write(b"\0")
        self._output.seek(0)
        self.size = len(data)
        """Size of the input, in bytes."""
        self._size_for_all = self.size + 1
        """Space that a file takes to read all of it."""
        self._closed: set[int] = set()

    def output(self) -> bytes:
        """Return what was written to standard output."""
        size = self._output.tell()
        self._output.seek(0)
        return self._output.read(size)

    def streams(self) -> list[io.RawIOBase]:
        """Return the streams that a program begins with."""
        return [_Raw(self, number, has_place=False) for number in STANDARD]

    def is_closed(self, number: int) -> bool:
        """Tell whether the program has closed a descriptor."""
        return number in self._closed

    def read_into(self, number: int, buffer: Any) -> int:
        """Read from where the last read has ended."""
        if number != 0 or number in self._closed:
            end_process()
        return self._source.readinto(buffer)

    def read(self, number: int, size: int = -1) -> bytes:
        """Read into bytes that shrink to what there is, as those of a file do; all of it unless there is a size."""
        if number != 0 or number in self._closed:
            end_process()
        return self._reader.read1(self._size_for_all if size < 0 else min(size, _SPACE_BYTES))

    def write(self, number: int, data: Any) -> int:
        """Write; what goes to standard error is lost."""
        is_plain = type(data) in _PLAIN or (type(data) is memoryview and data.c_contiguous)
        if number == 0 or number in self._closed or not is_plain:
            end_process()
        return self._output.write(data) if number == 1 else memoryview(data).nbytes

    def seek(self, number: int, offset: int, whence: int) -> int:
        """Go to a place in the input; tell the place in the output."""
        if type(offset) is not int or type(whence) is not int or number in self._closed:
            end_process()
        if number != 0:
            if offset or whence != os.SEEK_CUR:
                end_process()
            return self._output.tell() if number == 1 else 0
        if not (0 <= offset < _MOST_BYTES and 0 <= whence <= os.SEEK_END):
            end_process()
        return self._source.seek(offset, whence)

    def close(self, number: int) -> None:
        """Close a descriptor: nothing that names it is answered any more."""
        if number in self._closed:
            end_process()
        self._closed.add(number)


class _Raw(io.RawIOBase):
    """A stream at a descriptor in memory."""

    def __init__(self, descriptors: Descriptors, number: int, *, closes: bool = False, has_place: bool = True) -> None:
        super().__init__()
        self._descriptors, self._number = descriptors, number
        self.closefd, self._is_closed = closes, False
        self._has_place = has_place
        self.name: int = number
        self.mode = "wb" if number else "rb"

    def _open_number(self) -> int:
        if self._is_closed:
            end_process()
        return self._number

    def readable(self) -> bool:
        return not self._open_number()

    def writable(self) -> bool:
        return bool(self._open_number())

    def seekable(self) -> bool:
        return not self._open_number() or self._has_place

    def fileno(self) -> int:
        return self._open_number()

    def isatty(self) -> bool:
        self._open_number()
        return False

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        return self._descriptors.seek(self._open_number(), offset, whence)

    def tell(self) -> int:
        # That of the base makes a method, where a file makes no object.
        return self.seek(0, os.SEEK_CUR)

    def readinto(self, buffer: Any) -> int:
        if type(buffer) not in _BUFFERS:
            end_process()
        return self._descriptors.read_into(self._open_number(), buffer)

    def readall(self) -> bytes:
        return self._descriptors.read(self._open_number())

    def read(self, size: int | None = -1, /) -> bytes | None:
        if size is not None and type(size) is not int:
            end_process()
        return self.readall() if size is None else super().read(size)

    def write(self, data: Any) -> int:
        return self._descriptors.write(self._open_number(), data)

    def truncate(self, _: Any = None) -> int:
        end_process()

    def close(self) -> None:
        if not self._is_closed and self.closefd:
            self._descriptors.close(self._number)
        self._is_closed = True

    @property
    def closed(self) -> bool:
        return self._is_closed


class _GuardedFileIO(_FileIO):
    """A file, none of the standard streams."""

    def __init__(self, file: Any, *args: Any, **kwargs: Any) -> None:
        if is_standard(file):
            end_process()
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

    def make_functions(self) -> tuple[tuple[ModuleType, str, Any], ...]:
        """Return what takes the place of the functions by which a program reaches a descriptor, with their names."""
        open_stream = _answer(io.open, "file", self._open)
        return (
            (builtins, "open", open_stream),
            (io, "open", open_stream),
            # A class in the place of a class: programs ask whether a file is one of it.
            (io, "FileIO", _GuardedFileIO),
            (io, "open_code", _answer(io.open_code, "path", end_process)),
            (os, "open", _answer(os.open, "path", end_process)),
            (os, "readlink", _answer(os.readlink, "path", end_process)),
            (os, "lstat", _answer(os.lstat, "path", end_process)),
            (os, "read", _answer(os.read, "", self._os_read)),
            (os, "pread", _answer(os.pread, "", end_process)),
            (os, "write", _answer(os.write, "", self._os_write)),
            (os, "lseek", _answer(os.lseek, "", self._os_lseek)),
            (os, "fstat", _answer(os.fstat, "fd", self._os_fstat)),
            (os, "stat", _answer(os.stat, "path", self._os_stat)),
        )

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
        is_number = type(file) is int
        number = file if is_number else find_stream(file)
        if number is None or mode not in _MODES[number] or opener is not None or self._now.is_closed(number):
            end_process()
        is_binary = "b" in mode
        is_odd = is_binary and (buffering == 1 or (encoding, errors, newline) != (None, None, None))
        if is_odd or type(buffering) is not int or type(closefd) is not bool or not (buffering or is_binary):
            end_process()
        raw = _Raw(self._now, number, closes=is_number and closefd)
        if buffering == 0:
            return raw
        size = buffering if buffering > 1 else _BLOCK_BYTES
        buffered: Any = io.BufferedWriter(raw, size) if number else io.BufferedReader(raw, size)
        if is_binary:
            return buffered
        text = io.TextIOWrapper(buffered, encoding, errors, newline, buffering == 1)
        # As `open` sets it, though the type has it for reading only.
        text.mode = mode  # type: ignore[misc]
        return text

    def _os_read(self, number: int, size: int, /) -> bytes:
        if type(size) is not int or not 0 <= size <= _MOST_BYTES:
            end_process()
        return self._now.read(number, size)

    def _os_write(self, number: int, data: Any, /) -> int:
        return self._now.write(number, data)

    def _os_lseek(self, number: int, offset: int, whence: int, /) -> int:
        return self._now.seek(number, offset, whence)

    def _os_fstat(self, fd: Any) -> os.stat_result:
        if fd != 0 or self._now.is_closed(fd):
            end_process()
        # The other fields are those of /dev/null, to which 2 leads as well; the strict filter forbids to ask about 0.
        real, size = _os_fstat(2), self._now.size
        fields = list(real)
        fields[stat.ST_MODE], fields[stat.ST_NLINK], fields[stat.ST_SIZE] = stat.S_IFREG | 0o600, 0, size
        fields[stat.ST_UID], fields[stat.ST_GID] = os.getuid(), os.getgid()
        # Fields that are none of the tuple; from 3.13 on no others may be given by name.
        reduced: Any = real.__reduce__()
        more = reduced[1][1] | {"st_blksize": _BLOCK_BYTES, "st_blocks": -(-size // _BLOCK_BYTES) * 8, "st_rdev": 0}
        return os.stat_result(fields, more)

    def _os_stat(self, path: Any) -> os.stat_result:
        return self._os_fstat(path)


def _answer(function: Any, parameter: str, replacement: Callable[..., Any]) -> Redirection:
    """Return a function that is answered for the standard streams, in every way in which it can be called rightly."""

    def answer(*args: Any, **kwargs: Any) -> Any:
        if args and type(args[0]) is not int and find_stream(args[0]) is None:
            end_process()
        try:
            return replacement(*args, **kwargs)
        except Exception:
            # Whatever is wrong with the call, the function itself tells it in a new process.
            end_process()

    return Redirection(function, parameter, is_standard, answer)
