"""The scratch: the only place where a sample may write, clean for each sample.

With mounts of our own it is a bounded tmpfs, which is replaced as soon as it was touched.  Without them it is a folder
that is emptied, however deep and unreadable it was left.
"""

from __future__ import annotations

import os
import stat

from passcurve.sandbox.layers import mounts


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
        self.path = ""
        self._renew()

    def clean(self) -> bool:
        """Empty it; return whether it is a new folder."""
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
        waiting, used, number = [self.path], 0, 0
        while waiting:
            folder = waiting.pop()
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        number += 1
                        status = entry.stat(follow_symlinks=False)
                        used += status.st_blocks * 512
                        if used > self._size or number > self._files:
                            return True
                        if stat.S_ISDIR(status.st_mode):
                            waiting.append(entry.path)
            except PermissionError:
                os.chmod(folder, 0o700)
                waiting.append(folder)
            except OSError:
                pass  # it was removed, or lies deeper than a path can name
        return False

    def _renew(self) -> None:
        self._number += 1
        self.path = "%s/%d" % (self._parent, self._number)
        os.mkdir(self.path, 0o700)
        os.chdir(self.path)


def empty(folder: str) -> bool:
    """Remove everything in a folder, without recursion and without following links; return whether that worked."""
    number = 0
    try:
        os.chmod(folder, 0o700)
        while True:
            with os.scandir(folder) as entries:
                content = list(entries)
            if not content:
                return True
            for entry in content:
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.path)
                    continue
                os.chmod(entry.path, 0o700)
                with os.scandir(entry.path) as inner:
                    children = list(inner)
                for child in children:
                    if child.is_dir(follow_symlinks=False):
                        # Moved to the top, so that no path grows, however deep the folders are.
                        os.chmod(child.path, 0o700)
                        number += 1
                        os.rename(child.path, "%s/.moved-%d-%d" % (folder, os.getpid(), number))
                    else:
                        os.unlink(child.path)
                os.rmdir(entry.path)
    except OSError:
        return False
