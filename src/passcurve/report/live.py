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
from typing import TYPE_CHECKING, Self

from passcurve.report.terminal import number
from passcurve.types import Estimate

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

_PLAIN_EVERY_S = 10.0
_LIVE_EVERY_S = 0.25
_ENOUGH = 50
"""Fewest samples for a score in a file; a score of fewer says little, and computing it takes 40 MiB of memory."""


class Display:
    """Shows judged, passed, pass@1 with its interval, rate and time left; a context manager.

    The libraries that draw are loaded when there is something to show; many runs end earlier.
    """

    def __init__(self, total: Callable[[], int | None] = lambda: None, load_after_s: float | None = None) -> None:
        """Take a function that returns the approximate number of rows; it is called once, before the first line.

        ``load_after_s`` is the time at which rich and scipy are loaded, by default when first needed.  A thread loads
        them, so that judging goes on; they take some 40 MiB of memory.
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

    def show(
        self,
        judged: int,
        planned: int,
        passed: int,
        score: Callable[[], Estimate],
        beside: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        """Show the progress, unless it was shown a moment ago; ``score`` and ``beside`` are called only then."""
        now = time.monotonic()
        if self._first_judged is None:
            self._first_judged = judged
        scored = self._on_terminal or judged >= _ENOUGH
        if scored and not self._load_in_time(now):
            return
        if now - self._shown < self._every_s:
            return
        self._shown = now
        if self._total is None:
            self._total = self._ask_total()
        total = max(self._total or 0, planned)
        rate = (judged - self._first_judged) / max(now - self._began, 1e-9)
        parts = [f"{judged:,} of {total:,} judged", f"{passed:,} passed"]
        # Only with a verdict: loading the statistics takes longer than judging many samples.
        estimate = score() if judged and scored else None
        if estimate is not None and estimate.value is not None and (interval := estimate.new_problems) is not None:
            parts.append(f"pass@1 {number(estimate.value)} ({number(interval.low)} to {number(interval.high)})")
        parts.append(f"{rate:,.0f}/s")
        if rate > 0 and total > judged:
            parts.append(f"about {_duration((total - judged) / rate)} left")
        parts += beside()
        # Do not fail when stderr is full or closed.
        try:
            if scored and self._console is None:
                self._begin()
            self._draw(", ".join(parts))
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
        if self._console.is_terminal:
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
        import scipy.special  # noqa: F401 - it is there when a score is asked for

        import passcurve.stats.metrics  # noqa: F401 - as scipy


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
