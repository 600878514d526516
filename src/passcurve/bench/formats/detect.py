"""The formats of benchmarks, in the order in which they are tried; the first that matches a file's first row counts."""

from __future__ import annotations

from passcurve.bench.formats import (
    bigcodebench,
    can_it_edit,
    classeval,
    crux_eval,
    ds1000,
    evalplus,
    human_eval_x,
    mapcoder,
    mbpp,
    own,
)
from passcurve.bench.formats.rows import Format

FORMATS: tuple[Format, ...] = (
    own.FORMAT,
    evalplus.FORMAT,
    mbpp.FORMAT,
    human_eval_x.FORMAT,
    mapcoder.FORMAT,
    bigcodebench.FORMAT,
    classeval.FORMAT,
    ds1000.FORMAT,
    can_it_edit.FORMAT,
    crux_eval.FORMAT,
)
