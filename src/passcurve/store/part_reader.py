"""Lines of the parts of an attempt, read back from where they begin."""

from __future__ import annotations

import os
from pathlib import Path

from passcurve.errors import StoreError

_READ_BYTES = 4096
_BLOCK_BYTES = 1 << 16


class PartReader:
    """Open parts and the block that was read last; a part's number is its place in the order of ``add``."""

    def __init__(self) -> None:
        self.paths: list[Path] = []
        self._files: list[int] = []
        self._block, self._block_part, self._block_offset = b"", -1, 0
        self._next = (-1, 0)
        """Part and offset of the line after the one that was read last."""

    def add(self, path: Path, fd: int) -> int:
        """Take over the open file of a part and return the part's number."""
        self._files.append(fd)
        self.paths.append(path)
        return len(self._files) - 1

    def read(self, part: int, offset: int) -> bytes:
        """Return the line at an offset with its end; a torn last line has none.

        Raises StoreError when the part cannot be read.
        """
        try:
            return self._read(part, offset)
        except OSError as error:
            raise StoreError(f"cannot read {str(self.paths[part])!r}: {error.strerror or error}") from error

    def _read(self, part: int, offset: int) -> bytes:
        if part == self._block_part and self._block_offset <= offset < self._block_offset + len(self._block):
            start = offset - self._block_offset
        else:
            # A reader that asks for the line after the last one will ask for more.
            size = _BLOCK_BYTES if (part, offset) == self._next else _READ_BYTES
            self._block, self._block_part, self._block_offset = os.pread(self._files[part], size, offset), part, offset
            start = 0
        while not (end := self._block.find(b"\n", start) + 1):
            block_end = self._block_offset + len(self._block)
            piece = os.pread(self._files[part], max(_READ_BYTES, len(self._block)), block_end)
            self._block, self._block_offset, start = self._block[start:] + piece, offset, 0
            if not piece:
                return self._block
        line = self._block[start:end]
        self._next = (part, offset + len(line))
        return line

    def close(self) -> None:
        """Close the files; a second call does nothing."""
        while self._files:
            os.close(self._files.pop())
