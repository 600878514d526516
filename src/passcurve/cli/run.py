"""``passcurve run``: generate samples with a model and judge each as it comes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from passcurve import config
from passcurve.bench import resolve
from passcurve.bench.profiles import reading_options
from passcurve.cli.options import AsJson, JudgingOptions, ScoreOptions, Verbose
from passcurve.cli.output import handle_errors, warn, write_json, write_lines
from passcurve.cli.request import check_options
from passcurve.cli.result import exit_code, result_lines, result_record, write_warnings
from passcurve.cli.run_options import PromptOptions, SamplingOptions, ServerOptions, model_settings
from passcurve.errors import DataError, PasscurveError, UsageError
from passcurve.generation.setup import Model
from passcurve.types import Prices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from passcurve.cli.request import Setup
    from passcurve.judging.run import Request, Result

_OBJECT = "extra-body"
"""The option that takes an object."""
_SEVERITY = (0, 3, 2, 1)
"""Exit codes, the most severe last."""


def _read_config(context: typer.Context, path: Optional[Path]) -> Optional[Path]:
    """Make the options of a file defaults, which the command line overrides."""
    if path is not None:
        with handle_errors(as_json=False):
            options = {name: option for option in context.command.params for name in option.opts}
            names = [name.removeprefix("--") for name in options if name.startswith("--")]
            values = config.read_options(path, names)
            context.default_map = {
                str(options[f"--{name}"].name): _as_default(options[f"--{name}"], name, value)
                for name, value in values.items()
            }
    return path


def _as_default(option: Any, name: str, value: object) -> object:
    """Return a value of a file as the command line has it: a list where an option may be repeated, else a text.

    The fields of requests may be a table.  Raises DataError for any other.
    """
    if isinstance(value, dict):
        if name != _OBJECT:
            raise DataError(f"--config: {name!r} is a table; options stand outside of tables, as in `n = 20`")
        return json.dumps(value, default=str)
    if option.multiple:
        return value if isinstance(value, list) else [value]
    if option.is_flag:
        return value
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def run(
    *,
    benchmark: Annotated[str, typer.Argument(help="A known name, as starter, or a file of problems.")],
    model: Annotated[str, typer.Option(help="What writes: openai:NAME, anthropic:NAME, hf:NAME, command:PROGRAM, ...")],
    sampling: SamplingOptions,
    prompting: PromptOptions,
    server: ServerOptions,
    prices: Annotated[Optional[Path], typer.Option(help="TOML file that says what tokens cost.")] = None,
    score: ScoreOptions,
    judging: JudgingOptions,
    extract: Annotated[
        Optional[str],
        typer.Option(help="How texts become programs: raw for base, auto for chat by default, or another policy."),
    ] = None,
    run: Annotated[
        Optional[Path], typer.Option(help="Run directory; default: named by benchmark, model, temperature.")
    ] = None,
    results: Annotated[
        Optional[Path], typer.Option(help="Where the rows with verdicts go; default: in the run directory.")
    ] = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
    config_file: Annotated[  # noqa: ARG001 - its options have become defaults
        Optional[Path],
        typer.Option("--config", help="TOML file with options by name.", is_eager=True, callback=_read_config),
    ] = None,
) -> None:
    """Generate samples and judge each as it comes: verdicts, and pass@k with its interval.

    The same command resumes an interrupted run; stored samples are not generated again.
    """
    setup = check_options(score, judging)
    temperatures = _parse_temperatures(sampling.temperature, has_place=results is not None or run is not None)
    price_list = config.read_prices(prices, model) if prices is not None else None
    chosen = resolve.load(
        benchmark, config.cache_dir(), reading_options(judging.profile, judging.task, judging.language)
    )
    ready = Model(model_settings(model, sampling, prompting, server), chosen, judging.problems)
    degrees = ready.temperatures(temperatures)
    _warn_first(setup, sampling.n, degrees)
    finished: list[Result] = []
    folders = [run or ready.run_directory(degree) for degree in degrees]
    for degree, folder in zip(degrees, folders, strict=True):
        request = setup.request(
            samples=folder,
            benchmark=chosen,
            run=folder,
            results=results or folder / "results.jsonl",
            extract=extract or ready.default_extract,
        )
        try:
            finished.append(_generate_and_judge(ready, degree, request))
        except PasscurveError:
            if finished and not as_json:  # with --json the error is the only object
                _write_results(finished, degrees, price_list, verbose=verbose, as_json=False)
            raise
        if (generated := finished[-1].generated) is not None and generated.ended_by:
            break
    _write_results(finished, degrees, price_list, verbose=verbose, as_json=as_json)
    raise typer.Exit(max((exit_code(result, setup.gates) for result in finished), key=_SEVERITY.index))


def _parse_temperatures(text: str | None, *, has_place: bool) -> tuple[float, ...] | None:
    """Return the temperatures of an option, None where none is set; ``has_place``: one run alone has a place."""
    if text is None:
        return None
    temperatures = config.parse_temperatures(text)
    if len(temperatures) > 1 and has_place:
        raise UsageError("several temperatures give a run each: leave --run and --results out")
    return temperatures


def _warn_first(setup: Setup, n: int, degrees: Sequence[float | None]) -> None:
    """Warn of what the options make of a run, before a sample is paid for."""
    if setup.note:
        warn(setup.note)
    if n > 1 and 0.0 in degrees:
        warn("at temperature 0 the samples of a problem should be equal, and -n 1 would say as much")
    if above := setup.ks_above(n):
        warn(f"k = {', '.join(map(str, above))}: {max(above)} samples of each problem are needed, -n is {n}")


def _generate_and_judge(model: Model, temperature: float | None, request: Request) -> Result:
    # These imports are slow: a mistake on the command line is reported without them.
    from passcurve.judging import run as judging
    from passcurve.report.live import Display

    samples = model.request(temperature)
    session, backend = model.open(samples, request.settings())
    # The display is loaded after a second: a run that has lasted so long can spare the time, a short one cannot.
    with Display(lambda: model.planned, load_after_s=1.0) as display:
        return judging.run(request, samples, session, backend, display.show_progress)


def _write_results(
    results: list[Result],
    temperatures: tuple[float | None, ...],
    prices: Prices | None,
    *,
    verbose: bool,
    as_json: bool,
) -> None:
    from passcurve.report.generation import cost_line, cost_record, failure_lines, sweep_lines

    records = []
    for result in results:
        generated = result.generated
        write_warnings(result, result.run)
        if not as_json:
            write_lines(result_lines(result, verbose=verbose))
            if prices is not None and generated is not None:
                write_lines([cost_line(generated, prices, result.counts)])
        for line in failure_lines(generated) if generated is not None else ():
            warn(line)
        records.append(result_record(result))
        if prices is not None and generated is not None:
            records[-1]["cost"] = cost_record(generated, prices, result.counts)
    if as_json:
        write_json(records[0] if len(temperatures) == 1 else {"runs": records})
    elif len(results) > 1:
        rows = zip(temperatures, results, strict=False)
        write_lines(sweep_lines([(temperature, result.estimates, result.generated) for temperature, result in rows]))
