"""Where the road's completions come from: a file, a file that still grows, a model."""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import RawIOBase
from itertools import islice
from pathlib import Path
from typing import Final, Protocol

from passcurve.errors import DataError
from passcurve.generation.engine import GenerationEngine
from passcurve.store.completions import stored_rows
from passcurve.store.lines import read_lines
from passcurve.store.samples import FindTask, JudgedRow, MalformedLine, RawRow, follow_rows, resume_rows, scan_rows
from passcurve.types import Completion, GenerationProgress

MALFORMED = 1000
"""Lines that are no rows of which the reasons are kept."""


class End(enum.Enum):
    """Says that nothing more will come."""

    END = 0


END: Final = End.END


class Source(Protocol):
    """Gives completions one by one, and all of them again as rows once they are judged."""

    seen: int
    """Rows so far."""
    malformed: list[MalformedLine]
    """The first lines that were none."""
    malformed_lines: int
    """How many there were."""
    pause_s: float
    """How long may be waited after a None before more is asked for."""

    def ring(self, bell: Callable[[], None]) -> None:
        """Call ``bell`` from now on whenever something has come; nothing where nobody can know."""
        ...

    def ahead(self) -> Iterator[str]:
        """Yield the problems whose completions are to come, in their order, as far as that is known."""
        ...

    def up_to(self, most: int) -> int:
        """Return about how many rows there will be, but no more than ``most``."""
        ...

    def completions(self, find_task: FindTask) -> Iterator[Completion | JudgedRow | None]:
        """Yield each completion, in the order of the rows, and None whenever the next is not there yet.

        Of a row that is recognised nothing need be told but which it is.
        """
        ...

    def missing(self) -> Mapping[str, int]:
        """Return how many samples of each problem are planned without having come."""
        ...

    def rows(self, find_task: FindTask) -> Iterable[RawRow | MalformedLine]:
        """Yield the rows again, as they were written."""
        ...

    def generated(self) -> GenerationProgress | None:
        """Return how far the generation is; None where nothing is generated."""
        ...

    def close(self) -> None:
        """Let go of what it holds."""
        ...


class FileSource:
    """A file of samples; with ``follow_s`` one that grows, until it rests for so many seconds or ``ended`` says so."""

    pause_s = 0.005
    """No bell says when a file has grown."""

    def __init__(
        self,
        path: Path,
        known: Sequence[str],
        *,
        strict: bool,
        follow_s: float | None = None,
        ended: Callable[[], bool] | None = None,
    ) -> None:
        self._path, self._known, self._strict, self._follow_s, self._ended = path, known, strict, follow_s, ended
        self.seen = 0
        self.malformed: list[MalformedLine] = []
        self.malformed_lines = 0

    def ring(self, bell: Callable[[], None]) -> None:
        """Do nothing: who writes the file does not tell us."""

    def ahead(self) -> Iterator[str]:
        """Yield nothing: a file is read far ahead of the judge, and of one that grows nobody knows."""
        return iter(())

    def up_to(self, most: int) -> int:
        """Return as Source says; nobody knows of a file that grows."""
        return most if self._follow_s is not None else sum(1 for _ in islice(read_lines(self._path), most))

    def completions(self, find_task: FindTask) -> Iterator[Completion | JudgedRow | None]:
        """Yield as Source says; raises DataError for a line that is no row, where that is strict."""
        if self._follow_s is None:
            rows: Iterable[Completion | JudgedRow | MalformedLine | None] = resume_rows(
                self._path, self._known, find_task
            )
        else:
            rows = follow_rows(self._path, self._known, self._follow_s, self._ended)
        for row in rows:
            if row is None:
                yield None
            elif not isinstance(row, MalformedLine):
                self.seen += 1
                yield row
            elif self._strict:
                raise DataError(f"{str(self._path)!r}, line {row.line}: {row.reason}")
            else:
                self.malformed_lines += 1
                if self.malformed_lines <= MALFORMED:
                    self.malformed.append(row)

    def missing(self) -> Mapping[str, int]:
        """Return nothing: a file has what it has."""
        return {}

    def rows(self, find_task: FindTask) -> Iterable[RawRow | MalformedLine]:
        """Yield as Source says."""
        return scan_rows(self._path, self._known, find_task)

    def generated(self) -> None:
        """Return None."""

    def close(self) -> None:
        """Do nothing."""


