"""``passcurve bench``: list, fetch and check benchmarks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import msgspec
import typer

from passcurve import config
from passcurve.bench import resolve
from passcurve.bench.fetch import fetch as fetch_file
from passcurve.bench.fetch import take
from passcurve.bench.profiles import reading_options
from passcurve.cli.command import Commands
from passcurve.cli.options import AsJson, Language, Packages, Profile, Task
from passcurve.cli.output import write, write_json
from passcurve.errors import UsageError
from passcurve.types import DEFAULT_TIMEOUT_S, LEAST_TIMEOUT_S, MOST_TIMEOUT_S, Limits
from passcurve.types.amounts import amount

if TYPE_CHECKING:
    from passcurve.analysis.bench_check import CheckedProblem

app = Commands(
    help="List, fetch and check benchmarks.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)


@app.command("list")
def list_all(
    files: Annotated[
        Optional[list[Path]], typer.Argument(metavar="[FILE...]", help="Name these files instead, by their hashes.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the benchmarks known by name, and where each is read from; or name files."""
    if files:
        _name_files(files, as_json=as_json)
        return
    benchmarks = resolve.describe_benchmarks(config.cache_dir())
    if as_json:
        write_json({"benchmarks": msgspec.to_builtins(benchmarks)})
        return
    width = max(12, *(len(benchmark.name) for benchmark in benchmarks))
    for benchmark in benchmarks:
        write(f"{benchmark.name:<{width}} {benchmark.problems:>5} problems  {benchmark.licence:<12} {benchmark.where}")
        write(f"{'':<{width}} {benchmark.title}; {benchmark.how}")


def _name_files(files: Sequence[Path], *, as_json: bool) -> None:
    """Write the name of the published benchmark that each file is, with the hash by which EvalPlus names it."""
    named = [resolve.identify_file(file) for file in files]
    if as_json:
        write_json({"files": msgspec.to_builtins(named)})
        return
    for file in named:
        label = " ".join(filter(None, (file.name or "no known benchmark", file.version)))
        write(f"{file.path}: {label} (md5 {file.md5})")


@app.command()
def fetch(
    name: Annotated[
        Optional[str],
        typer.Argument(metavar="[NAME[@VERSION]]", help="A name from `passcurve bench list`; not needed with --from."),
    ] = None,
    source: Annotated[
        Optional[str],
        typer.Option("--from", metavar="SOURCE", help="Take it from this file, folder or address instead."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fetch a benchmark from its public address into the cache; its checksum must be right."""
    if source is not None and "://" not in source:
        fetched = take(Path(source), config.cache_dir(), name)
    elif name is None:
        raise UsageError("name the benchmark to fetch, from `passcurve bench list`, or a file or folder with --from")
    else:
        fetched = [(name, fetch_file(name, config.cache_dir(), url=source))]
    if as_json:
        records = [{"name": label, "path": str(path)} for label, path in fetched]
        write_json({**records[0], "fetched": records})
        return
    for label, path in fetched:
        write(f"{label}: {path}")


@app.command()
def check(
    name: Annotated[str, typer.Argument(help="A known name or a file of problems.")],
    timeout: Annotated[
        float,
        typer.Option(min=LEAST_TIMEOUT_S, max=MOST_TIMEOUT_S, help="Seconds of own time for each reference solution."),
    ] = DEFAULT_TIMEOUT_S,
    workers: Annotated[Optional[int], typer.Option(min=1, help="Reference solutions judged at once.")] = None,
    python: Annotated[Optional[str], typer.Option(help="Interpreter of the samples.")] = None,
    packages: Packages = "",
    profile: Profile = "native",
    task: Task = "",
    language: Language = "",
    as_json: AsJson = False,
) -> None:
    """Run every reference solution; show how each problem is judged and what is wrong with the benchmark."""
    workers_admitted, memory_bytes, _ = config.fit_to_machine(workers, None)
    benchmark = resolve.load(name, config.cache_dir(), reading_options(profile, task, language))
    from passcurve.analysis import bench_check

    limits = Limits(timeout_s=timeout, memory_bytes=memory_bytes)
    checked = bench_check.check_benchmark(
        benchmark, limits, workers_admitted, python=python, packages=config.parse_names(packages)
    )
    kinds = Counter(problem.kind for problem in checked if problem.kind is not None)
    faulty = kinds.total()
    modes = Counter(problem.mode for problem in checked if not problem.faulty)
    if as_json:
        write_json(
            {
                "benchmark": benchmark.name,
                "digest": benchmark.digest,
                "problems": len(checked),
                "faulty": faulty,
                "kinds": dict(kinds),
                "notes": benchmark.notes,
                "modes": dict(modes),
                "checked": msgspec.to_builtins(checked),
            }
        )
    else:
        for note in benchmark.notes:
            write(note)
        _write_notes(checked)
        ways = ", ".join(f"{count} in {mode} mode" for mode, count in sorted(modes.items())) or "none judged"
        faults = f" ({', '.join(f'{count} {kind}' for kind, count in kinds.most_common())})" if faulty else ""
        write(f"{benchmark.name}: {amount(len(checked), 'problem')}, {ways}, {faulty} faulty{faults}")
        if judged := [problem for problem in checked if problem.own_s]:
            slowest = max(judged, key=lambda problem: problem.own_s)
            problem = next(problem for problem in benchmark.problems if problem.id == slowest.problem_id)
            limit_s = problem.limit_s(timeout)
            write(f"  slowest reference solution: {slowest.own_s:.3f} s of {limit_s:g} s ({slowest.problem_id})")
        write(f"  digest: {benchmark.digest}")
    raise typer.Exit(2 if faulty else 0)


def _write_notes(checked: Sequence[CheckedProblem]) -> None:
    from passcurve.report.terminal import printable_line

    for problem in checked:
        if problem.note:
            mark = "FAULT" if problem.faulty else problem.mode
            write(printable_line(f"{problem.problem_id}: {mark}: {problem.note}"))
