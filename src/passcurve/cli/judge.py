"""``passcurve judge``: a file of samples becomes verdicts and pass@k."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Optional

import typer

from passcurve import config
from passcurve.bench import resolve
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
from passcurve.errors import DataError, UsageError, nearest
from passcurve.store.locate import default_run_dir
from passcurve.types import DEFAULT_TIMEOUT_S, Benchmark, Limits

if TYPE_CHECKING:
    from passcurve.generation.sources import Spool

_LOOK_S = 0.05
_HEAD_BYTES = 1 << 20


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
        source, run_dir, results_file = _places(samples, run, results)
        spool = _spool(source, follow=follow) if samples == "-" else None
        if follow:
            _wait_for_a_row(source, idle, spool)
        chosen = _benchmark(samples, benchmark, source)
        if note:
            warn(f"{note}")
        # Loaded now: what a wrong command line says should not wait for it.
        from passcurve.analysis import inspect
        from passcurve.judging import run as pipeline
        from passcurve.report.live import Display

        request = pipeline.Request(
            samples=source,
            benchmark=chosen,
            run=run_dir,
            results=results_file,
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
            ended=spool.ended if spool is not None and follow else None,
        )
        with Display(lambda: None if follow else inspect.about_rows(source)) as display:
            result = pipeline.judge(request, lambda at: display.show(at.judged, at.planned, at.passed, at.pass_at_1))
        if spool is not None:
            spool.check()
        write_warnings(result, str(source))
        if as_json:
            write_json(record(result))
        else:
            write_lines(lines(result))
        raise typer.Exit(exit_code(result, gates))


def _wait_for_a_row(source: Path, idle_s: float, spool: Spool | None) -> None:
    """Wait until a file has its first row, by whose task id the benchmark is known, or nothing more is to come."""
    until = time.monotonic() + idle_s
    while not _has_a_row(source) and not (spool.ended() if spool is not None else time.monotonic() >= until):
        time.sleep(_LOOK_S)


def _has_a_row(source: Path) -> bool:
    with source.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    return b"\n" in head or len(head) == _HEAD_BYTES


def _spool(path: Path, *, follow: bool) -> Spool:
    """Keep standard input in a file; without ``follow`` all of it is there when this returns."""
    from passcurve.generation.sources import Spool

    spool = Spool(sys.stdin.buffer, path)
    if not follow:
        spool.wait()
        spool.check()
    return spool


def _places(samples: str, run: Path | None, results: Path | None) -> tuple[Path, Path, Path]:
    """Return the file of samples, the run directory and the results file."""
    if samples == "-":
        if run is None:
            raise UsageError("samples from stdin need --run DIR, so that an interrupted run can go on")
        spool = run.with_name(run.name + ".samples.jsonl")
        return spool, run, results or Path(f"{spool}_results.jsonl")
    shipped = resolve.examples(samples) if not Path(samples).exists() else None
    if shipped is not None:
        base = samples.replace(":", "-")
        return shipped, run or default_run_dir(base), results or Path(f"{base}_results.jsonl")
    source = Path(samples)
    if not source.exists():
        near = [path.name for path in source.parent.iterdir()] if source.parent.is_dir() else []
        raise DataError(f"no file {samples!r}{nearest(source.name, near)}")
    return source, run or default_run_dir(samples), results or Path(f"{samples}_results.jsonl")


def _benchmark(samples: str, named: str | None, source: Path) -> Benchmark:
    cache = config.cache_dir()
    if named is not None:
        return resolve.load(named, cache)
    if samples.endswith(":examples") and resolve.examples(samples) is not None:
        return resolve.load(samples.partition(":")[0], cache)
    from passcurve.analysis.inspect import first_ids

    return resolve.find_by_ids(first_ids(source), cache)
