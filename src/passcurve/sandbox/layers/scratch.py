"""The scratch: the only place where a sample may write, clean for each sample.

With mounts of our own it is a bounded tmpfs, which is replaced as soon as it was touched.  Without them it is a folder
that is measured while the sample runs, and emptied afterwards, however deep and unreadable it was left.

The rules that keep a sample in that folder do not hold for us, and any name in it may become a link at any moment.
So we go from folder to folder by descriptors, and follow neither paths nor links.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from passcurve.sandbox.layers import mounts

MOST_INCOMPLETE = 50
"""Looks in a row in which something was moved or removed before it was counted.

Files that are always in motion cannot be measured, so they count as too many after that.  Programs that only remove
what they have made are seen at rest every few looks.
"""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


class Mounted:
    """A tmpfs of our own at ``mounts.SCRATCH``, the present working folder."""

    def __init__(self, options: str) -> None:
        self._options = options
        self.path = mounts.SCRATCH
        self._fd = -1
        self._remember()

    def clean(self) -> bool:
        """Replace it if it was touched; return whether it is a new folder."""
        if self._read_state() == self._clean_state:
            return False
        os.close(self._fd)
        mounts.renew_scratch(self._options)
        self._remember()
        return True

    def leave(self) -> None:
        """Close the descriptor that a child has no use for."""
        os.close(self._fd)

    def is_over(self) -> bool:
        """Tell whether it holds more than it may: never, because the mount is bounded."""
        return False

    def _remember(self) -> None:
        # By descriptor: a sample may remove every right on the folder.
        self._fd = os.open(".", 0o10000000)
        self._clean_state = self._read_state()

    def _read_state(self) -> tuple[object, ...]:
        # The size of a tmpfs folder counts its entries, and so shows two changes at one time.
        folder = os.fstat(self._fd)
        return (folder.st_size, folder.st_nlink, folder.st_mtime_ns, folder.st_ctime_ns, folder.st_mode)


class Folder:
    """A folder of the host inside ``parent``; the next sample gets another one when it cannot be emptied."""

    def __init__(self, parent: str, size: int, files: int) -> None:
        self._parent, self._size, self._files = parent, size, files
        self._number = 0
        self._incomplete = 0
        """Looks since the last complete one."""
        self.path = ""
        self._renew()

    def clean(self) -> bool:
        """Empty it; return whether it is a new folder."""
        self._incomplete = 0
        os.chdir(self._parent)
        if empty(self.path):
            os.chdir(self.path)
            return False
        self._renew()
        return True

    def leave(self) -> None:
        """Close nothing: it holds no descriptor."""

    def is_over(self) -> bool:
        """Tell whether it holds more than it may: the host sets no quota."""
        used = number = 0
        try:
            for status in _walk(self.path):
                number += 1
                used += status.st_blocks * 512
                if used > self._size or number > self._files:
                    return True
        except OSError:
            self._incomplete += 1
            return self._incomplete > MOST_INCOMPLETE
        self._incomplete = 0
        return False

    def _renew(self) -> None:
        self._number += 1
        self.path = "%s/%d" % (self._parent, self._number)
        os.mkdir(self.path, 0o700)
        os.chdir(self.path)


def _walk(path: str) -> Iterator[os.stat_result]:
    """Yield the status of everything below a folder, with three open descriptors at most, however deep it is.

    Raises OSError where something was moved or removed before it was reached.
    """
    trail: list[tuple[os.stat_result, list[str]]] = []
    """The folders from the top to the present one, each with the names in it that are still to be entered."""
    folder = _open_folder(path)
    try:
        while True:
            names = []
            with os.scandir(folder) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    yield status
                    if stat.S_ISDIR(status.st_mode):
                        names.append(entry.name)
            trail.append((os.fstat(folder), names))
            while not trail[-1][1]:
                trail.pop()
                if not trail:
                    return
                folder = _replace(folder, os.open("..", _FOLDER, dir_fd=folder))
                # One that was moved has another folder above it, perhaps none of the walk.
                if not os.path.samestat(os.fstat(folder), trail[-1][0]):
                    raise FileNotFoundError
            folder = _replace(folder, _open_folder(trail[-1][1].pop(), folder))
    finally:
        os.close(folder)


def _replace(descriptor: int, by: int) -> int:
    os.close(descriptor)
    return by


def _open_folder(name: str, parent: int | None = None) -> int:
    """Open a folder for reading, with all rights on it.  Raises OSError for anything else, a link too."""
    _take_rights(name, parent)
    return os.open(name, _FOLDER, dir_fd=parent)


def _take_rights(name: str, parent: int | None) -> None:
    mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
    if mode & stat.S_IRWXU == stat.S_IRWXU:
        return
    if not hasattr(os, "O_PATH"):
        os.chmod(name, stat.S_IRWXU, dir_fd=parent, follow_symlinks=False)
        return
    # What has this name may be a link by now, so the mode is set through a descriptor, which needs no right on it.
    held = os.open(name, os.O_PATH | _FOLDER, dir_fd=parent)
    try:
        os.chmod("/proc/self/fd/%d" % held, stat.S_IRWXU)
    finally:
        os.close(held)


def empty(path: str) -> bool:
    """Remove everything in a folder, without recursion and without following links; return whether that worked."""
    try:
        with _opened(path) as folder:
            while content := _read(folder):
                for entry in content:
                    if entry.is_dir(follow_symlinks=False):
                        _remove_folder(entry.name, folder)
                    else:
                        os.unlink(entry.name, dir_fd=folder)
    except OSError:
        return False
    return True


def _remove_folder(name: str, top: int) -> None:
    """Remove a folder of ``top``; the folders in it are moved to ``top``, so that depth costs no descriptors."""
    with _opened(name, top) as folder:
        for entry in _read(folder):
            if entry.is_dir(follow_symlinks=False):
                _take_rights(entry.name, folder)
                # Under a name that no sample can have foreseen and taken.
                os.rename(entry.name, ".moved-" + os.urandom(16).hex(), src_dir_fd=folder, dst_dir_fd=top)
            else:
                os.unlink(entry.name, dir_fd=folder)
    os.rmdir(name, dir_fd=top)


@contextmanager
def _opened(name: str, parent: int | None = None) -> Iterator[int]:
    folder = _open_folder(name, parent)
    try:
        yield folder
    finally:
        os.close(folder)


def _read(folder: int) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return list(entries)
