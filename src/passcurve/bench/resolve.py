"""A name or a path becomes a Benchmark: built in, a file, a fetched copy, or an installed package's."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

import msgspec

from passcurve.bench.catalog import BuiltIn, Catalog, Entry, Published, shipped, unknown
from passcurve.bench.formats import digest_of, parse_problems, read_file, read_problems
from passcurve.errors import DataError, UnknownNameError, nearest
from passcurve.types import Benchmark, Header

_IDS_SHOWN = 3


class BenchmarkInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``bench list``."""

    name: str
    title: str
    problems: int
    licence: str
    where: str
    """``built-in``, the path of the copy that would be read, or ``not fetched``."""
    how: str
    """What to do next: to use it, to get it, or to repair it."""


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a copy of a published benchmark lies, and what to do when it is not what it should be."""

    path: Path
    repair: str


def names() -> tuple[str, ...]:
    """Return the names that ``load`` knows."""
    return tuple(shipped())


def load(name: str, cache_dir: Path, *, catalog: Catalog | None = None) -> Benchmark:
    """Return the benchmark of a name or a path; ``catalog`` is the shipped one unless another is given.

    Raises UnknownNameError when nothing has the name, and DataError when the benchmark is not on this machine (the
    message says how to get it), when a copy is not what was published, or when a file is not in the format.
    """
    known = shipped() if catalog is None else catalog
    entry = known.get(name)
    if isinstance(entry, BuiltIn):
        return _built_in(name, entry)
    if _is_file_name(name, known):
        return _from_file(Path(name), known)
    if entry is None:
        raise unknown(name, known)
    return _published(name, entry, cache_dir)


def reload(header: Header, cache_dir: Path) -> Benchmark:
    """Return the benchmark that a run was judged with: from where it was, or by its name.

    Raises DataError when its problems have changed since, and what ``load`` raises.
    """
    source = Path(header.benchmark_source)
    named = str(source) if header.benchmark_source and source.is_file() else header.benchmark
    found = load(named, cache_dir)
    if found.digest != header.benchmark_digest:
        raise DataError(
            f"the benchmark {named!r} is not the one that the run was judged with: its problems have changed"
        )
    return found


def describe(cache_dir: Path, *, catalog: Catalog | None = None) -> tuple[BenchmarkInfo, ...]:
    """Return what ``bench list`` shows; a damaged copy is told in ``how``, not raised."""
    known = shipped() if catalog is None else catalog
    return tuple(_described(name, entry, cache_dir) for name, entry in known.items())


def examples(name: str) -> Path | None:
    """Return the samples file that ``starter:examples`` names; None when the name is not of that kind.

    Raises UnknownNameError when a built-in benchmark is named but ships no such file.
    """
    built_in = {f"{each}:examples": entry for each, entry in shipped().items() if isinstance(entry, BuiltIn)}
    if name in built_in:
        return Path(str(resources.files(__package__) / built_in[name].examples_file))
    if f"{name.partition(':')[0]}:examples" in built_in and ":" in name:
        raise UnknownNameError(f"unknown samples {name!r}{nearest(name, built_in)} (known: {', '.join(built_in)})")
    return None


def find_by_ids(task_ids: Iterable[str], cache_dir: Path, *, catalog: Catalog | None = None) -> Benchmark:
    """Return the one known benchmark on this machine that has any of these task ids.

    Raises DataError, which says what was seen and what to do, when there is none or more than one.
    """
    known = shipped() if catalog is None else catalog
    seen = dict.fromkeys(task_ids)
    if not seen:
        raise DataError("the samples name no task, so their benchmark is not known: say it with --benchmark")
    absent: dict[str, DataError] = {}
    fitting: list[Benchmark] = []
    for name, entry in known.items():
        try:
            benchmark = _named(name, entry, cache_dir)
        except DataError as error:
            absent[name] = error
            continue
        if any(problem.id in seen for problem in benchmark.problems):
            fitting.append(benchmark)
    if len(fitting) == 1:
        return fitting[0]
    raise _not_one(tuple(seen), tuple(each.name for each in fitting), absent, known)


def _named(name: str, entry: Entry, cache_dir: Path) -> Benchmark:
    return _built_in(name, entry) if isinstance(entry, BuiltIn) else _published(name, entry, cache_dir)


def _built_in(name: str, entry: BuiltIn) -> Benchmark:
    file = resources.files(__package__) / entry.problems_file
    try:
        data = file.read_bytes()
    except OSError as error:
        raise DataError(f"{str(file)!r} is missing: passcurve is not whole; install it again") from error
    problems = parse_problems(data, str(file))
    return Benchmark(
        name=name, source="built-in", digest=digest_of(problems), problems=problems, packages=entry.packages
    )


def _published(name: str, entry: Published, cache_dir: Path) -> Benchmark:
    place = _locate(name, entry, cache_dir)
    if place is None:
        raise DataError(f"benchmark {name!r} is not on this machine: {_how_to_get(name, entry)}")
    source = str(place.path)
    problems = parse_problems(_checked(name, entry, place), source)
    return Benchmark(name=name, source=source, digest=digest_of(problems), problems=problems, packages=entry.packages)


def _from_file(path: Path, known: Catalog) -> Benchmark:
    problems = read_problems(path)
    digest = digest_of(problems)
    for name, entry in known.items():
        # What a file holds says what it is; what it is called does not.
        if isinstance(entry, Published) and entry.problems_digest == digest:
            return Benchmark(name=name, source=str(path), digest=digest, problems=problems, packages=entry.packages)
    name = path.name.removesuffix(".gz").removesuffix(".jsonl")
    return Benchmark(name=name, source=str(path), digest=digest, problems=problems)


def _is_file_name(name: str, known: Catalog) -> bool:
    path = Path(name)
    if "/" in name or path.suffix:
        return True
    try:
        # A folder that happens to be called like a known benchmark is no reason not to find that benchmark.
        return path.exists() if name not in known else path.is_file()
    except OSError:
        return False


def _locate(name: str, entry: Published, cache_dir: Path) -> _Place | None:
    cached = entry.cached(name, cache_dir)
    if cached.is_file():
        return _Place(path=cached, repair=f"remove that file and run `passcurve bench fetch {name}`")
    for path in _carried(entry):
        if path.is_file():
            repair = (
                f"install {entry.carrier.distribution} again, or take the file as it is with --benchmark {str(path)!r}"
            )
            return _Place(path=path, repair=repair)
    return None


def _carried(entry: Published) -> tuple[Path, ...]:
    """Return where an installed package would have the file, without importing the package."""
    try:
        spec = importlib.util.find_spec(entry.carrier.package)
    except (ImportError, ValueError):
        return ()
    folders = (spec.submodule_search_locations or ()) if spec is not None else ()
    return tuple((Path(folder) / path).resolve() for folder in folders for path in entry.carrier.paths)


def _checked(name: str, entry: Published, place: _Place) -> bytes:
    data = read_file(place.path)
    found = hashlib.sha256(data).hexdigest()
    if found != entry.sha256:
        raise DataError(
            f"{str(place.path)!r} is not {name!r} as published: found sha256 {found[:12]}..., "
            f"expected {entry.sha256[:12]}...; {place.repair}"
        )
    return data


def _described(name: str, entry: Entry, cache_dir: Path) -> BenchmarkInfo:
    where, how = "built-in", f"--benchmark {name}"
    if isinstance(entry, BuiltIn):
        problems = len(_built_in(name, entry).problems)
    else:
        problems = entry.problems
        place = _locate(name, entry, cache_dir)
        if place is None:
            where, how = "not fetched", _how_to_get(name, entry)
        else:
            where = str(place.path)
            try:
                _checked(name, entry, place)
            except DataError as error:
                how = str(error)
    return BenchmarkInfo(name=name, title=entry.title, problems=problems, licence=entry.licence, where=where, how=how)


def _how_to_get(name: str, entry: Published) -> str:
    return (
        f"run `passcurve bench fetch {name}`, or give its file with --benchmark FILE, "
        f"or run `pip install {entry.carrier.distribution}`"
    )


def _not_one(
    seen: tuple[str, ...], fitting: tuple[str, ...], absent: dict[str, DataError], known: Catalog
) -> DataError:
    shown = ", ".join(repr(each) for each in seen[:_IDS_SHOWN]) + (", ..." if len(seen) > _IDS_SHOWN else "")
    if fitting:
        return DataError(
            f"the samples' task ids ({shown}) belong to more than one benchmark ({', '.join(fitting)}): "
            "choose with --benchmark NAME"
        )
    for name, error in absent.items():
        entry = known[name]
        if isinstance(entry, Published) and any(each.startswith(entry.id_prefix) for each in seen):
            return DataError(f"the samples' task ids ({shown}) look like those of {name!r}: {error}")
    listed = ", ".join(f"{name} (not available)" if name in absent else name for name in known)
    return DataError(
        f"the samples' task ids ({shown}) belong to no known benchmark (known: {listed}): "
        "give its file with --benchmark FILE, or its name with --benchmark NAME"
    )
