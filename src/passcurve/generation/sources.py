"""Sources of completions for the judge: a file, a file that still grows, a model."""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from io import RawIOBase
from itertools import islice
from pathlib import Path
from typing import Final, Protocol

from passcurve.errors import DataError, ModelError, PasscurveError
from passcurve.generation.engine import GenerationEngine
from passcurve.store.completions import stored_rows
from passcurve.store.hints import is_row_number
from passcurve.store.index_order import by_index
from passcurve.store.input_report import unknown_tasks_finding
from passcurve.store.lines import read_lines
from passcurve.store.samples import FindTask, MalformedLine, RawRow, follow_rows, read_rows, scan_rows
from passcurve.types import Completion, GenerationProgress
from passcurve.types.amounts import amount

MAX_MALFORMED = 1000
"""Malformed lines whose reasons are kept."""


class End(enum.Enum):
    """A mark after the last completion of a source."""

    END = 0


END: Final = End.END
_MOST_REASONS = 2
"""Number of reasons that a message repeats."""


class CompletionSource(Protocol):
    """Gives completions one by one."""

    poll_s: float
    """Longest pause after a None before the next completion is asked for."""

    def notify(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` from now on whenever a completion has come, where the source can know."""
        ...

    def upcoming_problems(self) -> Iterator[str]:
        """Yield the problems whose completions are to come, in their order, as far as that is known."""
        ...

    def completions(self) -> Iterator[Completion | None]:
        """Yield each completion, in the order of the rows, and None whenever the next is not there yet."""
        ...

    def progress(self) -> GenerationProgress | None:
        """Return how far the generation is; None where nothing is generated."""
        ...


class Source(CompletionSource, Protocol):
    """A source that comes to an end, and gives all completions once more as rows when they are judged."""

    rows_read: int
    malformed: list[MalformedLine]
    """The first malformed lines."""
    malformed_lines: int
    """Number of all malformed lines."""
    unknown_tasks: int
    """Number of those that are rows of a task that the benchmark lacks."""

    @property
    def error(self) -> PasscurveError | None:
        """The error that ended it before its end."""
        ...

    def count_rows(self, at_most: int) -> int:
        """Return about how many rows there will be, or ``at_most`` where there are more."""
        ...

    def missing(self) -> Mapping[str, int]:
        """Return the number of samples that are planned but did not come, of each problem that lacks some."""
        ...

    def raw_rows(self, find_task: FindTask) -> Iterable[RawRow | MalformedLine]:
        """Yield the rows again, as they were written."""
        ...

    def close(self) -> None:
        """Release what the source holds."""
        ...


class FileSource:
    """A file of samples; with ``follow_s`` a file that grows, until it rests so many seconds or ``ended`` is true."""

    poll_s = 0.005
    """Short, because nothing notifies us when a file grows."""
    error: PasscurveError | None = None
    """None: a file that cannot be read raises where it is read."""

    def __init__(
        self,
        path: Path,
        problem_ids: Sequence[str],
        *,
        strict: bool,
        follow_s: float | None = None,
        ended: Callable[[], bool] | None = None,
    ) -> None:
        self._path, self._problem_ids, self._strict = path, problem_ids, strict
        self._follow_s, self._ended = follow_s, ended
        self.rows_read = 0
        self.malformed: list[MalformedLine] = []
        self.malformed_lines = self.unknown_tasks = 0

    def notify(self, callback: Callable[[], None]) -> None:
        """Do nothing: the writer of a file does not notify us."""

    def upcoming_problems(self) -> Iterator[str]:
        """Yield nothing: a file is read far ahead of the judge, and the rows of a growing file are not known."""
        return iter(())

    def count_rows(self, at_most: int) -> int:
        """Return the number of rows, or ``at_most`` where the file grows."""
        return at_most if self._follow_s is not None else sum(1 for _ in islice(read_lines(self._path), at_most))

    def completions(self) -> Iterator[Completion | None]:
        """Yield each completion; raises DataError for a malformed line when the source is strict."""
        if self._follow_s is None:
            rows: Iterable[Completion | MalformedLine | None] = read_rows(self._path, self._problem_ids)
        else:
            rows = follow_rows(self._path, self._problem_ids, self._follow_s, self._ended)
        for row in rows:
            if row is None:
                yield None
            elif not isinstance(row, MalformedLine):
                self.rows_read += 1
                yield row
            elif self._strict:
                raise DataError(f"{str(self._path)!r}, line {row.line}: {row.reason}")
            else:
                self.malformed_lines += 1
                self.unknown_tasks += row.task is not None
                if self.malformed_lines <= MAX_MALFORMED:
                    self.malformed.append(row)

    def missing(self) -> Mapping[str, int]:
        """Return nothing: no samples are planned beside those of the file."""
        return {}

    def raw_rows(self, find_task: FindTask) -> Iterable[RawRow | MalformedLine]:
        """Yield the rows again, as they stand in the file."""
        return scan_rows(self._path, self._problem_ids, find_task)

    def progress(self) -> None:
        """Return None: nothing is generated."""

    def close(self) -> None:
        """Do nothing."""


class Spool:
    """Writes pieces of a stream to a file while others read that; the file is whole once it has ended.  Close it."""

    def __init__(self, pieces: Iterable[bytes], path: Path) -> None:
        """Begin to write, in another thread.  Raises DataError when the file cannot be written."""
        self._pieces, self._path = pieces, path
        self._error: BaseException | None = None
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._is_closed = False
        try:
            # Unbuffered: a sample is judged as soon as it is written.
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

    def close(self) -> None:
        """Take no further piece from the stream, and write none: another stream may soon have the file."""
        with self._lock:
            self._is_closed = True

    def check(self) -> None:
        """Raise what ended the stream before its end, DataError where a piece could not be kept."""
        if self._error is not None:
            raise self._error

    def _copy(self) -> None:
        try:
            with self._file as file:
                for piece in self._pieces:
                    with self._lock:
                        if self._is_closed:
                            return
                        self._write(file, piece)
        except BaseException as error:
            self._error = error
        finally:
            self._ended.set()

    def _write(self, file: RawIOBase, piece: bytes) -> None:
        rest = memoryview(piece)
        try:
            while rest:
                rest = rest[file.write(rest) or 0 :]
        except OSError as error:
            raise self._failure(error) from None

    def _failure(self, error: OSError) -> DataError:
        return DataError(f"cannot write the samples to {str(self._path)!r}: {error.strerror or error}")


class ModelSource:
    """A back end whose replies are stored in the run directory."""

    poll_s = 0.1
    """Long, because the engine notifies us; the progress of the model is shown this often."""

    def __init__(self, folder: Path, engine: GenerationEngine) -> None:
        self._folder, self._engine = folder, engine
        engine.begin()
        self.rows_read = 0
        self.malformed: list[MalformedLine] = []
        self.malformed_lines = self.unknown_tasks = 0

    @property
    def error(self) -> PasscurveError | None:
        """The error that ended the generation before all samples were there."""
        return self._engine.error

    def notify(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` from now on whenever a completion has come."""
        self._engine.notify(callback)

    def upcoming_problems(self) -> Iterator[str]:
        """Yield the problems that lack samples."""
        return iter(self._engine.missing())

    def count_rows(self, at_most: int) -> int:
        """Return the number of planned samples, or ``at_most`` where there are more."""
        return min(at_most, self._engine.progress().planned)

    def completions(self) -> Iterator[Completion | None]:
        """Yield each completion, and None whenever the next is not there yet."""
        for completion in self._engine.completions():
            self.rows_read += completion is not None
            yield completion

    def missing(self) -> Mapping[str, int]:
        """Return the number of samples that did not come, of each problem that lacks some."""
        return self._engine.missing()

    def raw_rows(self, _: FindTask) -> Iterable[RawRow | MalformedLine]:
        """Yield the rows again, those of each problem by their indices: so they are numbered when they are judged."""
        return by_index(stored_rows(self._folder))

    def progress(self) -> GenerationProgress:
        """Return how far the generation is."""
        return self._engine.progress()

    def close(self) -> None:
        """Send no more requests and close the store."""
        self._engine.close()


def no_rows_error(path: Path, source: Source, task_ids: Collection[str]) -> PasscurveError:
    """Return the error of a run that has nothing to judge: what ended the model, or what is wrong with the file."""
    if source.error is not None:
        return source.error
    progress = source.progress()
    if progress is None:
        return DataError(_explain_no_rows(path, source, task_ids))
    if not progress.failures:
        return DataError(f"{str(path)!r} holds no sample of these problems")
    reasons = "; ".join(progress.failures[:_MOST_REASONS])
    if len(progress.failures) > _MOST_REASONS:
        reasons += f"; and {amount(len(progress.failures) - _MOST_REASONS, 'more problem')}"
    return ModelError(reasons)


def _explain_no_rows(path: Path, source: Source, task_ids: Collection[str]) -> str:
    if source.malformed:
        finding = unknown_tasks_finding(source.malformed, source.unknown_tasks, task_ids)
        if finding is not None:
            return f"{str(path)!r} has no row to judge: {finding.text}"
        first, count = source.malformed[0], source.malformed_lines
        numbers = [line.number for line in source.malformed if line.number is not None]
        if len(numbers) == len(source.malformed) and is_row_number(numbers, task_ids):
            reason = f"`{first.field}` numbers the rows ({numbers[0]} to {numbers[-1]}) and names no task"
            return f"{str(path)!r} has no row to judge: {reason}; write the id of its task into each row as `task_id`"
        lines = amount(count, "malformed line")
        return f"{str(path)!r} has no row to judge: {lines}; line {first.line}: {first.reason}"
    return f"{str(path)!r} has no row to judge"
