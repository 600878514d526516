"""Lines of a plain or gzipped file, one at a time, none held that is longer than the cap."""

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

MAX_LINE_BYTES = 256 << 20
BUFFER_BYTES = 1 << 20
GZIP_MAGIC = b"\x1f\x8b"


class NotYet(enum.Enum):
    """Stands for the next line of a file that grows, while it is not there."""

    NOT_YET = 0


NOT_YET: Final = NotYet.NOT_YET

_Lines: TypeAlias = "io.BufferedReader[io.FileIO] | gzip.GzipFile"


def read_lines(path: Path) -> Iterator[bytes | None]:
    """Yield each line without its end of line; None stands for one longer than MAX_LINE_BYTES.

    Raises DataError when the file cannot be opened or read to its end, or when its compression is torn;
    the lines before the tear have been yielded by then.
    """
    with _reading(path) as file:
        while line := file.readline(MAX_LINE_BYTES + 2):
            text = line.removesuffix(b"\n").removesuffix(b"\r")
            if len(text) <= MAX_LINE_BYTES:
                yield text
            else:
                _skip_line(file, line)
                yield None


def follow_lines(path: Path, idle_s: float, ended: Callable[[], bool] | None = None) -> Iterator[bytes | NotYet | None]:
    """Yield as read_lines does, and NOT_YET whenever no whole line more is there; end after ``idle_s`` without more.

    Where it is known when the last byte was written, ``ended`` says so, and time does not count.
    What stands behind the last end of line is a line once the end has come.
    Raises DataError as read_lines does, for a compressed file, and for one that becomes shorter.
    """
    with _reading(path) as file:
        if isinstance(file, gzip.GzipFile):
            raise DataError(
                f"{str(path)!r} is compressed; only plain rows can be followed, because compressed ones come in blocks "
                "and long after they were written; write .jsonl, or judge the file once it is whole"
            )
        held, read = bytearray(), 0
        grown_at = time.monotonic()
        while True:
            # Asked before: what is written in between is still to be read.
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
            if os.stat(path).st_size < read:  # noqa: PTH116 - within what translates errors
                raise DataError(f"{str(path)!r} has become shorter while it was followed; what was read is judged")
            if is_whole or (ended is None and time.monotonic() - grown_at >= idle_s):
                break
            yield NOT_YET
        if held:
            yield bytes(held) if len(held) <= MAX_LINE_BYTES else None


@contextmanager
def _reading(path: Path) -> Iterator[_Lines]:
    try:
        with io.BufferedReader(path.open("rb", buffering=0), BUFFER_BYTES) as raw:
            if raw.peek(2)[:2] != GZIP_MAGIC:
                yield raw
                return
            # Not wrapped in a reader with a larger buffer: filling that loses what stands before a tear.
            with gzip.GzipFile(fileobj=raw, mode="rb") as unpacked:
                yield unpacked
    except FileNotFoundError as error:
        raise DataError(f"there is no file {str(path)!r}{_neighbour(path)}") from error
    except IsADirectoryError as error:
        raise DataError(f"{str(path)!r} is a directory; a file of samples is needed (.jsonl or .jsonl.gz)") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        reason = f"the gzip data of {str(path)!r} is damaged or cut short ({error}); copy or write the file again"
        raise DataError(reason) from error
    except OSError as error:
        raise DataError(f"cannot read {str(path)!r}: {error.strerror or error}") from error


def _skip_line(file: _Lines, piece: bytes) -> None:
    while piece and not piece.endswith(b"\n"):
        piece = file.readline(BUFFER_BYTES)


def _neighbour(path: Path) -> str:
    try:
        return nearest(path.name, (entry.name for entry in path.parent.iterdir()))
    except OSError:
        return f"; there is no folder {str(path.parent)!r} either"
