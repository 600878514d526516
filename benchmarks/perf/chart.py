"""Bars as a picture in SVG, readable on a light and on a dark page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

WIDTH, LABEL, VALUE, BAR, GAP, TITLE = 720, 200, 90, 20, 8, 34


@dataclass(frozen=True)
class Panel:
    """A title and bars, each with its label and its value, on a scale of their own."""

    title: str
    bars: Sequence[tuple[str, float]]


def draw(path: Path, panels: Sequence[Panel]) -> None:
    """Write the panels one under the other."""
    lines: list[str] = []
    y = 0
    for panel in panels:
        y += TITLE
        lines.append(f'<text x="0" y="{y - 12}" class="title">{escape(panel.title)}</text>')
        most = max(value for _, value in panel.bars)
        for number, (label, value) in enumerate(panel.bars):
            length = (WIDTH - LABEL - VALUE) * value / most
            middle = y + BAR * 0.72
            lines.append(f'<text x="{LABEL - 10}" y="{middle:.0f}" text-anchor="end">{escape(label)}</text>')
            lines.append(
                f'<rect x="{LABEL}" y="{y}" width="{max(1, length):.1f}" height="{BAR}" class="c{number % 4}"/>'
            )
            lines.append(f'<text x="{LABEL + length + 6:.1f}" y="{middle:.0f}">{value:,.0f}</text>')
            y += BAR + GAP
    style = (
        "text{font:13px sans-serif;fill:#444}.title{font-weight:bold}"
        ".c0{fill:#888}.c1{fill:#2b7bba}.c2{fill:#5aa7d6}.c3{fill:#9ecae1}"
        "@media(prefers-color-scheme:dark){text{fill:#ccc}}"
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" role="img">'
    path.write_text("\n".join([head, f"<style>{style}</style>", *lines, "</svg>"]) + "\n", "utf-8")
