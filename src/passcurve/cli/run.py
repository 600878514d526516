"""``passcurve run``: generate samples with a model and judge each as it comes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, Optional

import msgspec
import typer

from passcurve import __version__, config, registry
from passcurve.bench import prompts, resolve
from passcurve.bench.choose import choose_problems
from passcurve.cli.options import AsJson, JudgingOptions, ScoreOptions
from passcurve.cli.output import handle_errors, warn, write_json, write_lines
from passcurve.cli.request import Setup, check_options
from passcurve.cli.result import exit_code, result_lines, result_record, write_warnings
from passcurve.cli.run_options import PromptOptions, SamplingOptions, ServerOptions
from passcurve.errors import UsageError
from passcurve.types import Benchmark, Generation, Prices, Prompt

if TYPE_CHECKING:
    from passcurve.judging.run import Progress, Request, Result
    from passcurve.models.backend import Backend, Settings

_SEVERITY = (0, 3, 2, 1)
"""Exit codes, the most severe last."""


def _read_config(context: typer.Context, path: Optional[Path]) -> Optional[Path]:
    """Make the options of a file defaults, which the command line overrides."""
    if path is not None:
        with handle_errors(as_json=False):
            options = {name: option for option in context.command.params for name in option.opts}
            names = [name.removeprefix("--") for name in options if name.startswith("--")]
            values = {options[f"--{name}"]: value for name, value in config.read_options(path, names).items()}
            context.default_map = {
                str(option.name): value if option.multiple or not isinstance(value, list) else ",".join(map(str, value))
                for option, value in values.items()
            }
    return path


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
    backend_class, backend_spec = registry.backend(model)
    temperatures = sampling.temperatures(model, backend_class)
    if len(temperatures) > 1 and (results is not None or run is not None):
        raise UsageError("several temperatures give a run each: leave --run and --results out")
    price_list = config.read_prices(prices, model) if prices is not None else None
    problems = resolve.load(benchmark, config.cache_dir())
    style = prompting.style(model, backend_class)
    server.check(model, backend_class)
    common = _RunSettings(
        setup=setup,
        benchmark=problems,
        model=model,
        backend_class=backend_class,
        backend_spec=backend_spec,
        sampling=sampling,
        style=style,
        prompts=prompts.prompts(choose_problems(problems, judging.problems), style),
        settings=server.settings(model, backend_class, chat=style.chat, seed=sampling.seed),
        per_request=server.per_request,
        extract=extract or ("auto" if style.chat else "raw"),
    )
    if setup.note:
        warn(setup.note)
    if sampling.n > 1 and 0.0 in temperatures:
        warn("at temperature 0 all samples of a problem are the same, so -n 1 says as much")
    finished = _run_all(common, temperatures, run, results)
    _write_results(finished, temperatures, price_list, as_json)
    raise typer.Exit(max((exit_code(result, setup.gates) for result in finished), key=_SEVERITY.index))


class _RunSettings(NamedTuple):
    """Settings that the runs of all temperatures share."""

    setup: Setup
    benchmark: Benchmark
    model: str
    backend_class: type[Backend]
    backend_spec: str
    """What follows the colon of ``--model``."""
    sampling: SamplingOptions
    style: prompts.Style
    prompts: tuple[Prompt, ...]
    settings: Settings
    per_request: int
    extract: str


def _run_all(
    common: _RunSettings, temperatures: tuple[float | None, ...], run: Path | None, results: Path | None
) -> list[Result]:
    """Run one temperature after the other; stop when the back end gives up."""
    finished = []
    for temperature in temperatures:
        folder = run or Path(_run_folder(common.benchmark.name, common.model, temperature))
        finished.append(_generate_and_judge(common, temperature, folder, results or folder / "results.jsonl"))
        if (generated := finished[-1].generated) is not None and generated.ended_by:
            break
    return finished


def _generate_and_judge(common: _RunSettings, temperature: float | None, folder: Path, results: Path) -> Result:
    # These imports are slow: a mistake on the command line is reported without them.
    from passcurve.generation import engine
    from passcurve.judging import run as pipeline
    from passcurve.report.generation import live_parts
    from passcurve.report.live import Display
    from passcurve.store.completions import SessionConfig

    decoding = common.sampling.decoding(temperature, common.backend_class, chat=common.style.chat)
    request = common.setup.request(
        samples=folder, benchmark=common.benchmark, run=folder, results=results, extract=common.extract
    )
    backend = common.backend_class.open(common.backend_spec, common.settings)
    session = SessionConfig(
        generation=Generation(
            version=__version__,
            benchmark=common.benchmark.name,
            benchmark_digest=common.benchmark.digest,
            model=common.model,
            identity=backend.identity,
            prompt=common.style.name,
            prompt_digest=prompts.digest(prompts.prompts(common.benchmark.problems, common.style)),
            decoding=decoding,
        ),
        n=common.sampling.n,
        settings=_resolved_options(request, common.settings, common.per_request),
    )
    generation = engine.GenerationRequest(
        prompts=common.prompts,
        n=common.sampling.n,
        decoding=decoding,
        concurrency=common.settings.concurrency,
        per_request=common.per_request,
    )
    planned = common.sampling.n * len(common.prompts)
    # The display is loaded after a second: a run that has lasted so long can spare the time, a short one cannot.
    with Display(lambda: planned, load_after_s=1.0) as display:

        def show(at: Progress) -> None:
            generated = at.generated
            details = (lambda: live_parts(generated)) if generated is not None else list
            display.show(at.judged, at.planned, at.passed, at.pass_at_1, details)

        return pipeline.run(request, generation, session, backend, show)


def _write_results(
    results: list[Result], temperatures: tuple[float | None, ...], prices: Prices | None, as_json: bool
) -> None:
    from passcurve.report.generation import cost_line, cost_record, failure_lines, sweep_lines

    records = []
    for result in results:
        generated = result.generated
        write_warnings(result, result.run)
        if not as_json:
            write_lines(result_lines(result))
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


def _run_folder(benchmark: str, model: str, temperature: float | None) -> str:
    """Return the name of a run directory that no other model or temperature has."""
    name = re.sub(r"[^A-Za-z0-9._]+", "-", model).strip("-.")[:80]
    suffix = "" if temperature is None else f"-t{temperature:g}"
    return f"{benchmark}-{name}{suffix}.passcurve"


def _resolved_options(request: Request, settings: Settings, per_request: int) -> dict[str, object]:
    """Return every option as it was understood, except the API key."""
    names = [name for name in request.__struct_fields__ if name not in ("benchmark", "samples")]
    judging: dict[str, object] = msgspec.to_builtins({name: getattr(request, name) for name in names}, enc_hook=str)
    return settings.to_record() | judging | {"per_request": per_request}
