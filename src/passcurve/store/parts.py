"""The files of a run directory: their names, the lock, and the one writer that appends to a part."""

from __future__ import annotations

import fcntl
import os
import re
import time
from pathlib import Path

import msgspec

from passcurve.errors import StoreError
from passcurve.store.whole_files import fsync_folder
from passcurve.types.forks import close_in_children, no_forks

LOCK = "passcurve.lock"
"""Also marks a folder as a run directory; it is never removed."""
SYNC_EVERY_S = 1.0
_NAMES = re.compile(r"verdicts-(\d{4,})-(\d{3,})\.jsonl|finished-(\d{4,})\.json")


class PartName(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers in the name of one of our files."""

    attempt: int
    session: int | None
    """None for the footer of the attempt."""


def part_path(folder: Path, attempt: int, session: int) -> Path:
    """Return the path of the verdicts of one session of an attempt."""
    return folder / f"verdicts-{attempt:04d}-{session:03d}.jsonl"


def footer_path(folder: Path, attempt: int) -> Path:
    """Return the path of the footer, which exists once the attempt is finished."""
    return folder / f"finished-{attempt:04d}.json"


def parse_name(name: str) -> PartName | None:
    """Return the numbers in a file name, or None when it is not one of ours."""
    match = _NAMES.fullmatch(name)
    if match is None:
        return None
    part, session, footer = match.groups()
    return PartName(attempt=int(part or footer), session=int(session) if session else None)


class RunLock:
    """An exclusive lock on a run directory; the kernel releases it when the process ends."""

    def __init__(self, folder: Path) -> None:
        self._pid = os.getpid()
        with no_forks():
            self._fd = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
            close_in_children(self, RunLock._close)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, b"%d\n" % os.getpid(), 0)
        except BlockingIOError as error:
            holder = os.pread(self._fd, 32, 0).decode("ascii", "replace").strip()
            self._close()
            owner = f"process {holder}" if holder else "another process"
            raise StoreError(
                f"{str(folder)!r} is in use by {owner}; wait for it to end, or choose another place with --run DIR"
            ) from error
        except BaseException:
            self._close()
            raise

    def release(self) -> None:
        """Release the directory; a second call does nothing."""
        if self._fd >= 0 and os.getpid() == self._pid:
            # A process that was forked while this one was made has the descriptor too, and would keep the lock.
            fcntl.flock(self._fd, fcntl.LOCK_UN)
        self._close()

    def _close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


class PartWriter:
    """The only writer of one new part, to which it appends whole lines.

    Lines survive the end of this process once ``append`` returns, and a crash of the host after SYNC_EVERY_S.
    """

    def __init__(self, path: Path, header: bytes) -> None:
        self.path = path
        self._torn = False
        try:
            self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
        except OSError as error:
            raise self._failure(error) from error
        try:
            self.append(header)
            self.sync()
            self._sync_folder()
        except BaseException:
            os.close(self.fd)
            raise

    def append(self, lines: bytes) -> int:
        """Write whole lines and return the offset of the first; raise StoreError when they cannot be written."""
        try:
            start = os.fstat(self.fd).st_size
            if self._torn:
                # A failed append may have left half a line: end it first.
                lines = b"\n" + lines
                start += 1
            self._torn = True
            left = memoryview(lines)
            while left:
                left = left[os.write(self.fd, left) :]
            self._torn = False
        except OSError as error:
            raise self._failure(error) from error
        if time.monotonic() - self._synced_at >= SYNC_EVERY_S:
            self.sync()
        return start

    def sync(self) -> None:
        """Flush all lines to the disk; raise StoreError when they cannot be written."""
        try:
            os.fsync(self.fd)
        except OSError as error:
            raise self._failure(error) from error
        self._synced_at = time.monotonic()

    def close(self) -> None:
        """Sync and close; raise StoreError when the lines cannot be written. A second call does nothing."""
        if self.fd < 0:
            return
        try:
            self.sync()
        finally:
            os.close(self.fd)
            self.fd = -1

    _synced_at = float("inf")

    def _sync_folder(self) -> None:
        try:
            fsync_folder(self.path.parent)
        except OSError as error:
            raise self._failure(error) from error

    def _failure(self, error: OSError) -> StoreError:
        return StoreError(
            f"cannot write to {str(self.path)!r}: {error.strerror or error}; "
            "the verdicts stored so far are kept; run the same command again once this is fixed"
        )
