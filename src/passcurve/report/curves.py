"""pass@k against k as a picture, one line with its band for each run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from passcurve.diagnosis import Scope
from passcurve.report.plots import Sheet, set_ticks, sheet
from passcurve.report.terminal import printable
from passcurve.types import Curve

_TICKS = [digit * 10**power for power in range(7) for digit in (1, 2, 5)]
_NEAR = 1.3
"""Least factor between the last tick and the end of the axis, so that their labels stay apart."""
_DASHES = ("-", (0, (6, 2)), (0, (1, 1.4)), (0, (7, 2, 1.5, 2)), (0, (3, 1.5)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
"""Lines differ by dash and marker as well as by colour: a picture may be printed in gray."""
_STEP = 1.05
"""Factor between neighbouring points at one k."""
_LABEL_CHARACTERS = 72
_WIDTH, _HEIGHT, _LINE = 6.4, 3.9, 0.2
"""Size of the picture without its legend, and of a line of the legend, in inches."""


class _Style(NamedTuple):
    colour: str
    dash: Any
    marker: str


def curve_sheet(curves: Sequence[tuple[str, Curve]], theme: str) -> Sheet:
    """Draw pass@k of each named run on a logarithmic axis of k, with its band; one k alone gets an error bar.

    The legend stands below the axes, where no curve can be.
    """
    columns = 1 if max(len(name) for name, _ in curves) > _LABEL_CHARACTERS // 3 else min(3, len(curves))
    lines = -(-len(curves) // columns)
    largest = max(curve.k[-1] for _, curve in curves)
    with sheet(theme, size=(_WIDTH, _HEIGHT + _LINE * lines)) as drawing:
        panel = drawing.panels[0]
        points = [number for number, (_, curve) in enumerate(curves) if len(curve.k) == 1]
        handles = []
        for number, (_, curve) in enumerate(curves):
            style = _style(drawing, number)
            if len(curve.k) > 1:
                handles.append(_draw_line(panel, curve, style))
            else:
                # Beside each other, and left of where curves begin.
                place = points.index(number) - ((len(points) - 1) / 2 if largest == 1 else len(points))
                handles.append(_draw_point(panel, curve, style, _STEP**place))
        panel.set_xscale("log")
        ticks = [tick for tick in _TICKS if tick <= largest]
        set_ticks(panel.xaxis, [*ticks, largest] if largest > _NEAR * ticks[-1] else ticks)
        if largest == 1:
            panel.set_xlim(0.5, 2.0)
        panel.set_ylim(0.0, 1.02)
        panel.set_xlabel("k, samples drawn")
        panel.set_ylabel("pass@k")
        panel.set_title(_title(curves))
        labels = [name for name, _ in curves]
        drawing.figure.legend(handles, labels, loc="outside lower center", ncols=columns, handlelength=3.2)
    return drawing


def run_labels(runs: Sequence[tuple[Path, Scope | None]]) -> list[str]:
    """Return a label for each run: its name, its path where names repeat, and the part of the problems it covers."""
    names = [run.name.removesuffix(".passcurve") or str(run) for run, _ in runs]
    paths = [name if names.count(name) == 1 else str(run) for name, (run, _) in zip(names, runs, strict=True)]
    labels = []
    for at, (path, (_, scope)) in enumerate(zip(paths, runs, strict=True)):
        turn = paths[: at + 1].count(path)
        part = f" ({scope.covered} of {scope.total} problems)" if scope and scope.covered < scope.total else ""
        labels.append(_shorten(path) + (f" ({turn})" if turn > 1 else "") + part)
    return labels


def legend_labels(runs: Sequence[tuple[Path, Scope | None]]) -> list[str]:
    """Return the labels of runs as matplotlib shows them letter by letter."""
    # A dollar begins mathematics, and a label that begins with an underscore is left out.
    labels = [label.replace("$", r"\$") for label in run_labels(runs)]
    return [f" {label}" if label.startswith("_") else label for label in labels]


def _shorten(name: str) -> str:
    """Return a name in a line, its middle left out where it is long."""
    name = printable(name)
    if len(name) > _LABEL_CHARACTERS:
        name = f"{name[: _LABEL_CHARACTERS // 2]}...{name[-_LABEL_CHARACTERS // 2 :]}"
    return name


def _style(drawing: Sheet, number: int) -> _Style:
    series = drawing.theme.series
    turn = number // len(series)
    return _Style(
        series[number % len(series)],
        _DASHES[(number + turn) % len(_DASHES)],
        _MARKERS[number % len(_MARKERS)],
    )


def _draw_line(panel: Any, curve: Curve, style: _Style) -> Any:
    panel.fill_between(curve.k, curve.low, curve.high, color=style.colour, alpha=0.15, linewidth=0)
    for edge in (curve.low, curve.high):
        panel.plot(curve.k, edge, color=style.colour, linestyle=style.dash, linewidth=0.7, alpha=0.7)
    at = [place for place, k in enumerate(curve.k) if k in _TICKS or k == curve.k[-1]]
    (line,) = panel.plot(
        curve.k, curve.value, color=style.colour, linestyle=style.dash, marker=style.marker, markevery=at
    )
    return line


def _draw_point(panel: Any, curve: Curve, style: _Style, shift: float) -> Any:
    value = curve.value[0]
    spread = [[max(0.0, value - curve.low[0])], [max(0.0, curve.high[0] - value)]]
    return panel.errorbar(
        [curve.k[0] * shift],
        [value],
        yerr=spread,
        color=style.colour,
        linestyle="",
        marker=style.marker,
        capsize=3,
    )


def _title(curves: Sequence[tuple[str, Curve]]) -> str:
    interval = f"{100 * curves[0][1].level:g}% CI"
    parts = [f"band: {interval} of the whole curve"] if any(len(curve.k) > 1 for _, curve in curves) else []
    parts += [f"bar: {interval}"] if any(len(curve.k) == 1 for _, curve in curves) else []
    return "; ".join(parts) + ", new problems"
