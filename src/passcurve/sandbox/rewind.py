"""Puts a process back to its snapshot, from outside, after every sample.

The zygote traces the process.  While that waits for its first job, the zygote copies its registers and its writable
memory and has the kernel note every page that is written from then on.  After a job the process is stopped wherever it
is; the pages that were written get their old bytes, the registers their old values, and it waits for a job once more.

What a process is besides memory and registers lies in the kernel, where only system calls change it; the filter
(``seccomp_strict.py``) ends a process at the first call that could.  Whatever is not exactly as expected here raises
UncleanError, and the process must not be used again.
"""

from __future__ import annotations

import ctypes
import os
import re
import struct
import time
from collections.abc import Callable

from passcurve.sandbox import copy_stub as stub
from passcurve.sandbox import kernel, memory
from passcurve.sandbox.copy_stub import PAGE, Stub

LEARNING_JOBS = 24
"""Jobs after which the pages that most of them wrote are known."""

HOT_SHARE = 0.3
"""A page that so many of those jobs wrote is put back every time and not protected: that saves a fault."""

GAP_PAGES = 2
"""Hot pages so near each other are put back together with what lies between them: areas that are split cost time."""

SPAN_PAGES = 200
"""Written pages so near each other are protected again together with what lies between them."""

PARTS = 2000
"""Runs of written pages of which it is kept where they lie."""

VERIFY_JOBS = 1000
"""Every so many jobs the whole memory is compared with the snapshot."""

SETTLE_S = 5.0
"""How long a process that was just made gets to wait for its first job."""

_SEIZE, _INTERRUPT, _CONT, _GETREGSET, _SETREGSET = 0x4206, 0x4207, 7, 0x4204, 0x4205
_EXITKILL = 1 << 20
_PTRACE = {"x86_64": 101}
"""Machines on which this was tried."""

_STOPPED = 0x80 << 16 | 5 << 8 | 0x7F
"""Wait status of a process that stopped because we asked it to."""

_TRAPPED = 5 << 8 | 0x7F
"""Wait status of a process that has come to the end of the copying code."""

WALL = 0x40000000
"""__WALL: wait for a traced process as for any other."""

_PRSTATUS, _XSTATE = 1, 0x202
_PRSTATUS_BYTES, _XSTATE_BYTES = 27 * 8, 1 << 14
_RBP, _RBX, _RAX, _RDX, _RSI, _RDI, _ORIG_RAX, _RIP, _FLAGS, _RSP = 4, 5, 10, 12, 13, 14, 15, 16, 18, 19
_RED_ZONE = 256
_READ, _RESTART = 0, (1 << 64) - 512

_SCAN_REQUEST = ctypes.c_ulong(0xC0606610)
_WP_ALLOWED, _WRITTEN, _PROTECT = 1, 2, 1
_REGIONS = 4096
_Words = ctypes.c_uint64 * 12
"""The request of a scan: size, flags, start, end, end of the walk, regions and their number, pages, masks."""
_SCAN_BYTES = 96
_REGION = struct.Struct("<3Q")
_PRESENT = 0xC0
"""In the last byte of an entry of pagemap: the page is in memory, or swapped out."""
_RUNS = re.compile(rb"[^\0]+")


class UncleanError(Exception):
    """The process is not as it must be, so it cannot be used again."""


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))


_long = ctypes.c_long
_syscall, _ioctl = kernel.raw_calls()


def _ptrace(request: int, pid: int, address: int = 0, data: int = 0) -> None:
    if _syscall(
        _long(_PTRACE[kernel.MACHINE]), _long(request), _long(pid | kernel.ZYGOTE_MARK), _long(address), _long(data)
    ):
        number = ctypes.get_errno()
        raise UncleanError("ptrace %#x: %s" % (request, os.strerror(number)))


