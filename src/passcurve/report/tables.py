"""Rows under heads, as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Return lines with columns of equal width, indented by two; the first ``left`` are left-aligned, the others right.

    A row may be shorter than the heads.
    """
    wide = [
        max([len(head), *(len(row[at]) for row in rows if at < len(row))], default=0) for at, head in enumerate(heads)
    ]
    lines = []
    for row in (heads, *rows):
        cells = [
            cell.ljust(size) if at < left else cell.rjust(size)
            for at, (cell, size) in enumerate(zip(row, wide, strict=False))
        ]
        lines.append(f"  {'  '.join(cells)}".rstrip())
    return lines
