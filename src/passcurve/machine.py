"""The memory of this machine or container: the amount that there is, and the amount that is left."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MEMORY_SHARE = 0.9
"""The part of the memory that samples may have."""

_MEMINFO, _GROUPS_OF_PROCESS = Path("/proc/meminfo"), Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")


class _Group(NamedTuple):
    """The names of the files of a control group."""

    limit: str
    used: str
    reclaimable: str
    """Field of ``memory.stat`` with the bytes of the cache of files that are taken back first."""


_V1 = _Group("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_V2 = _Group("memory.max", "memory.current", "inactive_file")


def total_memory_bytes() -> int | None:
    """Return the memory of this machine or container in bytes, or None where it is not known."""
    sizes = [limit for limit, _ in _limits()]
    with contextlib.suppress(ValueError, OSError, AttributeError):
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return min(sizes, default=None)


def free_memory_bytes() -> int | None:
    """Return the memory that this machine or container has left, in bytes, or None where it is not known."""
    sizes = [max(0, limit - used) for limit, used in _limits()]
    if match := re.search(r"^MemAvailable:\s+(\d+) kB$", _read(_MEMINFO), re.MULTILINE):
        sizes.append(int(match[1]) << 10)
    return min(sizes, default=None)


def _limits() -> Iterator[tuple[int, int]]:
    """Yield limit and use of each control group that this process is in."""
    for folder, group in _group_folders():
        limit, used = _read(folder / group.limit).strip(), _read(folder / group.used).strip()
        # Version 2 says "max" where there is none.
        if limit.isdecimal() and used.isdecimal():
            cached = re.search(rf"^{group.reclaimable} (\d+)$", _read(folder / "memory.stat"), re.MULTILINE)
            yield int(limit), max(0, int(used) - int(cached[1] if cached is not None else 0))


def _group_folders() -> Iterator[tuple[Path, _Group]]:
    """Yield the folder of each control group of memory that this process is in, and of those around it."""
    for line in _read(_GROUPS_OF_PROCESS).splitlines():
        _, controllers, place = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root, group = (_GROUPS / "memory", _V1) if controllers else (_GROUPS, _V2)
        # In a container the path may be that of the host, and the root is the container's own.
        folder = root / place.lstrip("/")
        while folder != root:
            yield folder, group
            folder = folder.parent
        yield root, group


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii")
    except (OSError, UnicodeDecodeError):
        return ""
