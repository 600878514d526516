"""``judge``: samples that a user has, in files or in memory."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Unpack, cast

from passcurve import config
from passcurve.analysis import notebook
from passcurve.analysis.notebook import Run
from passcurve.api.options import JudgingOptions, benchmark_of, check_options, make_request, watch_nothing
from passcurve.api.twins import check_cancelled
from passcurve.bench.profiles import reading_options
from passcurve.errors import DataError, UsageError
from passcurve.judging import inputs
from passcurve.judging import run as judging
from passcurve.judging.inputs import Row
from passcurve.judging.request import Progress
from passcurve.store.foreign import parse_options
from passcurve.types import Benchmark


def judge(
    samples: str | Path | Sequence[str | Path] | Iterable[Row],
    benchmark: str | Path | Benchmark | None = None,
    *,
    field: str | None = None,
    id_map: str | Path | Mapping[str, str] | None = None,
    subset: bool = False,
    strict: bool = False,
    run: str | Path | None = None,
    results: str | Path | None = None,
    watch: Callable[[Progress], None] | None = None,
    **options: Unpack[JudgingOptions],
) -> Run:
    """Judge samples, and estimate pass@k.

    ``samples`` is a file or a folder (docs/inputs.md has the formats), a list of files, or rows as dictionaries with
    ``task_id`` and ``completion`` or ``solution``: a list, or an iterator, whose rows are judged as they come.
    ``field`` and ``id_map`` (a pattern, a JSON file or a dictionary) are for rows with other fields or task ids.
    ``benchmark`` is a known name, a file, or a Benchmark; without it the task ids tell.  An interrupted call goes on
    when it is repeated, where the run directory stays: beside a file of samples, or at ``run``.

    ``options`` are those of ``passcurve judge``: k, level, timeout_s, test_timeout_s, clock, memory, workers, problems,
    extract, prelude, profile, task, language, verdict, isolation, reuse, packages, python, dedup, all_tests,
    accept_input and accept_benchmark.

    Raises UsageError and DataError for what cannot be judged, SandboxError and IsolationError where the samples cannot
    be isolated, StoreError where verdicts cannot be stored, Interrupted when the user stops it.
    """
    check_options("judge", options)
    _check_types(samples, benchmark)
    place = None if run is None else Path(run)
    written = None if results is None else Path(results)
    reading, cache = parse_options(field, id_map), config.cache_dir()
    named = functools.partial(_named_benchmark, benchmark, options)
    files = inputs.file_names(samples)
    if files is not None:
        pattern = options.get("problems", "")
        source = inputs.from_files(files, place, written, options=reading, benchmark=named, pattern=pattern)
    else:
        rows = cast("Iterable[Row]", samples)
        source = inputs.from_rows(rows, place, written, options=reading, benchmark=named)
    # After an interruption or an error nobody wants the rest of the rows.
    with contextlib.closing(source.spool) if source.spool is not None else contextlib.nullcontext():
        if files is None:
            source.wait_for_row(0.0, check_cancelled)
        chosen = named()
        if chosen is None:
            profile, task = options.get("profile", "native"), options.get("task", "")
            chosen = source.benchmark(None, cache, reading_options(profile, task, options.get("language", "")))
        request, notes = make_request(
            chosen,
            source.run,
            options,
            subset=subset,
            strict=strict,
            results=source.results,
            samples=source.samples,
            reading=source.reading,
            sources=source.sources,
            follow_s=None if source.spool is None else math.inf,
            ended=None if source.spool is None else source.spool.ended,
        )
        try:
            result = judging.judge(request, watch or watch_nothing)
        except DataError:
            # What is wrong with a row says more than what a file without it lacks.
            source.check()
            raise
        source.check()
    return notebook.of_result(result, [*source.notes, *notes], source.folder)


def _check_types(samples: object, benchmark: object) -> None:
    """Raise UsageError for what are neither samples nor a benchmark."""
    if isinstance(samples, Mapping) or not isinstance(samples, str | Path | Iterable):
        raise UsageError(
            "samples must be a file, a list of files, or rows as dicts with task_id and completion or solution, got "
            f"{type(samples).__name__}" + ("; put it in a list" if isinstance(samples, Mapping) else "")
        )
    if isinstance(samples, list | tuple) and not samples:
        raise DataError("there is no row to judge: the list of samples is empty")
    if not isinstance(benchmark, str | Path | Benchmark | None):
        raise UsageError(
            f"benchmark must be a known name, a file of problems or a Benchmark, got {type(benchmark).__name__}"
        )


def _named_benchmark(benchmark: str | Path | Benchmark | None, options: JudgingOptions) -> Benchmark | None:
    return None if benchmark is None else benchmark_of(benchmark, options)
