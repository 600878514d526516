"""Machine code with which a rewound process copies its own memory back: three times as fast as writing from outside.

The code, a table of dirty regions, and the snapshot lie in a file that the zygote writes.  The template maps it
read-only for all its children.  A sample may read it and run it; it contains only the sample's own earlier memory.

The snapshot of an address is mapped at that address with the bits of ``FLIPPED`` flipped.  So the regions that the
kernel reports need no translation: it writes them into the table, and the code copies them.
"""

from __future__ import annotations

import mmap
import os
import struct
from typing import NamedTuple

from passcurve.sandbox.zygote import kernel
from passcurve.sandbox.zygote.memory import Area

CODE_AT = 0x5F0000000000
FLIPPED = 0x300000000000
"""Takes addresses of programs, heaps, libraries and stacks to some that the kernel never gives out by itself."""

COPIES_BYTES = 128 << 20
"""Room for snapshots."""

ROOM_BYTES = 2 << 20
"""Room below each area of memory for areas that a child makes, which the kernel puts below those that are there."""

REGIONS = 4096
"""Most dirty regions that can be copied at once."""

REGION = struct.Struct("<3Q")
"""A dirty region in the kernel's layout: start, end, categories."""

PAGE = mmap.PAGESIZE
FLAGS = 0x202
"""Flags of the processor while it copies: none is set but those that always are."""

_CODE = bytes.fromhex(
    "6802020000"  # push FLAGS
    "9d"  # popfq: no other instruction sets every flag
    "49b80000000000300000"  # mov r8, FLIPPED
    "488b3b"  # mov rdi, [rbx]
    "4885ff"  # test rdi, rdi
    "741a"  # jz to the end
    "488b4b08"  # mov rcx, [rbx + 8]
    "4829f9"  # sub rcx, rdi
    "48c1e903"  # shr rcx, 3
    "4889fe"  # mov rsi, rdi
    "4c31c6"  # xor rsi, r8
    "f348a5"  # rep movsq
    "4883c318"  # add rbx, 24
    "ebde"  # jmp back to the first mov of the loop
    "cc"  # int3
)
_TABLE_BYTES = REGIONS * REGION.size // PAGE * PAGE + PAGE
TABLE_AT = CODE_AT + PAGE
_COPIES_OFFSET = PAGE + _TABLE_BYTES
_BYTES = _COPIES_OFFSET + COPIES_BYTES
_EXECUTE = 4


class Window(NamedTuple):
    """A range of addresses, and where its snapshot lies among all copies."""

    start: int
    end: int
    offset: int


class Stub:
    """The zygote's side: the table, and the snapshot.  Make it before any filter is loaded."""

    def __init__(self) -> None:
        fd = os.memfd_create("snapshot")
        os.ftruncate(fd, _BYTES)
        self._map = mmap.mmap(fd, _BYTES)
        self._map.madvise(mmap.MADV_DONTFORK)
        self._map[: len(_CODE)] = _CODE
        self.table = memoryview(self._map)[PAGE:_COPIES_OFFSET]
        """Dirty regions, in order, and then a start of 0."""
        self._copies = memoryview(self._map)[_COPIES_OFFSET:]
        self._windows: list[Window] = []
        # A mapping of a descriptor that is open for reading stays read-only, whatever the process asks of the kernel.
        self._readable = os.open("/proc/self/fd/%d" % fd, os.O_RDONLY)
        os.close(fd)

    def lay_out(self, areas: list[Area]) -> None:
        """Choose the addresses that snapshots can hold: ``areas``, in order, and some room below each."""
        offset = 0
        for area in areas:
            start = max(PAGE, area.start - ROOM_BYTES)
            if self._windows and start <= self._windows[-1].end:
                last = self._windows.pop()
                start, offset = last.start, last.offset
            self._windows.append(Window(start, area.end, offset))
            offset += area.end - start
        if offset > COPIES_BYTES:
            self._windows.clear()

    def attach(self) -> None:
        """Map all of it into this process, and close the descriptor.  Raises OSError."""
        fd = self._readable
        _map_shared(fd, CODE_AT, PAGE, mmap.PROT_READ | _EXECUTE, 0)
        _map_shared(fd, TABLE_AT, _TABLE_BYTES, mmap.PROT_READ, PAGE)
        for start, end, offset in self._windows:
            _map_shared(fd, start ^ FLIPPED, end - start, mmap.PROT_READ, _COPIES_OFFSET + offset)
        os.close(fd)

    def clear(self) -> None:
        """Drop the snapshot: all of it reads as zeros."""
        self._map.madvise(mmap.MADV_REMOVE, _COPIES_OFFSET, COPIES_BYTES)

    def copy_of(self, start: int, end: int) -> memoryview:
        """Return the snapshot of the memory between two addresses.  Raises OSError where it cannot be held."""
        for window in self._windows:
            if window.start <= start and end <= window.end:
                at = window.offset + start - window.start
                return self._copies[at : at + end - start]
        raise OSError("the process has more memory than a snapshot can hold")


def _map_shared(fd: int, address: int, size: int, protection: int, offset: int) -> None:
    kernel.map_memory(address, size, protection, mmap.MAP_SHARED, fd, offset)


AVAILABLE = kernel.MACHINE == "x86_64" and hasattr(os, "memfd_create")