class Spool:
    """Writes pieces of a stream to a file while others read that; the file is whole once it has ended."""

    def __init__(self, pieces: Iterable[bytes], path: Path) -> None:
        """Begin to write, in another thread.  Raises DataError when the file cannot be written."""
        self._pieces, self._path = pieces, path
        self._error: BaseException | None = None
        self._ended = threading.Event()
        try:
            # Unbuffered: what a generator has written is judged, not kept until there is more.
            self._file = path.open("wb", buffering=0)
        except OSError as error:
            raise self._failure(error) from None
        threading.Thread(target=self._copy, name="passcurve-spool", daemon=True).start()

    def ended(self) -> bool:
        """Tell whether everything is in the file, or nothing more will come."""
        return self._ended.is_set()

    def wait(self) -> None:
        """Wait until it has ended."""
        self._ended.wait()

    def check(self) -> None:
        """Raise what ended the stream before its end, DataError where a piece could not be kept."""
        if self._error is not None:
            raise self._error

    def _copy(self) -> None:
        try:
            with self._file as file:
                for piece in self._pieces:
                    rest = memoryview(piece)
                    while rest:
                        rest = rest[self._write(file, rest) :]
        except BaseException as error:
            self._error = error
        finally:
            self._ended.set()

    def _write(self, file: RawIOBase, data: memoryview) -> int:
        try:
            return file.write(data) or 0
        except OSError as error:
            raise self._failure(error) from None

    def _failure(self, error: OSError) -> DataError:
        return DataError(f"cannot keep the samples in {str(self._path)!r}: {error.strerror or error}")


class ModelSource:
    """A back end whose replies are stored in the run directory."""

    pause_s = 0.1
    """The bell ends it when something has come; this often is shown how the model gets on."""

    def __init__(self, folder: Path, generating: GenerationEngine) -> None:
        self._folder, self._generating = folder, generating
        generating.begin()
        self.seen = 0
        self.malformed: list[MalformedLine] = []
        self.malformed_lines = 0

    def ring(self, bell: Callable[[], None]) -> None:
        """Call as Source says."""
        self._generating.ring(bell)

    def ahead(self) -> Iterator[str]:
        """Yield as Source says."""
        return iter(self._generating.missing())

    def up_to(self, most: int) -> int:
        """Return as Source says."""
        return min(most, self._generating.progress().planned)

    def completions(self, _: FindTask) -> Iterator[Completion | None]:
        """Yield as Source says."""
        for completion in self._generating.completions():
            self.seen += completion is not None
            yield completion

    def missing(self) -> Mapping[str, int]:
        """Return what the back end did not give."""
        return self._generating.missing()

    def rows(self, _: FindTask) -> Iterable[RawRow | MalformedLine]:
        """Yield as Source says."""
        return stored_rows(self._folder)

    def generated(self) -> GenerationProgress:
        """Return how far the generation is."""
        return self._generating.progress()

    def close(self) -> None:
        """Send no more requests and close the store."""
        self._generating.close()


def nothing(path: Path, source: Source) -> str:
    """Return why there is nothing to judge."""
    generated = source.generated()
    if generated is not None:
        return generated.ended_by or "; ".join(generated.failures) or f"{str(path)!r} holds no sample of these problems"
    if source.malformed:
        first = source.malformed[0]
        count = source.malformed_lines
        return f"{str(path)!r} has no row to judge: {count} lines are none; line {first.line}: {first.reason}"
    return f"{str(path)!r} has no row to judge"
