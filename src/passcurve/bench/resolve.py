"""Benchmarks by name or path: built in, in a file, fetched, or in an installed package."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

import msgspec

from passcurve.bench.catalog import BuiltIn, Carrier, Catalog, Entry, Published, load_catalog, unknown_benchmark
from passcurve.bench.formats import (
    DEFAULT_OPTIONS,
    ReadOptions,
    digest_problems,
    parse_problems,
    read_file,
    read_problems,
)
from passcurve.errors import DataError, UnknownNameError, nearest
from passcurve.types import Benchmark, Header, Problem

_MAX_IDS = 3


class BenchmarkInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``bench list``."""

    name: str
    title: str
    problems: int
    licence: str
    where: str
    """``built-in``, the path of the copy, or ``not fetched``."""
    how: str
    """The way to use it, to get it, or to repair it."""


class _Copy(msgspec.Struct, frozen=True, kw_only=True):
    """A copy of a published benchmark, and the way to repair it."""

    path: Path
    repair: str


def benchmark_names() -> tuple[str, ...]:
    """Return the names of the benchmarks that ``load`` accepts."""
    return tuple(load_catalog())


def load(
    name: str, cache_dir: Path, options: ReadOptions = DEFAULT_OPTIONS, *, catalog: Catalog | None = None
) -> Benchmark:
    """Return the benchmark of a name or a path; ``catalog`` defaults to that of this package.

    ``options`` choose among the tasks of a file, and the harness whose rules are followed.

    Raises UnknownNameError for an unknown name, and DataError when the benchmark is not on this machine (the message
    says how to get it), when a copy has a wrong checksum, or when a file has another format.
    """
    entries = load_catalog() if catalog is None else catalog
    entry = entries.get(name)
    if isinstance(entry, BuiltIn):
        return _load_built_in(name, entry, options)
    if _is_file_name(name, entries):
        return _load_file(Path(name), entries, options)
    if entry is None:
        raise unknown_benchmark(name, entries)
    return _load_published(name, entry, cache_dir, options)


def reload(header: Header, cache_dir: Path) -> Benchmark:
    """Return the benchmark that a run was judged with, from its file or by its name.

    Raises DataError when its problems have changed since, and what ``load`` raises.
    """
    source = Path(header.benchmark_source)
    name = str(source) if header.benchmark_source and source.is_file() else header.benchmark
    benchmark = load(name, cache_dir, ReadOptions(profile=header.profile, task=header.task))
    if benchmark.digest != header.benchmark_digest:
        raise DataError(
            f"the benchmark {name!r} is not the one that the run was judged with: its problems have changed"
        )
    return benchmark


def describe_benchmarks(cache_dir: Path, *, catalog: Catalog | None = None) -> tuple[BenchmarkInfo, ...]:
    """Return the lines of ``bench list``; ``how`` describes a damaged copy."""
    entries = load_catalog() if catalog is None else catalog
    return tuple(_describe_entry(name, entry, cache_dir) for name, entry in entries.items())


def find_examples(name: str) -> Path | None:
    """Return the samples file of a name like ``starter:examples``; None for any other name.

    Raises UnknownNameError when the built-in benchmark has no such file.
    """
    entries = load_catalog().items()
    built_in = {f"{label}:examples": entry for label, entry in entries if isinstance(entry, BuiltIn)}
    if name in built_in:
        return Path(str(resources.files(__package__) / built_in[name].examples_file))
    if f"{name.partition(':')[0]}:examples" in built_in and ":" in name:
        raise UnknownNameError(f"unknown samples {name!r}{nearest(name, built_in)} (known: {', '.join(built_in)})")
    return None


def find_by_ids(task_ids: Iterable[str], cache_dir: Path, *, catalog: Catalog | None = None) -> Benchmark:
    """Return the only benchmark on this machine that has any of these task ids.

    Raises DataError, with the ids and what to do, when there is none or more than one.
    """
    entries = load_catalog() if catalog is None else catalog
    ids = dict.fromkeys(task_ids)
    if not ids:
        raise DataError("the samples have no task ids to find their benchmark by: name it with --benchmark")
    unavailable: dict[str, DataError] = {}
    matching: list[Benchmark] = []
    for name, entry in entries.items():
        try:
            benchmark = _load_entry(name, entry, cache_dir)
        except DataError as error:
            unavailable[name] = error
            continue
        if any(problem.id in ids for problem in benchmark.problems):
            matching.append(benchmark)
    if len(matching) == 1:
        return matching[0]
    raise _ambiguous(tuple(ids), tuple(benchmark.name for benchmark in matching), unavailable, entries)


def _load_entry(name: str, entry: Entry, cache_dir: Path) -> Benchmark:
    return _load_built_in(name, entry) if isinstance(entry, BuiltIn) else _load_published(name, entry, cache_dir)


def _load_built_in(name: str, entry: BuiltIn, options: ReadOptions = DEFAULT_OPTIONS) -> Benchmark:
    file = resources.files(__package__) / entry.problems_file
    try:
        data = file.read_bytes()
    except OSError as error:
        raise DataError(
            f"{str(file)!r} is missing: the installation of passcurve is incomplete; install it again"
        ) from error
    return _benchmark(name, "built-in", parse_problems(data, str(file), None, options), options, entry.packages)


