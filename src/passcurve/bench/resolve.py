"""Benchmarks by name or path: built in, in a file, fetched, or in an installed package."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

import msgspec

from passcurve.bench.catalog import (
    BuiltIn,
    Carrier,
    Catalog,
    Entry,
    Published,
    find_by_hashes,
    find_entry,
    load_catalog,
    recognise,
    split_task,
    unknown_benchmark,
)
from passcurve.bench.families import find_member
from passcurve.bench.formats import (
    DEFAULT_OPTIONS,
    ReadOptions,
    digest_problems,
    parse_problems,
    read_file,
    unpack,
)
from passcurve.bench.parsed_file import ParsedFile, parse_file
from passcurve.bench.writing import choose_language
from passcurve.errors import DataError, UnknownNameError, UsageError, nearest
from passcurve.types import Benchmark, Header, Problem
from passcurve.types.amounts import are, part_of

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


class NamedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file, and the published benchmark that it is."""

    path: str
    name: str
    """Empty where it is none that is known."""
    version: str
    md5: str
    """md5 of the unpacked file, by which EvalPlus names a version."""


class _Copy(msgspec.Struct, frozen=True, kw_only=True):
    """A copy of a published benchmark, and the way to repair it."""

    path: Path
    repair: str


def load(
    name: str, cache_dir: Path, options: ReadOptions = DEFAULT_OPTIONS, *, catalog: Catalog | None = None
) -> Benchmark:
    """Return the benchmark of a name or a path; ``catalog`` defaults to that of this package.

    ``options`` choose among the tasks of a file, and the harness whose rules are followed.

    Raises UnknownNameError for an unknown name, and DataError when the benchmark is not on this machine (the message
    says how to get it), when a copy has a wrong checksum, or when a file has another format.
    """
    entries = load_catalog() if catalog is None else catalog
    if options.language:
        name = find_member(name, options.language, entries)
    bare, task = split_task(name, entries)
    if task:
        if options.task not in ("", task):
            raise UsageError(f"--benchmark {name} and --task {options.task} exclude each other")
        name, options = bare, msgspec.structs.replace(options, task=task)
    entry = find_entry(name, entries)
    if entry is not None and isinstance(entry[1], BuiltIn):
        return _load_built_in(entry[0], entry[1], options)
    if _is_file_name(name, entries):
        return _load_file(Path(name), entries, options, cache_dir)
    if entry is None or isinstance(entry[1], BuiltIn):
        raise unknown_benchmark(name, entries)
    return _load_published(entry[0], entry[1], cache_dir, options)


def reload(header: Header, cache_dir: Path) -> Benchmark:
    """Return the benchmark that a run was judged with, from its file or by its name.

    Raises DataError when its problems have changed since, and what ``load`` raises.
    """
    source = find_source(header)
    if source is None and header.benchmark_source and find_entry(header.benchmark, load_catalog()) is None:
        raise DataError(
            f"{header.benchmark_source!r}, which the run was judged with, is gone: put it back, or judge the samples "
            "again"
        )
    name = str(source) if source is not None else header.benchmark
    benchmark = load(name, cache_dir, ReadOptions(profile=header.profile, task=header.task, language=header.language))
    if benchmark.digest != header.benchmark_digest:
        raise DataError(
            f"the benchmark {name!r} is not the one that the run was judged with: its problems have changed"
        )
    return benchmark


def find_source(header: Header) -> Path | None:
    """Return the file that a run was judged with, also where it has moved with the folder that one stands in."""
    if not header.benchmark_source:
        return None
    source = Path(header.benchmark_source)
    # Beside its samples it is rather the same file than in the folder where somebody happens to be.
    places = (source, Path(header.samples).with_name(source.name), Path(source.name))
    return next((place for place in places if _is_file(place)), None)


def describe_benchmarks(cache_dir: Path, *, catalog: Catalog | None = None) -> tuple[BenchmarkInfo, ...]:
    """Return the lines of ``bench list``; ``how`` describes a damaged copy."""
    entries = load_catalog() if catalog is None else catalog
    return tuple(_describe_entry(name, entry, cache_dir) for name, entry in entries.items())


