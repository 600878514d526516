"""Files that appear whole or not at all: written under another name, flushed to the disk, then renamed."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes its name when the block ends; after an exception what stood there stays.

    Raises OSError when it cannot be written.
    """
    # Not of the file's own name, which may be as long as a name can be.
    draft = path.with_name(f".passcurve-{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        with draft.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        fsync_folder(path.parent)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that appears whole or not at all; raise OSError when it cannot be written."""
    with whole_file(path) as file:
        file.write(content)


def write_output(path: Path, content: bytes) -> None:
    """Write a file that a user named as ``write_whole`` does, through a link to its target; raise OSError.

    A pipe or a device gets the content: in its place there shall be no file.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(content)
    else:
        write_whole(Path(os.path.realpath(path)), content)


def fsync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk; raise OSError when that fails."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
