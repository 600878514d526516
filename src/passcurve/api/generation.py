"""``generate`` and ``evaluate``: a model, or a function in its place, writes the samples that are judged."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Unpack

from passcurve import __version__
from passcurve.analysis import notebook
from passcurve.analysis.notebook import Run
from passcurve.api.options import JudgingOptions, Prepared, benchmark_of, check_options, make_request, watch_nothing
from passcurve.bench import prompts
from passcurve.bench.choose import choose_problems
from passcurve.config import is_count
from passcurve.errors import ModelError, UsageError
from passcurve.generation.engine import GenerationRequest
from passcurve.generation.setup import DEFAULT_MAX_TOKENS, Model, ModelSettings, check_stops
from passcurve.judging import run as judging
from passcurve.judging.inputs import TemporaryFolder
from passcurve.judging.request import Progress
from passcurve.models.backend import Backend
from passcurve.models.function import Function
from passcurve.store.completions import SessionConfig
from passcurve.types import Benchmark, Decoding, Generation
from passcurve.types.amounts import amount, are

Watch = Callable[[Progress], None]

ASYNC_CALLS = 8
"""How many calls of an async function are open at once by default."""


def generate(
    benchmark: str | Path | Benchmark,
    model: str,
    n: int = 20,
    *,
    temperature: float | None = None,
    top_p: float | None = None,
    max_tokens: int = DEFAULT_MAX_TOKENS,
    stop: Sequence[str] = (),
    seed: int = 0,
    prompt: str | Path | None = None,
    system: str = "",
    base_url: str | None = None,
    api_key_env: str | None = None,
    extra_body: Mapping[str, object] | None = None,
    options: Mapping[str, str] | None = None,
    concurrency: int = 8,
    per_request: int = 1,
    request_timeout_s: float = 600.0,
    max_retries: int = 6,
    rpm: float | None = None,
    tpm: float | None = None,
    run: str | Path | None = None,
    watch: Watch | None = None,
    **judging_options: Unpack[JudgingOptions],
) -> Run:
    """Have a model write n samples of each problem, judge each as it comes, and estimate pass@k.

    ``model`` names a back end, as in ``openai:NAME`` or ``hf:PATH``; ``options`` are what only that back end takes.
    The run directory, by default named after benchmark, model and temperature, keeps every completion: the same call
    goes on after an interruption, and a larger ``n`` asks for the new samples only.  The other arguments are the
    options of ``passcurve run``; those of judging are the same as in ``judge``.

    Raises ModelError when the model gives nothing, or gives up before every sample is there (what came is stored);
    else as ``judge``.
    """
    check_options("generate", judging_options)
    chosen = benchmark_of(benchmark, judging_options)
    settings = ModelSettings(
        model=model,
        n=n,
        top_p=top_p,
        max_tokens=max_tokens,
        stop=check_stops(stop),
        seed=seed,
        prompt=None if prompt is None else str(prompt),
        system=system,
        base_url=base_url,
        api_key_env=api_key_env,
        extra_body=extra_body or {},
        options=tuple(f"{name}={value}" for name, value in (options or {}).items()),
        concurrency=concurrency,
        per_request=per_request,
        request_timeout_s=request_timeout_s,
        max_retries=max_retries,
        requests_per_minute=rpm,
        tokens_per_minute=tpm,
    )
    ready = Model(settings, chosen, judging_options.get("problems", ""))
    (degree,) = ready.temperatures(None if temperature is None else (temperature,))
    place = Path(run) if run is not None else ready.run_directory(degree)
    prepared = make_request(chosen, place, judging_options, default_extract=ready.default_extract)
    requested = ready.request(degree)
    session, backend = ready.open(requested, prepared.request.settings())
    return _generate(prepared, requested, session, backend, watch)


def evaluate(
    generate: Callable[[str], str | Awaitable[str]]
    | Callable[[Sequence[str]], Sequence[str] | Awaitable[Sequence[str]]],
    benchmark: str | Path | Benchmark = "humaneval",
    n: int = 20,
    *,
    batch: int = 0,
    concurrency: int | None = None,
    prompt: str | Path = "base",
    stop: Sequence[str] = (),
    run: str | Path | None = None,
    watch: Watch | None = None,
    **options: Unpack[JudgingOptions],
) -> Run:
    """Call a function n times for each problem, judge each text as it comes, and estimate pass@k.

    ``generate`` takes a prompt and returns a text; with ``batch`` it takes up to so many prompts as a list and returns
    as many texts.  It may be async.  It is called from ``concurrency`` threads (1, or 8 when it is async), and its
    texts become programs by the policy ``extract``, by default ``auto``.  ``prompt`` is ``base``, ``chat`` (the
    instruction as one text), or the file of a template.  With ``run`` the texts are kept in that directory and the same
    call goes on after an interruption; without it they are kept as long as the Run that is returned.  ``options`` are
    those of ``judge``.

    Raises ModelError, with the exception as its cause, when ``generate`` raises for one problem after the other or
    returns what is no text; else as ``judge``.
    """
    check_options("evaluate", options)
    if not (is_count(n) and is_count(batch, 0) and (concurrency is None or is_count(concurrency))):
        raise UsageError(
            f"n={n!r}, batch={batch!r}, concurrency={concurrency!r}: these are integers, n and concurrency at least 1"
        )
    chosen = benchmark_of(benchmark, options)
    style = prompts.find_style(str(prompt))
    backend = Function(generate, many=batch > 0)
    folder = TemporaryFolder() if run is None else None
    place = folder.path / "run" if folder is not None else Path(str(run))
    prepared = make_request(chosen, place, options, default_extract="auto")
    requested = GenerationRequest(
        prompts=prompts.make_prompts(choose_problems(chosen, prepared.request.problems), style),
        n=n,
        decoding=Decoding(stop=check_stops(stop)),
        concurrency=concurrency or (ASYNC_CALLS if _is_async(generate) else 1),
        per_request=batch or 1,
    )
    session = SessionConfig(
        generation=Generation(
            version=__version__,
            benchmark=chosen.name,
            benchmark_digest=chosen.digest,
            model=f"function:{backend.identity['function']}",
            identity=backend.identity,
            prompt=style.name,
            prompt_digest=prompts.digest_prompts(prompts.make_prompts(chosen.problems, style)),
            decoding=requested.decoding,
        ),
        n=n,
        settings={
            "batch": batch,
            "concurrency": concurrency,
            "extract": prepared.request.extract,
            "timeout_s": prepared.request.limits.timeout_s,
        },
    )
    return _generate(prepared, requested, session, backend, watch, folder)


def _generate(
    prepared: Prepared,
    requested: GenerationRequest,
    session: SessionConfig,
    backend: Backend,
    watch: Watch | None,
    folder: TemporaryFolder | None = None,
) -> Run:
    """Generate and judge; raise ModelError where the back end has given up."""
    try:
        result = judging.run(prepared.request, requested, session, backend, watch or watch_nothing)
    except ModelError as error:
        if (cause := getattr(backend, "error", None)) is not None:
            raise ModelError(str(error)) from cause
        raise
    if result.generated is not None and result.generated.ended_by:
        count = result.generated.stored
        kept = f"; {amount(count, 'text')} {are(count)} kept in {result.run!r}" if folder is None else ""
        raise ModelError(result.generated.ended_by + kept) from getattr(backend, "error", None)
    failures = result.generated.failures if result.generated is not None else ()
    return notebook.of_result(result, (*prepared.notes, *failures), folder)


def _is_async(function: object) -> bool:
    call = getattr(function, "__call__", None)  # noqa: B004 - an object may have an async call
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
