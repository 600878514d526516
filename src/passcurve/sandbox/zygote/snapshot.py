"""The snapshot: a copy of all writable memory of a process, taken while it waits for its first job."""

from __future__ import annotations

import os
import re

from passcurve.sandbox.zygote import memory
from passcurve.sandbox.zygote.copy_stub import PAGE, SNAPSHOT_BYTES
from passcurve.sandbox.zygote.dirty_pages import DirtyPages
from passcurve.sandbox.zygote.memory import Area, Run
from passcurve.sandbox.zygote.tracing import UncleanError

GAP_PAGES = 2
"""Hot pages at most this far from each other are copied together with all between them: each split costs time."""

_BLOCK_BYTES = 1 << 20
_POPULATED = re.compile(rb"[^\0]+")


class Snapshot:
    """The snapshot of one process.  ``copies``: memory that receives the bytes, all zero."""

    def __init__(self, pid: int, copies: memoryview) -> None:
        self._copies = copies
        self._mem = os.open("/proc/%d/mem" % pid, os.O_RDWR | os.O_CLOEXEC)
        self._maps = os.open("/proc/%d/maps" % pid, os.O_RDONLY | os.O_CLOEXEC)
        self._areas: list[tuple[Area, int]] = []
        """Each writable area, and its offset in the snapshot."""

    def find_areas(self) -> list[Area]:
        """Return the writable areas of the process, in order.  Raises UncleanError when they do not fit."""
        areas = memory.read_areas(self._maps)
        offset = 0
        for area in areas:
            self._areas.append((area, offset))
            offset += area.end - area.start
        if offset > SNAPSHOT_BYTES:
            raise UncleanError("the process has more memory than a snapshot can hold")
        return areas

    def take(self, dirty: DirtyPages) -> None:
        """Copy all areas.  Raises UncleanError when they cannot be read."""
        for area, offset in self._areas:
            # An anonymous page that nobody has touched reads as zeros in both places; a page of a file may not.
            is_file = area.name.startswith("/")
            populated = b"1" * ((area.end - area.start) // PAGE) if is_file else dirty.populated_pages(area)
            for run in _POPULATED.finditer(populated):
                at, stop = run.start() * PAGE, run.end() * PAGE
                part = self._copies[offset + at : offset + stop]
                if os.preadv(self._mem, [part], area.start + at) != len(part):
                    raise UncleanError("the memory of the process cannot be read")

    def runs_between(self, start: int, end: int) -> list[Run]:
        """Return the parts of the snapshot between two addresses, one for each area."""
        return [
            (
                max(start, area.start),
                offset + max(start, area.start) - area.start,
                min(end, area.end) - max(start, area.start),
            )
            for area, offset in self._areas
            if max(start, area.start) < min(end, area.end)
        ]

    def runs_of(self, pages: list[int]) -> list[Run]:
        """Return the parts of the snapshot that hold some pages, in order."""
        spans: list[list[int]] = []
        for page in pages:
            if spans and page - spans[-1][1] <= GAP_PAGES * PAGE:
                spans[-1][1] = page + PAGE
            else:
                spans.append([page, page + PAGE])
        return [run for start, end in spans for run in self.runs_between(start, end)]

    def verify(self) -> None:
        """Compare all memory of the stopped process with the snapshot.  Raises UncleanError where they differ."""
        for area, offset in self._areas:
            size = area.end - area.start
            for at in range(0, size, _BLOCK_BYTES):
                data = os.pread(self._mem, min(size - at, _BLOCK_BYTES), area.start + at)
                if data != self._copies[offset + at : offset + at + len(data)].tobytes():
                    raise UncleanError("memory differs from the snapshot after a rewind")

    def close(self) -> None:
        """Close all descriptors."""
        os.close(self._mem)
        os.close(self._maps)
