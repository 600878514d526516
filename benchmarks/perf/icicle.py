"""A flame graph as a picture in SVG: callers above, what they call below, as wide as they took."""

from __future__ import annotations

import colorsys
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

WIDTH, ROW, LETTER, DEEPEST = 1200, 17, 6.2, 18
THINNEST = 0.8
"""Pixels; what is thinner is left out."""


@dataclass
class _Node:
    seconds: float = 0.0
    below: dict[str, _Node] = field(default_factory=dict)


def draw(path: Path, title: str, spent: Mapping[tuple[str, ...], float]) -> None:
    """Draw seconds by stack; names and shares are told by whoever points at a frame."""
    top = _Node()
    for stack, seconds in spent.items():
        node = top
        node.seconds += seconds
        for frame in stack[:DEEPEST]:
            node = node.below.setdefault(frame, _Node())
            node.seconds += seconds
    lines: list[str] = []
    deepest = _draw(lines, top, 0.0, 1, top.seconds, 0.0)
    style = (
        "text{font:11px sans-serif;fill:#222;pointer-events:none}.title{font:bold 13px sans-serif;fill:#444}"
        "rect{stroke:#fff;stroke-width:.4}@media(prefers-color-scheme:dark){.title{fill:#ccc}rect{stroke:#222}}"
    )
    height = (deepest + 1) * ROW + 10
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">'
    name = f'<text x="2" y="13" class="title">{escape(title)}</text>'
    path.write_text("\n".join([head, f"<style>{style}</style>", name, *lines, "</svg>"]) + "\n", "utf-8")


def _draw(lines: list[str], node: _Node, left: float, depth: int, whole: float, hue: float) -> int:
    """Draw what is below a node, the widest first; return the deepest row."""
    deepest = depth
    for number, (frame, below) in enumerate(sorted(node.below.items(), key=lambda item: -item[1].seconds)):
        width = WIDTH * below.seconds / whole
        if width >= THINNEST:
            colour = hue if depth > 1 else (0.08 + 0.14 * number) % 1
            lines.append(_box(frame, below.seconds, whole, (left, depth * ROW, width), colour, depth))
            deepest = max(deepest, _draw(lines, below, left, depth + 1, whole, colour))
        left += width
    return deepest


def _box(frame: str, seconds: float, whole: float, place: tuple[float, float, float], hue: float, depth: int) -> str:
    left, y, width = place
    red, green, blue = colorsys.hls_to_rgb(hue, 0.72 + 0.05 * (depth % 2), 0.55)
    colour = f"#{int(red * 255):02x}{int(green * 255):02x}{int(blue * 255):02x}"
    words = f"{frame}: {seconds:.3f} s, {100 * seconds / whole:.1f} %"
    room = int((width - 4) / LETTER)
    label = frame.partition(" (")[0][:room] if room >= 3 else ""
    text = f'<text x="{left + 2:.1f}" y="{y + 12}">{escape(label)}</text>' if label else ""
    box = f'<rect x="{left:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 1}" fill="{colour}"/>'
    return f"<g><title>{escape(words)}</title>{box}{text}</g>"
