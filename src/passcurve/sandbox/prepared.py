"""Files that make compilers start faster, made once for a run in a compiler's own jail, from nothing of a sample's."""

from __future__ import annotations

import fnmatch
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from io import BufferedIOBase
from pathlib import Path

from passcurve.harness.command import read_files
from passcurve.sandbox.job import Preparation
from passcurve.sandbox.own_folders import OwnFolder

PLACE = "/prepared"
"""Folder of these files in the jails of compilers."""

MAX_BYTES = 1 << 30
"""Disk that all files of a run may take."""


class PreparedFiles:
    """A temporary folder with a folder for each preparation; ``close`` removes it."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._folder = OwnFolder("prepared-")
        self.folder = self._folder.path
        self.folder.chmod(0o755)
        self._uses: Counter[str] = Counter()
        self._ready: set[str] = set()
        self._begun: set[str] = set()
        self._failed: set[str] = set()
        self._bytes_left = max_bytes

    def is_ready(self, preparation: Preparation) -> bool:
        """Tell whether its files are there."""
        return preparation.key in self._ready

    def begin(self, preparation: Preparation) -> bool:
        """Count a use; tell whether the caller is to make the files now, which only one is told where it can wait."""
        key = preparation.key
        self._uses[key] += 1
        if key in self._failed or self._bytes_left <= 0:
            return False
        if not preparation.is_needed and (key in self._begun or self._uses[key] < preparation.min_uses):
            return False
        self._begun.add(key)
        return True

    def give_up(self, preparation: Preparation) -> None:
        """Note that its command has failed, so that nobody tries again."""
        self._failed.add(preparation.key)

    def add(self, preparation: Preparation, artifact: BufferedIOBase) -> None:
        """Write the files that a command has made, if they are those that were wanted."""
        size = os.fstat(artifact.fileno()).st_size
        if self.is_ready(preparation):
            return
        if size > self._bytes_left:
            self.give_up(preparation)
            return
        folder = self.folder / preparation.key
        try:
            folder.mkdir(mode=0o755, exist_ok=True)
            files = dict(read_files(artifact.fileno()))
            if not _are_wanted(files, preparation.setup["keep"]):
                self.give_up(preparation)
                return
            for name, data in files.items():
                _write(folder, name, data)
        except (OSError, ValueError):
            # It only costs time to do without.
            shutil.rmtree(folder, ignore_errors=True)
            self.give_up(preparation)
            return
        self._bytes_left -= size
        self._ready.add(preparation.key)

    def close(self) -> None:
        """Remove all files."""
        self._folder.close()


def _are_wanted(names: Iterable[str], patterns: Sequence[str]) -> bool:
    """Tell whether files are those of the patterns, at least one of each, and lie where they may."""
    matches = [{pattern for pattern in patterns if fnmatch.fnmatchcase(name, pattern)} for name in names]
    inside = all(part not in ("", ".", "..") for name in names for part in name.split("/"))
    return inside and all(matches) and set(patterns) == set().union(*matches)


def _write(folder: Path, name: str, data: bytes) -> None:
    for parent in reversed(Path(name).parents[:-1]):
        (folder / parent).mkdir(mode=0o755, exist_ok=True)
    (folder / name).write_bytes(data)
    (folder / name).chmod(0o644)