def identify_file(path: Path) -> NamedFile:
    """Return the published benchmark that a file is, by its checksum; raises DataError where it cannot be read."""
    data = read_file(path)
    match = recognise(data, load_catalog())
    name, version = (match[0], match[1].version) if match is not None else ("", "")
    # EvalPlus names a version by it; no secret depends on it.
    md5 = hashlib.md5(unpack(data, str(path)), usedforsecurity=False).hexdigest()
    return NamedFile(path=str(path), name=name, version=version, md5=md5)


def find_examples(name: str) -> Path | None:
    """Return the samples file of a name like ``starter:examples``; None for any other name, and where a file has it.

    Raises UnknownNameError when the built-in benchmark has no such file.
    """
    if Path(name).exists():
        return None
    entries = load_catalog().items()
    built_in = {f"{label}:examples": entry for label, entry in entries if isinstance(entry, BuiltIn)}
    if name in built_in:
        return Path(str(resources.files(__package__) / built_in[name].examples_file))
    if f"{name.partition(':')[0]}:examples" in built_in and ":" in name:
        raise UnknownNameError(f"unknown samples {name!r}{nearest(name, built_in)} (known: {', '.join(built_in)})")
    return None


def find_by_ids(
    task_ids: Iterable[str], cache_dir: Path, options: ReadOptions = DEFAULT_OPTIONS, *, catalog: Catalog | None = None
) -> Benchmark:
    """Return the only benchmark on this machine that has any of these task ids, read by the options.

    Raises DataError, with the ids and what to do, where no benchmark or more than one has them; also what ``load``
    raises.
    """
    entries = load_catalog() if catalog is None else catalog
    ids = dict.fromkeys(task_ids)
    if not ids:
        raise DataError("the samples have no task ids to find their benchmark by: name it with --benchmark")
    unavailable: dict[str, DataError] = {}
    matching: dict[str, Benchmark] = {}
    for name, entry in entries.items():
        try:
            if not any(task.startswith(entry.id_prefix) for task in ids):
                # Its checksum says which ids it has: reading it would be in vain.
                if isinstance(entry, Published):
                    _require_copy(name, entry, cache_dir)
                continue
            benchmark = _load_entry(name, entry, cache_dir)
        except DataError as error:
            # Its traceback holds this frame, with all that our callers hold.
            unavailable[name] = error.with_traceback(None)
            continue
        if any(problem.id in ids for problem in benchmark.problems):
            matching[name] = benchmark
    if len(matching) != 1:
        raise _ambiguous(tuple(ids), tuple(matching), unavailable, entries)
    ((name, benchmark),) = matching.items()
    if options == ReadOptions(task=benchmark.task):
        return benchmark
    return load(name, cache_dir, options, catalog=entries)


def _load_entry(name: str, entry: Entry, cache_dir: Path) -> Benchmark:
    """Return a benchmark for its task ids, which are the same in each of its tasks."""
    if isinstance(entry, BuiltIn):
        return _load_built_in(name, entry)
    return _load_published(name, entry, cache_dir, ReadOptions(task=entry.tasks[0] if entry.tasks else ""))


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
    copy = _require_copy(name, entry, cache_dir)
    source = str(copy.path)
    file = parse_file(_read_verified(name, entry, copy), source, options, cache_dir)
    return _from_parsed(name, source, file, options, entry.packages)


def _require_copy(name: str, entry: Published, cache_dir: Path) -> _Copy:
    copy = _find_copy(name, entry, cache_dir)
    if copy is None:
        raise DataError(f"benchmark {name!r} is not on this machine: {_how_to_get(name, entry)}")
    return copy


def _load_file(path: Path, entries: Catalog, options: ReadOptions, cache_dir: Path) -> Benchmark:
    file = parse_file(read_file(path), str(path), options, cache_dir)
    name = path.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".json")
    packages: tuple[str, ...] = ()
    # Go by the content of the file, not by its name.
    if entry := find_by_hashes(file.sha256, file.unpacked_sha256, entries) or _find_digest(file.digest, entries):
        name, packages = entry[0], entry[1].packages
    return _from_parsed(name, str(path), file, options, packages)


