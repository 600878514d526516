"""Lines of a plain or gzipped file, one at a time; longer ones than the limit are skipped."""

from __future__ import annotations

import enum
import gzip
import io
import os
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias

from passcurve.errors import DataError, nearest
from passcurve.types.files import GZIP

MAX_LINE_BYTES = 256 << 20
BUFFER_BYTES = 1 << 20


class Pending(enum.Enum):
    """Stands for the next line of a growing file while it is not whole."""

    PENDING = 0


PENDING: Final = Pending.PENDING

_Lines: TypeAlias = "io.BufferedReader[io.FileIO] | gzip.GzipFile"


def read_lines(path: Path) -> Iterator[bytes | None]:
    """Yield each line without its end; None stands for a line longer than MAX_LINE_BYTES.

    Raises DataError when the file cannot be opened or read to its end.  The lines before a damaged place of a gzip
    file are yielded first.
    """
    with open_unpacked(path) as file:
        while line := file.readline(MAX_LINE_BYTES + 2):
            text = line.removesuffix(b"\n").removesuffix(b"\r")
            if len(text) <= MAX_LINE_BYTES:
                yield text
            else:
                _skip_line(file, line)
                yield None


def follow_lines(
    path: Path, idle_s: float, ended: Callable[[], bool] | None = None
) -> Iterator[bytes | Pending | None]:
    """Yield as ``read_lines`` does, and PENDING while the next line is not whole; end after ``idle_s`` idle seconds.

    If the writer can tell that it has finished, ``ended`` does so, and ``idle_s`` does not matter.
    The text after the last end of line counts as a line at the end of the file.
    Raises DataError as ``read_lines`` does, for a compressed file, and for one that becomes shorter or is replaced.
    """
    with open_unpacked(path) as file:
        if isinstance(file, gzip.GzipFile):
            raise DataError(
                f"cannot follow {str(path)!r}: it is compressed, so its rows appear long after they were written; "
                "write plain .jsonl, or judge the file once it is complete"
            )
        held, read = bytearray(), 0
        grown_at = time.monotonic()
        while True:
            # Ask before reading: bytes written in between are still to be read.
            is_whole = ended is not None and ended()
            piece = file.readline(BUFFER_BYTES)
            read += len(piece)
            if piece:
                grown_at = time.monotonic()
                if len(held) <= MAX_LINE_BYTES:
                    held += piece
                if piece.endswith(b"\n"):
                    line = bytes(held).removesuffix(b"\n").removesuffix(b"\r")
                    held.clear()
                    yield line if len(line) <= MAX_LINE_BYTES else None
                continue
            status = os.stat(path)  # noqa: PTH116 - within what translates errors
            if not os.path.samestat(status, os.fstat(file.fileno())):
                raise DataError(
                    f"{str(path)!r} was replaced by another file while it was followed; the rows read before that are "
                    "judged"
                )
            if status.st_size < read:
                raise DataError(
                    f"{str(path)!r} became shorter while it was followed; the rows read before that are judged"
                )
            if is_whole or (ended is None and time.monotonic() - grown_at >= idle_s):
                break
            yield PENDING
        if held:
            yield bytes(held) if len(held) <= MAX_LINE_BYTES else None


@contextmanager
def open_unpacked(path: Path) -> Iterator[_Lines]:
    """Open a file for its bytes, those of a gzip file unpacked; raises DataError for what fails in it."""
    try:
        with io.BufferedReader(path.open("rb", buffering=0), BUFFER_BYTES) as raw:
            if raw.peek(2)[:2] != GZIP:
                yield raw
                return
            # Do not wrap it in a larger buffer: filling that loses the lines before a damaged place.
            with gzip.GzipFile(fileobj=raw, mode="rb") as unpacked:
                yield unpacked
    except FileNotFoundError as error:
        raise DataError(f"no file {str(path)!r}{_hint(path)}") from error
    except IsADirectoryError as error:
        raise DataError(f"{str(path)!r} is a directory; expected a samples file (.jsonl or .jsonl.gz)") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        reason = f"the gzip file {str(path)!r} is damaged or truncated ({error}); copy or write it again"
        raise DataError(reason) from error
    except OSError as error:
        raise DataError(f"cannot read {str(path)!r}: {error.strerror or error}") from error


def _skip_line(file: _Lines, piece: bytes) -> None:
    while piece and not piece.endswith(b"\n"):
        piece = file.readline(BUFFER_BYTES)


def _hint(path: Path) -> str:
    try:
        return nearest(path.name, (entry.name for entry in path.parent.iterdir()))
    except OSError:
        return f"; the folder {str(path.parent)!r} does not exist"
