"""The pages that a process has written since its snapshot, as the kernel tracks them (userfaultfd and PAGEMAP_SCAN)."""

from __future__ import annotations

import ctypes
import os
from bisect import bisect

from passcurve.sandbox.zygote import kernel, memory
from passcurve.sandbox.zygote.copy_stub import PAGE, REGION, REGIONS
from passcurve.sandbox.zygote.tracing import UncleanError

LEARNING_JOBS = 24
"""Jobs from which the hot pages are learned."""

HOT_SHARE = 0.3
"""A page is hot when more than this share of those jobs wrote it."""

TEACHING_PAGES = 1000
"""A job that wrote more pages than this teaches none: what is hot is copied after each later job."""

SPAN_PAGES = 200
"""Dirty pages at most this far from each other are protected by one call, with all between them."""

CACHED_REGIONS = 2000
"""Dirty regions whose parts are cached."""

Region = tuple[int, int, int]
"""A dirty region: its start, its end, categories."""

_SCAN_REQUEST = ctypes.c_ulong(0xC0606610)
_WP_ALLOWED, _WRITTEN, _PROTECT = 1, 2, 1
_START, _END, _WALK_END = 2, 3, 4
_Words = ctypes.c_uint64 * 12
"""The request of a scan: size, flags, start, end, end of the walk, regions and their number, pages, masks."""
_SCAN_BYTES = 96

_, _ioctl = kernel.raw_calls()


class DirtyPages:
    """The dirty pages of one process.

    ``tracker``: descriptor of its userfaultfd, which is closed with this; ``table`` receives the dirty regions.
    A page that was never touched is not tracked, and need not be: the kernel reports it once it is.
    """

    def __init__(self, pid: int, tracker: int, table: memoryview) -> None:
        self._tracker = tracker
        self._pagemap = os.open("/proc/%d/pagemap" % pid, os.O_RDONLY | os.O_CLOEXEC)
        self._pagemap_argument = ctypes.c_int(self._pagemap)
        self._table = table
        vector = ctypes.addressof(ctypes.c_char.from_buffer(table))
        wanted = _WP_ALLOWED | _WRITTEN
        self._scan = _Words(_SCAN_BYTES, 0, 0, 0, 0, vector, REGIONS, 0, 0, wanted, 0, _WRITTEN)
        self._scan_at = ctypes.byref(self._scan)
        self._protection = _Words(_SCAN_BYTES, _PROTECT, 0, 0, 0, 0, 0, 0, 0, wanted, 0, 0)
        self._protection_at = ctypes.byref(self._protection)
        self._hot: list[int] = []
        """Pages that are always dirty, in order."""
        self._hot_regions: set[Region] = set()
        """Regions that are hot as a whole."""
        self._parts: dict[Region, list[tuple[int, int]]] = {}
        """Cache of the parts of other regions that are not hot."""

    def register(self, areas: list[memory.Area], hot: frozenset[int]) -> None:
        """Track the writable areas of the process, but for the hot pages.  Raises OSError before Linux 6.7."""
        memory.enable_tracking(self._tracker)
        for area in areas:
            memory.register_area(self._tracker, area.start, area.end)
        self._scan[_START], self._scan[_END] = areas[0].start, areas[-1].end
        self.set_hot(hot)
        self.track(self.regions(self.scan()))

    def set_hot(self, pages: frozenset[int]) -> None:
        """Do not track these pages from the next time on that they are dirty: they stay dirty."""
        self._hot = sorted(pages)
        self._hot_regions.clear()
        self._parts.clear()

    def populated_pages(self, area: memory.Area) -> bytes:
        """Return a byte for each page of an area: zero where the page has never been touched."""
        data = os.pread(self._pagemap, (area.end - area.start) // PAGE * 8, area.start // PAGE * 8)
        return bytes(map(memory.PRESENT.__and__, data[7::8]))

    def scan(self) -> int:
        """Write the dirty regions into the table; return their number.  Raises UncleanError when they are too many."""
        words = self._scan
        words[_WALK_END] = 0
        count = int(_ioctl(self._pagemap_argument, _SCAN_REQUEST, self._scan_at))
        if not 0 <= count < REGIONS or words[_WALK_END] != words[_END]:
            raise UncleanError("the process wrote more pages than one scan can return")
        REGION.pack_into(self._table, count * REGION.size, 0, 0, 0)
        return count

    def regions(self, count: int) -> set[Region]:
        """Return the regions of the last scan."""
        return set(REGION.iter_unpack(self._table[: count * REGION.size]))

    def track(self, regions: set[Region]) -> None:
        """Mark all pages of these regions as clean, but for the hot ones.  Raises UncleanError."""
        parts = []
        for region in sorted(regions - self._hot_regions):
            cached = self._parts.get(region)
            parts += self._parts_of(region) if cached is None else cached
        for start, end in self._spans(parts):
            self._protect(start, end)

    def _parts_of(self, region: Region) -> list[tuple[int, int]]:
        start, end, _ = region
        hot = self._hot[bisect(self._hot, start - 1) : bisect(self._hot, end - 1)]
        edges = [start, *(edge for page in hot for edge in (page, page + PAGE)), end]
        parts = [(low, high) for low, high in zip(edges[::2], edges[1::2]) if low < high]
        if not parts:
            self._hot_regions.add(region)
        elif len(self._parts) < CACHED_REGIONS:
            self._parts[region] = parts
        return parts

    def _spans(self, parts: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Join parts that are near each other with no hot page between: each call of the kernel has its price."""
        spans: list[tuple[int, int]] = []
        place = -1
        for start, end in parts:
            last, place = place, bisect(self._hot, start)
            if place == last and start - spans[-1][1] <= SPAN_PAGES * PAGE:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((start, end))
        return spans

    def _protect(self, start: int, end: int) -> None:
        words = self._protection
        words[_START], words[_END], words[_WALK_END] = start, end, 0
        if _ioctl(self._pagemap_argument, _SCAN_REQUEST, self._protection_at) < 0 or words[_WALK_END] != end:
            raise UncleanError("pages cannot be write-protected")

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

    def learn(self, regions: set[Region]) -> bool:
        """Count the pages that a job wrote; return whether these were enough jobs to choose the hot ones."""
        counts = self._counts
        if sum(end - start for start, end, _ in regions) <= TEACHING_PAGES * PAGE:
            for start, end, _ in regions:
                for page in range(start, end, PAGE):
                    counts[page] = counts.get(page, 0) + 1
        self._jobs += 1
        if self._jobs < LEARNING_JOBS:
            return False
        self.pages = frozenset(page for page, count in counts.items() if count > LEARNING_JOBS * HOT_SHARE)
        self.is_learning = False
        counts.clear()
        return True
