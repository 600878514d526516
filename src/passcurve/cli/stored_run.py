"""Samples that may have been judged before: their file, their benchmark, and the settings of that run."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from passcurve import config
from passcurve.bench import resolve
from passcurve.bench.choose import choose_problems
from passcurve.bench.formats import ReadOptions
from passcurve.bench.profiles import find_profile
from passcurve.cli.output import warn
from passcurve.errors import DataError, PasscurveError, UsageError, nearest_file
from passcurve.store.foreign import is_usual
from passcurve.store.locate import find_run_dir, name_choice, samples_of
from passcurve.types import DEFAULT_TIMEOUT_S, Benchmark, Completion, Header, Limits

if TYPE_CHECKING:
    from passcurve.judging.run import Request


class Defaults(NamedTuple):
    """Settings where no option is given: those of the run, if there is one."""

    limits: Limits = Limits()
    memory_bytes: int | None = None
    verdict: Literal["auto", "referee", "shared"] = "auto"
    packages: tuple[str, ...] = ()
    problems: str = ""
    subset: bool = False
    seed: int = 0


def defaults_of(header: Header | None, benchmark: Benchmark) -> Defaults:
    """Return the settings of a run, or the usual ones.

    ``benchmark`` is as the run read it.  A time limit that it sets for all problems is not a setting of the run:
    another profile may set another.
    """
    if header is None:
        return Defaults()
    is_same = benchmark.digest == header.benchmark_digest
    problems = choose_problems(benchmark, header.problems) if is_same else benchmark.problems
    limits = header.limits
    if {problem.timeout_s for problem in problems} == {limits.timeout_s}:
        limits = msgspec.structs.replace(limits, timeout_s=DEFAULT_TIMEOUT_S)
    return Defaults(
        limits=limits,
        memory_bytes=header.limits.memory_bytes,
        verdict=header.verdict,
        packages=tuple(package.partition("==")[0] for package in header.jail.packages),
        problems=header.problems,
        subset=header.subset,
        seed=header.seed,
    )


def find_samples(samples: Path, header: Header | None) -> Path:
    """Return the file of samples, shipped ones too, or the directory of a run that generated its samples.

    Raises UsageError and DataError where there is none.
    """
    if header is not None and header.generation is not None:
        return samples
    if header is None:
        source = resolve.find_examples(str(samples)) or samples
    else:
        source = samples_of(header.samples, find_run_dir(samples))
    if source.is_file():
        if not is_usual(source, follow=False):
            raise UsageError(f"{str(source)!r} has no rows in JSON lines: judge it first, then name its run directory")
        return source
    if header is not None:
        raise DataError(f"the samples of this run, {str(source)!r}, are gone: an autopsy needs their texts")
    if source.exists():
        raise UsageError(f"{str(source)!r} is not a file of samples")

    raise DataError(f"no file {str(source)!r}{nearest_file(source)}")


def folder_beside(samples: Path, problems: str, kind: str) -> Path:
    """Return the folder in which a command of this kind works where none is named."""
    from passcurve.judging.inputs import place_name

    return Path(f"{name_choice(place_name(str(samples)), problems)}.{kind}")


def require_code(source: Path, header: Header | None, benchmark: Benchmark) -> None:
    """Raise UsageError for a file that was not judged and no row of which has code where it is read."""
    if header is not None:
        return
    from passcurve.store.samples import NO_CODE_FIELD, read_rows

    ids = [problem.id for problem in benchmark.problems]
    rows = (row for row in read_rows(source, ids) if isinstance(row, Completion))
    first = next(rows, None)
    if first is not None and all(row.missing == NO_CODE_FIELD for row in chain((first,), rows)):
        raise UsageError(
            f"no row of {str(source)!r} has `completion` or `solution`: judge it first, then name its run directory"
        )


def find_benchmark(source: Path, name: str | None, header: Header | None, options: ReadOptions) -> Benchmark:
    """Return the benchmark of a name, of a run, of the run beside a file, or of the task ids.

    The language is that of the run, and so is the task where ``options`` have none.  Raises what ``resolve.load``
    raises.
    """
    cache = config.cache_dir()
    run = header or (_header_beside(source) if name is None else None)
    if run is not None:
        options = msgspec.structs.replace(options, task=options.task or run.task, language=run.language)
    if name is None and header is not None:
        benchmark = resolve.reload(header, cache)
        stored = ReadOptions(profile=header.profile, task=header.task, language=header.language)
        return benchmark if options == stored else resolve.load(_name_of(header), cache, options)
    if name is None:
        from passcurve.store.samples import first_ids

        if run is None:
            return resolve.find_by_ids(first_ids(source), cache, options)
        name = _name_of(run)
    return resolve.load(name, cache, options)


def request_by(common: Request, profile: str, benchmark: Benchmark, own: str = "") -> Request:
    """Return the request to judge problems by the rules of a profile, whose time limit the profile ``own`` has not."""
    timeout_s = (None if profile == own else find_profile(profile).timeout_s) or common.limits.timeout_s
    limits = msgspec.structs.replace(common.limits, timeout_s=timeout_s)
    return msgspec.structs.replace(common, benchmark=benchmark, limits=limits)


def make_folder(folder: Path) -> None:
    """Make the folder to work in, unless it is there; raise UsageError where it cannot be made."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {str(folder)!r}: {error.strerror}; name another with --run") from None


def _header_beside(source: Path) -> Header | None:
    """Return the header of the run of a file; None where it was not judged, or its benchmark's file is gone."""
    from passcurve.store.rundir import RunDir

    folder = find_run_dir(source)
    if source.is_dir() or not folder.is_dir():
        return None
    try:
        header = RunDir(folder).newest_attempt().header
    except PasscurveError:
        return None
    return header if resolve.find_source(header) is not None else None


def _name_of(header: Header) -> str:
    return str(resolve.find_source(header) or header.benchmark)


def leave_record(folder: Path, name: str, record: dict[str, Any]) -> None:
    """Leave what was found in its folder, where ``report`` looks for it."""
    from passcurve.store.whole_files import write_whole

    try:
        write_whole(folder / f"{name}.json", msgspec.json.encode(record))
    except (OSError, UnicodeEncodeError) as error:
        warn(f"{str(folder)!r} has no {name}.json for a report: {error}")
