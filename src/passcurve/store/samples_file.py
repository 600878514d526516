"""Identity of a file of samples: whether it is the one that was judged."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import msgspec

from passcurve.errors import DataError
from passcurve.store.locate import samples_of

_CHUNK_BYTES = 1 << 20


class SamplesFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was when it was judged."""

    size: int
    mtime_ns: int
    digest: str
    """Of all its bytes."""
    ctime_ns: int = 0
    """Time of its last change, which no program can set; 0 in what earlier versions stored."""


class FileState(NamedTuple):
    """A file as it was when reading began."""

    size: int
    mtime_ns: int


def file_state(path: Path) -> FileState | None:
    """Return the state of a file; None for a directory, or where there is none."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return None if path.is_dir() else FileState(stat.st_size, stat.st_mtime_ns)


def identify(path: Path, begun: FileState | None = None) -> SamplesFile | None:
    """Return the identity of a file of samples; None for a directory, or where it cannot be read.

    A file that is no longer as it was when reading it had ``begun`` gets an identity that no file has.
    """
    if begun is not None and begun != file_state(path):
        return SamplesFile(size=begun.size, mtime_ns=begun.mtime_ns, digest="")
    try:
        if not path.is_file():
            return None
        stat = path.stat()
        times = (stat.st_mtime_ns, stat.st_ctime_ns)
        return SamplesFile(size=stat.st_size, mtime_ns=times[0], ctime_ns=times[1], digest=_digest(path))
    except OSError:
        return None


def has_changed(path: Path, judged: SamplesFile) -> bool:
    """Return True when a file has other bytes than the one that was judged; it is read only where that is in doubt."""
    try:
        stat = path.stat()
        if stat.st_size != judged.size:
            return True
        is_untouched = (stat.st_mtime_ns, stat.st_ctime_ns) == (judged.mtime_ns, judged.ctime_ns)
        return not is_untouched and _digest(path) != judged.digest
    except OSError:
        # A file that is gone or cannot be read contradicts no verdict.
        return False


def require_unchanged(samples: Path, run: Path, judged: SamplesFile | None) -> None:
    """Raise DataError when a file of samples is no longer the one whose verdicts a run holds.

    Says nothing where the run does not tell, or where the file has moved with its run and is not found beside it.
    """
    if judged is None:
        return
    path = samples_of(str(samples), run)
    if path.is_file() and has_changed(path, judged):
        raise DataError(
            f"{str(path)!r} has changed since it was judged: judge it again; show, compare, plan, match, report "
            "and autopsy use the stored verdicts with --stale (in Python stale=True)"
        )


def _digest(path: Path) -> str:
    state = blake2b(digest_size=16)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            state.update(chunk)
    return state.hexdigest()
