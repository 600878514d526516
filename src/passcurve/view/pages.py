"""The pages of the viewer: the list of runs, the report on some, and large runs page by page."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

from passcurve import config
from passcurve.analysis.report import ReportOptions, read_report
from passcurve.analysis.run_record import side_records
from passcurve.errors import DataError
from passcurve.report.page import render, render_list, render_rows
from passcurve.store.rundir import RunDir
from passcurve.view.rows import PAGE_ROWS, parse_place, read_page
from passcurve.view.runs import Runs, RunSummary

LARGE = 100_000
"""Samples above which a run is shown page by page."""
_CACHED_BYTES = 200 << 20
"""Size of the reports that are kept."""


class Pages:
    """Makes pages, and keeps reports until a file of their runs changes."""

    def __init__(self, runs: Runs, prices: Path | None = None) -> None:
        self._runs = runs
        self._prices = prices
        self._reports: OrderedDict[tuple[Any, ...], bytes] = OrderedDict()
        self._lock = threading.Lock()

    def list_runs(self) -> bytes:
        """Return the page with all runs."""
        return render_list([_row(run) for run in self._runs.summaries()], str(self._runs.folder)).encode()

    def report(self, names: list[str], events: str) -> bytes:
        """Return the report on some runs; ``events`` is the address of their counts.

        Raises DataError for a name that is no run, and as ``read_report`` does.
        """
        if large := [name for name in names if self.is_large(name)]:
            raise DataError(f"{large[0]!r} has more than {LARGE:,} samples: it is shown by itself")
        paths = [self._find(name) for name in names]
        key = (*names, *(_stamp(path) for path in paths))
        with self._lock:
            return self._make(key, paths, events)

    def _make(self, key: tuple[Any, ...], paths: list[Path], events: str) -> bytes:
        if key not in self._reports:
            made = read_report(paths, config.cache_dir(), ReportOptions(prices=self._prices, stale=True))
            live = "" if all(run.finished for run in made.scored) else events
            self._reports[key] = render(made.record, made.evidence, events=live).encode()
            while sum(map(len, self._reports.values())) > _CACHED_BYTES and len(self._reports) > 1:
                self._reports.popitem(last=False)
        self._reports.move_to_end(key)
        return self._reports[key]

    def is_large(self, name: str) -> bool:
        """Tell whether a run has too many samples for one page; raise DataError as ``report`` does."""
        summary = self._runs.summary(self._find(name))
        return summary is not None and summary.judged > LARGE

    def rows(self, name: str, place: str, status: str) -> bytes:
        """Return some verdicts of a large run; raise DataError as ``report`` does."""
        path = self._find(name)
        summary = self._runs.summary(path)
        if summary is None:
            raise DataError(f"{name!r} has no verdicts yet")
        page = read_page(RunDir(path).newest_attempt().parts, parse_place(place), status)
        return render_rows(
            _row(summary), page.verdicts, str(page.after) if page.after else "", status, PAGE_ROWS
        ).encode()

    def _find(self, name: str) -> Path:
        path = self._runs.find(name)
        if path is None:
            raise DataError(f"there is no run {name!r} in this folder")
        return path


def _row(run: RunSummary) -> dict[str, Any]:
    return {
        "name": run.name,
        "benchmark": run.benchmark,
        "started_at": run.started_at,
        "finished": run.finished,
        "statuses": run.statuses,
        "judged": run.judged,
        "passed": run.statuses.get("passed", 0),
    }


def _stamp(path: Path) -> tuple[tuple[str, int, int], ...]:
    """Return what changes with any file of a run, with its samples, and with what other commands leave beside it."""
    files = [Path(entry.path) for entry in sorted(os.scandir(path), key=lambda entry: entry.name)]
    for header in {attempt.header.samples: attempt.header for attempt in RunDir(path).attempts()}.values():
        files += [Path(header.samples), *side_records(path, header)]
    stamps = []
    for file in files:
        with contextlib.suppress(OSError):
            status = file.stat()
            stamps.append((str(file), status.st_size, status.st_mtime_ns))
    return tuple(stamps)