class _Registers:
    """One set of registers of a process, as the kernel copies it."""

    def __init__(self, kind: int, size: int) -> None:
        self.kind = kind
        self._size = size
        self.bytes = ctypes.create_string_buffer(size)
        self._vector = _Vector(ctypes.addressof(self.bytes), size)
        self._address = ctypes.addressof(self._vector)

    def get(self, pid: int) -> None:
        """Read them; the set is then as long as the kernel says."""
        self._vector.size = self._size
        _ptrace(_GETREGSET, pid, self.kind, self._address)

    def set(self, pid: int) -> None:
        """Write them."""
        _ptrace(_SETREGSET, pid, self.kind, self._address)


class _Area:
    """A writable area of the process, and where in the snapshot its bytes lie."""

    def __init__(self, start: int, end: int, place: int, has_file: bool) -> None:
        self.start, self.end, self.place, self._has_file = start, end, place, has_file

    def copy(self, mem: int, pagemap: int, snapshot: memoryview) -> None:
        """Copy its bytes.  Raises UncleanError where they cannot be read."""
        data = os.pread(pagemap, (self.end - self.start) // PAGE * 8, self.start // PAGE * 8)
        # A page that nobody has touched reads as zeros, here and there; what lies in a file does not.
        present = bytes(len(data) // 8) if not self._has_file else b"1" * (len(data) // 8)
        if not self._has_file:
            present = bytes(map(_PRESENT.__and__, data[7::8]))
        for found in _RUNS.finditer(present):
            at, stop = found.start() * PAGE, found.end() * PAGE
            part = snapshot[self.place + at : self.place + stop]
            if os.preadv(mem, [part], self.start + at) != len(part):
                raise UncleanError("memory that cannot be read")


def _spans(runs: list[tuple[int, int, int]]) -> list[list[int]]:
    """Return from where to where runs of pages lie that are near each other: each call of the kernel has its price."""
    spans: list[list[int]] = []
    for start, _, size in runs:
        if spans and 0 <= start - spans[-1][1] <= SPAN_PAGES * PAGE:
            spans[-1][1] = start + size
        else:
            spans.append([start, start + size])
    return spans


class Rewinder:
    """The snapshot of one process.  It traces the process from its making on; when it is closed the process dies.

    ``tracker``: by which its writes are noted; ``descriptor``: by which it waits for its first job.
    ``hot``: pages that are put back every time, as an earlier process of the same making has taught.
    """

    def __init__(self, pid: int, tracker: int, descriptor: int, stub: Stub, hot: frozenset[int] = frozenset()) -> None:
        self._pid, self._tracker, self._descriptor = pid, tracker, descriptor
        self._stub = stub
        if kernel.MACHINE not in _PTRACE:
            raise UncleanError("rewinding was not tried on %s" % kernel.MACHINE)
        _ptrace(_SEIZE, pid, 0, _EXITKILL)
        folder = "/proc/%d/" % pid
        self._files: list[int] = []
        for name, flags in (
            ("mem", os.O_RDWR),
            ("pagemap", os.O_RDONLY),
            ("stat", os.O_RDONLY),
            ("maps", os.O_RDONLY),
            ("fd", os.O_RDONLY),
        ):
            self._files.append(os.open(folder + name, flags | os.O_CLOEXEC))
        self._mem, self._pagemap, self._stat, self._maps, self._folder = self._files
        self._areas: list[_Area] = []
        self.hot = hot
        self.jobs = 0
        self._seen: dict[int, int] = {}
        self._is_learning = True
        self._learned = 0
        self.resident_pages = 0
        self._parts: dict[tuple[int, int], list[tuple[int, int, int]]] = {}

    def snapshot(self) -> tuple[int, ...]:
        """Wait until the process waits for its first job, and copy it.  Raises UncleanError, OSError.

        Returns where it waits: registers that are the same in each process that has done nothing but begin.
        """
        self._general = _Registers(_PRSTATUS, _PRSTATUS_BYTES)
        self._extended = _Registers(_XSTATE, _XSTATE_BYTES)
        until = time.monotonic() + SETTLE_S
        while True:
            self._stop()
            self._general.get(self._pid)
            words = struct.unpack("<27Q", self._general.bytes.raw)
            if (words[_ORIG_RAX], words[_RAX], words[_RDI]) == (_READ, _RESTART, self._descriptor):
                break
            _ptrace(_CONT, self._pid)
            if time.monotonic() > until:
                raise UncleanError("it does not wait for a job")
            # There is no waiting for a process to begin a system call; this one does in a moment.
            time.sleep(0.0001)
        self._extended.get(self._pid)
        found = memory.areas(self._maps)
        memory.begin(self._tracker)
        self._stub.clear()
        place = 0
        for start, end, name in found:
            memory.register(self._tracker, start, end)
            area = _Area(start, end, place, name.startswith("/"))
            self._areas.append(area)
            place += end - start
            if place > stub.SNAPSHOT_BYTES:
                raise UncleanError("more memory than a snapshot can hold")
            area.copy(self._mem, self._pagemap, self._stub.snapshot)
        low, high = self._areas[0].start, self._areas[-1].end
        self._regions = bytearray(_REGION.size * _REGIONS)
        self._view = memoryview(self._regions)
        vector = ctypes.addressof((ctypes.c_char * len(self._regions)).from_buffer(self._regions))
        self._high = high
        wanted = _WP_ALLOWED | _WRITTEN
        self._look = _Words(_SCAN_BYTES, 0, low, high, 0, vector, _REGIONS, 0, 0, wanted, 0, _WRITTEN)
        self._look_at = ctypes.byref(self._look)
        self._protecting = _Words(_SCAN_BYTES, _PROTECT, 0, 0, 0, 0, 0, 0, 0, wanted, 0, 0)
        self._protecting_at = ctypes.byref(self._protecting)
        self._pagemap_fd = ctypes.c_int(self._pagemap)
        self._protect(low, high)
        self._prepare_copying()
        if self.hot:
            self._settle()
        self._state = self._read_state()
        self._go_on()
        return tuple(words[name] for name in (_RIP, _RSP, _RBP, _RSI, _RDX))

    def _protect(self, start: int, end: int) -> None:
        """Have writes to these pages noted from now on."""
        words = self._protecting
        words[2], words[3], words[4] = start, end, 0
        if _ioctl(self._pagemap_fd, _SCAN_REQUEST, self._protecting_at) < 0 or words[4] != end:
            raise UncleanError("pages that cannot be protected")

    def rewind(self, meanwhile: Callable[[], None], *, typical: bool = True) -> None:
        """Put the process back.  Raises UncleanError when it cannot be used again.

        ``meanwhile`` is called while it stands still, for what must be done before it goes on.
        ``typical``: which pages were written tells what is to be expected of the next jobs.
        """
        self._stop()
        try:
            self._rewind(typical)
            self.jobs += 1
            if self.jobs % VERIFY_JOBS == 0:
                self.verify()
            meanwhile()
            self._go_on()
        except OSError as error:
            raise UncleanError(str(error)) from None

    def _rewind(self, typical: bool) -> None:
        if self._read_state() != self._state:
            raise UncleanError("something of it in the kernel has changed")
        self._look[4] = 0
        count = _ioctl(self._pagemap_fd, _SCAN_REQUEST, self._look_at)
        if not 0 <= count < _REGIONS or self._look[4] != self._high:
            raise UncleanError("more was written than can be told")
        parts = self._parts
        rare: list[tuple[int, int, int]] = []
        for start, end, _ in _REGION.iter_unpack(self._view[: count * _REGION.size]):
            found = parts.get((start, end))
            if found is None:
                found = self._find(start, end)
                if len(parts) < PARTS:
                    parts[start, end] = found
            rare += found
        if len(rare) > stub.ENTRIES // 2:
            raise UncleanError("more was written than can be copied")
        self._stub.copy(rare)
        self._copy()
        for start, end in _spans(rare):
            self._protect(start, end)
        if self._is_learning and typical:
            self._learn(rare)

    def _copy(self) -> None:
        """Have the process itself copy its pages back."""
        self._copying.set(self._pid)
        _ptrace(_CONT, self._pid)
        _, status = os.waitpid(self._pid, WALL)
        if status != _TRAPPED:
            raise UncleanError("it did not come to the end of the copying code (%#x)" % status)

    def _learn(self, written: list[tuple[int, int, int]]) -> None:
        """Count the pages that jobs write, and see which most of them do."""
        for start, _, size in written:
            for page in range(start, start + size, PAGE):
                self._seen[page] = self._seen.get(page, 0) + 1
        self._learned += 1
        if self._learned == LEARNING_JOBS:
            self.hot = frozenset(page for page, count in self._seen.items() if count > LEARNING_JOBS * HOT_SHARE)
            self._seen.clear()
            self._settle()

    def _settle(self) -> None:
        """Have the hot pages copied every time; nobody notes any more whether they are written."""
        self._is_learning = False
        runs = self._runs(sorted(self.hot))[: stub.ENTRIES // 2]
        for start, _, size in runs:
            memory.unregister(self._tracker, start, start + size)
        self._stub.copy_always([*self._scratch, *runs])
        self._parts.clear()

    def _runs(self, pages: list[int]) -> list[tuple[int, int, int]]:
        """Return pages as runs: address, place in the snapshot, size."""
        runs: list[list[int]] = []
        for page in pages:
            if runs and page - runs[-1][1] <= GAP_PAGES * PAGE:
                runs[-1][1] = page + PAGE
            else:
                runs.append([page, page + PAGE])
        return [part for start, end in runs for part in self._find(start, end)]

    def _prepare_copying(self) -> None:
        """Point the registers at the copying code, and have copied first of all what that code itself writes."""
        words = list(struct.unpack("<27Q", self._general.bytes.raw))
        # Far enough below what the interrupted code may have put there.
        stack = words[_RSP] - _RED_ZONE
        self._scratch = self._runs(sorted({stack // PAGE * PAGE, (stack - 8) // PAGE * PAGE}))
        words[_RBX], words[_RSP], words[_RIP] = stub.TABLE_AT, stack, stub.CODE_AT
        words[_ORIG_RAX], words[_FLAGS] = (1 << 64) - 1, stub.FLAGS
        self._copying = _Registers(_PRSTATUS, _PRSTATUS_BYTES)
        self._copying.bytes.raw = struct.pack("<27Q", *words)
        self._stub.copy_always(self._scratch)

    def _find(self, start: int, end: int) -> list[tuple[int, int, int]]:
        """Return (address, place in the snapshot, size) of what lies between two addresses, by area."""
        return [
            (
                max(start, area.start),
                area.place + max(start, area.start) - area.start,
                min(end, area.end) - max(start, area.start),
            )
            for area in self._areas
            if max(start, area.start) < min(end, area.end)
        ]

    def verify(self) -> None:
        """Compare all memory of the stopped process with the snapshot.  Raises UncleanError where they differ."""
        for area in self._areas:
            size = area.end - area.start
            for at in range(0, size, 1 << 20):
                there = os.pread(self._mem, min(size - at, 1 << 20), area.start + at)
                if there != self._stub.snapshot[area.place + at : area.place + at + len(there)].tobytes():
                    raise UncleanError("memory differs from the snapshot after a rewind")

    def _read_state(self) -> tuple[object, ...]:
        """Return what of the process's state in the kernel can be seen from outside."""
        fields = os.pread(self._stat, 1024, 0).rpartition(b") ")[2].split()
        self.resident_pages = int(fields[21])
        # Threads, size of the address space; pending, blocked, ignored and caught signals; open descriptors.
        return (fields[17], fields[20], fields[28:32], os.fstat(self._folder).st_size)

    def _stop(self) -> None:
        _ptrace(_INTERRUPT, self._pid)
        _, status = os.waitpid(self._pid, WALL)
        if status != _STOPPED:
            raise UncleanError("it stopped otherwise than it was asked to (%#x)" % status)

    def _go_on(self) -> None:
        self._general.set(self._pid)
        self._extended.set(self._pid)
        _ptrace(_CONT, self._pid)

    def close(self) -> None:
        """Let go of everything; the caller kills and reaps the process."""
        for fd in (*self._files, self._tracker):
            os.close(fd)
        self._files = []
