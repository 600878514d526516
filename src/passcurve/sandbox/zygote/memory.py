"""The memory of a process that is to be rewound: its layout before the fork, and the tracking of its writes.

A program that asks the kernel for memory changes the address space, and its process cannot be rewound then.  So the
interpreter gets enough beforehand: blocks of its own allocator, room at the top of the heap, and a full-size stack.
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import itertools
import mmap
import os
import resource
import struct
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

from passcurve.sandbox.zygote import kernel

STACK_BYTES = 8 << 20
HEAP_BYTES = 8 << 20
"""Room at the top of the C library's heap."""

BLOCKS = 8_400
"""Blocks of CPython's allocator, of the largest size that it has, that are made at first; their arenas are kept."""

USED_BLOCKS = 1_000
"""Blocks of that size: no more memory than theirs is used before the first child, and its objects lie behind."""

FRESH_BYTES = 1 << 20
"""Fresh memory of the C library's heap begins at a multiple of this after the top that it had first."""

HELD_BLOCKS = 16_000
"""Blocks that can be held without asking for memory to hold them."""

MAPPED_BYTES = 16 << 20
"""Blocks of the C library from this size on get a mapping of their own."""

_M_MMAP_THRESHOLD, _M_TOP_PAD, _M_TRIM_THRESHOLD = -3, -2, -1
_UFFDIO_API, _UFFDIO_REGISTER = 0xC018AA3F, 0xC020AA00
_API, _WP_ASYNC, _WP_UNPOPULATED, _MODE_WP = 0xAA, 1 << 15, 1 << 13, 2
_USER_MODE_ONLY = 1
_USERFAULTFD = {"x86_64": 323, "aarch64": 282}
_MAP_FIXED = 0x10
_STACK_MARGIN = 8 << 10
"""Distance of the grown stack from its limit; CPython 3.14 takes all of it but 36 KiB for granted."""

_CHUNK_HEAD, _LEAST_CHUNK = 8, 32
_CHUNK_SIZES = (1 << 16, 1 << 13, *range(1040, 0, -16))
"""Sizes of chunks of glibc, with their heads, that take all free ones together: large ones first, as it splits them."""

_BLOCK_STEP, _LARGEST_BLOCK, _POOL_HEAD, _MOST_BLOCKS = 16, 512, 48, 20_000
_BYTES_HEAD = sys.getsizeof(b"")
_POOL_BYTES = (16 if sys.version_info >= (3, 10) else 4) << 10
"""Sizes in CPython's allocator: blocks, and the pools that hold blocks of one size."""

_CACHE_NAMES, _CACHE_CLASSES = 1100, 16
"""Names and classes that reach all 4,096 places of the cache of attributes together."""

_held: list[object] = []
"""Blocks that are never given back."""

_first_top = 0
"""Where the rest of the C library's heap began when the memory was laid out; 0 where that was not done."""

_fresh_pool = 0
"""Number of the last pool before those of the children; 0 likewise."""

PRESENT = 0xC0
"""Bits in the last byte of an entry of ``pagemap``: the page is in memory or swapped out."""


class Area(NamedTuple):
    """A writable area of a process's memory."""

    start: int
    end: int
    name: str


