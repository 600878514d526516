"""``passcurve judge``: judge a file of samples and estimate pass@k."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import msgspec
import typer

from passcurve import config
from passcurve.cli.options import AsJson, BenchmarkName, JudgingOptions, ScoreOptions, Subset, Verbose
from passcurve.cli.output import warn, write_json, write_lines
from passcurve.cli.request import check_options
from passcurve.cli.result import exit_code, result_lines, result_record, write_warnings

if TYPE_CHECKING:
    from passcurve.judging.run import Request, Result


def judge(
    *,
    samples: Annotated[str, typer.Argument(help="Samples: .jsonl, .jsonl.gz, - for stdin, or starter:examples.")],
    benchmark: BenchmarkName = None,
    score: ScoreOptions,
    judging: JudgingOptions,
    subset: Subset = False,
    strict: Annotated[bool, typer.Option(help="Stop at the first line that is not a row.")] = False,
    extract: Annotated[
        str, typer.Option(help="How texts become programs: raw (as they stand), auto, or another policy.")
    ] = "raw",
    run: Annotated[Optional[Path], typer.Option(help="Run directory; default: SAMPLES.passcurve.")] = None,
    results: Annotated[
        Optional[Path], typer.Option(help="Where the rows with verdicts go; default: SAMPLES_results.jsonl.")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Judge the rows of a file that still grows, as they come.")
    ] = False,
    idle: Annotated[
        float, typer.Option(min=0.1, help="Seconds without growth after which --follow of a file ends.")
    ] = 60.0,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Judge a file of samples: verdicts, and pass@k with its interval.

    The same command resumes an interrupted run.
    """
    setup = check_options(score, judging)
    # The pipeline loads slowly: a wrong option is reported without it.
    from passcurve.judging import inputs

    if samples == "-":
        source = inputs.from_stream(sys.stdin.buffer, run, results)
    else:
        source = inputs.from_file(samples, run, results)
    if follow:
        source.wait_for_row(idle)
    elif source.spool is not None:
        source.spool.wait()
        source.check()
    problems = source.benchmark(benchmark, config.cache_dir())
    if setup.note:
        warn(setup.note)
    request = setup.request(
        samples=source.samples, benchmark=problems, run=source.run, results=source.results, extract=extract
    )
    request = msgspec.structs.replace(request, subset=subset, strict=strict)
    if follow:
        ended = source.spool.ended if source.spool is not None else None
        request = msgspec.structs.replace(request, follow_s=idle, ended=ended)
    result = _judge_with_display(request)
    source.check()
    write_warnings(result, str(source.samples))
    if as_json:
        write_json(result_record(result))
    else:
        write_lines(result_lines(result, verbose=verbose))
    raise typer.Exit(exit_code(result, setup.gates))


def _judge_with_display(request: Request) -> Result:
    from passcurve.analysis.inspect import estimate_row_count
    from passcurve.judging import run as pipeline
    from passcurve.report.live import Display

    follows = request.follow_s is not None
    with Display(lambda: None if follows else estimate_row_count(request.samples)) as display:
        return pipeline.judge(request, display.show_progress)
