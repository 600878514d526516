"""Files in the user's cache folder: nobody else may have written them, and none is read that is not whole.

Each begins with a digest of its name and content, for a disk or a copy may damage it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from hashlib import sha256
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import BinaryIO

_DIGEST_BYTES = 32


def read_private(path: Path, max_bytes: int | None = None, digest: bytes | None = None) -> bytes | None:
    """Return the content of a file; None where it is not there, is damaged or too large, or could be another user's.

    Without a home the folder is in a place where others can write.  ``digest``: None for any, or that of the only
    content that will do.
    """
    with _open_private(path) as (file, size):
        if file is None or (max_bytes is not None and size > max_bytes + _DIGEST_BYTES):
            return None
        try:
            first, content = file.read(_DIGEST_BYTES), file.read()
        except OSError:
            return None
        return content if digest in (None, first) and first == _digest(path, content) else None


def read_digest(path: Path) -> bytes | None:
    """Return the digest that a file begins with, unchecked; None where the file could be another user's."""
    with _open_private(path) as (file, _):
        try:
            return file.read(_DIGEST_BYTES) if file is not None else None
        except OSError:
            return None


@contextlib.contextmanager
def _open_private(path: Path) -> Iterator[tuple[BinaryIO | None, int]]:
    """Open a file that nobody else may have written, and give its size; None where there is no such file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        yield None, 0
        return
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o022:
        with os.fdopen(descriptor, "rb") as file:
            yield file, status.st_size
    else:
        os.close(descriptor)
        yield None, 0


def write_private(path: Path, content: bytes) -> bytes:
    """Write a file that its owner alone can read, in one step; return its digest.

    Raises OSError where that is not possible.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # In containers the processes of each run have the same numbers.
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.{os.getpid()}.tmp")
    digest = _digest(path, content)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(digest)
            file.write(content)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return digest


def left_drafts(folder: Path) -> list[Path]:
    """Return the drafts in a folder that nobody will finish: those of processes that are gone."""
    drafts = folder.glob(".*.tmp")
    return [path for path in drafts if not Path("/proc", path.name.split(".")[-2]).exists()]


def oldest_first(paths: Iterable[Path]) -> list[tuple[Path, os.stat_result]]:
    """Return the files that are still there, each with its status, by the time of their last change."""
    files = []
    for path in paths:
        try:
            files.append((path, path.lstat()))
        except OSError:
            continue
    return sorted(files, key=lambda file: file[1].st_mtime_ns)


def keep_newest(folder: Path, pattern: str, most: int) -> None:
    """Remove all but the newest files with such a name, and drafts that are left; raise OSError where that fails."""
    old = [path for path, _ in oldest_first(folder.glob(pattern))[:-most]]
    for path in (*old, *left_drafts(folder)):
        path.unlink(missing_ok=True)


def code_of(*rooms: str) -> Iterator[bytes]:
    """Yield the sources and tables of rooms, in one order: what their code has made is kept under a digest of it."""
    for room in rooms:
        yield from _code_below(resources.files("passcurve") / room)


def _code_below(folder: Traversable) -> Iterator[bytes]:
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.is_dir():
            yield from _code_below(file)
        elif file.name.endswith((".py", ".toml")):
            yield file.read_bytes()


def _digest(path: Path, content: bytes) -> bytes:
    # Most processors compute this one fastest, and plans with their expected values can take 45 MB.
    digest = sha256(os.fsencode(path.name) + b"\0")
    digest.update(content)
    return digest.digest()
