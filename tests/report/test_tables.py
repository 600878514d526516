"""Tables: columns where there is room, a cell to a line where there is not."""

from __future__ import annotations

from passcurve.report.tables import table

HEADS = ["", "pass@1", "pass@10"]
ROWS = [["a run", ".1", ".25"], ["b", "-"]]


def test_columns_are_aligned():
    """The first column is left-aligned, numbers are right-aligned, and no line ends in blanks."""
    assert ["         pass@1  pass@10", "  a run      .1      .25", "  b           -"] == table(HEADS, ROWS)


def test_where_it_is_too_narrow_each_cell_has_its_line():
    """A table as wide as the terminal stays one; a column less, and each cell stands under the first of its row."""
    assert table(HEADS, ROWS) == table(HEADS, ROWS, width=24)
    assert ["  a run", "    pass@1: .1", "    pass@10: .25", "  b", "    pass@1: -"] == table(HEADS, ROWS, width=23)
