"""The files that compilers have made, kept for equal sources: sealed files in memory, within a bound."""

from __future__ import annotations

import os
from collections import OrderedDict
from io import BufferedIOBase

MAX_BYTES = 256 << 20
"""Memory that all kept files may take."""


class Artifacts:
    """Files by the digest of their source, toolchain and options; those unused for longest are dropped."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._files: OrderedDict[str, BufferedIOBase] = OrderedDict()
        self._max_bytes = max_bytes
        self._bytes = 0

    def find(self, key: str) -> BufferedIOBase | None:
        """Return a kept file, or None."""
        if key in self._files:
            self._files.move_to_end(key)
        return self._files.get(key)

    def add(self, key: str, file: BufferedIOBase) -> None:
        """Keep a sealed file, unless it is too large."""
        size = os.fstat(file.fileno()).st_size
        if key in self._files or size > self._max_bytes // 4:
            return
        self._files[key] = file
        self._bytes += size
        while self._bytes > self._max_bytes:
            _, oldest = self._files.popitem(last=False)
            self._bytes -= os.fstat(oldest.fileno()).st_size
            # Whoever uses it has it open; the last reference closes it.

    def owns(self, file: BufferedIOBase) -> bool:
        """Tell whether a file is kept here."""
        return any(kept is file for kept in self._files.values())

    def close(self) -> None:
        """Drop all files."""
        for file in self._files.values():
            file.close()
        self._files.clear()
        self._bytes = 0
