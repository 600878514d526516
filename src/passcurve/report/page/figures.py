"""The figures of a report: curves, outcomes, solve rates, scatter, times, a sweep of temperatures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from passcurve.report.page.svg import Plot, Scale
from passcurve.report.scores import is_step
from passcurve.report.terminal import number

_SERIES = 8
"""Colours of the style sheet."""
_BINS = 30
_BARS = 12
"""Most values of k of which each has its interval as a bar; of more the round ones have."""
_APART = 0.008
"""Distance between the bars of two runs at one k, as a share of the axis."""
_FAR = 4.0
"""How far beyond all values a limit may lie to be in the picture, as a factor."""


def series(number: int) -> str:
    """Return the class that colours a run."""
    return f"s{number % _SERIES}"


def curve_figure(runs: Sequence[Mapping[str, Any]], metric: str = "pass@k") -> Markup | None:
    """Draw a metric of each run against k, with pointwise bars and the simultaneous band; None without any value."""
    drawn = [(at, run, _points(run, metric)) for at, run in enumerate(runs)]
    drawn = [row for row in drawn if row[2]]
    if not drawn:
        return None
    last = max(row["k"] for _, _, points in drawn for row in points)
    modelled = [run["extrapolation"] for _, run, _ in drawn if run["extrapolation"] and metric == "pass@k"]
    far = max([last, *(part["k"][-1] for part in modelled)])
    plot = Plot(
        Scale(1, max(2, far), "log"), Scale(0.0, 1.0), size=(620, 340), labels=("k, samples drawn; logarithmic", metric)
    )
    for at, run, _ in drawn:
        if metric == "pass@k" and (band := run["curve"]):
            plot.band(band["k"], band["low"], band["high"], f"band {series(at)}")
    for at, run, points in drawn:
        for row in points:
            if row["low"] is not None and (len(points) <= _BARS or is_step(row["k"]) or row is points[-1]):
                # Beside each other, so that none hides another.
                k = row["k"] * max(2, far) ** (_APART * (at - (len(runs) - 1) / 2))
                plot.line([(k, row["low"]), (k, row["high"])], f"whisker {series(at)}")
        plot.line([(row["k"], row["value"]) for row in points], f"line {series(at)}")
        for row in points:
            if len(points) < _BINS or is_step(row["k"]) or row is points[-1]:
                title = f"{run['name']}: {metric.replace('k', str(row['k']))} {number(row['value'])}"
                plot.dot(row["k"], row["value"], f"dot {series(at)}", title)
        _draw_model(plot, run, points[-1], at, metric)
        plot.upright(points[-1]["k"], f"n = {points[-1]['k']}", "end")
    return plot.render(f"{metric} against k")


def _points(run: Mapping[str, Any], metric: str) -> list[dict[str, Any]]:
    return [row for row in run["curves"].get(metric, ()) if row["value"] is not None]


def _draw_model(plot: Plot, run: Mapping[str, Any], end: Mapping[str, Any], at: int, metric: str) -> None:
    """Draw what models say past n: the area between them, and its middle as a dashed line."""
    part = run["extrapolation"]
    if metric != "pass@k" or not part:
        return
    rows = [row for row in zip(part["k"], part["low"], part["high"], strict=True) if row[1] is not None]
    start = (end["k"], end["value"], end["value"])
    ks, low, high = zip(start, *rows, strict=True)
    plot.band(ks, low, high, f"band model {series(at)}")
    middle = [(k, (one + other) / 2) for k, one, other in zip(ks, low, high, strict=True)]
    plot.line(middle, f"line dashed {series(at)}")


def rate_figure(runs: Sequence[Mapping[str, Any]]) -> Markup:
    """Draw how many problems have which share of right samples: a bar for each c/n, or for each tenth of it."""
    largest = max([1, *(count for run in runs for count in run["solve_rates"]["bins"])])
    least = min((run["solve_rates"]["n"] or math.inf for run in runs), default=math.inf)
    labels = ("samples of a problem that passed, c/n", "problems")
    # Bars on 0 and 1 are as wide as the others.
    x = Scale(-0.5 / least, 1.0 + 0.5 / least)
    plot = Plot(x, Scale(0.0, largest * 1.05), size=(620, 340), labels=labels)
    for at, run in enumerate(runs):
        n, counts = run["solve_rates"]["n"], run["solve_rates"]["bins"]
        width = (0.9 if n else 1.0) / (n or len(counts)) / len(runs)
        for place, count in enumerate(counts):
            if n:
                left, which = place / n + (at - len(runs) / 2) * width, f"{place} of {n}"
            else:
                left = place / len(counts) + at * width
                which = f"c/n from {place / len(counts):.1f} to {(place + 1) / len(counts):.1f}"
            title = f"{run['name']}: {count} problem{'s' * (count != 1)} with {which}"
            plot.bar(left, left + width, count, f"bar {series(at)}", title)
    return plot.render("Problems by their share of right samples")


def scatter_figure(pair: Mapping[str, Any]) -> Markup:
    """Draw c/n of each problem for A against B; problems at one place are one dot, which grows with them."""
    plot = Plot(Scale(0.0, 1.0), Scale(0.0, 1.0), size=(520, 470), labels=(f"A: {pair['a']}", f"B: {pair['b']}"))
    a_colour, b_colour = map(series, pair["numbers"])
    plot.line([(0.0, 0.0), (1.0, 1.0)], "diagonal")
    places: dict[tuple[float, float], list[str]] = {}
    for row in pair["problems"]:
        places.setdefault((row["a"]["c"] / row["a"]["n"], row["b"]["c"] / row["b"]["n"]), []).append(row["task_id"])
    for (a, b), names in sorted(places.items(), key=lambda place: -len(place[1])):
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        title = f"A {number(a)}, B {number(b)}: {', '.join(names[:5])}{more}"
        kind = f"dot {a_colour}" if a > b else f"dot {b_colour}" if b > a else "dot even"
        of = ",".join(map(str, pair["numbers"]))
        link = f"#{_address(names[0])}" if len(names) == 1 else f"#problems?a={a:.6f}&b={b:.6f}&of={of}"
        plot.dot(a, b, kind, title, radius=_radius(len(names)), link=link)
    return plot.render("Right samples of each problem, A against B")


def _address(task_id: str) -> str:
    """Return an id without the characters that mean something else in an address."""
    return task_id.replace("%", "%25").replace("?", "%3F").replace("#", "%23")


def _radius(problems: int) -> float:
    return min(18.0, 3.0 + 1.5 * math.sqrt(problems - 1))


def size_key(pair: Mapping[str, Any]) -> list[tuple[int, Markup]]:
    """Return some numbers of problems, each with the dot that stands for so many."""
    places = Counter((row["a"]["c"] / row["a"]["n"], row["b"]["c"] / row["b"]["n"]) for row in pair["problems"])
    most = max(places.values(), default=1)
    dot = Markup(
        '<svg class="plot" width="{0}" height="{0}" aria-hidden="true">'
        '<circle class="dot even" cx="{1}" cy="{1}" r="{2:.1f}"/></svg>'
    )
    sizes = [size for size in (1, 5, 20, 100) if size <= most]
    return [(size, dot.format(2 * round(_radius(size)) + 2, round(_radius(size)) + 1, _radius(size))) for size in sizes]


def spread_figure(
    rows: Sequence[tuple[str, Mapping[str, Any]]], label: str, limit: float | None, unit: str
) -> Markup | None:
    """Draw how often which value occurs, on a logarithmic axis, with the limit; None without any value.

    The runs lie over each other, each bar as wide as its bin; a limit far beyond all values is told by ``is_far`` only.
    """
    drawn = [(at, name, spread) for at, (name, spread) in enumerate(rows) if spread["counts"]]
    if not drawn:
        return None
    low = min(_edge(spread, 0) for _, _, spread in drawn)
    high = max(_edge(spread, len(spread["counts"])) for _, _, spread in drawn)
    most = max(count for _, _, spread in drawn for count in spread["counts"])
    shown = None if is_far(rows, limit) else limit
    x = Scale(low, max(high, (shown or 0.0) * 1.1), "log")
    labels = (f"{label}; logarithmic", "samples")
    plot = Plot(x, Scale(0.0, most * 1.05), size=(620, 280), labels=labels)
    for at, name, spread in drawn:
        for place, count in enumerate(spread["counts"]):
            if count:
                start, end = _edge(spread, place), _edge(spread, place + 1)
                title = f"{name}: {count} sample{'s' * (count != 1)} from {start:.3g} to {end:.3g} {unit}"
                plot.bar(start, end, count, f"bar over {series(at)}", title)
    if shown is not None:
        plot.upright(shown, f"limit {shown:g} {unit}")
    return plot.render(label)


def is_far(rows: Sequence[tuple[str, Mapping[str, Any]]], limit: float | None) -> bool:
    """Tell whether a limit lies so far beyond all values that a picture of both would show neither."""
    most = max((spread["most"] for _, spread in rows if spread["counts"]), default=None)
    return limit is not None and most is not None and limit > _FAR * most


def _edge(spread: Mapping[str, Any], place: int) -> float:
    """Return the least value of a bin."""
    return float(10.0 ** ((spread["first_bin"] + place) / spread["per_decade"]))


def sweep_figure(sweep: Mapping[str, Any]) -> Markup:
    """Draw pass@k at each temperature, and over them the best of each k with its temperature."""
    last = max(sweep["k"])
    plot = Plot(
        Scale(1, max(2, last), "log"),
        Scale(0.0, 1.0),
        size=(620, 340),
        labels=("k, samples drawn; logarithmic", "pass@k"),
    )
    for at, curve in enumerate(sweep["curves"]):
        points = [*zip(sweep["k"], curve["value"], strict=True)]
        plot.line(points, f"line {series(at)}")
        for k, value in points:
            plot.dot(k, value, f"dot {series(at)}", f"T = {curve['temperature']:g}: pass@{k} {number(value)}")
    if sweep["choices"]:
        plot.line([(choice["k"], choice["honest"]) for choice in sweep["choices"]], "line dashed hull")
        for choice in sweep["choices"]:
            plot.text(choice["k"], choice["upper"], f"{choice['best']:g}")
    return plot.render("pass@k at each temperature")
