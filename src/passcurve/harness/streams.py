"""The standard streams of an interpreter that is ready, as those of one that starts."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

_NULL = 2
"""A descriptor that leads to ``/dev/null`` in every process of a sample or of tests, for reading and writing."""

_opened: list[tuple[Any, Any, Any]] = []
"""Both kinds of streams, those at descriptors 0, 1 and 2 first; they stay, for when they end they use these."""


_is_kept = False


class _Stream(io.FileIO):
    """A standard stream that gives its usual number, whatever descriptor it is at."""

    number = 0

    def fileno(self) -> int:
        return self.number


def open_streams(descriptors: tuple[int, int, int], kind: type[io.FileIO] = io.FileIO) -> None:
    """Open the standard streams on what is there now; they remember whether it can be sought in."""
    source, output, errors = (kind(number, mode, closefd=False) for number, mode in zip(descriptors, "rww"))
    # The stubs call these three final; an interpreter that starts sets them too.
    sys.stdin = sys.__stdin__ = _wrap("<stdin>", source, "surrogateescape")  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = _wrap("<stdout>", output, "surrogateescape")  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _wrap("<stderr>", errors, "backslashreplace", lines=True)  # type: ignore[misc]


def open_null_streams() -> None:
    """Open the standard streams for processes of samples and tests, whose descriptors lead to ``/dev/null``.

    In a process that is kept a program on standard input has descriptors 0 and 1 in memory, so the strict filter ends
    it where it uses those of the kernel.  The filter cannot tell a function that prints from such a program, so the
    streams of functions lead elsewhere there.  Each process has both kinds; they are made once, before any fork.
    """
    null = os.open(os.devnull, os.O_RDWR)
    own = [os.dup(number) for number in range(3)]
    for number in range(3):
        os.dup2(null, number)
    for descriptors in ((0, 1, 2), (_NULL, _NULL, _NULL)):
        open_streams(descriptors, _Stream)
        _opened.append((sys.stdin, sys.stdout, sys.stderr))
        for number, stream in enumerate(_opened[-1]):
            stream.buffer.raw.number = number
    for number, descriptor in enumerate(own):
        os.dup2(descriptor, number)
    for descriptor in (*own, null):
        os.close(descriptor)


def set_kept(is_kept: bool) -> None:
    """Tell whether this process is kept."""
    global _is_kept
    _is_kept = is_kept


def use_descriptors() -> None:
    """Let the streams lead to descriptors 0, 1 and 2, in a process that is not kept."""
    # None are open in a rehearsal.
    if _opened and not _is_kept:
        sys.stdin, sys.stdout, sys.stderr = _opened[0]
        # As in `open_streams`: the stubs call these three final.
        sys.__stdin__, sys.__stdout__, sys.__stderr__ = _opened[0]  # type: ignore[misc]


def _wrap(name: str, raw: io.FileIO, errors: str, *, lines: bool = False) -> io.TextIOWrapper:
    raw.name = name
    is_input = raw.readable()
    buffer: Any = io.BufferedReader(raw) if is_input else io.BufferedWriter(raw)
    stream = io.TextIOWrapper(buffer, "utf-8", errors, newline="\n", line_buffering=lines)
    # A new interpreter sets it too, which the stubs call read-only.
    stream.mode = "r" if is_input else "w"  # type: ignore[misc]
    return stream
