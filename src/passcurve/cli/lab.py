"""``passcurve lab``: what pass@k means, by exact curves and seeded simulations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Optional

import msgspec
import typer

from passcurve import config
from passcurve.cli.command import Commands
from passcurve.cli.output import handle_errors, terminal_width, warn, write_json, write_lines
from passcurve.errors import StoreError, UsageError, nearest

app = Commands(
    help="Understand pass@k: lessons with a table, a picture and three sentences.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)


class Theme(StrEnum):
    """The ground of a picture."""

    light = "light"
    dark = "dark"


PLOT = typer.Option([], "--plot", help="Draw it into a .svg, .png or .pdf file; may be given more than once.")
THEME = typer.Option(Theme.light, help="The ground of the picture.")
JSON = typer.Option(False, "--json", help="Print one JSON object.")


@app.command()
def urn(
    n: int = typer.Option(10, "-n", "--samples", min=1, help="Samples in the urn."),
    c: int = typer.Option(2, "-c", "--passed", min=0, help="How many of them are right."),
    k: int = typer.Option(3, "-k", "--drawn", min=1, help="How many are drawn."),
    plot: list[Path] = PLOT,
    theme: Theme = THEME,
    as_json: bool = JSON,
) -> None:
    """Draw balls from an urn: pass@k step by step, in exact fractions."""
    with handle_errors(as_json):
        paths = pictures(plot)
        from passcurve.lab.urn import urn as lesson
        from passcurve.report import figures, lessons

        found = lesson(n, c, k)
        _show(found, lessons.urn_says, lessons.urn_lines, as_json)
        draw(figures.urn_picture, found, paths, theme)


@app.command()
def estimators(
    p: float = typer.Option(0.1, "--p", help="The true chance that a sample passes."),
    k: int = typer.Option(10, "--k", help="The k of pass@k."),
    n: Optional[str] = typer.Option(None, "--n", help="Samples, as in 10,20,50; default: k times 1, 2, 3, 5, ... 50."),
    draws: int = typer.Option(10000, help="Simulated data sets for each n."),
    seed: int = typer.Option(0, min=0, help="Of the simulation."),
    plot: list[Path] = PLOT,
    theme: Theme = THEME,
    as_json: bool = JSON,
) -> None:
    """Compare four estimators of pass@k on the same samples: what each gives on average, and how far it strays."""
    with handle_errors(as_json):
        paths = pictures(plot)
        ns = config.parse_counts("--n", n, "10,20,50") if n is not None else ()
        from passcurve.lab.estimators import estimators as lesson
        from passcurve.report import figures, lessons

        found = lesson(p, k, ns, draws=draws, seed=seed)
        _show(found, lessons.estimators_says, lessons.estimators_lines, as_json)
        draw(figures.estimators_picture, found, paths, theme)


@app.command()
def budget(
    run: Path = typer.Argument(..., help="A run, samples that were judged, or a file of results."),
    k: int = typer.Option(1, "--k", min=1, help="The k of pass@k."),
    n: Optional[str] = typer.Option(None, "--n", help="Samples of each problem, as in 5,10; default: halves."),
    m: Optional[str] = typer.Option(None, "--m", help="Problems, as in 41,82; default: halves."),
    draws: int = typer.Option(200, help="Subsamples of each size."),
    seed: int = typer.Option(0, min=0, help="Of the drawing."),
    plot: list[Path] = PLOT,
    theme: Theme = THEME,
    as_json: bool = JSON,
) -> None:
    """Say what a run would have said with fewer samples or fewer problems, by subsampling it."""
    with handle_errors(as_json):
        paths = pictures(plot)
        ns = config.parse_counts("--n", n, "5,10") if n is not None else ()
        ms = config.parse_counts("--m", m, "41,82") if m is not None else ()
        from passcurve.analysis import compare
        from passcurve.lab.budget import budget as lesson
        from passcurve.report import figures, lessons

        samples, passed = compare.whole(run)
        found = lesson(samples, passed, k, ns=ns, ms=ms, draws=draws, seed=seed)
        _show(found, lessons.budget_says, lessons.budget_lines, as_json)
        draw(figures.budget_picture, found, paths, theme)


@app.command()
def temperature(
    runs: Optional[list[Path]] = typer.Argument(
        None, help="A run for each temperature, on the same problems; default: a simulated family of models."
    ),
    temperatures: Optional[str] = typer.Option(
        None, help="As in 0.2,0.8; of runs, in their order, where these do not say it."
    ),
    k: Optional[str] = typer.Option(None, "--k", help="Values of k; default: 1,2,5,10,20,... up to the samples."),
    m: int = typer.Option(100, "--m", help="Simulated problems."),
    n: int = typer.Option(40, "--n", help="Simulated samples of each."),
    splits: int = typer.Option(200, min=1, max=100_000, help="Into halves, to choose on one and report on the other."),
    seed: int = typer.Option(0, min=0, help="Of everything that is drawn."),
    plot: list[Path] = PLOT,
    theme: Theme = THEME,
    as_json: bool = JSON,
) -> None:
    """Show pass@k against k for several temperatures, the best of them for each k, and how much of it is luck."""
    with handle_errors(as_json):
        paths = pictures(plot)
        degrees = config.parse_temperatures(temperatures, "--temperatures") if temperatures is not None else ()
        ks = config.parse_ks(k) if k is not None else ()
        from passcurve.lab import temperature as room
        from passcurve.report import figures, lessons

        if runs:
            from passcurve.analysis import compare

            swept = compare.sweep(runs, degrees)
            found = room.measured(swept.temperatures, swept.n, swept.c, ks, splits=splits, seed=seed)
        else:
            found = room.simulated(degrees or room.TEMPERATURES, ks, m=m, n=n, splits=splits, seed=seed)
        _show(found, lessons.temperature_says, lessons.temperature_lines, as_json)
        draw(figures.temperature_picture, found, paths, theme)


@app.command()
def mixture(
    run: Optional[Path] = typer.Argument(None, help="A run to show it on; default: models with known chances."),
    model: list[str] = typer.Option(
        [], "--model", help="The chances of a model, a number for each problem, as in 0.1,0.5; one --model each."
    ),
    k: Optional[str] = typer.Option(None, "--k", help="Values of k; default: 1,2,3,5,7,10,20,50."),
    n: int = typer.Option(100, "--n", min=1, help="Simulated samples of each problem."),
    seed: int = typer.Option(0, min=0, help="Of the simulation."),
    plot: list[Path] = PLOT,
    theme: Theme = THEME,
    as_json: bool = JSON,
) -> None:
    """Show why 1 - (1 - pass@1)^k is not pass@k: models with the same pass@1 that part from there."""
    with handle_errors(as_json):
        paths = pictures(plot)
        models = [config.parse_chances("--model", each) for each in model]
        if run is not None and models:
            raise UsageError("give a run, or models by --model, not both")
        from passcurve.lab import mixture as room
        from passcurve.report import figures, lessons

        ks = config.parse_ks(k) if k is not None else room.KS
        if run is not None:
            from passcurve.analysis import compare

            found = room.of_run(str(run), *compare.whole(run), ks)
        else:
            found = room.mixture(models or room.MODELS, ks, n=n, seed=seed)
        _show(found, lessons.mixture_says, lessons.mixture_lines, as_json)
        draw(figures.mixture_picture, found, paths, theme)


def pictures(paths: Sequence[Path]) -> Sequence[Path]:
    """Return the files to be drawn; raise UsageError, before any work, for what cannot be."""
    from passcurve.report import plots

    for path in paths:
        if path.suffix.lower() not in plots.FORMATS:
            known = ", ".join(plots.FORMATS)
            raise UsageError(f"--plot {str(path)!r} ends in none of {known}{nearest(path.suffix, plots.FORMATS)}")
        if not path.absolute().parent.is_dir():
            raise UsageError(f"--plot {str(path)!r}: there is no folder {str(path.absolute().parent)!r}")
    if paths and not plots.is_ready():
        raise UsageError(f"--plot needs matplotlib: {plots.INSTALL}; tables and --json do without it")
    return paths


def _show(found: Any, says: Callable[[Any], list[str]], lines: Callable[..., list[str]], as_json: bool) -> None:
    if as_json:
        write_json({**msgspec.to_builtins(found), "says": says(found)})
    else:
        write_lines(lines(found, terminal_width()))


def draw(picture: Callable[[Any, str], Any], found: Any, paths: Sequence[Path], theme: Theme) -> None:
    """Draw a picture of what was found into each file."""
    from passcurve.report import plots

    for path in paths:
        try:
            plots.save(picture(found, theme.value), path)
        except OSError as error:
            raise StoreError(f"--plot {str(path)!r} cannot be written: {error.strerror or error}") from error
        warn(f"drawn {str(path)!r}")
