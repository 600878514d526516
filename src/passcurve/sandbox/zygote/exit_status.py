"""The end of a child as a zygote reports it: packed, because there are many."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

_FORM = struct.Struct("<cqqqqqqqdq???")
_MARK = b"x"
"""No value on the wire begins with it."""


class ProcessExit(NamedTuple):
    """The facts of one end.  Times are in ns of the monotonic clock."""

    tag: int
    """Number of the job."""
    at: int
    status: int = 0
    """Wait status."""
    since: int = 0
    clock: tuple[int, int] | None = None
    """CPU time of all threads, and the longest CPU + waiting of one thread, in ns."""
    cpu_s: float = 0.0
    memory_bytes: int = 0
    overfull: bool = False
    """True if its scratch, or all its processes together, held more than they may."""
    holds_too_much: bool = False
    """True if it was ended for the memory of all its processes."""
    has_begun: bool = True
    """False if it failed before its role began."""
    refused: Sequence[int] = ()
    """Numbers of the suspicious system calls that it tried."""


def pack(end: ProcessExit) -> bytes:
    """Return the facts as bytes."""
    cpu_ns, longest_ns = end.clock or (-1, -1)
    refused = end.refused
    data = _FORM.pack(
        _MARK,
        end.status,
        end.tag,
        end.since,
        end.at,
        cpu_ns,
        longest_ns,
        len(refused),
        end.cpu_s,
        end.memory_bytes,
        end.overfull,
        end.holds_too_much,
        end.has_begun,
    )
    return data + struct.pack("<%dI" % len(refused), *refused) if refused else data


def unpack(frame: bytes) -> ProcessExit | None:
    """Return what a frame holds, or None for one that ``pack`` did not make.

    Raises struct.error for one that is cut short.
    """
    if frame[:1] != _MARK:
        return None
    _, status, tag, since, at, cpu_ns, longest_ns, count, cpu_s, memory_bytes, *flags = _FORM.unpack_from(frame)
    clock = (cpu_ns, longest_ns) if cpu_ns >= 0 else None
    refused = struct.unpack_from("<%dI" % count, frame, _FORM.size)
    return ProcessExit._make((tag, at, status, since, clock, cpu_s, memory_bytes, *flags, refused))
