"""The functions of ``import passcurve``: judge, generate, evaluate and compare, with their async twins."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import math
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, ParamSpec, cast

import msgspec

from passcurve import __version__, config
from passcurve.analysis import compare as comparison
from passcurve.analysis import notebook
from passcurve.analysis.notebook import Run
from passcurve.bench import prompts, resolve
from passcurve.bench.choose import choose_problems
from passcurve.errors import ModelError, UsageError
from passcurve.generation.engine import GenerationRequest
from passcurve.generation.setup import DEFAULT_MAX_TOKENS, Model, ModelSettings
from passcurve.judging import inputs
from passcurve.judging import run as judging
from passcurve.judging.inputs import Row, TemporaryFolder
from passcurve.judging.request import Progress, Request, Result
from passcurve.models.backend import Backend
from passcurve.models.function import Function
from passcurve.store.completions import SessionConfig
from passcurve.store.foreign import parse_options
from passcurve.store.run_counts import read_counts
from passcurve.types import DEFAULT_TIMEOUT_S, Benchmark, Decoding, Generation, Limits

Watch = Callable[[Progress], None]

ASYNC_CALLS = 8
"""How many calls of an async function are open at once by default."""

_P = ParamSpec("_P")


def judge(
    samples: str | Path | Sequence[str | Path] | Iterable[Row],
    benchmark: str | Path | Benchmark | None = None,
    *,
    field: str | None = None,
    id_map: str | Path | Mapping[str, str] | None = None,
    k: int | Sequence[int] = config.DEFAULT_KS,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    clock: Literal["own", "wall"] = "own",
    memory: str | int | None = None,
    workers: int | None = None,
    problems: str = "",
    subset: bool = False,
    strict: bool = False,
    extract: str = "raw",
    prelude: str = "none",
    verdict: Literal["auto", "referee", "shared"] = "auto",
    isolation: Literal["auto", "full", "restricted", "none"] = "auto",
    reuse: Literal["auto", "rewind", "fork"] = "auto",
    packages: Sequence[str] = (),
    python: str | None = None,
    dedup: bool = True,
    accept_input: bool = False,
    accept_benchmark: bool = False,
    run: str | Path | None = None,
    results: str | Path | None = None,
    watch: Watch | None = None,
) -> Run:
    """Judge samples, and estimate pass@k.

    ``samples`` is a file or a folder (docs/inputs.md has the formats), a list of files, or rows as dictionaries with
    ``task_id`` and ``completion`` or ``solution``: a list, or an iterator, whose rows are judged as they come.
    ``field`` and ``id_map`` (a pattern, a JSON file or a dictionary) are for rows with other fields or task ids.
    ``benchmark`` is a known name, a file, or a Benchmark; without it the task ids tell.  An interrupted call goes on
    when it is repeated, where the run directory stays: beside a file of samples, or at ``run``.  The other arguments
    are the options of ``passcurve judge``.

    Raises UsageError and DataError for what cannot be judged, SandboxError and IsolationError where the samples cannot
    be isolated, StoreError where verdicts cannot be stored, Interrupted when the user stops it.
    """
    place = None if run is None else Path(run)
    written = None if results is None else Path(results)
    options, cache = parse_options(field, id_map), config.cache_dir()
    files = inputs.file_names(samples)
    if files is not None:
        named = functools.partial(_named_benchmark, benchmark)
        source = inputs.from_files(files, place, written, options=options, benchmark=named, pattern=problems)
    else:
        source = inputs.from_rows(cast("Iterable[Row]", samples), place, written, options=options)
        source.wait_for_row(0.0)
    chosen = benchmark if isinstance(benchmark, Benchmark) else source.benchmark(_text(benchmark), cache)
    request, notes = _request(
        chosen,
        source.run,
        k=k,
        memory=memory,
        workers=workers,
        limits=Limits(timeout_s=timeout_s, clock=clock),
        problems=problems,
        subset=subset,
        strict=strict,
        extract=extract,
        prelude=prelude,
        verdict=verdict,
        isolation=isolation,
        reuse=reuse,
        packages=tuple(packages),
        python=python,
        dedup=dedup,
        accept_input=accept_input,
        accept_benchmark=accept_benchmark,
        results=source.results,
        samples=source.samples,
        reading=source.reading,
        sources=source.sources,
        follow_s=None if source.spool is None else math.inf,
        ended=None if source.spool is None else source.spool.ended,
    )
    result = judging.judge(request, watch or _ignore)
    source.check()
    return notebook.of_result(result, notes, source.folder)


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
    prompt: str | None = None,
    system: str = "",
    base_url: str | None = None,
    api_key_env: str | None = None,
    extra_body: Mapping[str, object] | None = None,
    options: Mapping[str, str] | None = None,
    concurrency: int = 8,
    per_request: int = 1,
    request_timeout_s: float = 600.0,
    max_retries: int = 6,
    k: int | Sequence[int] = config.DEFAULT_KS,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    memory: str | int | None = None,
    workers: int | None = None,
    problems: str = "",
    extract: str | None = None,
    packages: Sequence[str] = (),
    accept_input: bool = False,
    accept_benchmark: bool = False,
    run: str | Path | None = None,
    watch: Watch | None = None,
) -> Run:
    """Have a model write n samples of each problem, judge each as it comes, and estimate pass@k.

    ``model`` names a back end, as in ``openai:NAME`` or ``hf:PATH``; ``options`` are what only that back end takes.
    The run directory, by default named after benchmark, model and temperature, keeps every completion: the same call
    goes on after an interruption, and a larger ``n`` asks for the new samples only.  The other arguments are the
    options of ``passcurve run``.

    Raises ModelError when the model gives nothing, or gives up before every sample is there (what came is stored);
    else as ``judge``.
    """
    chosen = load_benchmark(benchmark)
    settings = ModelSettings(
        model=model,
        n=n,
        top_p=top_p,
        max_tokens=max_tokens,
        stop=tuple(stop),
        seed=seed,
        prompt=prompt,
        system=system,
        base_url=base_url,
        api_key_env=api_key_env,
        extra_body=extra_body or {},
        options=tuple(f"{name}={value}" for name, value in (options or {}).items()),
        concurrency=concurrency,
        per_request=per_request,
        request_timeout_s=request_timeout_s,
        max_retries=max_retries,
    )
    ready = Model(settings, chosen, problems)
    (degree,) = ready.temperatures(None if temperature is None else (temperature,))
    place = Path(run) if run is not None else ready.run_directory(degree)
    request, notes = _request(
        chosen,
        place,
        k=k,
        memory=memory,
        workers=workers,
        limits=Limits(timeout_s=timeout_s),
        problems=problems,
        extract=extract or ready.default_extract,
        packages=tuple(packages),
        accept_input=accept_input,
        accept_benchmark=accept_benchmark,
    )
    requested = ready.request(degree)
    session, backend = ready.open(requested, request.settings())
    return _generated(judging.run(request, requested, session, backend, watch or _ignore), notes, backend)


def evaluate(
    generate: Callable[[str], str | Awaitable[str]]
    | Callable[[Sequence[str]], Sequence[str] | Awaitable[Sequence[str]]],
    benchmark: str | Path | Benchmark = "humaneval",
    n: int = 20,
    *,
    batch: int = 0,
    concurrency: int | None = None,
    prompt: str = "base",
    stop: Sequence[str] = (),
    k: int | Sequence[int] = config.DEFAULT_KS,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    memory: str | int | None = None,
    workers: int | None = None,
    problems: str = "",
    extract: str = "auto",
    packages: Sequence[str] = (),
    accept_input: bool = False,
    accept_benchmark: bool = False,
    run: str | Path | None = None,
    watch: Watch | None = None,
) -> Run:
    """Call a function n times for each problem, judge each text as it comes, and estimate pass@k.

    ``generate`` takes a prompt and returns a text; with ``batch`` it takes up to so many prompts as a list and returns
    as many texts.  It may be async.  It is called from ``concurrency`` threads (1, or 8 when it is async), and its
    texts become programs by the policy ``extract``.  ``prompt`` is ``base``, ``chat`` (the instruction as one text), or
    the file of a template.  With ``run`` the texts are kept in that directory and the same call goes on after an
    interruption; without it they are kept as long as the Run that is returned.

    Raises ModelError, with the exception as its cause, when ``generate`` raises three times in a row or returns what is
    no text; else as ``judge``.
    """
    if n < 1 or batch < 0 or (concurrency is not None and concurrency < 1):
        raise UsageError(f"n={n}, batch={batch}, concurrency={concurrency}: n and concurrency are at least 1, batch 0")
    chosen = load_benchmark(benchmark)
    style = prompts.find_style(prompt)
    backend = Function(generate, many=batch > 0)
    folder = TemporaryFolder() if run is None else None
    place = folder.path / "run" if folder is not None else Path(str(run))
    request, notes = _request(
        chosen,
        place,
        k=k,
        memory=memory,
        workers=workers,
        limits=Limits(timeout_s=timeout_s),
        problems=problems,
        extract=extract,
        packages=tuple(packages),
        accept_input=accept_input,
        accept_benchmark=accept_benchmark,
    )
    requested = GenerationRequest(
        prompts=prompts.make_prompts(choose_problems(chosen, problems), style),
        n=n,
        decoding=Decoding(stop=tuple(stop)),
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
        settings={"batch": batch, "concurrency": concurrency, "extract": extract, "timeout_s": timeout_s},
    )
    result = judging.run(request, requested, session, backend, watch or _ignore)
    return _generated(result, notes, backend, folder)


def load_benchmark(benchmark: str | Path | Benchmark) -> Benchmark:
    """Return the benchmark of a known name or of a file of problems.

    Raises UnknownNameError with the nearest name when nothing has the name, DataError when the benchmark is not on this
    machine (the message says how to get it) or when the file is not in the format.
    """
    if isinstance(benchmark, Benchmark):
        return benchmark
    return resolve.load(str(benchmark), config.cache_dir())


def compare(
    a: Run | str | Path,
    b: Run | str | Path,
    *,
    k: int | Sequence[int] = 1,
    level: float = 0.95,
    seed: int = 0,
    common: bool = False,
    stale: bool = False,
) -> comparison.Comparison:
    """Compare two runs on the same problems: A less B with its intervals, p, and the problems that decide.

    Each is a Run, a run directory, samples that were judged, or a file of results.  ``compare(a, b)["pass@1"]`` is the
    difference at one k.  Raises DataError where the runs are not finished or their score is withheld, where their
    problems or tests differ unless ``common``, and where samples have changed since they were judged unless ``stale``.
    """
    scored = [read_counts(run.path if isinstance(run, Run) else Path(run), stale=stale) for run in (a, b)]
    return comparison.compare(scored, config.checked_ks(k), level=level, seed=seed, common=common)


def _async_twin(function: Callable[_P, Run]) -> Callable[_P, Coroutine[Any, Any, Run]]:
    """Return the same function for an event loop: it runs in a thread, and stops when its task is cancelled."""

    @functools.wraps(function)
    async def twin(*args: _P.args, **kwargs: _P.kwargs) -> Run:
        cancelled = threading.Event()
        watch: Any = kwargs.get("watch")

        def stop_or_watch(progress: Progress) -> None:
            if cancelled.is_set():
                raise KeyboardInterrupt
            if watch is not None:
                watch(progress)

        kwargs["watch"] = stop_or_watch
        call = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
        try:
            return await asyncio.shield(call)
        except asyncio.CancelledError:
            cancelled.set()
            with contextlib.suppress(Exception):
                await call
            raise

    twin.__name__ = twin.__qualname__ = f"{function.__name__}_async"
    first = (function.__doc__ or "").partition("\n")[0]
    twin.__doc__ = f"{first}\n\nTakes the arguments of ``{function.__name__}``.  A cancelled call stores what it did."
    return twin


judge_async = _async_twin(judge)
generate_async = _async_twin(generate)
evaluate_async = _async_twin(evaluate)


def _request(
    benchmark: Benchmark,
    run: Path,
    *,
    k: int | Sequence[int],
    memory: str | int | None,
    workers: int | None,
    limits: Limits,
    **others: Any,
) -> tuple[Request, list[str]]:
    """Return the request, and a note where this machine cannot give what was requested for."""
    memory_bytes = config.parse_size(memory) if isinstance(memory, str) else memory
    admitted, memory_bytes, note = config.fit_to_machine(workers, memory_bytes)
    request = Request(
        **{"samples": run, "results": run / "results.jsonl"} | others,
        benchmark=benchmark,
        run=run,
        limits=msgspec.structs.replace(limits, memory_bytes=memory_bytes),
        workers=admitted,
        ks=config.checked_ks(k),
        cache=config.plans_dir(),
    )
    return request, [note] if note else []


def _generated(result: Result, notes: Sequence[str], backend: Backend, folder: TemporaryFolder | None = None) -> Run:
    if result.generated is not None and result.generated.ended_by:
        stored = f"; {result.generated.stored} texts are kept in {result.run!r}" if folder is None else ""
        raise ModelError(result.generated.ended_by + stored) from getattr(backend, "error", None)
    return notebook.of_result(result, notes, folder)


def _named_benchmark(benchmark: str | Path | Benchmark | None) -> Benchmark | None:
    return None if benchmark is None else load_benchmark(benchmark)


def _text(value: str | Path | None) -> str | None:
    return None if value is None else str(value)


def _is_async(function: object) -> bool:
    call = getattr(function, "__call__", None)  # noqa: B004 - an object may have an async call
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def _ignore(progress: Progress) -> None:
    """Watch nothing."""
