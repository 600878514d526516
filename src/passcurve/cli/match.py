"""``passcurve match``: how like the references the programs of a run are, and what that says of their verdicts."""

from __future__ import annotations

from pathlib import Path

import typer

from passcurve import config
from passcurve.cli.lab import JSON, PLOT, THEME, Theme, draw, pictures
from passcurve.cli.output import handle_errors, terminal_width, write_json, write_lines
from passcurve.errors import UsageError


def match(
    runs: list[Path] = typer.Argument(..., help="Runs, or files of samples that were judged; several give a table."),
    metrics: str = typer.Option(
        "", help="exact, bleu, chrf, rouge-l, edit, codebleu, comma-separated; default: all that are installed."
    ),
    k: str = typer.Option("1,10", "--k", help="Values of k of the table of scores."),
    level: float = typer.Option(0.95, help="Of the intervals.", min=0.5, max=0.9999),
    resamples: int = typer.Option(999, help="Of problems, for the intervals.", min=1, max=100_000),
    seed: int = typer.Option(0, help="Of the resampling.", min=0),
    plot: list[Path] = PLOT,
    theme: Theme = THEME,
    as_json: bool = JSON,
) -> None:
    """Compare programs with the references by text, and see how well that predicts the verdict."""
    with handle_errors(as_json):
        if plot and len(runs) > 1:
            raise UsageError("--plot draws one run; leave the others out")
        paths = pictures(plot)
        ks = config.parse_ks(k)
        from passcurve.analysis import match as matching
        from passcurve.lab import similarity
        from passcurve.report import match as likeness

        chosen = similarity.choose(config.parse_names(metrics))
        found, values = matching.match(
            runs, chosen, ks, config.cache_dir(), level=level, resamples=resamples, seed=seed
        )
        if as_json:
            write_json(likeness.match_record(found))
        else:
            write_lines(likeness.match_lines(found, terminal_width()))
        draw(likeness.match_picture, values[0], paths, theme)
