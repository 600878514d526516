"""How a child ended, as a zygote tells it: packed, because this is said once for every sample."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

_FORM = struct.Struct("<cqqqqqqqdq???")
_MARK = b"x"
"""No value on the wire begins so."""


def pack(
    status: int,
    tag: int,
    since: int,
    at: int,
    clock: tuple[int, int] | None,
    cpu_s: float,
    memory_bytes: int,
    overfull: bool,
    refused: Sequence[int],
    *,
    kept: bool = False,
    clean: bool = False,
) -> bytes:
    """Return the facts as bytes: wait status, tag of the order, start and end (ns, monotonic), clocks (ns), ...

    ``refused``: numbers of the telling system calls that it tried.  ``kept``: of the process that is kept.
    ``clean``: that one was put back, or has made room for another, as it was ordered.
    """
    cpu_ns, longest_ns = clock or (-1, -1)
    data = _FORM.pack(
        _MARK, status, tag, since, at, cpu_ns, longest_ns, len(refused), cpu_s, memory_bytes, overfull, kept, clean
    )
    return data + struct.pack("<%dI" % len(refused), *refused) if refused else data


def is_packed(data: bytes) -> bool:
    """Say whether a frame tells of an exit."""
    return data[:1] == _MARK


def unpack(data: bytes) -> dict[str, Any]:
    """Return the facts by name.  Raises struct.error for what was not packed here."""
    _, status, tag, since, at, cpu_ns, longest_ns, count, cpu_s, memory_bytes, overfull, kept, clean = (
        _FORM.unpack_from(data)
    )
    return {
        "exit": status,
        "tag": tag,
        "since": since,
        "at": at,
        "clock": [cpu_ns, longest_ns] if cpu_ns >= 0 else None,
        "cpu": cpu_s,
        "memory": memory_bytes,
        "overfull": overfull,
        "kept": kept,
        "clean": clean,
        "refused": list(struct.unpack_from("<%dI" % count, data, _FORM.size)),
    }
