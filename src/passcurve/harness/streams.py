"""The standard streams of an interpreter that is ready, as those of one that starts."""

from __future__ import annotations

import io
import sys
from typing import Any

_NULL = 2
"""A descriptor that leads to ``/dev/null`` in every process of a sample or of tests, for reading and writing."""


def open_streams(descriptors: tuple[int, int, int]) -> None:
    """Open the standard streams on what is there now; they remember whether it can be sought in."""
    source, output, errors = descriptors
    # The stubs call these three final; an interpreter that starts sets them too.
    sys.stdin = sys.__stdin__ = _open("<stdin>", source, "r", "surrogateescape")  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = _open("<stdout>", output, "w", "surrogateescape")  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _open("<stderr>", errors, "w", "backslashreplace", lines=True)  # type: ignore[misc]


def open_null_streams() -> None:
    """Open streams that lead to ``/dev/null``, for functions and tests.

    A program on standard input has descriptors 0 and 1 in memory, so the strict filter ends a process that uses those
    of the kernel.  It cannot tell a function that prints from such a program: functions print elsewhere.
    """
    open_streams((_NULL, _NULL, _NULL))


def _open(name: str, number: int, mode: str, errors: str, *, lines: bool = False) -> io.TextIOWrapper:
    raw = io.FileIO(number, mode, closefd=False)
    raw.name = name
    buffer: Any = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
    stream = io.TextIOWrapper(buffer, "utf-8", errors, newline="\n", line_buffering=lines)
    # A new interpreter sets it too, which the stubs call read-only.
    stream.mode = mode  # type: ignore[misc]
    return stream
