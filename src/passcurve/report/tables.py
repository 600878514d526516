"""Rows under heads, as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1, width: int | None = None) -> list[str]:
    """Return lines with columns of equal width, indented by two; the first ``left`` are left-aligned, the others right.

    A row may be shorter than the heads.  Where ``width`` is too narrow each cell gets a line of its own, under the
    first cell of its row.
    """
    wide = [
        max([len(head), *(len(row[at]) for row in rows if at < len(row))], default=0) for at, head in enumerate(heads)
    ]
    if width is not None and 2 * len(wide) + sum(wide) > width:
        return _stacked(heads, rows)
    lines = []
    for row in (heads, *rows):
        cells = [
            cell.ljust(size) if at < left else cell.rjust(size)
            for at, (cell, size) in enumerate(zip(row, wide, strict=False))
        ]
        lines.append(f"  {'  '.join(cells)}".rstrip())
    return lines


def _stacked(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = []
    for row in rows:
        lines.append(f"  {heads[0]} {row[0]}" if heads[0] else f"  {row[0]}")
        lines += [
            f"    {head}: {cell}" if head else f"    {cell}" for head, cell in zip(heads[1:], row[1:], strict=False)
        ]
    return lines
