"""The live display of a run on a terminal, and its plain form everywhere else."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from passcurve.report.generation import live_parts
from passcurve.report.terminal import number
from passcurve.types import Estimate, GenerationProgress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

_PLAIN_EVERY_S = 10.0
_LIVE_EVERY_S = 0.25
_MIN_TIMED_ROWS = 10
"""Fewest rows from whose pace the time left is foretold."""
_ENOUGH = 50
"""Fewest samples for a score in a file; a score of fewer says little, and computing it takes 40 MiB of memory."""


class RunProgress(Protocol):
    """The progress of a run."""

    @property
    def judged(self) -> int:
        """Rows with a verdict."""
        ...

    @property
    def planned(self) -> int:
        """Rows read so far."""
        ...

    @property
    def read_all(self) -> bool:
        """True if these are all rows, so that their number is known."""
        ...

    @property
    def passed(self) -> int:
        """Rows that passed."""
        ...

    @property
    def postponed_rows(self) -> int:
        """Rows that wait for the end of the run with their whole time limit."""
        ...

    @property
    def postponed_s(self) -> float:
        """Most seconds that these take."""
        ...

    @property
    def generated(self) -> GenerationProgress | None:
        """The progress of generation, where that is ours."""
        ...

    def pass_at_1(self) -> Estimate:
        """Return pass@1 of the problems that have a verdict."""
        ...


class Display:
    """Shows judged, passed, pass@1 with its interval, rate and time left; a context manager.

    The libraries that draw are loaded when there is something to show; many runs end earlier.
    """

    def __init__(self, total: Callable[[], int | None] = lambda: None, load_after_s: float | None = None) -> None:
        """Take a function that returns the approximate number of rows; it is called once, before the first line.

        ``load_after_s`` is the time at which rich and the statistics are loaded, by default when first needed.  A
        thread loads them, so that judging goes on; they take some MiB of memory.
        """
        self._ask_total = total
        self._total: int | None = None
        self._began = self._shown = time.monotonic()
        self._first_judged: int | None = None
        self._on_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._every_s = _LIVE_EVERY_S if self._on_terminal else _PLAIN_EVERY_S
        self._loader: threading.Thread | None = None
        self._load_after_s = self._every_s if load_after_s is None else load_after_s
        self._console: Console | None = None
        self._live: Live | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            if self._live is not None:
                self._live.stop()

    def show_progress(self, at: RunProgress) -> None:
        """Show how far a run is and what generation does beside it, unless that was shown a moment ago."""
        now = time.monotonic()
        if self._first_judged is None:
            self._first_judged = at.judged
        scored = self._on_terminal or at.judged >= _ENOUGH
        if scored and not self._load_in_time(now):
            return
        if now - self._shown < self._every_s:
            return
        self._shown = now
        if self._total is None:
            self._total = self._ask_total()
        total = at.planned if at.read_all else max(self._total or 0, at.planned)
        parts = [f"{at.judged:,} of {total:,} judged", f"{at.passed:,} passed"]
        # Only with a verdict: loading the statistics takes longer than judging many samples.
        estimate = at.pass_at_1() if at.judged and scored else None
        if estimate is not None and estimate.value is not None:
            parts.append(_score_text(estimate))
        parts += live_parts(at.generated) if at.generated is not None else []
        judged, since_s = at.judged - self._first_judged, now - self._began
        parts.append(f"{judged / max(since_s, 1e-9):,.0f}/s")
        left = _time_left(at, judged, since_s, total - at.judged)
        # Do not fail when stderr is full or closed.
        try:
            if scored and self._console is None:
                self._begin()
            self._draw(_fit(parts, left, self._console.width if self._live and self._console else None))
        except OSError:
            self._live, self._every_s = None, math.inf
            # Text left in the buffer of stderr would fail again at exit, and change the exit code.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)

    def _load_in_time(self, now: float) -> bool:
        """Start to load the libraries of a score when it is time; return whether they are loaded."""
        if self._loader is None and now - self._began >= self._load_after_s:
            self._loader = threading.Thread(target=_load_libraries, name="passcurve-load", daemon=True)
            self._loader.start()
        return self._loader is not None and not self._loader.is_alive()

    def _begin(self) -> None:
        from rich.console import Console
        from rich.live import Live

        # rich knows NO_COLOR and other settings of terminals.
        self._console = Console(stderr=True)
        if self._on_terminal and self._console.is_terminal and not self._console.is_dumb_terminal:
            self._live = Live(console=self._console, transient=True, auto_refresh=False)
            self._live.start()
        self._every_s = _LIVE_EVERY_S if self._live is not None else _PLAIN_EVERY_S

    def _draw(self, text: str) -> None:
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text(text, no_wrap=True, overflow="ellipsis"), refresh=True)
        elif self._console is not None:
            self._console.print(text, highlight=False, soft_wrap=True)
        elif sys.stderr is not None:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()


def _load_libraries() -> None:
    # A failed import is reported where the library is needed.
    with contextlib.suppress(Exception):
        import rich.console
        import rich.live
        import rich.text  # noqa: F401 - with the two above: it is there when a line is drawn

        import passcurve.stats.metrics  # noqa: F401 - it is there when a score is asked for


def _score_text(estimate: Estimate) -> str:
    """Return pass@1 with its interval; without one it covers a part of the samples, and says so."""
    interval = estimate.new_problems
    value = number(estimate.value or 0.0)
    if interval is None:
        return f"pass@1 so far {value}"
    return f"pass@1 {value} ({number(interval.low)} to {number(interval.high)})"


def _time_left(at: RunProgress, judged: int, since_s: float, remaining: int) -> str:
    """Return about how long the remaining rows take; nothing where those that were ``judged`` so far do not tell."""
    ordinary = max(0, remaining - at.postponed_rows)
    if remaining <= 0 or since_s <= 0 or (ordinary and judged < _MIN_TIMED_ROWS):
        return ""
    pace_s = since_s / judged if judged else 0.0
    # Of the rows to come, as many as so far will run into their limit.
    postponed_share = 1.0 + (ordinary / (judged + at.postponed_rows) if ordinary else 0.0)
    return f"about {_duration(ordinary * pace_s + at.postponed_s * postponed_share)} left"


def _fit(parts: Sequence[str], left: str, width: int | None) -> str:
    """Return the parts for which a line has room, the first ones first, and at its end the time left."""
    shown, ends = list(parts[:1]), [left] if left else []
    for part in parts[1:]:
        if width is None or len(", ".join([*shown, part, *ends])) < width:
            shown.append(part)
    return ", ".join([*shown, *ends])


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