def _load_published(name: str, entry: Published, cache_dir: Path, options: ReadOptions = DEFAULT_OPTIONS) -> Benchmark:
    copy = _find_copy(name, entry, cache_dir)
    if copy is None:
        raise DataError(f"benchmark {name!r} is not on this machine: {_how_to_get(name, entry)}")
    source = str(copy.path)
    problems = parse_problems(_read_verified(name, entry, copy), source, None, options)
    return _benchmark(name, source, problems, options, entry.packages)


def _load_file(path: Path, entries: Catalog, options: ReadOptions) -> Benchmark:
    notes: list[str] = []
    problems = read_problems(path, notes, options)
    digest = digest_problems(problems)
    for name, entry in entries.items():
        # Go by the content of the file, not by its name.
        if isinstance(entry, Published) and entry.problems_digest == digest:
            return _benchmark(name, str(path), problems, options, entry.packages)
    name = path.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".json")
    return _benchmark(name, str(path), problems, options, _packages(problems), tuple(notes))


def _benchmark(
    name: str,
    source: str,
    problems: tuple[Problem, ...],
    options: ReadOptions,
    packages: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> Benchmark:
    return Benchmark(
        name=name,
        source=source,
        digest=digest_problems(problems),
        problems=problems,
        packages=packages,
        notes=notes,
        profile=options.profile,
        task=options.task,
    )


def _packages(problems: Iterable[Problem]) -> tuple[str, ...]:
    """Return the packages that some problems need, each by the name of its module."""
    return tuple(sorted({name.partition(".")[0] for problem in problems for name in problem.packages}))


def _is_file_name(name: str, entries: Catalog) -> bool:
    path = Path(name)
    if "/" in name or path.suffix:
        return True
    try:
        # A folder with the name of a benchmark must not hide that benchmark.
        return path.exists() if name not in entries else path.is_file()
    except OSError:
        return False


def _find_copy(name: str, entry: Published, cache_dir: Path) -> _Copy | None:
    cached = entry.cached(name, cache_dir)
    if cached.is_file():
        return _Copy(path=cached, repair=f"remove that file and run `passcurve bench fetch {name}`")
    for path in _package_paths(entry.carrier):
        if path.is_file():
            repair = (
                f"install {entry.carrier.distribution} again, or take the file as it is with --benchmark {str(path)!r}"
            )
            return _Copy(path=path, repair=repair)
    return None


def _package_paths(carrier: Carrier) -> tuple[Path, ...]:
    """Return the possible paths of the file in an installed package, without importing the package."""
    try:
        spec = importlib.util.find_spec(carrier.package)
    except (ImportError, ValueError):
        return ()
    folders = (spec.submodule_search_locations or ()) if spec is not None else ()
    return tuple((Path(folder) / path).resolve() for folder in folders for path in carrier.paths)


def _read_verified(name: str, entry: Published, copy: _Copy) -> bytes:
    data = read_file(copy.path)
    sha256 = hashlib.sha256(data).hexdigest()
    if sha256 != entry.sha256:
        raise DataError(
            f"{str(copy.path)!r} is not {name!r} as published: found sha256 {sha256[:12]}..., "
            f"expected {entry.sha256[:12]}...; {copy.repair}"
        )
    return data


def _describe_entry(name: str, entry: Entry, cache_dir: Path) -> BenchmarkInfo:
    where, how = "built-in", f"--benchmark {name}"
    if isinstance(entry, BuiltIn):
        problems = len(_load_built_in(name, entry).problems)
    else:
        problems = entry.problems
        copy = _find_copy(name, entry, cache_dir)
        if copy is None:
            where, how = "not fetched", _how_to_get(name, entry)
        else:
            where = str(copy.path)
            try:
                _read_verified(name, entry, copy)
            except DataError as error:
                how = str(error)
    return BenchmarkInfo(name=name, title=entry.title, problems=problems, licence=entry.licence, where=where, how=how)


def _how_to_get(name: str, entry: Published) -> str:
    return (
        f"run `passcurve bench fetch {name}`, or name its file with --benchmark FILE, "
        f"or run `pip install {entry.carrier.distribution}`"
    )


def _ambiguous(
    ids: tuple[str, ...], matching: tuple[str, ...], unavailable: dict[str, DataError], entries: Catalog
) -> DataError:
    shown = ", ".join(repr(task_id) for task_id in ids[:_MAX_IDS]) + (", ..." if len(ids) > _MAX_IDS else "")
    if matching:
        return DataError(
            f"the samples' task ids ({shown}) belong to more than one benchmark ({', '.join(matching)}): "
            "choose with --benchmark NAME"
        )
    for name, error in unavailable.items():
        entry = entries[name]
        if isinstance(entry, Published) and any(task_id.startswith(entry.id_prefix) for task_id in ids):
            return DataError(f"the samples' task ids ({shown}) look like those of {name!r}: {error}")
    listed = ", ".join(f"{name} (not available)" if name in unavailable else name for name in entries)
    return DataError(
        f"the samples' task ids ({shown}) belong to no known benchmark (known: {listed}): "
        "name its file with --benchmark FILE, or the benchmark with --benchmark NAME"
    )
