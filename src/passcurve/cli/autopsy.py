"""``passcurve autopsy``: judge the same texts under several extraction policies, preludes and profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import msgspec
import typer

from passcurve import config
from passcurve.bench.profiles import NATIVE, reading_options
from passcurve.cli.options import AcceptBenchmark, AsJson, BenchmarkName, Packages, Stale, Subset, Task, Workers
from passcurve.cli.output import terminal_width, warn, write_json, write_lines
from passcurve.cli.stored_run import (
    Defaults,
    defaults_of,
    find_benchmark,
    find_samples,
    folder_beside,
    leave_record,
    request_by,
    require_code,
)
from passcurve.store.locate import find_run_dir
from passcurve.types import LEAST_TIMEOUT_S, MOST_TIMEOUT_S, Benchmark, Header, Limits
from passcurve.types.amounts import amount, are

if TYPE_CHECKING:
    from passcurve.analysis.variants import Variant
    from passcurve.judging.run import Request
    from passcurve.report.records import Autopsy

_WIDTH = 120
"""Width of the report in columns without a terminal."""


class AutopsyOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options that replace settings of the run."""

    timeout: Annotated[
        Optional[float],
        typer.Option(
            min=LEAST_TIMEOUT_S, max=MOST_TIMEOUT_S, help="Seconds for each sample; default: the run's, or 3."
        ),
    ] = None
    workers: Workers = None
    memory: Annotated[
        Optional[str], typer.Option(help="Memory of each sample, as in 4GiB; default: the run's, or that.")
    ] = None
    problems: Annotated[
        Optional[str], typer.Option(help="Only these problems, as in 1-5,'2?'; default: the run's.")
    ] = None
    subset: Subset = False
    accept_benchmark: AcceptBenchmark = False
    packages: Packages = ""
    python: Annotated[Optional[str], typer.Option(help="Interpreter of the samples.")] = None


def autopsy(
    *,
    samples: Annotated[Path, typer.Argument(help="A run directory, or samples: .jsonl, .jsonl.gz, starter:examples.")],
    policies: Annotated[str, typer.Option(help="Extraction policies, comma-separated; the first is the base.")] = "",
    preludes: Annotated[
        str, typer.Option(help="Imports that harnesses put in front, as in none,humaneval-x; default: the run's.")
    ] = "",
    profiles: Annotated[
        str,
        typer.Option(help="Profiles whose rules judge, as in native,evalplus, or all that fit; default: the run's."),
    ] = "",
    benchmark: BenchmarkName = None,
    task: Task = "",
    k: Annotated[str, typer.Option("--k", "-k", help="Values of k, as in 1,10.")] = "1",
    options: AutopsyOptions,
    run: Annotated[Optional[Path], typer.Option(help="Folder to work in; default: SAMPLES.autopsy.")] = None,
    flips: Annotated[
        int, typer.Option(min=0, help="How many problems to show with both programs, of each pattern first.")
    ] = 5,
    stale: Stale = False,
    as_json: AsJson = False,
) -> None:
    """Judge the same texts under several extraction policies, preludes and profiles, and show what flips.

    The same command resumes an interrupted autopsy.
    """
    from passcurve.analysis import variants
    from passcurve.analysis.autopsy import read_header

    extractions, imports, chosen = (config.parse_names(names) for names in (policies, preludes, profiles))
    variants.check_names(extractions, imports, chosen)
    if not chosen:
        variants.choose_variants(extractions, imports, [NATIVE])
    header = read_header(find_run_dir(samples), stale=stale) if samples.is_dir() else None
    source = find_samples(samples, header)
    own = header.profile if header is not None else NATIVE
    base = find_benchmark(source, benchmark, header, reading_options(own, task))
    require_code(source, header, base)
    limits, workers = _fit_to_machine(options, defaults_of(header, base))
    harnesses = variants.choose_profiles(chosen, header, base)
    common = _base_request(samples, source, base, header, options)
    common = msgspec.structs.replace(
        common, limits=limits, workers=workers, ks=config.parse_ks(k), run=run or common.run
    )

    def request(name: str) -> Request:
        problems = base if name == own else find_benchmark(source, benchmark, header, reading_options(name, task))
        return request_by(common, name, problems, name if options.timeout else own)

    requests = {name: request(name) for name in harnesses}
    chosen_variants = variants.choose_variants(extractions, imports, harnesses, header, base)
    result = _examine_with_display(requests, chosen_variants)
    _write_autopsy(result, flips, as_json)
    raise typer.Exit(result.exit_code)


def _base_request(
    samples: Path, source: Path, benchmark: Benchmark, header: Header | None, options: AutopsyOptions
) -> Request:
    """Return the request to judge by the rules of the run, with one worker and usual limits."""
    from passcurve.judging.run import Request

    defaults = defaults_of(header, benchmark)
    return Request(
        samples=source,
        benchmark=benchmark,
        run=folder_beside(samples, options.problems or "", "autopsy"),
        results=None,
        limits=defaults.limits,
        workers=1,
        ks=(1,),
        ks_requested=True,
        verdict=defaults.verdict,
        packages=config.parse_names(options.packages) or defaults.packages,
        python=options.python,
        problems=defaults.problems if options.problems is None else options.problems,
        subset=options.subset or defaults.subset,
        seed=defaults.seed,
        reading=header.reading if header is not None else (),
        accept_benchmark=options.accept_benchmark,
        cache=config.cache_dir(),
    )


def _fit_to_machine(options: AutopsyOptions, defaults: Defaults) -> tuple[Limits, int]:
    """Return the limits and the number of workers that the machine can give."""
    memory = config.parse_size(options.memory) if options.memory else defaults.memory_bytes
    workers, memory_bytes, note = config.fit_to_machine(options.workers, memory)
    if note:
        warn(note)
    timeout_s = options.timeout or defaults.limits.timeout_s
    return msgspec.structs.replace(defaults.limits, memory_bytes=memory_bytes, timeout_s=timeout_s), workers


def _examine_with_display(requests: Mapping[str, Request], variants: Sequence[Variant]) -> Autopsy:
    from passcurve.analysis.autopsy import run_autopsy
    from passcurve.report.live import Display

    with Display() as display:
        return run_autopsy(requests, variants, display.show_progress)


def _write_autopsy(result: Autopsy, flips: int, as_json: bool) -> None:
    from passcurve.report.autopsy import autopsy_lines
    from passcurve.report.diagnosis import diagnosis_lines, diagnosis_record

    if result.malformed:
        warn(f"{amount(result.malformed, 'malformed line')} (passcurve judge says why)")
    if result.owed:
        warn(f"{amount(result.owed, 'program')} {are(result.owed)} owed: judging them failed; run the command again")
    for line in diagnosis_lines(result.diagnosis):
        warn(line)
    record = msgspec.to_builtins(result)
    del record["diagnosis"]
    record |= diagnosis_record(result.diagnosis)
    leave_record(Path(result.folder), "autopsy", record)
    if as_json:
        write_json(record)
    else:
        write_lines([*autopsy_lines(result, flips, terminal_width() or _WIDTH), f"  signature: {result.signature}"])
