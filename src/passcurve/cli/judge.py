"""``passcurve judge``: a file of samples becomes verdicts and pass@k."""

from __future__ import annotations

import re
import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

import msgspec
import typer

from passcurve import config
from passcurve.bench import resolve
from passcurve.cli.output import say_all, say_json, tell, told, width
from passcurve.errors import DataError, UsageError, nearest
from passcurve.types import Benchmark, Limits, Metric

if TYPE_CHECKING:
    from collections.abc import Iterator


class VerdictMode(StrEnum):
    """Where the tests may run."""

    auto = "auto"
    referee = "referee"
    shared = "shared"


class Isolation(StrEnum):
    """How strong the walls must be."""

    auto = "auto"
    full = "full"
    restricted = "restricted"
    none = "none"


class Clock(StrEnum):
    """Which time counts against the limit."""

    own = "own"
    wall = "wall"


class Gate(msgspec.Struct, frozen=True):
    """One ``--fail-under``: pass@k must be at least this."""

    k: int
    least: float


def judge(
    samples: str = typer.Argument(..., help="Samples: .jsonl, .jsonl.gz, - for stdin, or starter:examples."),
    benchmark: Optional[str] = typer.Option(None, help="A known name or a file of problems; default: by the task ids."),
    k: Optional[str] = typer.Option(None, "--k", help="Values of k, as in 1,10,100 (the default), or all."),
    metric: str = typer.Option("pass@k", help="What to report, as in pass@k,pass^k,g-pass@k:0.5,attempts."),
    timeout: float = typer.Option(3.0, min=0.01, help="Seconds of time for each sample."),
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
    run: Optional[Path] = typer.Option(None, help="Run directory; default: SAMPLES.passcurve."),
    results: Optional[Path] = typer.Option(
        None, help="Where the rows with verdicts go; default: SAMPLES_results.jsonl."
    ),
    fail_under: list[str] = typer.Option([], "--fail-under", help="Exit with 3 when below, as in pass@1=0.5."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Judge a file of samples: verdicts, and pass@k with its interval.

    An interrupted run goes on by the same command.
    """
    with told(as_json):
        every_k = k is not None and k.strip() == config.ALL_KS
        ks = config.DEFAULT_KS if k is None else () if every_k else config.parse_ks(k)
        gates = [_gate(text) for text in fail_under]
        metrics = config.parse_metrics(metric)
        if gates and Metric() not in metrics:
            metrics += (Metric(),)
        workers_admitted, memory_bytes, note = config.admit(workers, config.parse_size(memory) if memory else None)
        source, run_dir, results_file = _places(samples, run, results)
        chosen = _benchmark(samples, benchmark, source)
        if note:
            tell(f"passcurve: {note}")
        # Loaded now: what a wrong command line says should not wait for it.
        from passcurve import evidence, pipeline
        from passcurve.report.live import Display

        request = pipeline.Request(
            samples=source,
            benchmark=chosen,
            run=run_dir,
            results=results_file,
            limits=Limits(timeout_s=timeout, clock=clock.value, memory_bytes=memory_bytes),
            workers=workers_admitted,
            ks=tuple(dict.fromkeys([*ks, *(gate.k for gate in gates)])),
            ks_asked=k is not None and not every_k,
            every_k=every_k,
            metrics=metrics,
            verdict=verdict.value,
            isolation=isolation.value,
            packages=tuple(filter(None, re.split(r"[\s,]+", packages))),
            python=python,
            problems=problems,
            subset=subset,
            strict=strict,
            dedup=dedup,
            extract=extract,
        )
        with Display(lambda: evidence.about_rows(source)) as display:
            result = pipeline.judge(request, lambda at: display.show(at.judged, at.planned, at.passed, at.pass_at_1))
        _warn(result, str(source))
        code = result.exit_code or (0 if all(_met(gate, result) for gate in gates) else 3)
        if as_json:
            say_json(_record(result))
        else:
            say_all(_lines(result))
        for gate in gates:
            if not _met(gate, result):
                tell(f"passcurve: pass@{gate.k} is not {gate.least:g} or more")
        raise typer.Exit(code)


def _gate(text: str) -> Gate:
    match = re.fullmatch(r"pass@([1-9][0-9]*)=(0?\.[0-9]+|0|1(?:\.0*)?)", text.strip())
    if match is None:
        raise UsageError(f"--fail-under {text!r} is no gate; write it like pass@1=0.5")
    return Gate(int(match[1]), float(match[2]))


def _met(gate: Gate, result: Any) -> bool:
    value = next((each.value for each in result.estimates if each.name == f"pass@{gate.k}"), None)
    return value is not None and value >= gate.least


def _places(samples: str, run: Path | None, results: Path | None) -> tuple[Path, Path, Path]:
    """Return the file of samples, the run directory and the results file."""
    if samples == "-":
        if run is None:
            raise UsageError("samples from stdin need --run DIR, so that an interrupted run can go on")
        spool = run.with_name(run.name + ".samples.jsonl")
        try:
            with spool.open("wb") as file:
                shutil.copyfileobj(sys.stdin.buffer, file)
        except OSError as error:
            raise UsageError(f"cannot keep the samples in {str(spool)!r}: {error.strerror or error}") from None
        return spool, run, results or Path(f"{spool}_results.jsonl")
    shipped = resolve.examples(samples) if not Path(samples).exists() else None
    if shipped is not None:
        base = samples.replace(":", "-")
        return shipped, run or Path(f"{base}.passcurve"), results or Path(f"{base}_results.jsonl")
    source = Path(samples)
    if not source.exists():
        near = [path.name for path in source.parent.iterdir()] if source.parent.is_dir() else []
        raise DataError(f"no file {samples!r}{nearest(source.name, near)}")
    return source, run or Path(f"{samples}.passcurve"), results or Path(f"{samples}_results.jsonl")


def _benchmark(samples: str, named: str | None, source: Path) -> Benchmark:
    cache = config.cache_dir()
    if named is not None:
        return resolve.load(named, cache)
    if samples.endswith(":examples") and resolve.examples(samples) is not None:
        return resolve.load(samples.partition(":")[0], cache)
    from passcurve.evidence import first_ids

    return resolve.find_by_ids(first_ids(source), cache)


def _warn(result: Any, samples: str) -> None:
    from passcurve.report import terminal

    for line in terminal.malformed_lines(
        [(bad.line, bad.reason) for bad in result.malformed], samples, result.malformed_lines
    ):
        tell(f"passcurve: {line}")
    for line in terminal.note_lines(result.notes):
        tell(f"passcurve: {line}")
    if result.jail.isolation != "full":
        tell(f"passcurve: isolation {result.jail.isolation}: {'; '.join(result.jail.missing)}")
    if not result.own_clock:
        tell("passcurve: a sample's own time cannot be measured here, so its wall time counts; verdicts depend on load")
    if result.owed:
        tell(
            f"passcurve: {result.owed} of {result.samples} samples are owed: judging them failed; run the command again"
        )


def _record(result: Any) -> dict[str, Any]:
    from passcurve.report import methods, scores

    modes = {name: count for name, count in result.modes.items() if name != "none"}
    return {
        **scores.score_record(result.estimates, result.curve),
        "methods": methods.judged(result.estimates, result.curve, result.counts, result.benchmark, result.header),
        "benchmark": result.benchmark,
        "problems": result.problems,
        "attempted": result.attempted,
        "samples": result.samples,
        "owed": result.owed,
        "malformed": result.malformed_lines,
        "malformed_lines": [{"line": bad.line, "reason": bad.reason} for bad in result.malformed[:100]],
        "suspicious": result.suspicious,
        "suspicions": result.suspicions,
        "statuses": result.statuses,
        "isolation": result.jail.isolation,
        "jail": msgspec.to_builtins(result.jail),
        "modes": modes,
        "notes": list(result.notes),
        "slowest_pass": msgspec.to_builtins(result.slowest),
        "resumed": result.resumed,
        "signature": result.signature,
        "run": result.run,
        "results": result.results,
    }


def _lines(result: Any) -> Iterator[str]:
    from passcurve.report import methods, scores, terminal

    attempted = (
        f"{result.attempted} of {result.problems}" if result.attempted < result.problems else str(result.problems)
    )
    samples = f"{result.samples:,} sample{'s' if result.samples != 1 else ''}"
    yield f"{result.benchmark}: {samples} of {attempted} problem{'s' if result.problems != 1 else ''}"
    yield from scores.score_lines(result.estimates, result.curve, width())
    yield f"  {terminal.status_line(result.statuses)}"
    modes = ", ".join(f"{count:,} {name}" for name, count in result.modes.items() if count and name != "none")
    yield f"  verdicts: {modes or 'none'}; {terminal.jail_line(result.jail)}"
    if result.slowest is not None:
        key = result.slowest.key
        yield f"  slowest pass: {result.slowest.own_s:.3f} s ({key.problem_id} sample {key.sample_index})"
    suspects = [(each.key, each.status, each.seen) for each in result.suspects]
    yield from terminal.suspicion_lines(result.suspicious, suspects)
    said = methods.judged(result.estimates, result.curve, result.counts, result.benchmark, result.header)
    if said:
        yield f"  for a paper: {said}"
    if result.results is not None:
        yield f"  results: {result.results}"
    yield f"  signature: {result.signature}"
