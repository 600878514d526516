"""The snapshot: a copy of all writable memory of a process, taken while it waits for its first job."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

from passcurve.sandbox.zygote import memory
from passcurve.sandbox.zygote.copy_stub import PAGE, Stub
from passcurve.sandbox.zygote.dirty_pages import DirtyPages
from passcurve.sandbox.zygote.memory import Area
from passcurve.sandbox.zygote.tracing import UncleanError

_BLOCK_BYTES = 1 << 16
_POPULATED = re.compile(rb"[^\0]+")


class Snapshot:
    """The snapshot of one process.  ``stub`` holds it."""

    def __init__(self, pid: int, stub: Stub) -> None:
        self._stub = stub
        self._mem = os.open("/proc/%d/mem" % pid, os.O_RDWR | os.O_CLOEXEC)
        self._maps = os.open("/proc/%d/maps" % pid, os.O_RDONLY | os.O_CLOEXEC)
        self._areas: list[Area] = []
        """Each writable area."""
        self._taken: list[bytes] = []
        """For each area a byte for each page: zero where the page was never touched, and reads as zeros."""

    def find_areas(self) -> list[Area]:
        """Return the writable areas of the process, in order.  Raises OSError when one is shared."""
        self._areas = memory.read_areas(self._maps)
        return self._areas

    def take(self, dirty: DirtyPages) -> None:
        """Copy all areas.  Raises UncleanError when they cannot be read, OSError when they do not fit."""
        self._stub.clear()
        for area in self._areas:
            # A page of a file that nobody has touched does not read as zeros.
            is_file = area.name.startswith("/")
            taken = b"1" * ((area.end - area.start) // PAGE) if is_file else dirty.populated_pages(area)
            self._taken.append(taken)
            for start, end in _runs(area, taken):
                part = self._stub.copy_of(start, end)
                if os.preadv(self._mem, [part], start) != len(part):
                    raise UncleanError("the memory of the process cannot be read")

    def verify(self, dirty: DirtyPages) -> None:
        """Compare all memory of the stopped process with the snapshot.  Raises UncleanError where they differ."""
        for area, taken in zip(self._areas, self._taken):
            for start, end in _runs(area, taken):
                self._verify(start, end, lambda at, size: self._stub.copy_of(at, at + size).tobytes())
            # Not by the copy, which would take memory for each page that is looked at.
            fresh = bytes(now * (not was) for was, now in zip(taken, dirty.populated_pages(area)))
            for start, end in _runs(area, fresh):
                self._verify(start, end, lambda _, size: bytes(size))

    def _verify(self, start: int, end: int, expected: Callable[[int, int], bytes]) -> None:
        for at in range(start, end, _BLOCK_BYTES):
            size = min(end - at, _BLOCK_BYTES)
            if os.pread(self._mem, size, at) != expected(at, size):
                raise UncleanError("memory differs from the snapshot after a rewind")

    def close(self) -> None:
        """Close all descriptors."""
        os.close(self._mem)
        os.close(self._maps)


def _runs(area: Area, pages: bytes) -> Iterator[tuple[int, int]]:
    """Yield start and end of each run of pages whose byte is not zero."""
    for run in _POPULATED.finditer(pages):
        yield area.start + run.start() * PAGE, area.start + run.end() * PAGE