def lay_out() -> None:
    """Lay out the memory of this process so that its children seldom need more.  Call it once, before any fork."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(_M_MMAP_THRESHOLD, MAPPED_BYTES)
        libc.mallopt(_M_TRIM_THRESHOLD, 1 << 30)
        libc.mallopt(_M_TOP_PAD, HEAP_BYTES)
        libc.malloc.restype = ctypes.c_void_p
        small = libc.malloc(ctypes.c_size_t(HEAP_BYTES >> 1))
        libc.free(ctypes.c_void_p(small))
    blocks = [bytes(_LARGEST_BLOCK - _BYTES_HEAD) for _ in range(BLOCKS)]
    # One block of each arena keeps it from being given back.
    arenas: dict[int, bytes] = {}
    for block in blocks:
        arenas.setdefault(id(block) >> 18, block)
    _held.extend(arenas.values())
    blocks.clear()
    mark_pools()
    # A list keeps room for as many again when it loses half of its items.  Made later, this room and the memory that it
    # is freed from would be half of FRESH_BYTES, and what else is used end now before it and now behind.
    _held.extend([None] * 2 * HELD_BLOCKS)
    del _held[-HELD_BLOCKS:]
    _grow_stack()
    replace_droppable()
    global _first_top
    _first_top = _heap_top(libc)


def mark_pools() -> None:
    """Find the pool behind those that will be used before the first child.  Call it again when much has been loaded."""
    blocks = [bytes(_LARGEST_BLOCK - _BYTES_HEAD) for _ in range(USED_BLOCKS)]
    global _fresh_pool
    _fresh_pool = id(blocks[-1]) // _POOL_BYTES
    # The last ones first: pools that were freed last are given out first.
    while blocks:
        blocks.pop()


def _grow_stack() -> None:
    """Grow the stack to its limit now: a sample would grow it without a system call, and it would stay so large."""
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    size = STACK_BYTES if hard == resource.RLIM_INFINITY else min(hard, STACK_BYTES)
    if soft != resource.RLIM_INFINITY and soft < size:
        # That of the user's shell: recursion would end samples by it.
        resource.setrlimit(resource.RLIMIT_STACK, (size, hard))
    end = next((area.end for area in read_own_areas() if area.name == "[stack]"), 0)
    if end:
        ctypes.memset(end - size + _STACK_MARGIN, 0, 1)
        # Only the limit that counts: programs in new processes may set a larger one, and some fail where they cannot.
        small = 1 << 20 if hard == resource.RLIM_INFINITY else min(1 << 20, hard)
        resource.setrlimit(resource.RLIMIT_STACK, (small, hard))


def replace_droppable() -> None:
    """Put ordinary memory in the place of what the kernel may drop, whose writes it does not track.

    glibc keeps the state of its random numbers there from 2.41 on.  That starts anew where it reads zeros: here, and in
    each child.
    """
    os.urandom(1)
    for start, end in _read_droppable():
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_FIXED
        kernel.map_memory(start, end - start, mmap.PROT_READ | mmap.PROT_WRITE, flags)
        kernel.wipe_on_fork(start, end - start)


def _read_droppable() -> list[tuple[int, int]]:
    """Return start and end of each area of this process that the kernel may drop."""
    areas: list[tuple[int, int]] = []
    place = (0, 0)
    with open("/proc/self/smaps", encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            first = line.split(None, 1)[0]
            if not first.endswith(":"):
                start, _, end = first.partition("-")
                place = (int(start, 16), int(end, 16))
            elif first == "VmFlags:" and "dp" in line.split():
                areas.append(place)
    return areas


def use_up_free_blocks() -> None:
    """Take all free blocks between used ones, for good, so that later objects lie in fresh memory.

    Which blocks are free, and in what order they would be given out, depends on all that this process and its parents
    have done; the start of fresh memory does not.
    """
    gc.collect()
    _use_up_free_chunks()
    place = _Place()
    # An iterator for each size: one that was made later would take a free block of another size, or a fresh pool.
    rounds = [
        (size, itertools.repeat(None, _MOST_BLOCKS)) for size in range(_BLOCK_STEP, _LARGEST_BLOCK + 1, _BLOCK_STEP)
    ]
    in_turn = iter(rounds)
    # They lie where blocks were free, which must not be free again at the end.
    _held.extend((place, rounds, in_turn))
    # Up to CPython 3.10 the first call of a function makes a frame that stays.
    _use_up(*rounds[-1], place)
    # Names that the cache of attributes holds would be freed when it is filled, among blocks that are used up by then.
    getattr(sys, "_clear_internal_caches", getattr(sys, "_clear_type_cache", int))()
    _use_up_free_pools()
    for size, times in in_turn:
        _use_up(size, times, place)
    _fill_attribute_cache()


class _HeapFacts(ctypes.Structure):
    """Facts about its heap that glibc tells (``struct mallinfo2``); the last is the size of the rest at its top."""

    _fields_ = (("others", ctypes.c_size_t * 9), ("top_bytes", ctypes.c_size_t))


def _heap_top(libc: Any) -> int:
    """Return where the rest of the C library's heap begins, which no chunk has held yet; 0 where that is unknown."""
    if not hasattr(libc, "mallinfo2"):
        return 0
    libc.mallinfo2.restype, libc.malloc.restype, libc.sbrk.restype = _HeapFacts, ctypes.c_void_p, ctypes.c_void_p
    return int(libc.sbrk(ctypes.c_long(0)) - libc.mallinfo2().top_bytes)


def _use_up_free_chunks() -> None:
    """Take all free chunks of the C library's heap, for good, and begin the rest at an address that is always the same.

    What is larger than the blocks of CPython's allocator lies there: classes, for one.
    """
    libc = ctypes.CDLL(None)
    # It has a class of its own, which would be freed at any time.
    _held.append(libc)
    if not _heap_top(libc):
        return
    for size in _CHUNK_SIZES:
        top = _heap_top(libc)
        while _heap_top(libc) == top and libc.malloc(ctypes.c_size_t(size - _CHUNK_HEAD)):
            pass
    used_bytes = _heap_top(libc) - _first_top + _LEAST_CHUNK
    libc.malloc(ctypes.c_size_t(-used_bytes % FRESH_BYTES + _LEAST_CHUNK - _CHUNK_HEAD))


