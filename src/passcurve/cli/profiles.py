"""``passcurve profiles``: judge the same samples by the rules of several harnesses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import msgspec
import typer

from passcurve import config
from passcurve.bench.profiles import NATIVE, PROFILES, find_rules, fitting_profiles, reading_options
from passcurve.cli.options import (
    AcceptBenchmark,
    AsJson,
    BenchmarkName,
    Packages,
    Problems,
    Stale,
    Subset,
    Task,
    Workers,
)
from passcurve.cli.output import warn, write_json, write_lines
from passcurve.cli.stored_run import (
    defaults_of,
    find_benchmark,
    find_samples,
    folder_beside,
    leave_record,
    make_folder,
    request_by,
    require_code,
)
from passcurve.store.locate import find_run_dir
from passcurve.types.amounts import amount

if TYPE_CHECKING:
    from passcurve.analysis.profiles import ProfileComparison
    from passcurve.bench.formats.rows import ReadOptions
    from passcurve.judging.run import Progress, Request
    from passcurve.types import Benchmark

GENERATED = "samples.jsonl"
"""The file of samples in the folder to work in, where a run generated them."""


def profiles(
    *,
    samples: Annotated[
        Optional[Path],
        typer.Argument(help="A run directory, or samples: .jsonl(.gz), starter:examples; none: list the profiles."),
    ] = None,
    profile: Annotated[str, typer.Option("--profiles", help="The profiles to compare, comma-separated.")] = "",
    benchmark: BenchmarkName = None,
    k: Annotated[str, typer.Option("--k", "-k", help="Values of k, as in 1,10.")] = "1",
    task: Task = "",
    problems: Problems = "",
    subset: Subset = False,
    packages: Packages = "",
    workers: Workers = None,
    run: Annotated[Optional[Path], typer.Option(help="Folder to work in; default: SAMPLES.profiles.")] = None,
    shown: Annotated[int, typer.Option("--shown", min=0, help="Disagreements to show.")] = 20,
    stale: Stale = False,
    accept_benchmark: AcceptBenchmark = False,
    as_json: AsJson = False,
) -> None:
    """Judge the same samples by the rules of several harnesses, and show each disagreement with its reason.

    The same command resumes an interrupted one.
    """
    if samples is None:
        _list_profiles(as_json=as_json)
        return
    from passcurve.analysis.autopsy import read_header
    from passcurve.analysis.profiles import check_profiles, compare_profiles
    from passcurve.judging.run import Request

    header = read_header(find_run_dir(samples), stale=stale) if samples.is_dir() else None
    source = find_samples(samples, header)
    base = find_benchmark(source, benchmark, header, reading_options(header.profile if header else NATIVE, task))
    require_code(source, header, base)
    defaults = defaults_of(header, base)
    names = check_profiles(config.parse_names(profile) or fitting_profiles(base.problems))
    admitted = config.fit_to_machine(workers, defaults.memory_bytes)
    common = Request(
        samples=source,
        benchmark=base,
        run=run or folder_beside(samples, problems, "profiles"),
        results=None,
        limits=msgspec.structs.replace(defaults.limits, memory_bytes=admitted.memory_bytes),
        workers=admitted.workers,
        ks=config.parse_ks(k),
        ks_requested=True,
        verdict=defaults.verdict,
        packages=config.parse_names(packages) or defaults.packages,
        problems=problems or defaults.problems,
        subset=subset or defaults.subset,
        seed=defaults.seed,
        reading=header.reading if header is not None else (),
        accept_input=True,
        accept_benchmark=accept_benchmark,
        cache=config.cache_dir(),
    )
    request = partial(_request_by, _with_own_file(common), partial(find_benchmark, source, benchmark, header), task)
    compare = partial(compare_profiles, names, request, generation=None if header is None else header.generation)
    raise typer.Exit(_compare(compare, shown, common.run, as_json=as_json))


def _list_profiles(*, as_json: bool) -> None:
    if as_json:
        write_json({"profiles": [{"profile": name, "title": entry.title} for name, entry in PROFILES.items()]})
    else:
        write_lines(f"{name}: {entry.title}" for name, entry in PROFILES.items())


def _with_own_file(common: Request) -> Request:
    """Return the request for a file in its folder, which is made, where the samples are the directory of a run."""
    from passcurve.analysis.profiles import write_generated

    make_folder(common.run)
    if not common.samples.is_dir():
        return common
    write_generated(common.samples, common.run / GENERATED)
    return msgspec.structs.replace(common, samples=common.run / GENERATED)


def _compare(
    compare: Callable[[Callable[[Progress], None]], ProfileComparison], shown: int, folder: Path, *, as_json: bool
) -> int:
    """Judge under each profile, print what came of it, and return the exit code."""
    from passcurve.report.live import Display
    from passcurve.report.profiles import profile_lines

    with Display() as display:
        result = compare(display.show_progress)
    if result.malformed:
        warn(f"{amount(result.malformed, 'malformed line')} (passcurve judge says why)")
    leave_record(folder, "profiles", msgspec.to_builtins(result))
    if as_json:
        write_json(msgspec.to_builtins(result))
    else:
        write_lines(profile_lines(result.benchmark, result.scores, result.disagreements, shown))
    return result.exit_code


def _request_by(common: Request, find: Callable[[ReadOptions], Benchmark], task: str, name: str) -> Request:
    """Return the request to judge by the rules of a profile, whose benchmark ``find`` reads."""
    benchmark = find(reading_options(name, task))
    rules = find_rules(name, benchmark)
    return msgspec.structs.replace(
        request_by(common, name, benchmark), run=common.run / name, extract=rules.extract, prelude=rules.prelude
    )
