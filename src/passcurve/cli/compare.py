"""``passcurve compare`` and ``passcurve plan``: compare runs on the same problems, and plan a comparison."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Optional

import msgspec
import typer

from passcurve import config
from passcurve.cli.options import AsJson, Level, Plots, PlotTheme, Seed, Stale, Theme, Verbose
from passcurve.cli.output import warn, write_json, write_lines
from passcurve.cli.pictures import check_plots, draw_curves, read_curves
from passcurve.errors import UsageError


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="Two or more: runs, samples that were judged, or files of results, of other harnesses too."
        ),
    ],
    k: Annotated[
        str, typer.Option("--k", "-k", help="Values of k, as in 1,10; all: 1, 2, 5, 10, ... up to the least n.")
    ] = "1",
    level: Level = 0.95,
    seed: Seed = 0,
    common: Annotated[
        bool, typer.Option("--common", help="Compare the problems that all have, even if problems or tests differ.")
    ] = False,
    stale: Stale = False,
    plot: Plots = [],
    theme: PlotTheme = Theme.light,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Compare runs: paired difference, interval, p, and the problems that decide."""
    if len(runs) < 2:
        raise UsageError("a comparison needs two runs or more")
    check_plots(plot)
    if plot and common:
        raise UsageError("--plot draws each run over all of its problems; leave --common out")
    from passcurve.analysis import compare as analysis
    from passcurve.report import comparison as report
    from passcurve.report import methods
    from passcurve.store.run_counts import read_counts

    ks = None if k.strip() == config.ALL_KS else config.parse_ks(k)
    scored = [read_counts(run, stale=stale) for run in runs]
    comparison = analysis.compare(scored, ks or analysis.default_ks(scored), level=level, seed=seed, common=common)
    curves = read_curves(runs, level, stale=stale) if plot else []
    if as_json:
        write_json({**msgspec.to_builtins(comparison), "methods": methods.describe_comparison(comparison)})
    else:
        write_lines(report.comparison_lines(comparison, verbose=verbose))
    draw_curves(curves, plot, theme)


def plan(
    pilot: Annotated[Path, typer.Argument(help="A run, samples that were judged, or a file of results.")],
    other: Annotated[Optional[Path], typer.Argument(help="The run to compare it with, if there is one.")] = None,
    k: Annotated[int, typer.Option("--k", "-k", help="The k of pass@k.", min=1)] = 1,
    difference: Annotated[Optional[float], typer.Option(help="The true difference to detect, as in 0.05.")] = None,
    level: Annotated[float, typer.Option(help="Level of the test.", min=0.5, max=0.9999)] = 0.95,
    power: Annotated[float, typer.Option(help="The chance to detect it.", min=0.05, max=0.9999)] = 0.8,
    stale: Stale = False,
    correlation: Annotated[
        Optional[float],
        typer.Option(
            help="With one run: correlation of the two models over problems; default: 0, or .25 with n = 1.",
            min=-1,
            max=1,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate from a pilot run how many problems and samples a comparison needs."""
    from passcurve.analysis import compare as analysis
    from passcurve.report import comparison as report
    from passcurve.store.run_counts import read_counts

    if correlation is not None and other is not None:
        warn("note: --correlation is not used: two runs show how they correlate")
    runs = [read_counts(run, stale=stale) for run in (pilot, other) if run is not None]
    faults = analysis.run_findings(runs)
    planned = analysis.plan_from_runs(
        runs,
        k,
        difference=difference,
        level=level,
        power=power,
        correlation=correlation,
    )
    if as_json:
        rows = [_nan_to_none(row._asdict()) for row in planned.rows]
        write_json(_nan_to_none(planned._asdict()) | {"rows": rows, "findings": msgspec.to_builtins(faults)})
        return
    write_lines([*report.run_finding_lines(faults), *report.plan_lines(planned)])


def _nan_to_none(record: dict[str, Any]) -> dict[str, Any]:
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in record.items()}
