"""The verdicts of one attempt, read back from its parts."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import msgspec

from passcurve.errors import DataError, StoreError
from passcurve.store.codec import Footer, IndexedLine, VerdictLine, decode_indexed, decode_verdict, without_check
from passcurve.store.part_reader import PartReader
from passcurve.store.verdict_index import VerdictIndex
from passcurve.types import Header, SampleKey, Status, Verdict

_BUFFER_BYTES = 1 << 20


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One judging of one file of samples under one header, in one or more sessions."""

    number: int
    digest: str
    """Digest of the settings that could change a verdict."""
    header: Header
    """The header as it was written first."""
    started_at: str
    parts: tuple[Path, ...]
    """The parts whose first line could be read, oldest first."""
    finished: bool


def has_lines(attempt: Attempt) -> bool:
    """Tell whether an attempt has any verdict: what judged nothing binds nobody."""
    for path in attempt.parts:
        with contextlib.suppress(OSError), path.open("rb") as file:
            file.readline()
            if file.readline():
                return True
    return False


def newest_judged(attempts: Sequence[Attempt]) -> Attempt | None:
    """Return the newest attempt that has verdicts; one that judged nothing after it does not free them."""
    return next((attempt for attempt in reversed(attempts) if has_lines(attempt)), None)


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
    """The scored verdicts of an attempt by row; the last good line of a row counts, and a void one leaves it owed."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self._index = VerdictIndex()
        self._reader = PartReader()
        try:
            for path in attempt.parts:
                part = self._reader.add(path, os.open(path, os.O_RDONLY))
                self._read_part(path, part)
        except OSError as error:
            self.close()
            raise StoreError(f"cannot read {str(error.filename)!r}: {error.strerror or error}") from error
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        """Return the number of rows that have a scored verdict."""
        return self._index.scored

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
        """Return one more than the last row that has a scored verdict; 0 when there is none."""
        return self._index.bound

    def status_at(self, row: int) -> Status | None:
        """Return the status of a row, or None when it is owed."""
        return self._index.status_at(row)

    def digest_at(self, row: int) -> str | None:
        """Return the digest of the row that was judged, or None when it is owed."""
        return self._index.digest_at(row)

    def task_of(self, row: int, raw: bytes) -> str | None:
        """Return the task of a row if these are the bytes that were judged, else None."""
        return self._index.task_of(row, raw)

    def bytes_at(self, row: int) -> bytes | None:
        """Return the stored line of a row without its check, or None when it is owed or damaged.

        Raises StoreError when it cannot be read.
        """
        location = self._index.location_of(row)
        return without_check(self._reader.read(*location)) if location is not None else None

    def line_at(self, row: int) -> VerdictLine | None:
        """Return everything that is stored of a row, or None when it is owed.

        Raises StoreError when it cannot be read back.
        """
        if row not in self:
            return None
        text = self.bytes_at(row)
        line = decode_verdict(text) if text is not None else None
        if line is None or line.row != row:
            raise StoreError(
                f"the verdict of row {row} is damaged in {self._describe_location(row)}; "
                "remove that line to judge it again"
            )
        return line

    def verdict_at(self, row: int) -> Verdict | None:
        """Return the verdict of a row, or None when it is owed; raises what ``line_at`` raises."""
        line = self.line_at(row)
        return line.verdict if line else None

    def countable_at(self, row: int, key: SampleKey) -> Verdict | None:
        """Return the counted part of a row's verdict, or None when it is owed; raises what ``line_at`` raises.

        That part is status and mode.  A suspicious verdict is returned whole, and so is one that passed more slowly
        than all verdicts whose lines stand before its own.
        """
        return self.verdict_at(row) if self._index.needs_line(row) else self._index.brief_verdict(row, key)

    def rows(self) -> Iterator[int]:
        """Yield the rows that have a scored verdict, in order."""
        return self._index.rows()

    def problem_ids(self) -> list[str]:
        """Return the problems that have a scored verdict, in the order of their first rows."""
        return self._index.problem_ids()

    def lines_of(self, problem_id: str) -> Iterator[VerdictLine]:
        """Yield everything that is stored of the rows of a problem, in their order; raises what ``line_at`` raises."""
        for row in self._index.rows_of(problem_id):
            if line := self.line_at(row):
                yield line

    def iter_lines(self) -> Iterator[VerdictLine]:
        """Yield everything that is stored of each row, in order of the rows; raises what ``line_at`` raises."""
        for row in self.rows():
            if line := self.line_at(row):
                yield line

    def iter_verdicts(self) -> Iterator[Verdict]:
        """Yield the scored verdicts in order of their rows; raises what ``line_at`` raises."""
        for line in self.iter_lines():
            yield line.verdict

    def statuses(self) -> dict[Status, int]:
        """Return the number of rows of each scored status."""
        return self._index.statuses()

    def has_all(self, footer: Footer) -> bool:
        """Tell whether all verdicts are here with which the attempt was finished."""
        return len(self) == footer.planned and (not footer.statuses or self.statuses() == footer.statuses)

    def close(self) -> None:
        """Close the files; a second call does nothing."""
        self._reader.close()

    def _read_part(self, path: Path, part: int) -> None:
        with path.open("rb", buffering=_BUFFER_BYTES) as file:
            offset = len(file.readline())
            for raw in file:
                text = without_check(raw) if raw.endswith(b"\n") else None
                line = decode_indexed(text) if text is not None else None
                if line is not None and self._index.accepts(line.row):
                    self._add(line, part, offset)
                offset += len(raw)

    def _add(self, line: IndexedLine | VerdictLine, part: int, offset: int) -> None:
        self._index.add(line, part, offset)

    def _describe_location(self, row: int) -> str:
        location = self._index.location_of(row)
        if location is None:
            return "no part"
        part, offset = location
        return f"{str(self._reader.paths[part])!r}, at byte {offset}"
