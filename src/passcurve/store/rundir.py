"""The run directory: attempts at judging a file of samples, which can be resumed after any interruption.

Theory of operation.  An attempt is one judging of one file of samples under one header.  Each process that
works on it appends to a part of its own, ``verdicts-<attempt>-<session>.jsonl``.  No part is ever rewritten, so a
process that dies leaves at worst a torn last line, whose row is owed again.  Once every row has its verdict,
``finished-<attempt>.json`` appears whole, and the files of other attempts are removed.  A process that judges holds
the lock; a reader needs none.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import msgspec

from passcurve.diagnosis import Diagnosis
from passcurve.errors import DataError, PlaceError, StoreError, UsageError, place_error
from passcurve.store import codec
from passcurve.store.codec import Footer, IndexedLine, PartHeader, VerdictLine, utc_now
from passcurve.store.parts import LOCK, PartWriter, RunLock, footer_path, parse_name, part_path
from passcurve.store.programs import ProgramTable
from passcurve.store.samples_file import SamplesFile, has_changed
from passcurve.store.settings_digest import SettingChange, changed_settings, settings_digest
from passcurve.store.verdicts import Attempt, StoredVerdicts, has_lines, newest_judged
from passcurve.store.whole_files import write_whole
from passcurve.types import Completion, Header, Verdict
from passcurve.types.amounts import amount, have, part_of

_CACHED_LINES = 1000
"""Verdicts kept in memory: equal programs often follow one another."""
_REMEDY = "choose another place with --run DIR"


class RunDir:
    """A folder of attempts; it is created by the first session."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def attempts(self) -> tuple[Attempt, ...]:
        """Return the attempts, oldest first; raise StoreError when the folder is no run directory."""
        parts: dict[int, list[tuple[int, Path]]] = {}
        for path in self._files():
            name = parse_name(path.name)
            if name and name.session is not None:
                parts.setdefault(name.attempt, []).append((name.session, path))
        attempts = (self._attempt(number, [path for _, path in sorted(parts[number])]) for number in sorted(parts))
        return tuple(attempt for attempt in attempts if attempt)

    def footer(self, attempt: Attempt) -> Footer | None:
        """Return the footer of an attempt, or None when it is not finished."""
        try:
            return codec.decode_footer(footer_path(self.path, attempt.number).read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unreadable(error) from error

    def newest_attempt(self) -> Attempt:
        """Return the newest finished attempt, or the newest when none is finished; raise StoreError without any."""
        attempts = self.attempts()
        if not attempts:
            raise StoreError(f"{str(self.path)!r} holds no verdicts yet")
        return next((attempt for attempt in reversed(attempts) if attempt.finished), attempts[-1])

    def read(self) -> StoredVerdicts:
        """Return the verdicts of the newest attempt, as ``newest_attempt`` does.

        Raises StoreError when there is no attempt, when it cannot be read, or when it was finished and verdicts of it
        are lost.  Close the result.
        """
        stored = StoredVerdicts(self.newest_attempt())
        footer = self.footer(stored.attempt) if stored.attempt.finished else None
        if footer is not None and not stored.has_all(footer):
            count = len(stored)
            stored.close()
            part = part_of(count, footer.planned, "verdict")
            raise StoreError(f"{str(self.path)!r} is damaged: {part} can be read; judge the samples again")
        return stored

    def open_session(self, header: Header, *, reopen: bool = False) -> JudgingSession:
        """Lock the folder and open the attempt that this header resumes, or a new one.

        The newest attempt with the same settings is resumed unless it is finished.  With ``reopen`` a finished one is
        resumed too, and becomes unfinished: more rows may come.  So is one that has lost verdicts.
        Raises UsageError when the folder has files of others, or verdicts on other samples or on more problems,
        StoreError when it is in use or cannot be written.
        Close the result.
        """
        lock = self._lock_folder()
        try:
            digest = settings_digest(header)
            attempts = self.attempts()
            if (judged := newest_judged(attempts)) is not None:
                self._check_purpose(judged, header)
            same = [attempt for attempt in attempts if attempt.digest == digest]
            if same and same[-1].finished and (reopen or self._is_damaged(same[-1])):
                footer_path(self.path, same[-1].number).unlink(missing_ok=True)
                return JudgingSession(self, lock, header, msgspec.structs.replace(same[-1], finished=False))
            if same and not same[-1].finished:
                return JudgingSession(self, lock, header, same[-1])
            number = max(self._numbers(), default=0) + 1
            fresh = Attempt(number=number, digest=digest, header=header, started_at=utc_now(), parts=(), finished=False)
            was_cut = bool(attempts) and not attempts[-1].finished and has_lines(attempts[-1])
            abandoned = changed_settings(attempts[-1].header, header) if was_cut else ()
            return JudgingSession(self, lock, header, fresh, abandoned)
        except BaseException:
            lock.release()
            raise

    def _is_damaged(self, attempt: Attempt) -> bool:
        footer = self.footer(attempt)
        with StoredVerdicts(attempt) as stored:
            return footer is not None and not stored.has_all(footer)

    def _check_purpose(self, stored: Attempt, header: Header) -> None:
        """Raise UsageError when these verdicts would replace those on another file, or on other problems."""
        was, remedy = stored.header, f"to keep those, {_REMEDY}"
        samples, sources = codec.as_stored(header.samples), tuple(map(codec.as_stored, header.sources))
        if samples != was.samples and not (header.generation and was.generation):
            old, new = Path(was.samples), Path(header.samples)
            is_moved = old.name == Path(samples).name and not old.exists()
            footer = self.footer(stored)
            is_equal = footer is not None and footer.samples is not None and not has_changed(new, footer.samples)
            # The rows that --field makes of a file are judged in its place.
            has_same_sources = (sources or (samples,)) == (was.sources or (was.samples,))
            if not (is_moved or is_equal or has_same_sources):
                raise UsageError(f"{str(self.path)!r} has the verdicts on {was.samples!r}; {remedy}")
        # A benchmark that was edited in its place is the same one.
        if header.benchmark_digest != was.benchmark_digest and header.benchmark_source != was.benchmark_source:
            raise UsageError(
                f"{str(self.path)!r} has the verdicts by the tests of {was.benchmark_source!r}, not of "
                f"{header.benchmark_source!r}; {remedy} and --results FILE"
            )
        if header.problems and header.problems != was.problems:
            kept = f"--problems {was.problems!r}" if was.problems else "all problems"
            raise UsageError(
                f"{str(self.path)!r} has the verdicts on {kept}, not on --problems {header.problems!r}; {remedy}"
            )

    def check_sources(self, sources: Collection[str]) -> None:
        """Raise UsageError when the folder has the verdicts on other files than these; it need not exist."""
        judged = newest_judged(self.attempts()) if (self.path / LOCK).exists() else None
        was = judged.header.sources if judged is not None else ()
        if was and not _are_moved(was, [*map(codec.as_stored, sources)]):
            raise UsageError(
                f"{str(self.path)!r} has the verdicts on {', '.join(map(repr, was))}; to keep those, {_REMEDY}"
            )

    def check_free(self) -> None:
        """Raise StoreError when another process judges into the folder, which need not exist."""
        # Whoever judges into it says why it cannot be opened.
        with contextlib.suppress(OSError):
            if (self.path / LOCK).exists():
                RunLock(self.path).release()

    def next_part(self, attempt: int) -> Path:
        """Return the path of the part that a new session of an attempt writes."""
        names = (parse_name(path.name) for path in self._files())
        sessions = (name.session for name in names if name and name.attempt == attempt and name.session)
        return part_path(self.path, attempt, max(sessions, default=0) + 1)

    def remove_all_but(self, attempt: int) -> None:
        """Remove the files of the other attempts, as far as that is possible."""
        for path in self._files():
            name = parse_name(path.name)
            if name and name.attempt != attempt:
                # Readers skip a file that stays behind; the next finished attempt tries again.
                with contextlib.suppress(OSError):
                    path.unlink()

    def _attempt(self, number: int, paths: list[Path]) -> Attempt | None:
        headers: dict[Path, PartHeader] = {}
        for path in paths:
            header = self._part_header(path)
            if header and header.attempt == number and all(header.digest == h.digest for h in headers.values()):
                headers[path] = header
        if not headers:
            return None
        first = next(iter(headers.values()))
        attempt = Attempt(
            number=number,
            digest=first.digest,
            header=first.header,
            started_at=first.started_at,
            parts=tuple(headers),
            finished=False,
        )
        footer = self.footer(attempt)
        finished = footer is not None and footer.digest == first.digest
        return msgspec.structs.replace(attempt, finished=finished)

    def _part_header(self, path: Path) -> PartHeader | None:
        try:
            with path.open("rb") as file:
                return codec.decode_part(file.readline())
        except FileNotFoundError:
            # Another process may just have finished a newer attempt.
            return None
        except OSError as error:
            raise self._unreadable(error) from error

    def _numbers(self) -> set[int]:
        return {name.attempt for path in self._files() if (name := parse_name(path.name))}

    def _files(self) -> list[Path]:
        try:
            files = list(self.path.iterdir())
        except OSError as error:
            raise self._unreadable(error) from error
        if not any(path.name == LOCK for path in files):
            raise PlaceError(f"{str(self.path)!r} is not a run directory: it has no file {LOCK!r}")
        return files

    def _lock_folder(self) -> RunLock:
        try:
            self.path.mkdir(exist_ok=True)
            names = sorted(path.name for path in self.path.iterdir())
            if names and LOCK not in names:
                raise UsageError(
                    f"{str(self.path)!r} is not a run directory: it holds {names[0]!r}, which is not ours; {_REMEDY}"
                )
            return RunLock(self.path)
        except FileExistsError as error:
            raise UsageError(f"{str(self.path)!r} is not a folder; {_REMEDY}") from error
        except OSError as error:
            reason = error.strerror or str(error)
            if error.errno == errno.ENOENT and not self.path.parent.is_dir():
                reason = f"there is no folder {str(self.path.parent)!r}"
            raise place_error(f"cannot keep the run in {str(self.path)!r}: {reason}; {_REMEDY}", error) from error

    def _unreadable(self, error: OSError) -> StoreError:
        return place_error(f"cannot read the run directory {str(self.path)!r}: {error.strerror or error}", error)


class JudgingSession(StoredVerdicts):
    """An attempt that this process judges: its stored verdicts, and a part to append to."""

    def __init__(
        self, rundir: RunDir, lock: RunLock, header: Header, attempt: Attempt, abandoned: tuple[SettingChange, ...] = ()
    ) -> None:
        # Before super().__init__(), which fills it, and may fail.
        self._writer: PartWriter | None = None
        self._lock = lock
        self._is_generated = header.generation is not None
        self._programs = ProgramTable() if header.dedup else None
        self._cached_lines: dict[int, VerdictLine] = {}
        super().__init__(attempt)
        self.resumed = bool(attempt.parts)
        """Whether an earlier session of this attempt was interrupted."""
        self.abandoned = abandoned
        """The settings that differ from an unfinished attempt, which is therefore not resumed."""
        self._rundir = rundir
        self._samples = header.samples
        path = rundir.next_part(attempt.number)
        first = PartHeader(
            attempt=attempt.number,
            session=(name.session or 0) if (name := parse_name(path.name)) else 0,
            started_at=utc_now(),
            digest=attempt.digest,
            header=header,
        )
        try:
            self._writer = PartWriter(path, codec.encode(first))
            self._part = self._reader.add(path, os.dup(self._writer.fd))
        except BaseException:
            super().close()
            raise

    def check_row(self, completion: Completion) -> None:
        """Raise DataError when the stored verdict of this row was reached on another text.

        Where samples are generated the row is owed again: a crash may have lost completions whose verdicts were stored.
        """
        digest = self.digest_at(completion.row)
        if digest is None or digest == completion.digest:
            return
        if self._is_generated:
            self._index.remove(completion.row)
        else:
            raise DataError(
                f"row {completion.row} of {self._samples!r} (line {completion.line}) has changed since "
                f"the run began; {self._start_over()}"
            )

    def check_row_count(self, rows: int) -> None:
        """Raise DataError when verdicts are stored for rows beyond the last one of the file."""
        if rows < self.bound:
            raise DataError(
                f"{self._samples!r} has {amount(rows, 'row')}, but there are verdicts up to row {self.bound - 1}: it "
                f"has changed since the run began; {self._start_over()}"
            )

    def find_verdict(self, problem_id: str, program: str) -> Verdict | None:
        """Return the stored verdict on a program of this digest, or None when there is none.

        Always None where equal programs do not share a judgement.  Raises what ``line_at`` raises.
        """
        row = self._programs.row_of(problem_id, program) if self._programs is not None else None
        if row is None:
            return None
        line = self._cached_lines.get(row) or self.line_at(row)
        if line is None or line.program != program or line.verdict.key.problem_id != problem_id:
            return None
        if row not in self._cached_lines:
            self._cached_lines[row] = line
            if len(self._cached_lines) > _CACHED_LINES:
                del self._cached_lines[next(iter(self._cached_lines))]
        return line.verdict

    def append(self, lines: Iterable[VerdictLine]) -> None:
        """Store a batch of verdicts, which survive the end of this process once this returns.

        Raises StoreError when they cannot be written; their rows are then owed.
        """
        batch = list(lines)
        if not batch:
            return
        encoded = [codec.encode(line) for line in batch]
        offset = self._open_writer().append(b"".join(encoded))
        for line, text in zip(batch, encoded, strict=True):
            self._add(line, self._part, offset)
            offset += len(text)

    def finish(
        self,
        *,
        planned: int,
        malformed: int = 0,
        rows: int | None = None,
        diagnosis: Diagnosis | None = None,
        samples: SamplesFile | None = None,
        sources: Mapping[str, SamplesFile] | None = None,
    ) -> Footer:
        """Write the footer of the attempt, and remove the other attempts.

        ``rows`` is the number of rows of the file, where only some of them are planned.  Raises StoreError when rows
        are owed or the disk cannot be written, DataError as ``check_row_count`` does.
        """
        self.check_row_count(planned if rows is None else rows)
        if owed := planned - len(self):
            raise StoreError(f"{part_of(owed, planned, 'row')} {have(owed)} no verdict yet, so the run is not finished")
        self._open_writer().sync()
        footer = Footer(
            attempt=self.attempt.number,
            finished_at=utc_now(),
            digest=self.attempt.digest,
            planned=planned,
            malformed=malformed,
            statuses=self.statuses(),
            diagnosis=diagnosis,
            samples=samples,
            sources=dict(sources or {}),
        )
        path = footer_path(self._rundir.path, self.attempt.number)
        try:
            write_whole(path, codec.encode(footer))
        except OSError as error:
            raise StoreError(f"cannot write {str(path)!r}: {error.strerror or error}") from error
        self._rundir.remove_all_but(self.attempt.number)
        return footer

    def close(self) -> None:
        """Flush all lines to the disk, close the files and release the lock; a second call does nothing.

        Raises StoreError when the lines cannot be written.
        """
        try:
            if self._writer is not None:
                self._writer.close()
        finally:
            self._writer = None
            super().close()
            self._lock.release()

    def _add(self, line: IndexedLine | VerdictLine, part: int, offset: int) -> None:
        super()._add(line, part, offset)
        if self._programs is not None and line.program and line.verdict.status != "void":
            self._programs.add(line.verdict.key.problem_id, line.program, line.row)

    def _open_writer(self) -> PartWriter:
        if self._writer is None:
            raise StoreError(f"the run in {str(self._rundir.path)!r} is closed")
        return self._writer

    def _start_over(self) -> str:
        return f"use another --run, or remove {str(self._rundir.path)!r} to judge the file as it is now"


def _are_moved(was: Collection[str], now: Collection[str]) -> bool:
    """Tell whether two lists of files are the same, some of them in another place."""
    pairs = [(Path(old), Path(new)) for old, new in zip(was, now, strict=False)]
    return len(was) == len(now) and all(old == new or (old.name == new.name and not old.exists()) for old, new in pairs)
