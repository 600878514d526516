"""The pictures of the lab's lessons, each on a sheet of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passcurve.report.plots import Sheet, sheet

_FEW = 25
"""Up to so many points each gets a dot."""


def urn_picture(urn: Any, theme: str) -> Sheet:
    """Draw how the chance of nothing but wrong balls shrinks, and pass@k against c with and without putting back."""
    rows = sorted(urn.table, key=lambda each: each.c)
    draws = [0, *(step.draw for step in urn.steps)]
    with sheet(theme, columns=2) as made:
        left, right = made.panels
        blue, orange, *_ = made.theme.series
        back = {"color": orange, "linestyle": "--", "label": "put back: 1 - (1 - c/n)^k, biased"}
        kept = {"color": blue, "label": "not put back: pass@k"}
        left.plot(draws, [(1.0 - urn.c / urn.n) ** draw for draw in draws], **back, **_dots(draws, "s"))
        left.plot(draws, [1.0, *(step.all_wrong.value for step in urn.steps)], **kept, **_dots(draws, "o"))
        left.set_title(f"All wrong so far: n = {urn.n}, c = {urn.c}")
        left.set_xlabel("samples drawn")
        left.set_ylabel("chance")
        if len(draws) <= _FEW:
            left.set_xticks(draws)
        right.plot([each.c for each in rows], [each.replaced.value for each in rows], **back, **_dots(rows, "s"))
        right.plot([each.c for each in rows], [each.passes.value for each in rows], **kept, **_dots(rows, "o"))
        right.set_title(f"One of {urn.k} right, of n = {urn.n} samples")
        right.set_xlabel("right samples c")
        right.legend(loc="lower right")
        for panel in made.panels:
            panel.set_ylim(0.0, 1.05)
    return made


def _dots(points: Sequence[object], marker: str) -> dict[str, str]:
    """Return a marker for points that are few enough to be told apart."""
    return {"marker": marker if len(points) <= _FEW else ""}
