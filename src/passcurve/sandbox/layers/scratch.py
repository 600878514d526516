"""The scratch: the one place where a sample may write, clean for each of them.

With mounts of our own it is a bounded tmpfs that is thrown away whole as soon as it was touched.  Without, it is a
folder that is emptied, however deep and unreadable it was left.
"""

from __future__ import annotations

import os
import stat

from passcurve.sandbox.layers import mounts


class Mounted:
    """A tmpfs of our own at ``mounts.SCRATCH``, where we stand already."""

    def __init__(self, options: str) -> None:
        self._options = options
        self.path = mounts.SCRATCH
        self._fd = -1
        self._note()

    def clean(self) -> bool:
        """Make it clean; return whether it is a new folder.  What is untouched is left as it is."""
        if self._state() == self._clean:
            return False
        os.close(self._fd)
        mounts.renew_scratch(self._options)
        self._note()
        return True

    def leave(self) -> None:
        """Close what a child has no use for."""
        os.close(self._fd)

    def is_over(self) -> bool:
        """Say whether it holds more than it may: never, the mount is bounded."""
        return False

    def _note(self) -> None:
        # By descriptor: a sample may take every right on the folder away.
        self._fd = os.open(".", 0o10000000)
        self._clean = self._state()

    def _state(self) -> tuple[object, ...]:
        # The size of a folder of tmpfs counts what is in it, also where two changes share a time.
        folder = os.fstat(self._fd)
        return (folder.st_size, folder.st_nlink, folder.st_mtime_ns, folder.st_ctime_ns, folder.st_mode)


class Folder:
    """A folder of the host's inside ``parent``; where one cannot be emptied the next sample gets another."""

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
        """Close what a child has no use for: nothing."""

    def is_over(self) -> bool:
        """Say whether it holds more than it may: no quota of the host's sees to that."""
        waiting, used, number = [self.path], 0, 0
        while waiting:
            folder = waiting.pop()
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        number += 1
                        found = entry.stat(follow_symlinks=False)
                        used += found.st_blocks * 512
                        if used > self._size or number > self._files:
                            return True
                        if stat.S_ISDIR(found.st_mode):
                            waiting.append(entry.path)
            except PermissionError:
                os.chmod(folder, 0o700)
                waiting.append(folder)
            except OSError:
                pass  # it has gone, or lies deeper than a path can say
        return False

    def _renew(self) -> None:
        self._number += 1
        self.path = "%s/%d" % (self._parent, self._number)
        os.mkdir(self.path, 0o700)
        os.chdir(self.path)


def empty(folder: str) -> bool:
    """Remove all that is in a folder, without recursion and without following links; return whether that worked."""
    number = 0
    try:
        os.chmod(folder, 0o700)
        while True:
            with os.scandir(folder) as entries:
                found = list(entries)
            if not found:
                return True
            for entry in found:
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.path)
                    continue
                os.chmod(entry.path, 0o700)
                with os.scandir(entry.path) as inner:
                    children = list(inner)
                for child in children:
                    if child.is_dir(follow_symlinks=False):
                        # Lifted to the top: a path never grows, however deep the folders were.
                        os.chmod(child.path, 0o700)
                        number += 1
                        os.rename(child.path, "%s/.lifted-%d-%d" % (folder, os.getpid(), number))
                    else:
                        os.unlink(child.path)
                os.rmdir(entry.path)
    except OSError:
        return False
