"""``passcurve lab``: lessons about pass@k, by exact curves and seeded simulations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Optional

import msgspec
import typer

from passcurve import config
from passcurve.cli.command import Commands
from passcurve.cli.options import AsJson, Plots, PlotTheme, Seed, Theme
from passcurve.cli.output import terminal_width, write_json, write_lines
from passcurve.cli.pictures import check_plots, draw
from passcurve.errors import UsageError
from passcurve.types.amounts import amount

app = Commands(
    help="Understand pass@k: lessons with a table, a picture and three sentences.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)


@app.command()
def urn(
    n: Annotated[int, typer.Option("--n", "-n", "--samples", min=1, help="Samples in the urn.")] = 10,
    c: Annotated[int, typer.Option("--c", "-c", "--passed", min=0, help="How many of them are right.")] = 2,
    k: Annotated[int, typer.Option("--k", "-k", "--drawn", min=1, help="How many are drawn.")] = 3,
    plot: Plots = [],
    theme: PlotTheme = Theme.light,
    as_json: AsJson = False,
) -> None:
    """Draw balls from an urn: pass@k step by step, in exact fractions."""
    check_plots(plot)
    from passcurve.lab.urn import urn as lesson
    from passcurve.report import figures, lessons, sentences

    numbers = lesson(n, c, k)
    _show(numbers, sentences.urn_sentences, lessons.urn_lines, as_json)
    draw(figures.urn_picture, numbers, plot, theme)


@app.command()
def estimators(
    p: Annotated[float, typer.Option("--p", "-p", help="The true chance that a sample passes.")] = 0.1,
    k: Annotated[int, typer.Option("--k", "-k", help="The k of pass@k.")] = 10,
    n: Annotated[
        Optional[str], typer.Option("--n", "-n", help="Samples, as in 10,20,50; default: k times 1, 2, 3, 5, ... 50.")
    ] = None,
    draws: Annotated[int, typer.Option(help="Simulated data sets for each n.")] = 10000,
    seed: Seed = 0,
    plot: Plots = [],
    theme: PlotTheme = Theme.light,
    as_json: AsJson = False,
) -> None:
    """Compare four estimators of pass@k on the same samples: the mean and the error of each."""
    check_plots(plot)
    ns = config.parse_counts("--n", n, "10,20,50") if n is not None else ()
    from passcurve.lab.estimators import estimators as lesson
    from passcurve.report import figures, lessons, sentences

    numbers = lesson(p, k, ns, draws=draws, seed=seed)
    _show(numbers, sentences.estimators_sentences, lessons.estimators_lines, as_json)
    draw(figures.estimators_picture, numbers, plot, theme)


@app.command()
def budget(
    run: Annotated[Path, typer.Argument(help="A run, samples that were judged, or a file of results.")],
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="The k of pass@k.")] = 1,
    n: Annotated[
        Optional[str], typer.Option("--n", "-n", help="Samples of each problem, as in 5,10; default: halves.")
    ] = None,
    m: Annotated[Optional[str], typer.Option("--m", "-m", help="Problems, as in 41,82; default: halves.")] = None,
    draws: Annotated[int, typer.Option(help="Subsamples of each size.")] = 200,
    seed: Seed = 0,
    plot: Plots = [],
    theme: PlotTheme = Theme.light,
    as_json: AsJson = False,
) -> None:
    """Show what a run would have given with fewer samples or fewer problems, by subsampling it."""
    check_plots(plot)
    ns = config.parse_counts("--n", n, "5,10") if n is not None else ()
    ms = config.parse_counts("--m", m, "41,82") if m is not None else ()
    from passcurve.analysis import compare
    from passcurve.lab.budget import budget as lesson
    from passcurve.report import figures, lessons, sentences

    samples, passed = compare.read_finished_counts(run, k)
    numbers = lesson(samples, passed, k, ns=ns, ms=ms, draws=draws, seed=seed)
    _show(numbers, sentences.budget_sentences, lessons.budget_lines, as_json)
    draw(figures.budget_picture, numbers, plot, theme)


@app.command()
def temperature(
    runs: Annotated[
        Optional[list[Path]],
        typer.Argument(help="A run for each temperature, on the same problems; default: a simulated family of models."),
    ] = None,
    temperatures: Annotated[
        Optional[str], typer.Option(help="As in 0.2,0.8; of runs, in their order, in place of theirs.")
    ] = None,
    k: Annotated[
        Optional[str], typer.Option("--k", "-k", help="Values of k; default: 1,2,5,10,20,... up to the samples.")
    ] = None,
    m: Annotated[int, typer.Option("--m", "-m", help="Simulated problems.")] = 100,
    n: Annotated[int, typer.Option("--n", "-n", help="Simulated samples of each.")] = 40,
    splits: Annotated[
        int, typer.Option(min=1, max=100_000, help="Into halves, to choose on one and report on the other.")
    ] = 200,
    seed: Seed = 0,
    plot: Plots = [],
    theme: PlotTheme = Theme.light,
    as_json: AsJson = False,
) -> None:
    """Show pass@k against k for several temperatures, the best of them for each k, and how much of it is luck."""
    check_plots(plot)
    degrees = config.parse_temperatures_of_runs(temperatures) if temperatures is not None else ()
    ks = config.parse_ks(k) if k is not None else ()
    from passcurve.lab import temperature as lesson
    from passcurve.report import figures, lessons, sentences

    if runs:
        from passcurve.analysis import compare
        from passcurve.store.run_counts import read_counts

        swept = compare.make_sweep([read_counts(run) for run in runs], degrees, max(ks, default=1))
        numbers = lesson.measure_sweep(swept.temperatures, swept.n, swept.c, ks, splits=splits, seed=seed)
    else:
        numbers = lesson.simulate_sweep(degrees or lesson.TEMPERATURES, ks, m=m, n=n, splits=splits, seed=seed)
    _show(numbers, sentences.temperature_sentences, lessons.temperature_lines, as_json)
    draw(figures.temperature_picture, numbers, plot, theme)


@app.command()
def mixture(
    run: Annotated[
        Optional[Path], typer.Argument(help="A run to show it on; default: models with known chances.")
    ] = None,
    model: Annotated[
        list[str],
        typer.Option(
            "--model", help="The chances of a model, a number for each problem, as in 0.1,0.5; one --model each."
        ),
    ] = [],
    k: Annotated[Optional[str], typer.Option("--k", "-k", help="Values of k; default: 1,2,3,5,7,10,20,50.")] = None,
    n: Annotated[int, typer.Option("--n", "-n", min=1, help="Simulated samples of each problem.")] = 100,
    seed: Seed = 0,
    plot: Plots = [],
    theme: PlotTheme = Theme.light,
    as_json: AsJson = False,
) -> None:
    """Show why 1 - (1 - pass@1)^k is not pass@k: models with the same pass@1 and different pass@k."""
    check_plots(plot)
    models = [config.parse_chances("--model", text) for text in model]
    if run is not None and models:
        raise UsageError("give a run, or models by --model, not both")
    from passcurve.lab import mixture as lesson
    from passcurve.report import figures, lessons, sentences

    ks = config.parse_ks(k) if k is not None else lesson.KS
    if run is not None:
        from passcurve.analysis import compare

        samples, passed = compare.read_finished_counts(run, min(ks))
        if k is not None and max(ks) > min(samples):
            raise UsageError(f"k={max(ks)} exceeds the {amount(min(samples), 'sample')} that some problem has")
        numbers = lesson.measure_run(str(run), samples, passed, ks)
    else:
        numbers = lesson.mixture(models or lesson.MODELS, ks, n=n, seed=seed)
    _show(numbers, sentences.mixture_sentences, lessons.mixture_lines, as_json)
    draw(figures.mixture_picture, numbers, plot, theme)


def _show(numbers: Any, says: Callable[[Any], list[str]], lines: Callable[..., list[str]], as_json: bool) -> None:
    if as_json:
        write_json({**msgspec.to_builtins(numbers), "says": says(numbers)})
    else:
        write_lines(lines(numbers, terminal_width()))