def _find_digest(digest: str, entries: Catalog) -> tuple[str, Published] | None:
    published = ((name, entry) for name, entry in entries.items() if isinstance(entry, Published))
    return next(((name, entry) for name, entry in published if entry.problems_digest == digest), None)


def _from_parsed(
    name: str, source: str, file: ParsedFile, options: ReadOptions, packages: tuple[str, ...]
) -> Benchmark:
    """Return the benchmark of a file; ``packages`` are needed besides those that its problems name."""
    packages = tuple(sorted({*packages, *_packages(file.problems)}))
    benchmark = _benchmark(name, source, file.problems, options, packages, file.notes, file.digest)
    return msgspec.structs.replace(benchmark, file_hash=file.md5)


def _benchmark(
    name: str,
    source: str,
    problems: tuple[Problem, ...],
    options: ReadOptions,
    packages: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
    digest: str = "",
) -> Benchmark:
    """Return the benchmark; ``digest`` is that of the problems, where it is known."""
    if options.language:
        count, digest = len(problems), ""
        problems, has_changed = choose_language(problems, options.language, source)
        if left_out := count - len(problems):
            notes = (
                *notes,
                f"{part_of(left_out, count, 'problem')} {are(left_out)} not for programs in {options.language}",
            )
        name = f"{name}-{options.language}" if has_changed else name
    return Benchmark(
        name=f"{name}-{options.task}" if options.task else name,
        source=source,
        digest=digest or digest_problems(problems),
        problems=problems,
        packages=packages,
        notes=notes,
        profile=options.profile,
        task=options.task,
        language=options.language,
    )


def _packages(problems: Iterable[Problem]) -> tuple[str, ...]:
    """Return the packages that some problems need, each by the name of its module."""
    return tuple(sorted({name.partition(".")[0] for problem in problems for name in problem.packages}))


def _is_file_name(name: str, entries: Catalog) -> bool:
    path, is_entry = Path(name), find_entry(name, entries) is not None
    if "/" in name or (path.suffix and not is_entry):
        return True
    try:
        # A folder with the name of a benchmark must not hide that benchmark.
        return path.is_file() if is_entry else path.exists()
    except OSError:
        return False


def _is_file(path: Path) -> bool:
    """Tell whether there is a file that can be looked up: the folder of copies may be another user's."""
    try:
        return path.is_file()
    except OSError:
        return False


def _find_copy(name: str, entry: Published, cache_dir: Path) -> _Copy | None:
    cached = entry.cached(name, cache_dir)
    if _is_file(cached):
        return _Copy(path=cached, repair=f"remove that file and run `passcurve bench fetch {name}`")
    for path in _package_paths(entry.carrier) if entry.carrier is not None else ():
        if _is_file(path) and entry.carrier is not None:
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
    if not entry.is_file(data):
        sha256 = hashlib.sha256(data).hexdigest()
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
    if not entry.url:
        return f"get {entry.file} from {entry.origin}, then run `passcurve bench fetch {name} --from FILE`"
    carried = f", or run `pip install {entry.carrier.distribution}`" if entry.carrier is not None else ""
    return f"run `passcurve bench fetch {name}`, or name its file (`judge --benchmark FILE`, `run FILE`){carried}"


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
        if (
            isinstance(entry, Published)
            and entry.id_prefix
            and any(task_id.startswith(entry.id_prefix) for task_id in ids)
        ):
            return DataError(f"the samples' task ids ({shown}) look like those of {name!r}: {error}")
    listed = ", ".join(name for name in entries if name not in unavailable)
    others = "; `passcurve bench list` has those that are not on this machine" if unavailable else ""
    return DataError(
        f"the samples' task ids ({shown}) belong to no known benchmark (known: {listed}{others}): "
        "name its file with --benchmark FILE, or the benchmark with --benchmark NAME"
    )
