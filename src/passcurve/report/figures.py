"""The pictures of the lab's lessons, each on a sheet of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from passcurve.report.plots import Sheet, heat_colour, set_ticks, sheet

if TYPE_CHECKING:
    from passcurve.lab.budget import Budget
    from passcurve.lab.estimators import Estimators
    from passcurve.lab.mixture import Mixture
    from passcurve.lab.temperature import Temperature
    from passcurve.lab.urn import Urn

_FEW = 25
"""Largest number of points that get a marker each."""
_APART = 1.04
"""Factor between neighbouring dots at the same place of a logarithmic axis."""
_TICKS_COUNTED = [digit * 10**power for power in range(9) for digit in (1, 2, 5)]
_TICKS = [digit * 10.0**power for power in range(-6, 1) for digit in (1, 2, 5)]


def urn_picture(lesson: Urn, theme: str) -> Sheet:
    """Draw how the chance of nothing but wrong balls shrinks, and pass@k against c with and without putting back."""
    rows = sorted(lesson.table, key=lambda share: share.c)
    draws = [0, *(step.draw for step in lesson.steps)]
    with sheet(theme, columns=2) as canvas:
        left, right = canvas.panels
        blue, orange, *_ = canvas.theme.series
        back = {"color": orange, "linestyle": "--", "label": "put back: 1 - (1 - c/n)^k, biased"}
        without = {"color": blue, "label": "not put back: pass@k"}
        left.plot(draws, [(1.0 - lesson.c / lesson.n) ** draw for draw in draws], **back, **_marker(draws, "s"))
        left.plot(draws, [1.0, *(step.all_wrong.value for step in lesson.steps)], **without, **_marker(draws, "o"))
        left.set_title(f"All wrong so far: n = {lesson.n}, c = {lesson.c}")
        left.set_xlabel("samples drawn")
        left.set_ylabel("chance")
        if len(draws) <= _FEW:
            left.set_xticks(draws)
        right.plot([share.c for share in rows], [share.replaced.value for share in rows], **back, **_marker(rows, "s"))
        right.plot([share.c for share in rows], [share.passes.value for share in rows], **without, **_marker(rows, "o"))
        right.set_title(f"One of {lesson.k} right, of n = {lesson.n} samples")
        right.set_xlabel("right samples c")
        right.legend(loc="lower right")
        for panel in canvas.panels:
            panel.set_ylim(0.0, 1.05)
    return canvas


def estimators_picture(lesson: Estimators, theme: str) -> Sheet:
    """Draw what each estimator gives on average and how far it strays, against n; dots are simulated."""
    ns = [row.n for row in lesson.rows]
    estimators = (
        ("first_k", f"first {lesson.k} samples", "v", ":"),
        ("repeated", f"batches of {lesson.k}", "s", "-."),
        ("plug_in", "plug-in", "D", "--"),
        ("unbiased", "unbiased", "o", "-"),
    )
    with sheet(theme, columns=2, size=(7.2, 3.6)) as canvas:
        left, right = canvas.panels
        colours = (canvas.theme.series[4], canvas.theme.series[2], canvas.theme.series[1], canvas.theme.series[0])
        for at, ((name, label, marker, style), colour) in enumerate(zip(estimators, colours, strict=True)):
            moments = [getattr(row, name) for row in lesson.rows]
            if name == "plug_in":
                left.plot(ns, [item.expectation for item in moments], color=colour, linestyle=style)
            left.errorbar(
                [n * _APART ** (at - 1.5) for n in ns],
                [item.simulated for item in moments],
                yerr=[2.0 * item.simulated_se for item in moments],
                color=colour,
                linestyle="",
                marker=marker,
                markersize=4,
                elinewidth=1,
            )
            right.plot(ns, [item.sd for item in moments], color=colour, linestyle=style, marker=marker, label=label)
        left.axhline(lesson.truth, color=canvas.theme.ink, linestyle=(0, (6, 4)), linewidth=1.2, label="true pass@k")
        left.set_title(f"On average: p = {lesson.p:g}, k = {lesson.k}")
        left.set_ylabel(f"estimate of pass@{lesson.k}")
        right.set_title("Straying: standard deviation")
        deviations = [
            item.sd for row in lesson.rows for item in (row.first_k, row.plug_in, row.unbiased) if item.variance
        ]
        if deviations:
            right.set_yscale("log")
            set_ticks(right.yaxis, [at for at in _TICKS if min(deviations) / 1.5 <= at <= 1.5 * max(deviations)])
        left.legend(loc="lower right")
        right.legend(loc="lower left")
        for panel in canvas.panels:
            panel.set_xscale("log")
            set_ticks(panel.xaxis, ns)
            panel.set_xlabel("samples n")
    return canvas


def budget_picture(lesson: Budget, theme: str) -> Sheet:
    """Draw the width of both intervals against the cost, a line for each number of problems."""
    problems = list(dict.fromkeys(size.m for size in lesson.sizes))
    markers = ("o", "s", "D", "v", "^", "P", "X")
    with sheet(theme, columns=2, size=(7.2, 3.6), sharex=True) as canvas:
        left, right = canvas.panels
        costs = sorted({size.cost for size in lesson.sizes})
        for at, m in enumerate(problems):
            sizes = [size for size in lesson.sizes if size.m == m]
            style = {
                "color": canvas.theme.series[at % len(canvas.theme.series)],
                "marker": markers[at % len(markers)],
                "label": f"{m} problems",
            }
            left.plot([size.cost for size in sizes], [size.new_problems for size in sizes], **style)
            right.plot([size.cost for size in sizes], [size.these_problems for size in sizes], **style)
        left.set_title("New problems like these")
        right.set_title("These problems, fresh samples")
        left.set_ylabel(f"width of the {lesson.level:.0%} interval, pass@{lesson.k}")
        for panel in canvas.panels:
            panel.set_xlabel("samples in all")
            panel.set_ylim(bottom=0.0)
            if costs[-1] > 4 * costs[0]:
                panel.set_xscale("log")
                set_ticks(panel.xaxis, [tick for tick in _TICKS_COUNTED if costs[0] <= tick <= costs[-1]] or costs)
        right.legend(loc="upper right")
    return canvas


def temperature_picture(lesson: Temperature, theme: str) -> Sheet:
    """Draw a curve for each temperature from cold to hot, the truth where it is known, and the hull both ways."""
    with sheet(theme, columns=2, size=(7.2, 3.6), sharey=True) as canvas:
        left, right = canvas.panels
        for at, curve in enumerate(lesson.curves):
            colour = heat_colour(canvas.theme, at / max(1, len(lesson.curves) - 1))
            name = f"T = {curve.temperature:g}"
            if curve.truth:
                left.plot(lesson.k, curve.truth, color=colour, label=name)
                left.plot(lesson.k, curve.value, color=colour, marker="o", linestyle="", markersize=3.5)
            else:
                left.plot(lesson.k, curve.value, color=colour, marker="o", label=name)
        left.set_title("Each temperature" + (" (dots: samples)" if lesson.simulated else ""))
        left.set_ylabel("pass@k")
        ks = [choice.k for choice in lesson.choices]
        blue, orange, green, *_ = canvas.theme.series
        if ks:
            upper, honest = [choice.upper for choice in lesson.choices], [choice.honest for choice in lesson.choices]
            right.plot(ks, upper, color=orange, marker="^", linestyle="--", label="best, on the same samples")
            right.plot(ks, honest, color=blue, marker="o", label="chosen on one half, read off the other")
            if lesson.simulated:
                true = [choice.true_upper for choice in lesson.choices]
                right.plot(ks, true, color=green, linestyle=":", linewidth=2.4, label="true hull")
            for choice in lesson.choices:
                right.annotate(
                    f"{choice.best:g}",
                    (choice.k, choice.upper),
                    xytext=(0, 7),
                    textcoords="offset points",
                    ha="center",
                    fontsize=8,
                    color=canvas.theme.muted,
                )
            right.legend(loc="lower right")
        right.set_title("The best at each k (its T above it)")
        left.legend(loc="lower right")
        for panel in canvas.panels:
            panel.set_xscale("log")
            set_ticks(panel.xaxis, lesson.k)
            panel.set_xlabel("k")
            panel.margins(y=0.08)
    return canvas


def mixture_picture(lesson: Mixture, theme: str) -> Sheet:
    """Draw pass@k of each model, simulated dots on it, and the curve that pass@1 alone would give."""
    with sheet(theme, size=(5.4, 3.6)) as canvas:
        (panel,) = canvas.panels
        markers = ("o", "s", "D", "v", "^")
        wrong = {tuple(round(value, 12) for value in model.wrong): model for model in lesson.models}
        for model in wrong.values():
            several = f" of {model.name}" if len(wrong) > 1 else ""
            label = f"1 - (1 - pass@1)^k{several}"
            style = {"color": canvas.theme.ink, "linestyle": (0, (6, 4)), "linewidth": 1.2, "zorder": 3}
            panel.plot(lesson.k, model.wrong, label=label, **style)
        for at, model in enumerate(lesson.models):
            colour, marker = canvas.theme.series[at % len(canvas.theme.series)], markers[at % len(markers)]
            name = f"{model.name}: pass@k" if model.chances else "pass@k, measured"
            if model.simulated:
                panel.plot(lesson.k, model.value, color=colour)
                spread = [2.0 * error for error in model.simulated_se]
                dots = {"color": colour, "marker": marker, "elinewidth": 1, "linestyle": ""}
                panel.errorbar(lesson.k, model.simulated, yerr=spread, label=name, **dots)
            else:
                panel.plot(lesson.k, model.value, color=colour, marker=marker, label=name)
        panel.set_xscale("log")
        set_ticks(panel.xaxis, lesson.k)
        panel.set_ylim(0.0, 1.05)
        panel.set_xlabel("k")
        panel.set_ylabel("chance that one of k is right")
        panel.set_title("pass@k, and what pass@1 alone would make of it")
        panel.legend(loc="lower right", ncols=2)
    return canvas


def _marker(points: Sequence[object], marker: str) -> dict[str, str]:
    """Return a marker for points that are few enough to be told apart."""
    return {"marker": marker if len(points) <= _FEW else ""}
