"""Scores as a table for people and as a record for programs: each k with both intervals and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from passcurve.report.terminal import number, number_or_dash, printable
from passcurve.types import Curve, Estimate, Interval, SuiteScore

_WITHHELD = "withheld, for the reason above"
_TARGETS = {
    "new_problems": "new problems: these as a sample of all such problems",
    "these_problems": "resampling: the same problems, other samples",
}


def score_lines(
    estimates: Sequence[Estimate],
    curve: Curve | None = None,
    width: int | None = None,
    *,
    verbose: bool = False,
    above: str = "",
) -> list[str]:
    """Return a line for each estimate under a heading, what the columns mean, and the warnings.

    Of a curve the steps 1, 2, 5, 10, ... and its end are shown.  Where ``width`` is too narrow for the table each
    column gets a line of its own.  With ``verbose`` the table has the split of the variance.  ``above`` is the reason
    without a value that was printed before.
    """
    visible = _steps(estimates) if curve is not None else list(estimates)
    band = dict(zip(curve.k, zip(curve.low, curve.high, strict=True), strict=True)) if curve is not None else {}
    verbose = verbose and curve is None
    rows = _say_once([_row(estimate, band, verbose=verbose) for estimate in visible], above)
    heads = _headings(visible, curve, verbose=verbose)
    used = [at for at, _ in enumerate(heads) if any(row.cells and row.cells[at] != "-" for row in rows)]
    heads = [heads[at] for at in used]
    rows = [row._replace(cells=[row.cells[at] for at in used] if row.cells else []) for row in rows]
    lines = _table(heads, rows)
    if width is not None and max(map(len, _table(heads, [row for row in rows if row.cells])), default=0) > width:
        lines = list(_stacked(heads, rows))
    return [*lines, *_legend(visible, curve, verbose=verbose), *(f"  warning: {text}" for text in warnings(visible))]


def score_record(estimates: Sequence[Estimate], curve: Curve | None = None) -> dict[str, Any]:
    """Return the estimates under their names, and the band of the curve under ``curve`` where there is one."""
    record: dict[str, Any] = {}
    for estimate in estimates:
        record[estimate.name] = {
            name: value for name, value in msgspec.to_builtins(estimate).items() if name not in ("k", "metric")
        }
    return record if curve is None else {**record, "curve": msgspec.to_builtins(curve)}


def suite_records(suites: Sequence[SuiteScore]) -> dict[str, dict[str, Any]]:
    """Return for each suite of tests how many samples pass it and all before it, and the score."""
    return {suite.name: {"passed": suite.passed, **score_record(suite.estimates)} for suite in suites}


def suite_line(suites: Sequence[SuiteScore]) -> str:
    """Return the number of samples that pass each suite and all before it, with their pass@1."""
    parts: list[str] = []
    names: list[str] = []
    for suite in suites:
        names = [suite.name] if suite.alone else [*names, suite.name]
        value = next((estimate.value for estimate in suite.estimates if estimate.name == "pass@1"), None)
        score = f" (pass@1 {number(value)})" if value is not None else ""
        parts.append(f"{' and '.join(names)}: {suite.passed:,} passed{score}")
    return f"  suites: {'; '.join(parts)}"


def warnings(estimates: Sequence[Estimate]) -> list[str]:
    """Return the warnings of all estimates, each once."""
    return [printable(text) for text in dict.fromkeys(text for estimate in estimates for text in estimate.warnings)]


def interval_text(interval: Interval | None) -> str:
    """Return an interval as its two ends."""
    return "-" if interval is None else f"{number(interval.low)} to {number(interval.high)}"


def _steps(estimates: Sequence[Estimate]) -> list[Estimate]:
    last = max((estimate.k for estimate in estimates if estimate.value is not None), default=0)
    return [
        estimate for estimate in estimates if estimate.value is None or estimate.k in (0, last) or is_step(estimate.k)
    ]


def is_step(k: int) -> bool:
    """Return whether k is 1, 2, 5, 10, 20, 50, ..."""
    return str(k).rstrip("0") in ("1", "2", "5")


class _Row(NamedTuple):
    name: str
    value: str
    cells: list[str]
    """Cells of the columns after the value; empty without a value."""
    reason: str = ""


def _headings(estimates: Sequence[Estimate], curve: Curve | None, *, verbose: bool) -> list[str]:
    levels = {estimate.new_problems.level for estimate in estimates if estimate.new_problems is not None}
    level = f"{100 * min(levels):g}% " if levels else ""
    heads = [f"{level}CI, new problems", f"{level}CI, resampling"]
    if curve is not None:
        heads.append(f"{level}band, all k")
    return [*heads, "between", "within"] if verbose else heads


def _row(estimate: Estimate, band: dict[int, tuple[float, float]], *, verbose: bool) -> _Row:
    if estimate.value is None:
        return _Row(estimate.name, "-", [], printable(estimate.reason))
    cells = [interval_text(estimate.new_problems), interval_text(estimate.these_problems)]
    if band:
        ends = band.get(estimate.k) if estimate.metric == "pass@k" else None
        cells.append("-" if ends is None else f"{number(ends[0])} to {number(ends[1])}")
    if verbose:
        cells += [number_or_dash(part) for part in (estimate.between, estimate.within)]
    return _Row(estimate.name, number(estimate.value), cells)


def _say_once(rows: Sequence[_Row], first: str) -> list[_Row]:
    """Return the rows with a reason that stands in the row above, or in a line before them, left out."""
    above = ["", *(row.reason for row in rows)]
    first = printable(first)
    if first and rows and rows[0].reason == first:
        rows = [rows[0]._replace(reason=_WITHHELD), *rows[1:]]
    return [
        row._replace(reason="as above") if row.reason and row.reason == reason else row
        for row, reason in zip(rows, above, strict=False)
    ]


def _table(heads: Sequence[str], rows: Sequence[_Row]) -> list[str]:
    name = max([8, *(len(row.name) for row in rows)])
    value = max([6, *(len(row.value) for row in rows)])
    wide = [max([len(head), *(len(row.cells[at]) for row in rows if row.cells)]) for at, head in enumerate(heads)]
    top = "  ".join(head.ljust(size) for head, size in zip(heads, wide, strict=True))
    lines = [f"  {'':{name}}  {'':{value}}  {top}".rstrip()] if heads else []
    for row in rows:
        rest = row.reason or "  ".join(cell.ljust(size) for cell, size in zip(row.cells, wide, strict=False))
        lines.append(f"  {row.name:{name}}  {row.value:{value}}  {rest}".rstrip())
    return lines


def _stacked(heads: Sequence[str], rows: Sequence[_Row]) -> Iterator[str]:
    for row in rows:
        yield f"  {row.name}  {row.value}{f'  {row.reason}' if row.reason else ''}"
        yield from (f"    {head}: {cell}" for head, cell in zip(heads, row.cells, strict=False) if cell != "-")


def _legend(estimates: Sequence[Estimate], curve: Curve | None, *, verbose: bool) -> Iterator[str]:
    """Return the meanings of the columns, and the methods of the intervals."""
    for target, label in _TARGETS.items():
        intervals = [getattr(estimate, target) for estimate in estimates]
        methods = dict.fromkeys(interval.method for interval in intervals if interval is not None)
        if methods:
            yield f"  {label} ({', '.join(methods)})"
    if curve is not None:
        yield f"  all k: the whole curve at once ({curve.method}, {curve.draws:,} draws, seed {curve.seed})"
    if verbose and any(estimate.within is not None for estimate in estimates):
        model = any(estimate.within_from == "beta-binomial" for estimate in estimates)
        yield "  between, within: variance of the scores between problems, within one over samples"
        if model:
            yield "  within, where 2k > n: by the beta-binomial model"
