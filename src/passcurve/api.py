"""``passcurve.evaluate``: a plain function as the model, the loop that everybody has written by hand."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from pathlib import Path

from passcurve import __version__, config
from passcurve.bench import prompts, resolve
from passcurve.bench.choose import choose_problems
from passcurve.errors import ModelError, UsageError
from passcurve.generation.engine import GenerationRequest
from passcurve.judging import run as pipeline
from passcurve.judging.request import Progress, Request, Result
from passcurve.models.function import Function
from passcurve.store.completions import SessionConfig
from passcurve.types import DEFAULT_TIMEOUT_S, Benchmark, Decoding, Generation, Limits

_ASYNC_AT_ONCE = 8


def evaluate(
    generate: Callable[[str], str | Awaitable[str]]
    | Callable[[Sequence[str]], Sequence[str] | Awaitable[Sequence[str]]],
    benchmark: str | Path | Benchmark = "humaneval",
    n: int = 20,
    *,
    ks: Sequence[int] = config.DEFAULT_KS,
    batch: int = 0,
    concurrency: int | None = None,
    run: Path | str | None = None,
    prompt: str = "base",
    extract: str = "auto",
    stop: Sequence[str] = (),
    problems: str = "",
    timeout_s: float = DEFAULT_TIMEOUT_S,
    workers: int | None = None,
    watch: Callable[[Progress], None] = lambda _: None,
) -> Result:
    """Call ``generate`` n times for each problem, judge each text as it comes, and estimate pass@k.

    ``generate`` takes a prompt and returns a text; with ``batch`` it takes up to so many prompts as a list and returns
    as many texts.  It may be async.  It is called from ``concurrency`` threads (1, or 8 when it is async), and its
    texts become programs by the policy ``extract``.  ``benchmark`` is a known name, a file, or what ``load_benchmark``
    returned; ``problems`` chooses some; ``prompt`` is ``base``, ``chat`` (the instruction as one text), or the file of
    a template.  With ``run`` the texts are kept in that directory and the same call goes on after an interruption;
    without it nothing is kept.  ``timeout_s`` is each program's own time in seconds, ``workers`` how many are judged at
    once.

    Raises ModelError when ``generate`` raises three times in a row or returns what is no text (with ``run`` what came
    is kept), Interrupted when the user stops it, UsageError and DataError for what cannot be asked, and what ``judge``
    raises.
    """
    if n < 1 or batch < 0 or (concurrency is not None and concurrency < 1):
        raise UsageError(f"n={n}, batch={batch}, concurrency={concurrency}: n and concurrency are at least 1, batch 0")
    chosen = benchmark if isinstance(benchmark, Benchmark) else resolve.load(str(benchmark), config.cache_dir())
    style = prompts.style(prompt)
    made = prompts.prompts(choose_problems(chosen, problems), style)
    decoding = Decoding(stop=tuple(stop))
    backend = Function(generate, many=batch > 0)
    workers_admitted, memory_bytes, _ = config.fit_to_machine(workers, None)
    is_async = inspect.iscoroutinefunction(generate) or inspect.iscoroutinefunction(getattr(generate, "__call__", None))  # noqa: B004 - an object may have an async call
    with nullcontext(str(run)) if run is not None else tempfile.TemporaryDirectory() as name:
        folder = Path(name) if run is not None else Path(name, "run")
        result = pipeline.run(
            Request(
                samples=folder,
                benchmark=chosen,
                run=folder,
                results=folder / "results.jsonl" if run is not None else None,
                limits=Limits(timeout_s=timeout_s, memory_bytes=memory_bytes),
                workers=workers_admitted,
                ks=tuple(ks),
                problems=problems,
                extract=extract,
            ),
            GenerationRequest(
                prompts=made,
                n=n,
                decoding=decoding,
                concurrency=concurrency or (_ASYNC_AT_ONCE if is_async else 1),
                per_request=batch or 1,
            ),
            SessionConfig(
                generation=Generation(
                    version=__version__,
                    benchmark=chosen.name,
                    benchmark_digest=chosen.digest,
                    model=f"function:{backend.identity['function']}",
                    identity=backend.identity,
                    prompt=style.name,
                    prompt_digest=prompts.digest(prompts.prompts(chosen.problems, style)),
                    decoding=decoding,
                ),
                n=n,
                settings={"batch": batch, "concurrency": concurrency, "extract": extract, "timeout_s": timeout_s},
            ),
            backend,
            watch,
        )
    if result.generated is not None and result.generated.ended_by:
        kept = f"; {result.generated.stored} texts are kept in {str(run)!r}" if run is not None else ""
        raise ModelError(result.generated.ended_by + kept)
    return result
