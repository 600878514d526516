"""Machine code with which a rewound process copies its own memory back: three times as fast as writing from outside.

The code, a table of the runs to copy, and the snapshot lie in a file that the zygote writes.  The template maps it
read-only for all its children.  A sample may read it and run it; it contains only the sample's own earlier memory.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct

from passcurve.sandbox.zygote import kernel
from passcurve.sandbox.zygote.memory import Run

CODE_AT = 0x5F0000000000
COPIES_AT = 0x600000000000
SNAPSHOT_BYTES = 64 << 20
"""Largest writable memory of a process that can be rewound."""

ENTRIES = 2048
"""Most runs of pages that can be copied at once."""

PAGE = mmap.PAGESIZE
FLAGS = 0x202
"""Flags of the processor while it copies: none is set but those that always are."""

_ENTRY = struct.Struct("<3Q")
_CODE = bytes.fromhex(
    "6802020000"  # push FLAGS
    "9d"  # popfq: no other instruction sets every flag
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
    """The zygote's side: the snapshot, and the table of the runs to copy.  Make it before any filter is loaded."""

    def __init__(self) -> None:
        fd = os.memfd_create("snapshot")
        os.ftruncate(fd, _BYTES)
        self._map = mmap.mmap(fd, _BYTES)
        self._map.madvise(mmap.MADV_DONTFORK)
        self._map[: len(_CODE)] = _CODE
        self._table = memoryview(self._map)[PAGE:_COPIES_OFFSET]
        self.snapshot = memoryview(self._map)[_COPIES_OFFSET:]
        self._always = 0
        # A mapping of a descriptor that is open for reading stays read-only, whatever the process asks of the kernel.
        self.readable = os.open("/proc/self/fd/%d" % fd, os.O_RDONLY)
        os.close(fd)

    def clear(self) -> None:
        """Drop the snapshot: all of it reads as zeros."""
        self._map.madvise(mmap.MADV_REMOVE, _COPIES_OFFSET, SNAPSHOT_BYTES)
        self._always = 0

    def copy_always(self, runs: list[Run]) -> None:
        """Copy these runs of pages every time."""
        self._always = 0
        self.copy(runs)
        self._always = len(runs)

    def copy(self, runs: list[Run]) -> None:
        """Copy these runs next time, after those of ``copy_always``.  Raises OSError when they are too many."""
        at = self._always * _ENTRY.size
        if self._always + len(runs) > ENTRIES:
            raise OSError("too many runs of pages")
        for address, offset, size in runs:
            _ENTRY.pack_into(self._table, at, address, COPIES_AT + offset, size >> 3)
            at += _ENTRY.size
        _ENTRY.pack_into(self._table, at, 0, 0, 0)


def attach(fd: int) -> None:
    """Map the code, the table and the snapshot into this process, and close the descriptor.  Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    for address, size, protection, offset in (
        (CODE_AT, PAGE, mmap.PROT_READ | _EXECUTE, 0),
        (TABLE_AT, _TABLE, mmap.PROT_READ, PAGE),
        (COPIES_AT, SNAPSHOT_BYTES, mmap.PROT_READ, _COPIES_OFFSET),
    ):
        mapped = libc.mmap(
            ctypes.c_void_p(address),
            ctypes.c_size_t(size),
            ctypes.c_int(protection),
            ctypes.c_int(mmap.MAP_SHARED),
            ctypes.c_int(fd),
            ctypes.c_long(offset),
        )
        if mapped != address:
            raise OSError(ctypes.get_errno(), "the copying code cannot be mapped at its address")
    os.close(fd)


AVAILABLE = kernel.MACHINE == "x86_64" and hasattr(os, "memfd_create")
