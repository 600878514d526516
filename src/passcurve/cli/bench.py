"""``passcurve bench``: which benchmarks there are, how to get one, and whether one can be trusted."""

from __future__ import annotations

from collections import Counter
from typing import Optional

import msgspec
import typer

from passcurve import config
from passcurve.bench import resolve
from passcurve.bench.fetch import fetch as fetch_file
from passcurve.cli.command import Commands
from passcurve.cli.output import handle_errors, write, write_json
from passcurve.types import DEFAULT_TIMEOUT_S, Limits

app = Commands(
    help="List, fetch and check benchmarks.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)


@app.command("list")
def list_all(as_json: bool = typer.Option(False, "--json", help="Print one JSON object.")) -> None:
    """List the benchmarks known by name, and where each would be read from."""
    with handle_errors(as_json):
        known = resolve.describe(config.cache_dir())
        if as_json:
            write_json({"benchmarks": [msgspec.to_builtins(each) for each in known]})
            return
        for each in known:
            write(f"{each.name:<12} {each.problems:>5} problems  {each.licence:<12} {each.where}")
            write(f"{'':<12} {each.title}; {each.how}")


@app.command()
def fetch(
    name: str = typer.Argument(..., help="A name from `passcurve bench list`."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Fetch a benchmark from its public address into the cache; its checksum must be right."""
    with handle_errors(as_json):
        path = fetch_file(name, config.cache_dir())
        if as_json:
            write_json({"name": name, "path": str(path)})
        else:
            write(f"{name}: {path}")


@app.command()
def check(
    name: str = typer.Argument(..., help="A known name or a file of problems."),
    timeout: float = typer.Option(DEFAULT_TIMEOUT_S, min=0.01, help="Seconds of own time for each reference solution."),
    workers: Optional[int] = typer.Option(None, min=1, help="Reference solutions judged at once."),
    python: Optional[str] = typer.Option(None, help="Interpreter of the samples."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """Run every reference solution: in which mode each problem is judged, and what is wrong with the benchmark."""
    with handle_errors(as_json):
        workers_admitted, memory_bytes, _ = config.fit_to_machine(workers, None)
        found = resolve.load(name, config.cache_dir())
        from passcurve.analysis import bench_check
        from passcurve.report.terminal import printable

        limits = Limits(timeout_s=timeout, memory_bytes=memory_bytes)
        checked = bench_check.check(found, limits, workers_admitted, python=python)
        faulty = sum(each.faulty for each in checked)
        modes = Counter(each.mode for each in checked if not each.faulty)
        if as_json:
            write_json(
                {
                    "benchmark": found.name,
                    "digest": found.digest,
                    "problems": len(checked),
                    "faulty": faulty,
                    "modes": dict(modes),
                    "checked": [msgspec.to_builtins(each) for each in checked],
                }
            )
        else:
            for each in checked:
                if each.note:
                    mark = "FAULT" if each.faulty else each.mode
                    write(printable(f"{each.problem_id}: {mark}: {each.note}".replace("\n", " ")))
            slowest = max(checked, key=lambda each: each.own_s)
            kinds = ", ".join(f"{count} in {mode} mode" for mode, count in sorted(modes.items())) or "none judged"
            write(f"{found.name}: {len(checked)} problems, {kinds}, {faulty} faulty")
            write(f"  slowest reference solution: {slowest.own_s:.3f} s of {timeout:g} s ({slowest.problem_id})")
            write(f"  digest: {found.digest}")
        raise typer.Exit(2 if faulty else 0)
