"""The formats of benchmarks, in the order in which they are tried; the first that matches a file's first row counts."""

from __future__ import annotations

from collections.abc import Mapping

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


def explain_layout(fields: Mapping[str, object]) -> str:
    """Return what a file looks like whose first object is no row, and what makes rows of it; empty for any other."""
    values = [value for name, value in fields.items() if name != "task_id"]
    pages = fields.get("rows")
    first = pages[0] if isinstance(pages, list) and pages else fields
    if isinstance(first, dict) and isinstance(first.get("row"), dict):
        return "rows as the viewer of Hugging Face gives them, each within 'row'; write the objects of 'row' alone"
    if values and all(name.isdecimal() for name in fields if name != "task_id"):
        return "a table by columns; write it by rows: to_json(PATH, orient='records', lines=True) of pandas"
    if {"instance_id", "patch"} <= fields.keys():
        return "SWE-bench, whose tests run in repositories: passcurve judges programs"
    if len(values) > 1 and all(isinstance(value, list) for value in fields.values()):
        return "a table by columns; write an object for each row"
    return ""
