"""The live display of a run on a terminal, and its plain form everywhere else."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from passcurve.report.terminal import number
from passcurve.types import Estimate

_PLAIN_EVERY_S = 10.0
_LIVE_EVERY_S = 0.25


class Display:
    """Shows judged, passed, pass@1 with its interval, rate and time left; a context manager."""

    def __init__(self, console: Console, total: int | None) -> None:
        self._console = console
        self._total = total
        self._began = self._shown = time.monotonic()
        self._first_judged: int | None = None
        self._live = (
            Live(Text("starting"), console=console, transient=True, auto_refresh=False) if console.is_terminal else None
        )

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, judged: int, planned: int, passed: int, score: Callable[[], Estimate]) -> None:
        """Show where the run is, unless that was done a moment ago; ``score`` is asked only then."""
        now = time.monotonic()
        if self._first_judged is None:
            self._first_judged = judged
        if now - self._shown < (_LIVE_EVERY_S if self._live is not None else _PLAIN_EVERY_S):
            return
        self._shown = now
        total = max(self._total or 0, planned)
        rate = (judged - self._first_judged) / max(now - self._began, 1e-9)
        parts = [f"{judged:,} of {total:,} judged", f"{passed:,} passed"]
        estimate = score()
        if estimate.value is not None and (interval := estimate.new_problems) is not None:
            parts.append(f"pass@1 {number(estimate.value)} ({number(interval.low)} to {number(interval.high)})")
        parts.append(f"{rate:,.0f}/s")
        if rate > 0 and total > judged:
            parts.append(f"about {_span((total - judged) / rate)} left")
        text = ", ".join(parts)
        if self._live is not None:
            self._live.update(Text(text, no_wrap=True, overflow="ellipsis"), refresh=True)
        else:
            self._console.print(text, highlight=False, soft_wrap=True)


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
