"""Samples in the files of other tools, turned into rows in the usual form."""

from passcurve.store.foreign.convert import convert, convert_lines, convert_rows, expand, growing_lines, write_lines
from passcurve.store.foreign.detect import first_fields, is_usual
from passcurve.store.foreign.document import list_order
from passcurve.store.foreign.options import FindProblems, ReadOptions, Target, parse_options

__all__ = [
    "FindProblems",
    "ReadOptions",
    "Target",
    "convert",
    "convert_lines",
    "convert_rows",
    "expand",
    "first_fields",
    "growing_lines",
    "is_usual",
    "list_order",
    "parse_options",
    "write_lines",
]
