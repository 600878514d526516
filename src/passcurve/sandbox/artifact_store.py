"""The files that compilers have made, kept from run to run in the user's cache folder.

Theory of operation.  A compiler has read the source of a sample, so what it makes is trusted as little as the sample.
It runs in the jail of programs only, as it does when it has just been made.  The supervisor never runs it and reads no
more of it than its bytes.

- The name of an entry is a digest of all that decides it: every source to the byte, the command, the environment, the
  limits, the walls, the versions of the toolchain, and name, size and time of each file in the compiler's jail.  So an
  entry serves a byte-identical source under the same toolchain and flags, and no other.
- Jails of compilers and programs do not hold the folder.  The supervisor writes an entry, under the name that it has
  worked out from the source, when the compiler has ended and what it made is sealed.
- Entries that are damaged or lie under another name are not read, nor those of other users or that others may write to.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

from passcurve.private_files import left_drafts, oldest_first, read_private, write_private
from passcurve.sandbox.command_layout import command_layout
from passcurve.sandbox.job import CommandJail, Step

MAX_BYTES = 512 << 20
"""Disk that all entries may take; those unused for longest go first."""

MAX_ENTRY_BYTES = 32 << 20
"""Size of the largest entry."""

_FORMAT = "2"
"""Version of the form of an entry, and of how its content is made."""

_DIGEST_BYTES = 32
_SUFFIX = ".made"
_SHARE_WRITTEN = 8
"""The folder is looked through whenever this part of its bound has been written."""

_SHARE_LEFT = 0.75


class ArtifactStore:
    """The entries of one folder for one set of walls and toolchains."""

    def __init__(self, folder: Path, context: Sequence[str], max_bytes: int = MAX_BYTES) -> None:
        """``context``: everything besides a step that decides what a compiler makes."""
        self._folder = folder
        self._context = (_FORMAT, os.uname().machine, *context)
        self._max_bytes = max_bytes
        self._toolchains: dict[str, str] = {}
        """Digests of the files in the jails of compilers, by the key of the jail."""
        self._unchecked_bytes = 0
        """Bytes that were written since the folder was looked through."""

    def read(self, step: Step) -> bytes | None:
        """Return what an equal step has made; None where there is nothing that can be trusted to be that."""
        try:
            path = self._path(step)
        except OSError:
            return None
        content = read_private(path, MAX_ENTRY_BYTES)
        if content is not None:
            with contextlib.suppress(OSError):
                os.utime(path)
        return content

    def write(self, step: Step, content: bytes) -> None:
        """Keep what a step has made; do nothing where it is too large or the folder cannot be written."""
        if len(content) > min(MAX_ENTRY_BYTES, self._max_bytes // 4):
            return
        with contextlib.suppress(OSError):
            write_private(self._path(step), content)
            self._unchecked_bytes += len(content)
            if self._unchecked_bytes > self._max_bytes // _SHARE_WRITTEN:
                self.trim()

    def trim(self) -> None:
        """Remove entries until the others are within the bound, and drafts that nobody will finish."""
        if not self._unchecked_bytes:
            return
        self._unchecked_bytes = 0
        with contextlib.suppress(OSError):
            for path in left_drafts(self._folder):
                path.unlink(missing_ok=True)
            entries = oldest_first(self._folder.glob(f"*{_SUFFIX}"))
            total = sum(status.st_size for _, status in entries)
            left = total if total <= self._max_bytes else int(self._max_bytes * _SHARE_LEFT)
            for path, status in entries:
                if total <= left:
                    return
                path.unlink(missing_ok=True)
                total -= status.st_size

    def _path(self, step: Step) -> Path:
        """Return the path of an entry.  Raises OSError where the toolchain cannot be looked through."""
        if step.jail.key not in self._toolchains:
            self._toolchains[step.jail.key] = digest_toolchain(step.jail)
        parts = (*self._context, self._toolchains[step.jail.key], step.makes)
        return self._folder / f"{blake2b(repr(parts).encode(), digest_size=_DIGEST_BYTES).hexdigest()}{_SUFFIX}"


def digest_toolchain(jail: CommandJail) -> str:
    """Return a digest of the names, sizes and times of all files in the root of a jail."""
    layout = command_layout(jail)
    digest = blake2b(repr((sorted(layout.links), sorted(layout.hidden))).encode(), digest_size=_DIGEST_BYTES)
    for source, place in sorted(layout.binds):
        digest.update(repr((source, place)).encode())
        for path, status in _walk(source):
            about = (path, status.st_mode, status.st_size, status.st_mtime_ns)
            digest.update(repr(about).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _walk(path: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield each file and folder below a path, in order, with its status; links are not followed."""
    yield path, os.lstat(path)
    if os.path.isdir(path) and not os.path.islink(path):
        with os.scandir(path) as entries:
            ordered = sorted(entries, key=lambda entry: entry.name)
        for entry in ordered:
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(entry.path)
            else:
                yield entry.path, entry.stat(follow_symlinks=False)
