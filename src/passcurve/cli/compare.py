"""``passcurve compare``: runs on the same problems, problem by problem."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Optional

import msgspec
import typer

from passcurve import config
from passcurve.cli.output import handle_errors, write_json, write_lines
from passcurve.errors import UsageError


def compare(
    runs: list[Path] = typer.Argument(
        ..., help="Two or more: runs, samples that were judged, files of results, or EvalPlus' eval_results.json."
    ),
    k: str = typer.Option("1", help="Values of k, as in 1,10; all: 1, 2, 5, 10, ... up to the least n."),
    level: float = typer.Option(0.95, help="Of the intervals.", min=0.5, max=0.9999),
    seed: int = typer.Option(0, help="For what is drawn at random.", min=0),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Compare runs: paired difference, interval, p, and the problems that decide."""
    with handle_errors(as_json):
        if len(runs) < 2:
            raise UsageError("a comparison needs two runs or more")
        from passcurve.analysis import compare as analysis
        from passcurve.report import comparison, methods

        ks = None if k.strip() == config.ALL_KS else config.parse_ks(k)
        scored = [analysis.read(run) for run in runs]
        found = analysis.compare(scored, ks or analysis.steps(scored), level=level, seed=seed)
        if as_json:
            write_json({**msgspec.to_builtins(found), "methods": methods.compared(found)})
            return
        write_lines(comparison.comparison_lines(found))


def plan(
    pilot: Path = typer.Argument(..., help="A run, samples that were judged, or a file of results."),
    other: Optional[Path] = typer.Argument(None, help="The run that it is to be compared with, if there is one."),
    k: int = typer.Option(1, help="The k of pass@k.", min=1),
    difference: Optional[float] = typer.Option(None, help="The true difference to be found, as in 0.05."),
    level: float = typer.Option(0.95, help="Of the test.", min=0.5, max=0.9999),
    power: float = typer.Option(0.8, help="The chance to find it.", min=0.05, max=0.9999),
    correlation: float = typer.Option(0.0, help="Of the models' true scores, when there is one run.", min=-1, max=1),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Say how many problems and samples a comparison takes, from a pilot."""
    with handle_errors(as_json):
        from passcurve.analysis import compare as analysis
        from passcurve.report import comparison

        found = analysis.plan_from(
            [analysis.read(run) for run in (pilot, other) if run is not None],
            k,
            difference=difference,
            level=level,
            power=power,
            correlation=correlation,
        )
        if as_json:
            write_json(_without_nan(found._asdict()) | {"rows": [_without_nan(row._asdict()) for row in found.rows]})
            return
        write_lines(comparison.plan_lines(found))


def _without_nan(record: dict[str, Any]) -> dict[str, Any]:
    """Turn what no number can be given for into null."""
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in record.items()}
