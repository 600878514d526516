"""The formats of benchmarks, in the order in which they are tried; the first that matches a file's first row counts."""

from __future__ import annotations

from passcurve.bench.formats import bigcodebench, classeval, ds1000, evalplus, human_eval_x, mapcoder
from passcurve.bench.formats.rows import Format

FORMATS: tuple[Format, ...] = (
    evalplus.FORMAT,
    human_eval_x.FORMAT,
    mapcoder.FORMAT,
    bigcodebench.FORMAT,
    classeval.FORMAT,
    ds1000.FORMAT,
)
