"""Temporary folders of this process; those of a process that was killed before it could remove them go with the next.

A folder is locked while its owner lives: the number in its name is that of its own namespace of processes, and another
container with the same folder of temporary files has another process of that number, or none.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import Self

from passcurve.sandbox.layers.scratch import empty
from passcurve.types.forks import close_in_children, no_forks

_PREFIX = "passcurve-"


class OwnFolder:
    """A temporary folder that ``close`` removes, at the end of a ``with`` too."""

    def __init__(self, name: str = "") -> None:
        """Make it, and remove what others have left; ``name`` is the end of its name."""
        _remove_orphans()
        self.path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-{name}"))
        with no_forks():
            self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
            close_in_children(self, OwnFolder._unlock)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove it."""
        self.close()

    def close(self) -> None:
        """Remove it; a second call does nothing, nor does one in a forked process."""
        if self._lock >= 0:
            _remove(self.path)
            self._unlock()

    def _unlock(self) -> None:
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)


def _remove_orphans() -> None:
    """Remove the folders of processes that were killed before they could."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdecimal() and not Path(f"/proc/{owner}").exists() and _is_left(folder):
            _remove(folder)


def _is_left(folder: Path) -> bool:
    """Tell whether a folder is ours, and nobody's who lives."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False  # another run has removed it, or it is another user's
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.fstat(lock).st_uid == os.getuid()
    except OSError:
        return False
    finally:
        os.close(lock)


def _remove(folder: Path) -> None:
    """Remove a folder, if it is still there."""
    # Samples may leave folders too deep for a recursive removal.
    with contextlib.suppress(OSError):
        for left in Path(folder, "scratch").iterdir():
            empty(str(left))
    shutil.rmtree(folder, ignore_errors=True)
