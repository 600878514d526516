"""The figures of a report: curves, outcomes, solve rates, scatter, times, a sweep of temperatures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from passcurve.report.page.svg import Plot, Scale

_SERIES = 8
"""Colours of the style sheet."""
_BINS = 30


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
    plot = Plot(Scale(1, max(2, far), "log"), Scale(0.0, 1.0), size=(620, 340), labels=("k, samples drawn", metric))
    for at, run, _ in drawn:
        if metric == "pass@k" and (band := run["curve"]):
            plot.band(band["k"], band["low"], band["high"], f"band {series(at)}")
    for at, run, points in drawn:
        for row in points:
            if row["low"] is not None and (len(points) < _BINS or _is_step(row["k"])):
                plot.line([(row["k"], row["low"]), (row["k"], row["high"])], f"whisker {series(at)}")
        plot.line([(row["k"], row["value"]) for row in points], f"line {series(at)}")
        for row in points:
            if len(points) < _BINS or _is_step(row["k"]) or row is points[-1]:
                title = f"{run['name']}: {metric.replace('k', str(row['k']))} {row['value']:.4f}"
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


def _is_step(k: int) -> bool:
    return str(k).rstrip("0") in ("1", "2", "5")


def rate_figure(runs: Sequence[Mapping[str, Any]]) -> Markup:
    """Draw how many problems have which share of right samples."""
    largest = max([1, *(count for run in runs for count in run["solve_rates"]["bins"])])
    bins = len(runs[0]["solve_rates"]["bins"])
    labels = ("right samples of a problem, c/n", "problems")
    plot = Plot(Scale(0.0, 1.0), Scale(0.0, float(largest)), size=(620, 260), labels=labels)
    for at, run in enumerate(runs):
        width = 1.0 / bins / len(runs)
        for number, count in enumerate(run["solve_rates"]["bins"]):
            left = number / bins + at * width
            title = f"{run['name']}: {count} problems with c/n from {number / bins:.1f} to {(number + 1) / bins:.1f}"
            plot.bar(left, left + width, count, f"bar {series(at)}", title)
    return plot.render("Problems by their share of right samples")


def scatter_figure(pair: Mapping[str, Any]) -> Markup:
    """Draw c/n of each problem for A against B; problems at one place are one dot, which grows with them."""
    plot = Plot(Scale(0.0, 1.0), Scale(0.0, 1.0), size=(440, 420), labels=(f"A: {pair['a']}", f"B: {pair['b']}"))
    plot.line([(0.0, 0.0), (1.0, 1.0)], "diagonal")
    places: dict[tuple[float, float], list[str]] = {}
    for row in pair["problems"]:
        places.setdefault((row["a"]["c"] / row["a"]["n"], row["b"]["c"] / row["b"]["n"]), []).append(row["task_id"])
    for (a, b), names in sorted(places.items(), key=lambda place: -len(place[1])):
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        title = f"A {a:.2f}, B {b:.2f}: {', '.join(names[:5])}{more}"
        kind = "dot s0" if a > b else "dot s1" if b > a else "dot even"
        radius = min(18.0, 3.0 + 1.5 * math.sqrt(len(names) - 1))
        link = f"#{names[0]}" if len(names) == 1 else f"#problems?a={a:.6f}&b={b:.6f}"
        plot.dot(a, b, kind, title, radius=radius, link=link)
    return plot.render("Right samples of each problem, A against B")


def spread_figure(
    rows: Sequence[tuple[str, Mapping[str, Any]]], label: str, limit: float | None, unit: str
) -> Markup | None:
    """Draw how often which value occurs, on a logarithmic axis, with the limit; None without any value."""
    drawn = [(at, name, spread) for at, (name, spread) in enumerate(rows) if spread["counts"]]
    if not drawn:
        return None
    low = min(_edge(spread["first_bin"]) for _, _, spread in drawn)
    high = max(_edge(spread["first_bin"] + len(spread["counts"])) for _, _, spread in drawn)
    most = max(count for _, _, spread in drawn for count in spread["counts"])
    x = Scale(low, max(high, (limit or 0.0) * 1.05), "log")
    plot = Plot(x, Scale(0.0, float(most)), size=(620, 240), labels=(label, "samples"))
    for at, name, spread in drawn:
        for number, count in enumerate(spread["counts"], spread["first_bin"]):
            if count:
                start, step = _edge(number), (_edge(1) / _edge(0)) ** (1 / len(rows))
                title = f"{name}: {count} samples from {start:.3g} to {_edge(number + 1):.3g} {unit}"
                plot.bar(start * step**at, start * step ** (at + 1), count, f"bar {series(at)}", title)
    if limit is not None:
        plot.upright(limit, f"limit {limit:g} {unit}")
    return plot.render(label)


def _edge(number: int) -> float:
    """Return the least value of a bin."""
    return float(10.0 ** (number / 10))


def sweep_figure(sweep: Mapping[str, Any]) -> Markup:
    """Draw pass@k at each temperature, and over them the best of each k with its temperature."""
    last = max(sweep["k"])
    plot = Plot(Scale(1, max(2, last), "log"), Scale(0.0, 1.0), size=(620, 340), labels=("k, samples drawn", "pass@k"))
    for at, curve in enumerate(sweep["curves"]):
        points = [*zip(sweep["k"], curve["value"], strict=True)]
        plot.line(points, f"line {series(at)}")
        for k, value in points:
            plot.dot(k, value, f"dot {series(at)}", f"T = {curve['temperature']:g}: pass@{k} {value:.4f}")
    if sweep["choices"]:
        plot.line([(choice["k"], choice["honest"]) for choice in sweep["choices"]], "line dashed hull")
        for choice in sweep["choices"]:
            plot.text(choice["k"], choice["upper"], f"{choice['best']:g}")
    return plot.render("pass@k at each temperature")
