"""pass@k against k as a line of characters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from passcurve.report.terminal import number
from passcurve.stats import pass_at_k
from passcurve.types import Counts

_BLOCKS = "▁▂▃▄▅▆▇█"
_PLAIN = "_.-:=+*#"
_STEPS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)


def curve_line(counts: Sequence[Counts], encoding: str) -> str:
    """Return pass@k from 1 to the least n on a scale from 0 to 1; an empty text for less than three k.

    ``encoding`` is that of the terminal; where it lacks block characters others stand for them.
    """
    least = min((count.n for count in counts), default=0)
    ks = [k for k in (*_STEPS, least) if k <= least]
    ks = sorted(set(ks))
    if len(ks) < 3:
        return ""
    n, c = np.array([[count.n, count.c] for count in counts]).T
    values = pass_at_k(n[:, None], c[:, None], np.array(ks)).mean(axis=0)
    bars = _bars(encoding)
    drawn = "".join(bars[min(len(bars) - 1, int(value * len(bars)))] for value in values)
    first, last = (f"pass@{ks[at]} {number(float(values[at]))}" for at in (0, -1))
    return f"  curve     {first}  {drawn}  {last}"


def _bars(encoding: str) -> str:
    try:
        _BLOCKS.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return _PLAIN
    return _BLOCKS
