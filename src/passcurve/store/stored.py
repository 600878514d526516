"""The verdicts of one attempt: some bytes per row in memory, everything else on the disk until it is asked for."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from hashlib import blake2b
from itertools import product
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import msgspec

from passcurve.errors import DataError, StoreError
from passcurve.store.codec import LineKey, VerdictLine, decode_key, decode_verdict
from passcurve.store.samples import DIGEST_BYTES
from passcurve.types import SCORED, STATUSES, Header, Mode, SampleKey, Status, Verdict

MAX_GAP = 1 << 24
"""A line that claims a row this far beyond all others is damaged; believing it could take all memory."""
_READ_BYTES = 4096
_BLOCK_BYTES = 1 << 16
_BUFFER_BYTES = 1 << 20
_CODES: dict[Status, int] = {status: code for code, status in enumerate(STATUSES, start=1)}
_MODES: tuple[Mode, ...] = ("none", "referee", "shared")
_MODE_CODES: dict[Mode, int] = {mode: code << 4 for code, mode in enumerate(_MODES)}
_STATUS, _MODE, _TELLING = 0x0F, 0x30, 0x40
"""Parts of what is kept in memory of a row; a telling verdict has more to count than status and mode."""


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One judging of one file of samples under one header, in one or more sessions."""

    number: int
    digest: str
    """The stage's."""
    header: Header
    """As it was written first."""
    started_at: str
    parts: tuple[Path, ...]
    """Oldest first; only those whose first line could be read."""
    finished: bool


class HasFinished(Protocol):
    """Anything that is finished once each of its samples has a verdict."""

    @property
    def finished(self) -> bool:
        """Tell whether each sample has its verdict."""


def require_finished(run: HasFinished, name: str) -> None:
    """Raise DataError when samples of a run have no verdict yet; ``name`` is the run's in the message."""
    if not run.finished:
        raise DataError(f"{name!r} is not finished: some samples have no verdict yet; judge it to its end first")


