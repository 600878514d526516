"""``passcurve judge``: a file of samples becomes verdicts and pass@k."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Optional

import typer

from passcurve import config
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
from passcurve.types import DEFAULT_TIMEOUT_S, Limits


def judge(
    samples: str = typer.Argument(..., help="Samples: .jsonl, .jsonl.gz, - for stdin, or starter:examples."),
    benchmark: Optional[str] = typer.Option(None, help="A known name or a file of problems; default: by the task ids."),
    k: Optional[str] = typer.Option(None, "--k", help="Values of k, as in 1,10,100 (the default), or all."),
    metric: str = typer.Option("pass@k", help="What to report, as in pass@k,pass^k,g-pass@k:0.5,attempts."),
    timeout: float = typer.Option(DEFAULT_TIMEOUT_S, min=0.01, help="Seconds of time for each sample."),
    workers: Optional[int] = typer.Option(None, min=1, help="Samples judged at once; default: one per core."),
    memory: Optional[str] = typer.Option(None, help="Memory of each sample, as in 4GiB (the default)."),
    problems: str = typer.Option("", help="Only these problems: ids and wildcards, comma-separated."),
    subset: bool = typer.Option(False, help="Score the problems that have samples, and say so."),
    strict: bool = typer.Option(False, help="Stop at the first line that is no row."),
    clock: Clock = typer.Option(Clock.own, help="own: the sample's own time; wall: as classic harnesses count."),
    verdict: VerdictMode = typer.Option(
        VerdictMode.auto, help="Where tests run: apart (referee) or beside the sample."
    ),
    extract: str = typer.Option("raw", help="How texts become programs: raw (as they stand), auto, or another policy."),
    isolation: Isolation = typer.Option(Isolation.auto, help="Demand a level of isolation; none must be asked for."),
    packages: str = typer.Option("", help="Installed packages that samples may import, comma-separated."),
    python: Optional[str] = typer.Option(
        None, help="Interpreter of the samples; default: the one that runs passcurve."
    ),
    dedup: bool = typer.Option(True, "--dedup/--no-dedup", help="Run identical programs of a problem once."),
    reuse: Reuse = typer.Option(
        Reuse.auto, help="rewind: processes are put back after each sample; fork: each sample gets new ones."
    ),
    run: Optional[Path] = typer.Option(None, help="Run directory; default: SAMPLES.passcurve."),
    results: Optional[Path] = typer.Option(
        None, help="Where the rows with verdicts go; default: SAMPLES_results.jsonl."
    ),
    fail_under: list[str] = typer.Option([], "--fail-under", help="Exit with 3 when below, as in pass@1=0.5."),
    follow: bool = typer.Option(False, "--follow", help="Judge the rows of a file that still grows, as they come."),
    idle: float = typer.Option(60.0, min=0.1, help="Seconds without growth after which --follow of a file ends."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Judge a file of samples: verdicts, and pass@k with its interval.

    An interrupted run goes on by the same command.
    """
    with handle_errors(as_json):
        gates = [parse_gate(text) for text in fail_under]
        scores = config.parse_scores(k, metric, [gate.k for gate in gates])
        workers_admitted, memory_bytes, note = config.fit_to_machine(
            workers, config.parse_size(memory) if memory else None
        )
        # Loaded now: what a wrong option says should not wait for it.
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
        chosen = source.benchmark(benchmark, config.cache_dir())
        if note:
            warn(f"{note}")
        from passcurve.analysis import inspect
        from passcurve.judging import run as pipeline
        from passcurve.report.live import Display

        request = pipeline.Request(
            samples=source.samples,
            benchmark=chosen,
            run=source.run,
            results=source.results,
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
            subset=subset,
            strict=strict,
            dedup=dedup,
            reuse=reuse.value,
            extract=extract,
            follow_s=idle if follow else None,
            ended=source.spool.ended if source.spool is not None and follow else None,
        )
        with Display(lambda: None if follow else inspect.about_rows(source.samples)) as display:
            result = pipeline.judge(request, lambda at: display.show(at.judged, at.planned, at.passed, at.pass_at_1))
        source.check()
        write_warnings(result, str(source.samples))
        if as_json:
            write_json(record(result))
        else:
            write_lines(lines(result))
        raise typer.Exit(exit_code(result, gates))
