"""Code in the rewound process that copies its own memory back: three times as fast as to write it from outside.

Code, a table of what to copy, and the snapshot lie in a file that the zygote writes.  The template maps it, read-only,
where all its children have it; a sample may read it and run it, and finds nothing there but its own memory as it was.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct

from passcurve.sandbox import kernel

CODE_AT = 0x5F0000000000
COPIES_AT = 0x600000000000
SNAPSHOT_BYTES = 64 << 20
"""Of all areas together that can be written."""

ENTRIES = 2048
"""Runs of pages that can be copied at once."""

PAGE = mmap.PAGESIZE
FLAGS = 0x202
"""Of the processor: nothing is set but what always is."""

_ENTRY = struct.Struct("<3Q")
_CODE = bytes.fromhex(
    "6802020000"  # push FLAGS
    "9d"  # popfq: the one way to every flag
    "488b3b"  # mov rdi, [rbx]
    "488b7308"  # mov rsi, [rbx + 8]
    "488b4b10"  # mov rcx, [rbx + 16]
    "4885c9"  # test rcx, rcx
    "7409"  # jz to the end
    "f348a5"  # rep movsq
    "4883c318"  # add rbx, 24
    "ebe7"  # jmp back to the first mov
    "cc"  # int3
)
_TABLE = (ENTRIES + 1) * _ENTRY.size // PAGE * PAGE + PAGE
TABLE_AT = CODE_AT + PAGE
_COPIES_OFFSET = PAGE + _TABLE
_BYTES = _COPIES_OFFSET + SNAPSHOT_BYTES
_EXECUTE = 4


class Stub:
    """The zygote's side: the snapshot, and what of it is to be copied.  Make it before any filter is laid."""

    def __init__(self) -> None:
        fd = os.memfd_create("snapshot")
        os.ftruncate(fd, _BYTES)
        self._map = mmap.mmap(fd, _BYTES)
        self._map.madvise(mmap.MADV_DONTFORK)
        self._map[: len(_CODE)] = _CODE
        self._table = memoryview(self._map)[PAGE:_COPIES_OFFSET]
        self.snapshot = memoryview(self._map)[_COPIES_OFFSET:]
        self._always = 0
        # What is mapped from a descriptor that cannot write stays read-only, whatever anybody asks of the kernel.
        self.readable = os.open("/proc/self/fd/%d" % fd, os.O_RDONLY)
        os.close(fd)

    def clear(self) -> None:
        """Forget the snapshot: all of it reads as zeros."""
        self._map.madvise(mmap.MADV_REMOVE, _COPIES_OFFSET, SNAPSHOT_BYTES)
        self._always = 0

    def copy_always(self, runs: list[tuple[int, int, int]]) -> None:
        """Copy these every time: address, place in the snapshot and bytes of each run of pages."""
        self._always = 0
        self.copy(runs)
        self._always = len(runs)

    def copy(self, runs: list[tuple[int, int, int]]) -> None:
        """Copy these the next time, besides those that are always copied.  Raises IndexError when they are too many."""
        at = self._always * _ENTRY.size
        if self._always + len(runs) > ENTRIES:
            raise IndexError("too many runs of pages")
        for address, place, size in runs:
            _ENTRY.pack_into(self._table, at, address, COPIES_AT + place, size >> 3)
            at += _ENTRY.size
        _ENTRY.pack_into(self._table, at, 0, 0, 0)


def attach(fd: int) -> None:
    """Map the code and the copies into this process, and close the descriptor.  Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    for address, size, protection, offset in (
        (CODE_AT, PAGE, mmap.PROT_READ | _EXECUTE, 0),
        (TABLE_AT, _TABLE, mmap.PROT_READ, PAGE),
        (COPIES_AT, SNAPSHOT_BYTES, mmap.PROT_READ, _COPIES_OFFSET),
    ):
        place = libc.mmap(
            ctypes.c_void_p(address),
            ctypes.c_size_t(size),
            ctypes.c_int(protection),
            ctypes.c_int(mmap.MAP_SHARED),
            ctypes.c_int(fd),
            ctypes.c_long(offset),
        )
        if place != address:
            raise OSError(ctypes.get_errno(), "the copying code cannot be mapped where it belongs")
    os.close(fd)


AVAILABLE = kernel.MACHINE == "x86_64" and hasattr(os, "memfd_create")
