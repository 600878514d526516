"""The pictures of the lab's lessons, each on a sheet of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passcurve.report.plots import Sheet, counted, sheet

_FEW = 25
"""Up to so many points each gets a dot."""
_APART = 1.04
"""By what factor dots at the same place of a logarithmic axis are set apart."""
_TICKS = [digit * 10.0**power for power in range(-6, 1) for digit in (1, 2, 5)]


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


def estimators_picture(found: Any, theme: str) -> Sheet:
    """Draw what each estimator gives on average and how far it strays, against n; dots are simulated."""
    ns = [row.n for row in found.rows]
    shown = (
        ("first_k", f"first {found.k} samples", "v", ":"),
        ("repeated", f"batches of {found.k}", "s", "-."),
        ("plug_in", "plug-in", "D", "--"),
        ("unbiased", "unbiased", "o", "-"),
    )
    with sheet(theme, columns=2, size=(7.2, 3.6)) as made:
        left, right = made.panels
        colours = (made.theme.series[4], made.theme.series[2], made.theme.series[1], made.theme.series[0])
        for at, ((name, said, marker, style), colour) in enumerate(zip(shown, colours, strict=True)):
            each = [getattr(row, name) for row in found.rows]
            if name == "plug_in":
                left.plot(ns, [one.expectation for one in each], color=colour, linestyle=style)
            left.errorbar(
                [n * _APART ** (at - 1.5) for n in ns],
                [one.simulated for one in each],
                yerr=[2.0 * one.simulated_se for one in each],
                color=colour,
                linestyle="",
                marker=marker,
                markersize=4,
                elinewidth=1,
            )
            right.plot(ns, [one.sd for one in each], color=colour, linestyle=style, marker=marker, label=said)
        left.axhline(found.truth, color=made.theme.ink, linestyle=(0, (6, 4)), linewidth=1.2, label="true pass@k")
        left.set_title(f"On average: p = {found.p:g}, k = {found.k}")
        left.set_ylabel(f"estimate of pass@{found.k}")
        right.set_title("Straying: standard deviation")
        deviations = [one.sd for row in found.rows for one in (row.first_k, row.plug_in, row.unbiased) if one.variance]
        if deviations:
            right.set_yscale("log")
            counted(right.yaxis, [at for at in _TICKS if min(deviations) / 1.5 <= at <= 1.5 * max(deviations)])
        left.legend(loc="lower right")
        right.legend(loc="lower left")
        for panel in made.panels:
            panel.set_xscale("log")
            counted(panel.xaxis, ns)
            panel.set_xlabel("samples n")
    return made


def _dots(points: Sequence[object], marker: str) -> dict[str, str]:
    """Return a marker for points that are few enough to be told apart."""
    return {"marker": marker if len(points) <= _FEW else ""}
