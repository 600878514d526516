"""``passcurve autopsy``: what a score owes to the way in which programs were taken out of texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Optional

import msgspec
import typer

from passcurve import config
from passcurve.bench import resolve
from passcurve.cli.output import handle_errors, terminal_width, warn, write_json, write_lines
from passcurve.errors import DataError, UsageError, nearest
from passcurve.types import Benchmark, Header, Limits

if TYPE_CHECKING:
    from passcurve.judging import run as pipeline
    from passcurve.report.live import Display

_WIDTH = 120
"""Columns, where there is no terminal."""


def autopsy(
    samples: Path = typer.Argument(..., help="A run directory, or samples: .jsonl or .jsonl.gz."),
    policies: str = typer.Option("", help="The policies to compare, comma-separated; the first is the base."),
    benchmark: Optional[str] = typer.Option(None, help="A known name or a file of problems; default: by the task ids."),
    k: str = typer.Option("1", "--k", help="Values of k, as in 1,10."),
    timeout: Optional[float] = typer.Option(None, min=0.01, help="Seconds for each sample; default: the run's, or 3."),
    workers: Optional[int] = typer.Option(None, min=1, help="Samples judged at once; default: one per core."),
    memory: Optional[str] = typer.Option(None, help="Memory of each sample, as in 4GiB; default: the run's, or that."),
    problems: Optional[str] = typer.Option(None, help="Only these problems: ids and wildcards, comma-separated."),
    subset: bool = typer.Option(False, help="Score the problems that have samples, and say so."),
    packages: str = typer.Option("", help="Installed packages that samples may import, comma-separated."),
    python: Optional[str] = typer.Option(None, help="Interpreter of the samples."),
    run: Optional[Path] = typer.Option(None, help="Folder to work in; default: SAMPLES.autopsy."),
    flips: int = typer.Option(5, min=0, help="How many problems to show with both programs."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Judge the same texts under several extraction policies, and show what flips.

    An interrupted autopsy goes on by the same command.
    """
    with handle_errors(as_json):
        from passcurve.analysis import autopsy as room
        from passcurve.judging import run as pipeline
        from passcurve.report.autopsy import autopsy_lines
        from passcurve.report.live import Display

        chosen = room.checked(config.parse_names(policies))
        header = room.settings(samples) if samples.is_dir() else None
        generated = header is not None and header.generation is not None
        source = samples if header is None or generated else Path(header.samples)
        if not generated and not source.is_file():
            _missing(source, header)
        if header is not None and header.extract not in chosen[:1] and not policies:
            # The run's own policy is what the others are held against.
            chosen = tuple(dict.fromkeys((header.extract, *chosen)))
        workers_admitted, memory_bytes, note = config.fit_to_machine(workers, _memory(memory, header))
        if note:
            warn(f"{note}")
        limits = header.limits if header is not None else Limits()
        request = pipeline.Request(
            samples=source,
            benchmark=_benchmark(source, benchmark, header),
            run=run or Path(f"{samples}.autopsy"),
            results=None,
            limits=msgspec.structs.replace(limits, memory_bytes=memory_bytes, timeout_s=timeout or limits.timeout_s),
            workers=workers_admitted,
            ks=config.parse_ks(k),
            ks_asked=True,
            verdict=header.verdict if header is not None else "auto",
            packages=config.parse_names(packages) or _packages(header),
            python=python,
            problems=problems if problems is not None else header.problems if header is not None else "",
            subset=subset or (header is not None and header.subset),
            seed=header.seed if header is not None else 0,
        )
        with Display(lambda: None) as display:
            found = room.examine(request, chosen, lambda at: _show(display, at))
        if found.malformed:
            warn(f"{found.malformed} lines are no rows (passcurve judge lists them)")
        if found.owed:
            warn(f"{found.owed} programs are owed: judging them failed; run the command again")
        if as_json:
            write_json(msgspec.to_builtins(found))
        else:
            write_lines([*autopsy_lines(found, flips, terminal_width() or _WIDTH), f"  signature: {found.signature}"])
        raise typer.Exit(found.exit_code)


def _show(display: Display, at: pipeline.Progress) -> None:
    display.show(at.judged, at.planned, at.passed, at.pass_at_1)


def _packages(header: Header | None) -> tuple[str, ...]:
    return tuple(each.partition("==")[0] for each in header.jail.packages) if header is not None else ()


def _memory(asked: str | None, header: Header | None) -> int | None:
    if asked:
        return config.parse_size(asked)
    return header.limits.memory_bytes if header is not None else None


def _missing(source: Path, header: Header | None) -> None:
    if header is not None:
        raise DataError(f"the samples of this run, {str(source)!r}, are no longer there: an autopsy needs their texts")
    if source.exists():
        raise UsageError(f"{str(source)!r} is no file of samples")
    near = [path.name for path in source.parent.iterdir()] if source.parent.is_dir() else []
    raise DataError(f"no file {str(source)!r}{nearest(source.name, near)}")


def _benchmark(source: Path, named: str | None, header: Header | None) -> Benchmark:
    cache = config.cache_dir()
    if named is not None:
        return resolve.load(named, cache)
    if header is None:
        from passcurve.store.samples import first_ids

        return resolve.find_by_ids(first_ids(source), cache)
    return resolve.reload(header, cache)
