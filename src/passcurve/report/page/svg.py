"""Figures as SVG: scales, axes and marks; colours and lines are classes of the style sheet."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from markupsafe import Markup

_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 14.0, 12.0, 44.0
"""Space around the panel, for ticks and labels, in pixels."""
_TICKS = 6
_DIGITS = (((1, 2, 5), 1), ((1, 5), 1), ((1,), 1), ((1,), 2), ((1,), 4))
"""Digits of the ticks of a decade, and which decades have any, from many to few."""
_ABOVE = 8.0
"""Distance of a label over its point, in pixels."""
_CHARACTER, _SPACE = 9.0, 10.0
"""Room for a character of a tick, and between two ticks, in pixels: as much as a telephone's larger letters take."""


class Scale(NamedTuple):
    """A range of values along an axis, from ``low`` to ``high``."""

    low: float
    high: float
    kind: Literal["linear", "log"] = "linear"

    def share(self, value: float) -> float:
        """Return where a value lies, from 0 at ``low`` to 1 at ``high``."""
        if self.kind == "log":
            low, high = math.log(self.low), math.log(self.high)
            return (math.log(value) - low) / (high - low or 1.0)
        return (value - self.low) / (self.high - self.low or 1.0)

    def tick_choices(self) -> Iterator[list[float]]:
        """Yield round values in the range, from many to few: steps of 1, 2 or 5 times a power of ten."""
        if self.kind == "linear":
            yield self._steps()
            return
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for digits, stride in _DIGITS:
            steps = [digit * 10.0**power for power in powers[::stride] for digit in digits]
            ticks = [step for step in steps if self.low * 0.999 <= step <= self.high * 1.001]
            yield ticks if len(ticks) > 1 else self._steps()

    def _steps(self) -> list[float]:
        raw = (self.high - self.low or 1.0) / _TICKS
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= raw * 0.999)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [at * step for at in range(first, last + 1)]


class Plot:
    """One panel with two axes, to which marks are added; ``render`` returns it as an SVG element."""

    def __init__(self, x: Scale, y: Scale, *, size: tuple[int, int] = (560, 320), labels: tuple[str, str]) -> None:
        self.x, self.y, self.size, self.labels = x, y, size, labels
        self._marks: list[Markup] = []

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the place of a point in pixels."""
        width, height = self.size
        across = _LEFT + self.x.share(x) * (width - _LEFT - _RIGHT)
        return across, height - _BOTTOM - self.y.share(y) * (height - _TOP - _BOTTOM)

    def line(self, points: Iterable[tuple[float, float]], kind: str) -> None:
        """Add a line through some points."""
        self._marks.append(Markup('<polyline class="{}" points="{}"/>').format(kind, self._path(points)))

    def band(self, xs: Sequence[float], low: Sequence[float], high: Sequence[float], kind: str) -> None:
        """Add the area between two lines."""
        edge = [*zip(xs, high, strict=True), *reversed([*zip(xs, low, strict=True)])]
        self._marks.append(Markup('<polygon class="{}" points="{}"/>').format(kind, self._path(edge)))

    def dot(self, x: float, y: float, kind: str, title: str = "", *, radius: float = 3.5, link: str = "") -> None:
        """Add a point, with a title that a pointer shows and an address that a click opens."""
        across, down = self.at(x, y)
        mark = Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{:.1f}">{}</circle>').format(
            kind, across, down, radius, Markup("<title>{}</title>").format(title) if title else ""
        )
        self._marks.append(Markup('<a href="{}" aria-label="{}">{}</a>').format(link, title, mark) if link else mark)

    def bar(self, low: float, high: float, top: float, kind: str, title: str = "") -> None:
        """Add a rectangle from ``low`` to ``high`` across, and from 0 to ``top`` upwards."""
        left, upper = self.at(low, top)
        right, lower = self.at(high, 0.0)
        self._marks.append(
            Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}">{}</rect>').format(
                kind,
                left + 0.5,
                upper,
                max(0.5, right - left - 1.0),
                max(0.0, lower - upper),
                Markup("<title>{}</title>").format(title) if title else "",
            )
        )

    def upright(self, x: float, text: str, kind: str = "limit") -> None:
        """Add a vertical line with a label, where it is inside the panel."""
        if not self.x.low <= x <= self.x.high:
            return
        across, top = self.at(x, self.y.high)
        _, bottom = self.at(x, self.y.low)
        anchor = "end" if self.x.share(x) > 0.6 else "start"
        aside = -4 if anchor == "end" else 4
        self._marks.append(
            Markup(
                '<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>'
                '<text class="note" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>'
            ).format(kind, across, top, across, bottom, across + aside, bottom - 6, anchor, text)
        )

    def text(self, x: float, y: float, text: str) -> None:
        """Add a label over a point."""
        across, down = self.at(x, y)
        self._marks.append(
            Markup('<text class="note" x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>').format(
                across, down - _ABOVE, text
            )
        )

    def render(self, title: str) -> Markup:
        """Return the element; its title is what a screen reader says."""
        width, height = self.size
        return Markup(
            '<svg class="plot" role="group" aria-label="{}" viewBox="0 0 {} {}" width="{}" height="{}">{}{}</svg>'
        ).format(title, width, height, width, height, self._axes(), Markup("").join(self._marks))

    def _axes(self) -> Markup:
        width, height = self.size
        floor, parts = height - _BOTTOM, []
        for tick in next(self.y.tick_choices()):
            _, down = self.at(self.x.low, tick)
            parts.append(
                Markup(
                    '<line class="grid" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>'
                    '<text class="tick" x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>'
                ).format(_LEFT, down, width - _RIGHT, down, _LEFT - 6, down + 4, _number(tick))
            )
        for tick in self._x_ticks():
            across, _ = self.at(tick, self.y.low)
            parts.append(
                Markup(
                    '<line class="axis" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>'
                    '<text class="tick" x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>'
                ).format(across, floor, across, floor + 4, across, floor + 17, _number(tick))
            )
        below, beside = self.labels
        middle = (floor + _TOP) / 2
        parts.append(
            Markup(
                '<line class="axis" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>'
                '<text class="label" x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>'
                '<text class="label" x="14" y="{:.1f}" text-anchor="middle" transform="rotate(-90 14 {:.1f})">{}</text>'
            ).format(
                _LEFT,
                floor,
                width - _RIGHT,
                floor,
                (_LEFT + width - _RIGHT) / 2,
                height - 6,
                below,
                middle,
                middle,
                beside,
            )
        )
        return Markup("").join(parts)

    def _x_ticks(self) -> list[float]:
        """Return as many ticks as have room for their labels."""
        for ticks in self.x.tick_choices():
            ends = [(self.at(tick, self.y.low)[0], _CHARACTER * len(_number(tick)) / 2 + _SPACE / 2) for tick in ticks]
            if all(one + half + rest <= other for (one, half), (other, rest) in pairwise(ends)):
                break
        return ticks

    def _path(self, points: Iterable[tuple[float, float]]) -> str:
        return " ".join(f"{across:.1f},{down:.1f}" for across, down in (self.at(x, y) for x, y in points))


def _number(value: float) -> str:
    for least, size, unit in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if abs(value) >= least:
            return f"{value / size:g}{unit}"
    # Without the zero before the point, as in the tables.
    return f"{value:.6f}".strip("0").rstrip(".") if 0 < value < 1 else f"{value:g}"
