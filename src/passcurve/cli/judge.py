"""``passcurve judge``: judge a file of samples and estimate pass@k."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import msgspec
import typer

from passcurve import config
from passcurve.bench.profiles import reading_options
from passcurve.cli.options import (
    AsJson,
    BenchmarkName,
    FieldName,
    IdMapping,
    JudgingOptions,
    SampleFiles,
    ScoreOptions,
    Subset,
    Verbose,
)
from passcurve.cli.output import warn, write_json, write_lines
from passcurve.cli.request import check_options
from passcurve.cli.result import exit_code, result_lines, result_record, write_warnings
from passcurve.errors import DataError, UsageError
from passcurve.sandbox.forkserver_client import early_fork_server

if TYPE_CHECKING:
    from passcurve.bench.formats import ReadOptions
    from passcurve.judging.inputs import Input
    from passcurve.judging.run import Request, Result
    from passcurve.sandbox.forkserver_client import ForkServerClient
    from passcurve.types import Benchmark

_NAMED_PARTS = 5
_IDLE_S = 60.0


def judge(
    *,
    samples: SampleFiles,
    benchmark: BenchmarkName = None,
    score: ScoreOptions,
    judging: JudgingOptions,
    subset: Subset = False,
    strict: Annotated[bool, typer.Option(help="Stop at the first line that is not a row.")] = False,
    extract: Annotated[
        str, typer.Option(help="How texts become programs: raw (as they stand; the default), auto, or another policy.")
    ] = "",
    field: FieldName = None,
    id_map: IdMapping = None,
    run: Annotated[Optional[Path], typer.Option(help="Run directory; default: SAMPLES.passcurve.")] = None,
    results: Annotated[
        Optional[Path], typer.Option(help="Where the rows with verdicts go; default: SAMPLES_results.jsonl.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Judge the rows of a growing file as they come.")] = False,
    idle: Annotated[
        Optional[float], typer.Option(min=0.1, help="Seconds without growth that end --follow of a file; default: 60.")
    ] = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Judge a file of samples: verdicts, and pass@k with its interval.

    The same command resumes an interrupted run.
    """
    setup = check_options(score, judging)
    idle_s = _check_idle(idle, follow=follow)
    with early_fork_server(judging.python) as fork_server:
        rules = reading_options(judging.profile, judging.task, judging.language)
        source = _open_source(
            samples,
            lambda: _load(benchmark, rules),
            (field, id_map),
            (run, results, judging.problems),
            idle_s,
        )
        problems = source.benchmark(benchmark, config.cache_dir(), rules)
        if setup.note:
            warn(setup.note)
        request = setup.request(
            samples=source.samples, benchmark=problems, run=source.run, results=source.results, extract=extract
        )
        request = msgspec.structs.replace(
            request, subset=subset, strict=strict, reading=source.reading, sources=source.sources
        )
        if idle_s is not None:
            ended = source.spool.ended if source.spool is not None else None
            request = msgspec.structs.replace(request, follow_s=idle_s, ended=ended)
        result = _judge_with_display(request, source, fork_server)
    source.check()
    write_warnings(result, str(source.samples))
    if as_json:
        write_json(result_record(result))
    else:
        write_lines(result_lines(result, verbose=verbose))
    raise typer.Exit(exit_code(result, setup.gates))


def _check_idle(idle: float | None, *, follow: bool) -> float | None:
    """Return the seconds without growth after which a file is whole; None where it is not followed."""
    if idle is not None and not follow:
        raise UsageError("--idle says when --follow ends: add --follow, or leave it out")
    return (idle or _IDLE_S) if follow else None


def _load(benchmark: str | None, rules: ReadOptions) -> Benchmark | None:
    from passcurve.bench import resolve

    return resolve.load(benchmark, config.cache_dir(), rules) if benchmark is not None else None


def _open_source(
    samples: list[str],
    benchmark: Callable[[], Benchmark | None],
    reading: tuple[str | None, str | None],
    places: tuple[Path | None, Path | None, str],
    idle: float | None,
) -> Input:
    """Return the samples, all of them or, where they are followed, their first row.

    ``places`` are ``--run``, ``--results`` and ``--problems``, which decide where verdicts and results go.
    """
    # The judging loads slowly: a wrong option is reported without it.
    from passcurve.judging import inputs
    from passcurve.store.foreign import parse_options

    options = parse_options(*reading)
    run, results, pattern = places
    if samples == ["-"]:
        if sys.stdin is None:
            raise UsageError("standard input is closed: there is nothing to read as `-`")
        source = inputs.from_stream(
            sys.stdin.buffer,
            run,
            results,
            options=options,
            benchmark=benchmark,
            follow=idle is not None,
            pattern=pattern,
        )
    else:
        samples = _without_own(samples)
        source = inputs.from_files(
            samples,
            run,
            results,
            options=options,
            benchmark=benchmark,
            idle_s=idle,
            pattern=pattern,
        )
        if len(source.sources) > 1:
            # Those of several models are not one set: let the user see them.
            names = [Path(name).name for name in source.sources]
            more = ", ..." if len(names) > _NAMED_PARTS else ""
            warn(f"{len(names)} files are one set of samples: {', '.join(names[:_NAMED_PARTS])}{more}")
    for note in source.notes:
        warn(f"note: {note}")
    if idle is not None:
        source.wait_for_row(idle)
    return source


def _without_own(samples: list[str]) -> list[str]:
    """Leave out what an earlier judging has written, which a pattern of the shell matches too."""
    from passcurve.store.foreign.folder import is_ours

    others = [name for name in samples if not is_ours(Path(name).name)]
    if not others or len(others) == len(samples):
        return samples
    warn(f"left out {len(samples) - len(others)} of {len(samples)} files, which passcurve has written beside samples")
    return others


def _judge_with_display(request: Request, source: Input, fork_server: ForkServerClient | None) -> Result:
    from passcurve.analysis.inspect import estimate_row_count
    from passcurve.judging.run import judge as judge_samples
    from passcurve.report.live import Display

    follows = request.follow_s is not None
    try:
        with Display(lambda: None if follows else estimate_row_count(request.samples)) as display:
            return judge_samples(request, display.show_progress, fork_server)
    except DataError:
        # What is wrong with a row says more than what a file without it lacks.
        source.check()
        raise
