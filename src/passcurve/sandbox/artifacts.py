"""The files that compilers have made, kept for equal sources: sealed files in memory, within a bound."""

from __future__ import annotations

import fcntl
import os
from collections import OrderedDict
from io import BufferedIOBase
from typing import cast

from passcurve.sandbox.artifact_store import MAX_ENTRY_BYTES, ArtifactStore
from passcurve.sandbox.job import Step

MAX_BYTES = 256 << 20
"""Memory that all kept files may take."""

_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL


class Artifacts:
    """Files by the digest of their source, toolchain and options; those unused for longest are dropped.

    ``store``: where they are kept from run to run, if anywhere.
    """

    def __init__(self, store: ArtifactStore | None = None, max_bytes: int = MAX_BYTES) -> None:
        self._store = store
        self._files: OrderedDict[str, BufferedIOBase] = OrderedDict()
        self._max_bytes = max_bytes
        self._bytes = 0

    def find(self, step: Step) -> BufferedIOBase | None:
        """Return the sealed file that an equal step has made, or None; see ``owns`` for who closes it."""
        if not step.makes:
            return None
        if step.makes in self._files:
            self._files.move_to_end(step.makes)
            return self._files[step.makes]
        content = self._store.read(step) if self._store is not None else None
        if content is None:
            return None
        file = new_file()
        file.write(content)
        file = seal(file)
        self._keep(step.makes, file)
        return file

    def add(self, step: Step, file: BufferedIOBase) -> None:
        """Keep the sealed file that a step has made, unless it is too large."""
        if not step.makes:
            return
        self._keep(step.makes, file)
        size = os.fstat(file.fileno()).st_size
        if self._store is not None and size <= MAX_ENTRY_BYTES:
            self._store.write(step, os.pread(file.fileno(), size, 0))

    def _keep(self, key: str, file: BufferedIOBase) -> None:
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
        if self._store is not None:
            self._store.trim()


def new_file() -> BufferedIOBase:
    """Return an empty file in memory that can be sealed."""
    descriptor = os.memfd_create("program", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    return cast("BufferedIOBase", open(descriptor, "w+b", buffering=0))


def seal(file: BufferedIOBase) -> BufferedIOBase:
    """Return a file in memory as one that nobody can change any more; closes the other."""
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, _SEALS)
    # The kernel runs no file that somebody may write to.
    sealed = open(f"/proc/self/fd/{file.fileno()}", "rb", buffering=0)  # noqa: SIM115
    file.close()
    return cast("BufferedIOBase", sealed)
