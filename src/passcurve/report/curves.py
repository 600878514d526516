"""pass@k against k as a picture, one line with its band for each run."""

from __future__ import annotations

from collections.abc import Sequence

from passcurve.report.plots import Sheet, set_ticks, sheet
from passcurve.types import Curve

_TICKS = [digit * 10**power for power in range(7) for digit in (1, 2, 5)]


def curve_sheet(curves: Sequence[tuple[str, Curve]], theme: str) -> Sheet:
    """Draw pass@k of each named run on a logarithmic axis of k, with its band; one k alone gets an error bar."""
    with sheet(theme, size=(6.4, 4.0)) as drawing:
        panel = drawing.panels[0]
        for number, (name, curve) in enumerate(curves):
            colour = drawing.theme.series[number % len(drawing.theme.series)]
            if len(curve.k) > 1:
                panel.fill_between(curve.k, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0)
                panel.plot(curve.k, curve.value, color=colour, label=name)
            else:
                value = curve.value[0]
                spread = [[value - curve.low[0]], [curve.high[0] - value]]
                panel.errorbar(curve.k, curve.value, yerr=spread, color=colour, marker="o", capsize=3, label=name)
        largest = max(curve.k[-1] for _, curve in curves)
        panel.set_xscale("log")
        set_ticks(panel.xaxis, [tick for tick in _TICKS if tick <= largest])
        panel.set_ylim(0.0, 1.02)
        panel.set_xlabel("k")
        panel.set_ylabel("pass@k")
        level = f"{curves[0][1].level:.0%}"
        panel.set_title(
            f"band: {level} for the whole curve, new problems like these" if largest > 1 else f"bar: {level}"
        )
        panel.legend(loc="lower right")
    return drawing
