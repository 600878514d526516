"""The state of a process in the kernel, as far as /proc shows it."""

from __future__ import annotations

import os


class KernelState:
    """Threads, address space, signals and open descriptors of a process, which must be the same after each job."""

    def __init__(self, pid: int) -> None:
        self._stat = os.open("/proc/%d/stat" % pid, os.O_RDONLY | os.O_CLOEXEC)
        self._descriptors = os.open("/proc/%d/fd" % pid, os.O_RDONLY | os.O_CLOEXEC)
        self._first: tuple[object, ...] = ()
        self.resident_pages = 0
        """Pages of the process in memory when its state was last read."""

    def save(self) -> None:
        """Save the present state, with which later ones are compared."""
        self._first = self._read()

    def has_changed(self) -> bool:
        """Tell whether the state differs from the saved one."""
        return self._read() != self._first

    def _read(self) -> tuple[object, ...]:
        fields = os.pread(self._stat, 1024, 0).rpartition(b") ")[2].split()
        self.resident_pages = int(fields[21])
        # Threads, size of the address space; pending, blocked, ignored and caught signals; open descriptors.
        return (fields[17], fields[20], fields[28:32], os.fstat(self._descriptors).st_size)

    def close(self) -> None:
        """Close all descriptors."""
        os.close(self._stat)
        os.close(self._descriptors)
