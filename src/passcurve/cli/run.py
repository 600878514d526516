"""``passcurve run``: a model writes samples, and each is judged as it comes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

import msgspec
import typer

from passcurve import __version__, config, registry
from passcurve.bench import prompts, resolve
from passcurve.bench.choose import choose_problems
from passcurve.cli.options import (
    Clock,
    Isolation,
    Reuse,
    VerdictMode,
    exit_code,
    lines,
    parse_gate,
    record,
    write_warnings,
)
from passcurve.cli.output import handle_errors, warn, write_json, write_lines
from passcurve.errors import UsageError
from passcurve.types import DEFAULT_TIMEOUT_S, Decoding, Generation, Limits, Prices

if TYPE_CHECKING:
    from passcurve.judging.run import Request, Result
    from passcurve.models.backend import Remote

_DEFAULT_TEMPERATURE = "0.8"
_DEFAULT_TOKENS = 512
_NEITHER = "temperature and no top-p"


def _from_file(context: typer.Context, path: Optional[Path]) -> Optional[Path]:
    """Take the options of a file as defaults: what stands on the command line wins."""
    if path is not None:
        with handle_errors(as_json=False):
            names = {option: each for each in context.command.params for option in each.opts}
            found = config.read_options(path, [name.removeprefix("--") for name in names if name.startswith("--")])
            given = {names[f"--{name}"]: value for name, value in found.items()}
            context.default_map = {
                str(option.name): value if option.multiple or not isinstance(value, list) else ",".join(map(str, value))
                for option, value in given.items()
            }
    return path


def run(
    benchmark: str = typer.Argument(..., help="A known name, as starter, or a file of problems."),
    model: str = typer.Option(..., help="What writes: openai:NAME, anthropic:NAME, hf:NAME, command:PROGRAM, ..."),
    n: int = typer.Option(20, "-n", "--samples", min=1, help="Samples of each problem; more than before tops up."),
    temperature: Optional[str] = typer.Option(None, help="0.8 by default; several, as in 0.2,0.8, give a run each."),
    top_p: Optional[float] = typer.Option(None, min=0.0, max=1.0, help="Nucleus sampling; not sent by default."),
    max_tokens: int = typer.Option(_DEFAULT_TOKENS, min=1, help="Most tokens of a completion."),
    stop: list[str] = typer.Option([], help="A text before which a completion ends; may be given more than once."),
    seed: int = typer.Option(0, help="From which the seed of each sample follows."),
    prompt: Optional[str] = typer.Option(None, help="base, chat, fim:FAMILY, or a file with {{ prompt }} in it."),
    system: str = typer.Option("", help="What a conversation begins with."),
    endpoint: Optional[str] = typer.Option(None, help="completions, chat, or auto: as the prompt needs it."),
    base_url: Optional[str] = typer.Option(None, help="Root of the server, /v1 included."),
    api_key_env: Optional[str] = typer.Option(None, help="Variable that holds the key, or none."),
    extra_body: str = typer.Option("{}", help="JSON object whose fields go into each request."),
    model_option: list[str] = typer.Option([], help="NAME=VALUE for the back end, as in device=cuda:0; repeatable."),
    concurrency: int = typer.Option(8, min=1, max=1024, help="Requests that are open at once."),
    per_request: int = typer.Option(1, min=1, help="Samples that one request asks for (n of the server)."),
    rpm: Optional[float] = typer.Option(None, min=0.001, help="Most requests a minute."),
    tpm: Optional[float] = typer.Option(None, min=0.001, help="Most tokens a minute, read and written."),
    request_timeout: float = typer.Option(600.0, min=0.01, help="Seconds that one request may take."),
    max_retries: int = typer.Option(6, min=0, help="How often a request that failed is sent again."),
    prices: Optional[Path] = typer.Option(None, help="TOML file that says what tokens cost."),
    k: Optional[str] = typer.Option(None, "--k", help="Values of k, as in 1,10,100 (the default), or all."),
    metric: str = typer.Option("pass@k", help="What to report, as in pass@k,pass^k,g-pass@k:0.5,attempts."),
    timeout: float = typer.Option(DEFAULT_TIMEOUT_S, min=0.01, help="Seconds of time for each sample."),
    workers: Optional[int] = typer.Option(None, min=1, help="Samples judged at once; default: one per core."),
    memory: Optional[str] = typer.Option(None, help="Memory of each sample, as in 4GiB (the default)."),
    problems: str = typer.Option("", help="Only these problems: ids and wildcards, comma-separated."),
    clock: Clock = typer.Option(Clock.own, help="own: the sample's own time; wall: as classic harnesses count."),
    verdict: VerdictMode = typer.Option(
        VerdictMode.auto, help="Where tests run: apart (referee) or beside the sample."
    ),
    extract: Optional[str] = typer.Option(
        None, help="How texts become programs: raw for base, auto for chat by default, or another policy."
    ),
    isolation: Isolation = typer.Option(Isolation.auto, help="Demand a level of isolation; none must be asked for."),
    packages: str = typer.Option("", help="Installed packages that samples may import, comma-separated."),
    python: Optional[str] = typer.Option(
        None, help="Interpreter of the samples; default: the one that runs passcurve."
    ),
    dedup: bool = typer.Option(True, "--dedup/--no-dedup", help="Run identical programs of a problem once."),
    reuse: Reuse = typer.Option(
        Reuse.auto, help="rewind: processes are put back after each sample; fork: each sample gets new ones."
    ),
    run: Optional[Path] = typer.Option(None, help="Run directory; default: named by benchmark, model, temperature."),
    results: Optional[Path] = typer.Option(
        None, help="Where the rows with verdicts go; default: in the run directory."
    ),
    fail_under: list[str] = typer.Option([], "--fail-under", help="Exit with 3 when below, as in pass@1=0.5."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    config_file: Optional[Path] = typer.Option(  # noqa: ARG001 - its options have become defaults
        None, "--config", help="TOML file with options by name.", is_eager=True, callback=_from_file
    ),
) -> None:
    """Generate samples and judge each as it comes: verdicts, and pass@k with its interval.

    The same command goes on after an interruption; what is stored is never asked for again.
    """
    with handle_errors(as_json):
        gates = [parse_gate(text) for text in fail_under]
        scores = config.parse_scores(k, metric, [gate.k for gate in gates])
        workers_admitted, memory_bytes, note = config.fit_to_machine(
            workers, config.parse_size(memory) if memory else None
        )
        kind, words = registry.backend(model)
        temperatures: tuple[float | None, ...] = (None,)
        if kind.draws:
            temperatures = config.parse_temperatures(temperature or _DEFAULT_TEMPERATURE)
        elif top_p is not None or (temperature is not None and not kind.tempered):
            raise UsageError(f"--model {model!r} draws by no {'top-p' if kind.tempered else _NEITHER}; leave it out")
        elif temperature is not None:
            temperatures = config.parse_temperatures(temperature)
        if len(temperatures) > 1 and (results is not None or run is not None):
            raise UsageError("several temperatures give a run each: leave --run and --results out")
        costs = config.read_prices(prices, model) if prices is not None else None
        chosen = resolve.load(benchmark, config.cache_dir())
        style = _style(prompt, endpoint, system, model, kind.remote)
        said = {"--base-url": base_url, "--api-key-env": api_key_env, "--rpm": rpm, "--tpm": tpm}
        server = _server(model, kind.remote, said)
        # Loaded now: what a wrong command line says should not wait for it.
        from passcurve.generation import engine
        from passcurve.judging import run as pipeline
        from passcurve.models.backend import Settings
        from passcurve.models.stops import HUMAN_EVAL
        from passcurve.store.completions import SessionConfig

        made = prompts.prompts(choose_problems(chosen, problems), style)
        stops = tuple(stop) or (HUMAN_EVAL if kind.draws and not style.chat else ())
        settings = Settings(
            base_url=base_url or server.base_url,
            api_key=config.api_key(api_key_env or server.api_key_name),
            api_key_name=api_key_env or server.api_key_name,
            requests_per_minute=rpm,
            tokens_per_minute=tpm,
            request_timeout_s=request_timeout,
            max_retries=max_retries,
            extra_body=config.parse_object("--extra-body", extra_body),
            concurrency=concurrency,
            style="chat" if style.chat else "base",
            seed=seed,
            options=config.parse_assignments(
                "--model-option", model_option, kind.options, model.partition(":")[0] + ":"
            ),
        )
        if note:
            warn(f"{note}")
        if n > 1 and 0.0 in temperatures:
            warn("at temperature 0 all samples of a problem are one and the same, so -n 1 says as much")
        found = []
        for each in temperatures:
            decoding = Decoding(
                temperature=each,
                top_p=top_p,
                max_tokens=max_tokens if kind.draws else None,
                stop=stops,
                seed=seed,
            )
            folder = run or Path(_folder(chosen.name, model, each))
            request = pipeline.Request(
                samples=folder,
                benchmark=chosen,
                run=folder,
                results=results or folder / "results.jsonl",
                limits=Limits(timeout_s=timeout, clock=clock.value, memory_bytes=memory_bytes),
                workers=workers_admitted,
                ks=scores.ks,
                ks_asked=scores.ks_asked,
                every_k=scores.every_k,
                metrics=scores.metrics,
                verdict=verdict.value,
                isolation=isolation.value,
                packages=config.parse_names(packages),
                python=python,
                problems=problems,
                dedup=dedup,
                reuse=reuse.value,
                extract=extract or ("auto" if style.chat else "raw"),
            )
            backend = kind.open(words, settings)
            session = SessionConfig(
                generation=Generation(
                    version=__version__,
                    benchmark=chosen.name,
                    benchmark_digest=chosen.digest,
                    model=model,
                    identity=backend.identity,
                    prompt=style.name,
                    prompt_digest=prompts.digest(prompts.prompts(chosen.problems, style)),
                    decoding=decoding,
                ),
                n=n,
                settings=_resolved(request, settings, per_request),
            )
            asked = engine.GenerationRequest(
                prompts=made, n=n, decoding=decoding, concurrency=concurrency, per_request=per_request
            )
            found.append(_shown(request, pipeline.run, asked, session, backend))
            if (made_here := found[-1].generated) is not None and made_here.ended_by:
                break
        _say(found, temperatures, costs, as_json)
        raise typer.Exit(max((exit_code(each, gates) for each in found), key=_RANK.index))


_RANK = (0, 3, 2, 1)
"""Exit codes, the gravest last."""


def _shown(request: Request, generate: Any, *words: Any) -> Result:
    from passcurve.report.generation import live_parts
    from passcurve.report.live import Display

    asked = words[0]
    # A run that has lasted for a second has moments to spare, which its end has not.
    with Display(lambda: asked.n * len(asked.prompts), load_after_s=1.0) as display:
        found: Result = generate(
            request,
            *words,
            lambda at: display.show(at.judged, at.planned, at.passed, at.pass_at_1, lambda: live_parts(at.generated)),
        )
    return found


def _say(found: list[Result], temperatures: tuple[float | None, ...], prices: Prices | None, as_json: bool) -> None:
    from passcurve.report.generation import cost_line, cost_record, failure_lines, sweep_lines

    for each in found:
        write_warnings(each, each.run)
        if not as_json:
            write_lines(lines(each))
            if prices is not None and each.generated is not None:
                write_lines([cost_line(each.generated, prices, each.counts)])
        for line in failure_lines(each.generated) if each.generated is not None else ():
            warn(f"{line}")
    records = [record(each) for each in found]
    if prices is not None:
        for each, said in zip(found, records, strict=True):
            if each.generated is not None:
                said["cost"] = cost_record(each.generated, prices, each.counts)
    if as_json:
        write_json(records[0] if len(temperatures) == 1 else {"runs": records})
    elif len(found) > 1:
        rows = [(t, each.estimates, each.generated) for t, each in zip(temperatures, found, strict=False)]
        write_lines(sweep_lines(rows))


def _style(prompt: str | None, endpoint: str | None, system: str, model: str, remote: Remote | None) -> prompts.Style:
    if endpoint not in (None, "auto", "completions", "chat"):
        raise UsageError(f"--endpoint {endpoint!r} is neither auto, completions nor chat")
    chat = None if endpoint in (None, "auto") else endpoint == "chat"
    if remote is not None and remote.styles == ("chat",):
        if prompt == "base" or endpoint == "completions":
            raise UsageError(f"--model {model!r} answers conversations only; use --prompt chat, or a template of yours")
        chat = True
    return prompts.style(prompt or ("chat" if chat else "base"), chat=chat, system=system)


def _server(model: str, remote: Remote | None, asked: Mapping[str, object]) -> Remote:
    """Return where a back end's server is, or nothing where it has none."""
    given = [name for name, value in asked.items() if value is not None]
    if remote is None and given:
        raise UsageError(f"--model {model!r} asks no server; leave {' and '.join(given)} out")
    from passcurve.models.backend import Remote

    return remote or Remote(base_url="", api_key_name="none")


def _folder(benchmark: str, model: str, temperature: float | None) -> str:
    """Return the name of a run directory that no other model or temperature has."""
    name = re.sub(r"[^A-Za-z0-9._]+", "-", model).strip("-.")[:80]
    suffix = "" if temperature is None else f"-t{temperature:g}"
    return f"{benchmark}-{name}{suffix}.passcurve"


def _resolved(request: Request, settings: Any, per_request: int) -> dict[str, object]:
    """Return every option as it was understood, but for the key."""
    own: dict[str, object] = msgspec.to_builtins(settings)
    del own["api_key"]
    judged: dict[str, object] = msgspec.to_builtins(
        {name: getattr(request, name) for name in request.__struct_fields__ if name not in ("benchmark", "samples")},
        enc_hook=str,
    )
    return own | judged | {"per_request": per_request}
