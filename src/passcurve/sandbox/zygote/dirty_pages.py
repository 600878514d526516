"""The pages that a process has written since its snapshot, as the kernel tracks them (userfaultfd and PAGEMAP_SCAN)."""

from __future__ import annotations

import ctypes
import os
import struct

from passcurve.sandbox.zygote import kernel, memory
from passcurve.sandbox.zygote.copy_stub import PAGE
from passcurve.sandbox.zygote.memory import Run
from passcurve.sandbox.zygote.tracing import UncleanError

LEARNING_JOBS = 24
"""Jobs from which the hot pages are learned."""

HOT_SHARE = 0.3
"""A page is hot when more than this share of those jobs wrote it."""

SPAN_PAGES = 200
"""Dirty pages at most this far from each other are protected by one call, with all between them."""

REGION = struct.Struct("<3Q")
"""A dirty region in the kernel's layout: start, end, categories."""

_SCAN_REQUEST = ctypes.c_ulong(0xC0606610)
_WP_ALLOWED, _WRITTEN, _PROTECT = 1, 2, 1
_REGIONS = 4096
_START, _END, _WALK_END = 2, 3, 4
_Words = ctypes.c_uint64 * 12
"""The request of a scan: size, flags, start, end, end of the walk, regions and their number, pages, masks."""
_SCAN_BYTES = 96

_, _ioctl = kernel.raw_calls()


def _spans(runs: list[Run]) -> list[list[int]]:
    """Join runs of pages that are near each other, because each call of the kernel has its price."""
    spans: list[list[int]] = []
    for start, _, size in runs:
        if spans and 0 <= start - spans[-1][1] <= SPAN_PAGES * PAGE:
            spans[-1][1] = start + size
        else:
            spans.append([start, start + size])
    return spans


class DirtyPages:
    """The dirty pages of one process.  ``tracker``: descriptor of its userfaultfd, which is closed with this."""

    def __init__(self, pid: int, tracker: int) -> None:
        self._tracker = tracker
        self._pagemap = os.open("/proc/%d/pagemap" % pid, os.O_RDONLY | os.O_CLOEXEC)
        self._pagemap_argument = ctypes.c_int(self._pagemap)
        regions = bytearray(REGION.size * _REGIONS)
        self._view = memoryview(regions)
        vector = ctypes.addressof((ctypes.c_char * len(regions)).from_buffer(regions))
        wanted = _WP_ALLOWED | _WRITTEN
        self._end = 0
        self._scan = _Words(_SCAN_BYTES, 0, 0, 0, 0, vector, _REGIONS, 0, 0, wanted, 0, _WRITTEN)
        self._scan_at = ctypes.byref(self._scan)
        self._protection = _Words(_SCAN_BYTES, _PROTECT, 0, 0, 0, 0, 0, 0, 0, wanted, 0, 0)
        self._protection_at = ctypes.byref(self._protection)

    def register(self, areas: list[memory.Area]) -> None:
        """Register the writable areas of the process with the kernel.  Raises OSError before Linux 6.7."""
        memory.enable_tracking(self._tracker)
        for area in areas:
            memory.register_area(self._tracker, area.start, area.end)
        self._end = areas[-1].end
        self._scan[_START], self._scan[_END] = areas[0].start, self._end

    def populated_pages(self, area: memory.Area) -> bytes:
        """Return a byte for each page of an area: zero where the page has never been touched."""
        data = os.pread(self._pagemap, (area.end - area.start) // PAGE * 8, area.start // PAGE * 8)
        return bytes(map(memory.PRESENT.__and__, data[7::8]))

    def protect(self, start: int, end: int) -> None:
        """Mark the pages between two addresses as clean.  Raises UncleanError when the kernel does not."""
        words = self._protection
        words[_START], words[_END], words[_WALK_END] = start, end, 0
        if _ioctl(self._pagemap_argument, _SCAN_REQUEST, self._protection_at) < 0 or words[_WALK_END] != end:
            raise UncleanError("pages cannot be write-protected")

    def protect_all(self) -> None:
        """Mark all registered pages as clean."""
        self.protect(self._scan[_START], self._end)

    def protect_runs(self, runs: list[Run]) -> None:
        """Mark runs of pages as clean."""
        for start, end in _spans(runs):
            self.protect(start, end)

    def scan(self) -> memoryview:
        """Return the dirty regions, packed as ``REGION``.  Raises UncleanError when they are too many."""
        self._scan[_WALK_END] = 0
        count = _ioctl(self._pagemap_argument, _SCAN_REQUEST, self._scan_at)
        if not 0 <= count < _REGIONS or self._scan[_WALK_END] != self._end:
            raise UncleanError("the process wrote more pages than one scan can return")
        return self._view[: count * REGION.size]

    def ignore(self, runs: list[Run]) -> None:
        """Stop tracking runs of pages."""
        for start, _, size in runs:
            memory.unregister_area(self._tracker, start, start + size)

    def close(self) -> None:
        """Close all descriptors."""
        os.close(self._pagemap)
        os.close(self._tracker)


class HotPages:
    """The pages that most jobs write.

    They are copied back every time and not tracked, which saves a page fault each.
    """

    def __init__(self, pages: frozenset[int]) -> None:
        """``pages``: those of an earlier process; an empty set has them learned."""
        self.pages = pages
        self.is_learning = not pages
        self._counts: dict[int, int] = {}
        self._jobs = 0

    def learn(self, runs: list[Run]) -> bool:
        """Count the pages that a job wrote; return whether these were enough jobs to choose the hot ones."""
        counts = self._counts
        for start, _, size in runs:
            for page in range(start, start + size, PAGE):
                counts[page] = counts.get(page, 0) + 1
        self._jobs += 1
        if self._jobs < LEARNING_JOBS:
            return False
        self.pages = frozenset(page for page, count in counts.items() if count > LEARNING_JOBS * HOT_SHARE)
        self.is_learning = False
        counts.clear()
        return True
