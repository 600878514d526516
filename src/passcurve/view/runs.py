"""The runs below a folder: what each is, how far it is, and whether it has changed."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from passcurve.errors import PasscurveError
from passcurve.store.codec import decode_indexed
from passcurve.store.parts import LOCK
from passcurve.store.rundir import RunDir
from passcurve.store.verdicts import Attempt
from passcurve.types import SCORED, Status

_DEEPEST = 5
"""Folders below the folder of runs in which runs are looked for."""
_MOST = 1000
"""Runs that are listed."""


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A run in the list."""

    name: str
    """Its path below the folder."""
    benchmark: str
    started_at: str
    finished: bool
    statuses: dict[str, int]
    """Numbers of samples; those so far where the run goes on."""

    @property
    def judged(self) -> int:
        """Return the number of samples that have a verdict."""
        return sum(self.statuses.values())


class Runs:
    """The runs of a folder; what was read of each is kept until its files change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self._counters: dict[Path, _LineCounter] = {}
        self._lock = threading.Lock()
        """Of the counters: pages are made in many threads, and each line counts once."""

    def names(self) -> list[str]:
        """Return the paths of all runs below the folder, sorted; a link leads nowhere."""
        return sorted(path.relative_to(self.folder).as_posix() for path in self._walk(self.folder, 0))[:_MOST]

    def find(self, name: str) -> Path | None:
        """Return the folder of a run by its name in the list, or None."""
        return self.folder / name if name in self.names() else None

    def summaries(self) -> list[RunSummary]:
        """Return all runs, the one that began last first."""
        runs = [summary for name in self.names() if (summary := self.summary(self.folder / name)) is not None]
        return sorted(runs, key=lambda run: run.started_at, reverse=True)

    def summary(self, path: Path) -> RunSummary | None:
        """Return one run; None while it has no verdict."""
        try:
            attempt = RunDir(path).newest_attempt()
            footer = RunDir(path).footer(attempt) if attempt.finished else None
            statuses = footer.statuses if footer is not None else self._count(attempt)
        except (PasscurveError, OSError):
            # It has none yet, it was removed, or it is damaged: the report on it says so.
            return None
        return RunSummary(
            name=path.relative_to(self.folder).as_posix(),
            benchmark=attempt.header.benchmark,
            started_at=attempt.started_at,
            finished=attempt.finished,
            statuses={status: count for status, count in statuses.items() if count},
        )

    def _count(self, attempt: Attempt) -> Mapping[Status, int]:
        counts = dict.fromkeys(SCORED, 0)
        for part in attempt.parts:
            with self._lock:
                counter = self._counters.setdefault(part, _LineCounter(part))
                counter.read()
                for status, count in counter.counts.items():
                    counts[status] += count
        return counts

    def _walk(self, folder: Path, depth: int) -> Iterator[Path]:
        try:
            everything = list(os.scandir(folder))
        except OSError:
            return
        entries = sorted(filter(_is_readable, everything), key=lambda entry: entry.name)
        # A report would wait for ever for the writer of a pipe.
        if any(entry.name == LOCK for entry in entries) and len(entries) == len(everything):
            yield folder
        for entry in entries:
            if depth < _DEEPEST and entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                yield from self._walk(Path(entry.path), depth + 1)


def _is_readable(entry: os.DirEntry[str]) -> bool:
    """Tell whether an entry has a name that a page can show, and is no pipe, socket or device."""
    try:
        entry.name.encode()
        mode = entry.stat().st_mode
    except UnicodeError:
        return False
    except OSError:
        # A link that leads nowhere; whoever opens it is told so.
        return True
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


class _LineCounter:
    """Counts the verdicts of a part that grows, each line once."""

    def __init__(self, path: Path) -> None:
        self.counts = dict.fromkeys(SCORED, 0)
        self._path = path
        self._offset = 0
        self._file = (0, 0)

    def read(self) -> None:
        """Count the lines that have come; a torn last one waits."""
        with self._path.open("rb") as file:
            status = os.fstat(file.fileno())
            if self._file != (status.st_dev, status.st_ino) or status.st_size < self._offset:
                # It was written anew.
                self._file, self._offset = (status.st_dev, status.st_ino), 0
                self.counts = dict.fromkeys(SCORED, 0)
            file.seek(self._offset)
            for raw in file:
                if not raw.endswith(b"\n"):
                    break
                self._offset += len(raw)
                line = decode_indexed(raw)
                if line is not None and line.verdict.status in self.counts:
                    self.counts[line.verdict.status] += 1
