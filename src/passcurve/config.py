"""Settings: from words and the environment to frozen values; the only file that reads the environment."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from pathlib import Path

from passcurve.errors import UsageError

DEFAULT_KS = (1, 10, 100)
DEFAULT_MEMORY_BYTES = 4 << 30
_UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(k|m|g|ki|mi|gi)?b?\s*", re.IGNORECASE)
_MEMORY_SHARE = 0.9
_DIGITS = 15
"""More would be no count and no size of anything."""


def cache_dir() -> Path:
    """Return where fetched benchmarks lie: ``PASSCURVE_CACHE``, else the user's cache folder."""
    if named := os.environ.get("PASSCURVE_CACHE"):
        return Path(named)
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "passcurve"
    try:
        return Path("~/.cache/passcurve").expanduser()
    except RuntimeError:
        # Nobody knows this user, as in many containers.
        return Path(tempfile.gettempdir()) / f"passcurve-cache-{os.getuid()}"


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory_of_machine() -> int | None:
    """Return the bytes of memory that this machine or container has, or None where that cannot be known."""
    found = []
    with contextlib.suppress(ValueError, OSError, AttributeError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            found.append(int(Path(name).read_text(encoding="ascii")))
        except (OSError, ValueError):
            continue
    return min(found) if found else None


def address_space() -> int | None:
    """Return the hard limit of our address space in bytes, which no sample can exceed; None when there is none."""
    if sys.platform == "win32":
        return None
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    return None if hard == resource.RLIM_INFINITY else hard


def parse_size(text: str) -> int:
    """Return bytes for words like ``4GiB``, ``512MB`` or ``1073741824``.  Raises UsageError for anything else."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise UsageError(f"--memory {text!r} is no size; write it like 4GiB, 512MiB or 2G")
    if len(match[1]) > _DIGITS:
        raise UsageError(f"--memory has {len(match[1])} digits; write it like 4GiB, 512MiB or 2G")
    size = int(float(match[1]) * _UNITS[(match[2] or "").lower()])
    if size < 64 << 20:
        raise UsageError(f"--memory {text!r} is too little for an interpreter; at least 64MiB is needed")
    return size


def parse_ks(text: str) -> tuple[int, ...]:
    """Return the values of ``--k 1,10,100``, each once, in order.  Raises UsageError for what is no list of counts."""
    ks = []
    for part in re.split(r"[\s,]+", text.strip("()[] \t")):
        if part:
            if not part.isdecimal() or len(part) > _DIGITS or int(part) < 1:
                raise UsageError(f"--k {text!r}: {part!r} is no whole number from 1 on; write it like --k 1,10,100")
            ks.append(int(part))
    if not ks:
        raise UsageError(f"--k {text!r} names no k; write it like --k 1,10,100")
    return tuple(dict.fromkeys(ks))


def admit(workers: int | None, memory_bytes: int | None) -> tuple[int, int, str]:
    """Return (workers, memory_bytes, note) such that all workers at their limit fit into this machine.

    Raises UsageError when a limit that was asked for does not fit even once.
    """
    total = memory_of_machine()
    room = int(total * _MEMORY_SHARE) if total else None
    wanted = workers if workers is not None else cores()
    if wanted < 1:
        raise UsageError(f"--workers {wanted} is too few; at least 1 is needed")
    if memory_bytes is None:
        memory_bytes = DEFAULT_MEMORY_BYTES
        if room is not None and room < memory_bytes:
            return 1, room >> 20 << 20, f"memory limit lowered to {room >> 20} MiB: this machine has no more"
    elif room is not None and room < memory_bytes:
        raise UsageError(f"--memory asks for {_gib(memory_bytes)}; at most {_gib(room)} of this machine can be given")
    allowed = address_space()
    if allowed is not None and allowed < memory_bytes:
        raise UsageError(
            f"--memory {_gib(memory_bytes)}: this process may use {_gib(allowed)} of address space (ulimit -v), "
            "and samples inherit that; raise the limit or ask for less memory"
        )
    fitting = wanted if room is None else max(1, min(wanted, room // memory_bytes))
    note = ""
    if workers is not None and fitting < workers:
        note = (
            f"{fitting} workers instead of {workers}: {workers} at {_gib(memory_bytes)} each do not fit "
            "into this machine (--memory lowers what each may use)"
        )
    return fitting, memory_bytes, note


def _gib(size: int) -> str:
    return f"{size / (1 << 30):.3g} GiB"
