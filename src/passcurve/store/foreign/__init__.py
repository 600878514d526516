"""Samples in the files of other tools, turned into rows in the usual form."""

from passcurve.store.foreign.convert import convert, convert_rows, expand, write_lines
from passcurve.store.foreign.detect import first_fields, is_usual
from passcurve.store.foreign.options import ReadOptions, parse_options

__all__ = [
    "ReadOptions",
    "convert",
    "convert_rows",
    "expand",
    "first_fields",
    "is_usual",
    "parse_options",
    "write_lines",
]