def _use_up_free_pools() -> None:
    """Take all pools that this process or its parents may have used, for good.

    Which of them are in use, and in what order the others would be given out, depends on all that they have done.
    """
    for _ in range(USED_BLOCKS if _fresh_pool else 0):
        block = bytes(_LARGEST_BLOCK - _BYTES_HEAD)
        _held.append(block)
        if id(block) // _POOL_BYTES == _fresh_pool:
            break


class _Place:
    """The place of a block, read without making an object: an integer above 256 would take a block itself."""

    __slots__ = ("_address", "_pool", "_slot", "_start")

    def __init__(self) -> None:
        self._slot = ctypes.py_object()
        self._address = (ctypes.c_ubyte * 8).from_buffer(self._slot)
        # A pool begins with the number of its blocks that are in use.
        self._pool = ctypes.POINTER(ctypes.c_ubyte)()
        self._start = (ctypes.c_ubyte * 8).from_buffer(self._pool)

    def is_fresh(self, block: object) -> bool:
        """Tell whether a block is the first and only one of its pool."""
        address, start, high_bits = self._address, self._start, (_POOL_BYTES >> 8) - 1
        self._slot.value = block
        if address[0] != _POOL_HEAD or address[1] & high_bits:
            return False
        start[1], start[2], start[3] = address[1] & 255 - high_bits, address[2], address[3]
        start[4], start[5], start[6], start[7] = address[4], address[5], address[6], address[7]
        return self._pool[0] == 1 and not self._pool[1]


def _use_up(size: int, times: Iterable[None], place: _Place) -> None:
    """Take all free blocks of a size, until one is the first and only block of its pool: that pool is fresh.

    Nothing else is made on the way, which would take free blocks of another size, or a fresh pool of its own.
    """
    unit, byte, bytes_size = 1j, b"-", size - _BYTES_HEAD
    for _ in times:
        # Each makes one object, without a tuple of arguments or a float on the way: CPython keeps these for later ones.
        block: object
        if size == _BLOCK_STEP:
            block = object()
        elif size == 2 * _BLOCK_STEP:
            block = -unit
        else:
            block = byte * bytes_size
        _held.append(block)
        if place.is_fresh(block):
            break


def _fill_attribute_cache() -> None:
    """Put names that stay into every place of CPython's cache of attributes.

    It keeps a name until another one takes its place, so that a name that is used no more would be freed at any time.
    A place depends on the number of the class and on the address of the name: classes are numbered one after the
    other, and in fresh memory names lie one after the other.
    """
    names = ["passcurve %d" % number for number in range(_CACHE_NAMES)]
    for _ in range(_CACHE_CLASSES):
        thing = type("_", (), {})()
        for name in names:
            getattr(thing, name, None)
        _held.append(thing)
    _held.append(names)


def read_areas(maps: int, *, may_share: bool = False) -> list[Area]:
    """Return the private writable areas of a process; ``maps`` is the descriptor of its ``maps`` in /proc.

    Raises OSError for an area that is shared, unless it ``may_share`` some.
    """
    text = b""
    while part := os.pread(maps, 1 << 16, len(text)):
        text += part
    writable = []
    for line in text.decode("utf-8", "surrogateescape").splitlines():
        fields = line.split(None, 5)
        if fields[1][1] == "w":
            if fields[1][3] != "p":
                if may_share:
                    continue
                raise OSError("memory that is shared: %s" % line)
            start, _, end = fields[0].partition("-")
            writable.append(Area(int(start, 16), int(end, 16), fields[5] if len(fields) > 5 else ""))
    return writable


def read_own_areas() -> list[Area]:
    """Return the private writable areas of this process."""
    fd = os.open("/proc/self/maps", os.O_RDONLY)
    try:
        return read_areas(fd, may_share=True)
    finally:
        os.close(fd)


def open_userfaultfd() -> int:
    """Return a userfaultfd, with which another process can track the pages that this one writes.

    Raises OSError where the kernel refuses.
    """
    return kernel.syscall(
        "userfaultfd", _USERFAULTFD[kernel.MACHINE], os.O_CLOEXEC | _USER_MODE_ONLY | kernel.ZYGOTE_MARK
    )


def register_area(fd: int, start: int, end: int) -> None:
    """Track the writes to the pages between two addresses.  Call ``enable_tracking`` first."""
    fcntl.ioctl(fd, _UFFDIO_REGISTER, bytearray(struct.pack("<QQQQ", start, end - start, _MODE_WP, 0)))


def enable_tracking(fd: int) -> None:
    """Agree with the kernel on how writes are tracked.  Raises OSError before Linux 6.7."""
    fcntl.ioctl(fd, _UFFDIO_API, bytearray(struct.pack("<QQQ", _API, _WP_ASYNC | _WP_UNPOPULATED, 0)))