class StoredVerdicts:
    """The scored verdicts of an attempt, by row; the last good line for a row wins, and void ones are owed."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.garbage = 0
        """Lines that were torn or damaged; their rows are owed unless another line has them."""
        self.voids = 0
        """Lines that say that the judging itself failed; their rows are owed unless another line has them."""
        self._scored = 0
        self._doubled = False
        self._slowest_s = 0.0
        self._gists = array("B")
        self._digests = array("Q")
        self._tasks = array("I")
        self._names: dict[str, int] = {}
        self._named: list[str] = []
        self._parts = array("H")
        self._offsets = array("Q")
        self._block, self._block_part, self._block_at = b"", -1, 0
        self._next = (-1, 0)
        self._files: list[int] = []
        self._paths: list[Path] = []
        try:
            for path in attempt.parts:
                self._add_part(path, os.open(path, os.O_RDONLY))
                self._index(path)
        except OSError as error:
            self.close()
            raise StoreError(f"cannot read {str(error.filename)!r}: {error.strerror or error}") from error
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        """Return how many rows have a scored verdict."""
        return self._scored

    def __contains__(self, row: int) -> bool:
        return self.status_at(row) is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def bound(self) -> int:
        """One more than the last row that has a scored verdict; 0 when there is none."""
        row = len(self._gists)
        while row and not self._gists[row - 1]:
            row -= 1
        return row

    def status_at(self, row: int) -> Status | None:
        """Return the status of a row, or None when it is owed."""
        gist = self._gists[row] if 0 <= row < len(self._gists) else 0
        return STATUSES[(gist & _STATUS) - 1] if gist else None

    def digest_at(self, row: int) -> str | None:
        """Return the digest of the row that was judged, or None when it is owed."""
        return None if self.status_at(row) is None else f"{self._digests[row]:016x}"

    def recognise(self, row: int, raw: bytes) -> str | None:
        """Return the problem of a row if these are the bytes that were judged, or None."""
        if not (row < len(self._gists) and self._gists[row]):
            return None
        if self._digests[row] != int.from_bytes(blake2b(raw, digest_size=DIGEST_BYTES).digest(), "big"):
            return None
        return self._named[self._tasks[row]]

    def bytes_at(self, row: int) -> bytes | None:
        """Return the line that is stored of a row, or None when it is owed.  Raises StoreError as line_at does."""
        if not (0 <= row < len(self._gists) and self._gists[row]):
            return None
        part, offset = self._parts[row], self._offsets[row]
        try:
            return self._read(part, offset)
        except OSError as error:
            raise StoreError(f"cannot read {str(self._paths[part])!r}: {error.strerror or error}") from error

    def line_at(self, row: int) -> VerdictLine | None:
        """Return all that is stored of a row, or None when it is owed.

        Raises StoreError when it cannot be read back.
        """
        text = self.bytes_at(row)
        if text is None:
            return None
        line = decode_verdict(text)
        if line is None or line.row != row:
            where = f"{str(self._paths[self._parts[row]])!r}, at byte {self._offsets[row]}"
            raise StoreError(f"the verdict of row {row} is damaged in {where}; remove that line to judge it again")
        return line

    def verdict_at(self, row: int) -> Verdict | None:
        """Return the verdict of a row, or None when it is owed; raises what line_at raises."""
        line = self.line_at(row)
        return line.verdict if line else None

    def countable_at(self, row: int, key: SampleKey) -> Verdict | None:
        """Return of the verdict of a row what is counted, or None when it is owed; raises what line_at raises.

        That is status and mode.  A verdict that is suspicious, or that passed more slowly than all whose lines stand
        before its own, is returned whole.
        """
        gist = self._gists[row] if 0 <= row < len(self._gists) else 0
        if not gist:
            return None
        if gist & _TELLING or self._doubled:
            return self.verdict_at(row)
        return Verdict(key=key, status=STATUSES[(gist & _STATUS) - 1], mode=_MODES[(gist & _MODE) >> 4])

    def rows(self) -> Iterator[int]:
        """Yield the rows that have a scored verdict, in order."""
        return (row for row, gist in enumerate(self._gists) if gist)

    def iter_lines(self) -> Iterator[VerdictLine]:
        """Yield all that is stored of each row, in order of the rows; raises what line_at raises."""
        for row in self.rows():
            if line := self.line_at(row):
                yield line

    def iter_verdicts(self) -> Iterator[Verdict]:
        """Yield the scored verdicts in order of their rows; raises what line_at raises."""
        for line in self.iter_lines():
            yield line.verdict

    def statuses(self) -> dict[Status, int]:
        """Return how many rows have each scored status."""
        # Of bytes, because an array counts item by item.
        gists = self._gists.tobytes()
        found = dict.fromkeys(SCORED, 0)
        for status, mode, telling in product(SCORED, _MODE_CODES.values(), (0, _TELLING)):
            found[status] += gists.count(_CODES[status] | mode | telling)
        return found

    def _read(self, part: int, offset: int) -> bytes:
        """Return the line that begins there, of whose end nothing is missing; else what there is, without an end."""
        if part == self._block_part and self._block_at <= offset < self._block_at + len(self._block):
            start = offset - self._block_at
        else:
            # Whoever asks for the line after the last one will ask for more.
            size = _BLOCK_BYTES if (part, offset) == self._next else _READ_BYTES
            self._block, self._block_part, self._block_at = os.pread(self._files[part], size, offset), part, offset
            start = 0
        while not (end := self._block.find(b"\n", start) + 1):
            at = self._block_at + len(self._block)
            piece = os.pread(self._files[part], max(_READ_BYTES, len(self._block)), at)
            self._block, self._block_at, start = self._block[start:] + piece, offset, 0
            if not piece:
                return self._block
        line = self._block[start:end]
        self._next = (part, offset + len(line))
        return line

    def close(self) -> None:
        """Close the files; a second call does nothing."""
        while self._files:
            os.close(self._files.pop())

    def _add_part(self, path: Path, fd: int) -> None:
        self._files.append(fd)
        self._paths.append(path)

    def _index(self, path: Path) -> None:
        part = len(self._files) - 1
        with path.open("rb", buffering=_BUFFER_BYTES) as file:
            offset = len(file.readline())
            for line in file:
                key = decode_key(line) if line.endswith(b"\n") else None
                if key is not None and key.row < len(self._gists) + MAX_GAP:
                    self._set(key, part, offset)
                elif line != b"\n":
                    self.garbage += 1
                offset += len(line)

    def _set(self, line: LineKey | VerdictLine, part: int, offset: int) -> None:
        """Note where the verdict of a row is to be found."""
        row, verdict = line.row, line.verdict
        if verdict.status == "void":
            self.voids += 1
            return
        if row >= len(self._gists):
            more = row + 1 - len(self._gists) + _READ_BYTES
            for column in (self._gists, self._digests, self._tasks, self._parts, self._offsets):
                column.frombytes(bytes(more * column.itemsize))
        gist = _CODES[verdict.status] | _MODE_CODES[verdict.mode]
        if verdict.suspicious:
            gist |= _TELLING
        if verdict.status == "passed" and verdict.own_s > self._slowest_s:
            self._slowest_s = verdict.own_s
            gist |= _TELLING
        if self._gists[row]:
            # The slowest so far may have been the line that no longer counts.
            self._doubled = True
        else:
            self._scored += 1
        self._gists[row] = gist
        self._digests[row] = int(line.digest, 16)
        problem_id = verdict.key.problem_id
        task = self._names.get(problem_id)
        if task is None:
            task = self._names[problem_id] = len(self._named)
            self._named.append(problem_id)
        self._tasks[row] = task
        self._parts[row] = part
        self._offsets[row] = offset
