"""``passcurve match``: compare programs with references by text, and predict verdicts from it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from passcurve import config
from passcurve.cli.options import AsJson, BenchmarkName, Level, Plots, PlotTheme, Seed, Stale, Theme, Verbose
from passcurve.cli.output import terminal_width, write_json, write_lines
from passcurve.cli.pictures import check_plots, draw
from passcurve.errors import UsageError


def match(
    runs: Annotated[
        list[Path], typer.Argument(help="Runs, files of samples that were judged, or results of other tools.")
    ],
    metrics: Annotated[
        str,
        typer.Option(
            "--metric",
            "--metrics",
            help="exact, bleu, chrf, rouge-l, edit, codebleu, comma-separated; default: all that are installed.",
        ),
    ] = "",
    k: Annotated[str, typer.Option("--k", "-k", help="Values of k of the table of scores.")] = "1,10",
    benchmark: BenchmarkName = None,
    level: Level = 0.95,
    resamples: Annotated[
        int, typer.Option(help="Resamples of the problems, for the intervals.", min=1, max=100_000)
    ] = 999,
    seed: Seed = 0,
    stale: Stale = False,
    plot: Plots = [],
    theme: PlotTheme = Theme.light,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Compare programs with the references by text, and see how well that predicts the verdict."""
    if plot and len(runs) > 1:
        raise UsageError("--plot draws one run; leave the others out")
    check_plots(plot)
    ks = config.parse_ks(k)
    from passcurve.analysis import match as matching
    from passcurve.lab import similarity
    from passcurve.report import match as likeness

    chosen = similarity.load_metrics(config.parse_names(metrics))
    table, values = matching.match(
        runs,
        chosen,
        ks,
        config.cache_dir(),
        benchmark=benchmark,
        level=level,
        resamples=resamples,
        seed=seed,
        stale=stale,
    )
    if as_json:
        write_json(likeness.match_record(table))
    else:
        write_lines(likeness.match_lines(table, terminal_width(), verbose=verbose))
    draw(likeness.match_picture, values[0], plot, theme)
