"""The formats of benchmarks, in the order in which they are tried; the first that matches a file's first row counts."""

from __future__ import annotations

from passcurve.bench.formats import (
    apps,
    bigcodebench,
    can_it_edit,
    classeval,
    code_contests,
    crux_eval,
    ds1000,
    evalplus,
    human_eval_x,
    livecodebench,
    mapcoder,
    mbpp,
    mceval,
    multipl_e,
    own,
    sandbox_fusion,
)
from passcurve.bench.formats.rows import Format

FORMATS: tuple[Format, ...] = (
    own.FORMAT,
    multipl_e.FORMAT,
    evalplus.FORMAT,
    apps.FORMAT,
    mbpp.FORMAT,
    human_eval_x.FORMAT,
    mceval.FORMAT,
    mapcoder.FORMAT,
    bigcodebench.FORMAT,
    classeval.FORMAT,
    ds1000.FORMAT,
    can_it_edit.FORMAT,
    crux_eval.FORMAT,
    livecodebench.FORMAT,
    code_contests.FORMAT,
    sandbox_fusion.FORMAT,
)
