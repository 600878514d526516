"""The files that compilers have made, kept for equal sources: sealed files in memory, within a bound."""

from __future__ import annotations

import fcntl
import os
from collections import Counter, OrderedDict
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
        self._users: Counter[BufferedIOBase] = Counter()
        """How many use each file; one that is dropped stays open as long as anybody does."""
        self._max_bytes = max_bytes
        self._bytes = 0

    def find(self, step: Step) -> BufferedIOBase | None:
        """Return the sealed file that an equal step has made, or None; ``release`` it afterwards."""
        if not step.makes:
            return None
        if step.makes in self._files:
            self._files.move_to_end(step.makes)
            self._users[self._files[step.makes]] += 1
            return self._files[step.makes]
        content = self._store.read(step) if self._store is not None else None
        if content is None:
            return None
        file = new_file()
        file.write(content)
        file = seal(file)
        self._users[file] += 1
        self._keep(step.makes, file)
        return file

    def add(self, step: Step, file: BufferedIOBase) -> None:
        """Keep the sealed file that a step has made, unless it is too large; ``release`` it afterwards."""
        self._users[file] += 1
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
            if not self._users[oldest]:
                oldest.close()

    def release(self, file: BufferedIOBase) -> None:
        """End the use of a file; close it where it is not kept and nobody else uses it."""
        self._users[file] -= 1
        if self._users[file] > 0:
            return
        del self._users[file]
        if not any(kept is file for kept in self._files.values()):
            file.close()

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
