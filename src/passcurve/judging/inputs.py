"""Samples as a user gives them (a file, a stream, rows in memory), and the benchmark that they belong to."""

from __future__ import annotations

import itertools
import os
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from passcurve.bench import resolve
from passcurve.bench.choose import choose_problems
from passcurve.bench.formats import DEFAULT_OPTIONS as NATIVE
from passcurve.bench.formats import ReadOptions as BenchmarkOptions
from passcurve.errors import DataError, UsageError, nearest_file
from passcurve.generation.sources import Spool
from passcurve.sandbox.own_folders import OwnFolder
from passcurve.store.foreign import (
    FindProblems,
    ReadOptions,
    Target,
    convert,
    convert_lines,
    convert_rows,
    expand,
    first_fields,
    growing_lines,
    is_usual,
    parse_options,
    write_lines,
)
from passcurve.store.lines import open_unpacked
from passcurve.store.locate import default_run_dir, name_choice
from passcurve.store.rundir import RunDir
from passcurve.store.samples import first_ids
from passcurve.store.samples_file import SamplesFile, identify
from passcurve.types import Benchmark, Problem
from passcurve.types.decoding import encode_json

Row = Mapping[str, Any]
"""A sample as a line of a file has it: ``task_id``, and ``completion`` or ``solution``."""

LOOK_S = 0.02
"""Between two looks whether the first row has come."""

HEAD_BYTES = 1 << 20
"""A first line that is longer names no task that could be read."""

NO_OPTIONS = ReadOptions()
_MAX_NAME = 80
_PIECE_BYTES = 1 << 20


class TemporaryFolder:
    """A folder that is removed with this object, or when Python ends."""

    def __init__(self) -> None:
        """Make it."""
        folder = OwnFolder()
        self.path = folder.path
        self._end = weakref.finalize(self, folder.close)

    def close(self) -> None:
        """Remove it now."""
        self._end()


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """Samples as a file, and where their verdicts and results go."""

    samples: Path
    run: Path
    results: Path | None
    """None: no file of results is written."""
    named: str
    """The samples as the user named them; empty for rows in memory."""
    reading: tuple[str, ...] = ()
    """The options by which the rows were read, for the record of the run."""
    sources: Mapping[str, SamplesFile | None] = {}
    """The files that were turned into rows, as they were; None for one that grows."""
    spool: Spool | None = None
    """The thread that still writes the file."""
    notes: tuple[str, ...] = ()
    """How samples without ids were assigned to problems; a line each."""
    folder: TemporaryFolder | None = None
    """The temporary folder of all three, where the user named no run directory."""

    def wait_for_row(self, idle_s: float, check: Callable[[], None] = lambda: None) -> None:
        """Wait until the file has its first row, or nothing more is to come; ``check`` may raise to end the wait.

        Without a spool, nothing more comes after ``idle_s`` seconds.
        """
        until = time.monotonic() + idle_s
        while not self._has_row() and not (self.spool.ended() if self.spool else time.monotonic() >= until):
            check()
            time.sleep(LOOK_S)

    def check(self) -> None:
        """Raise DataError when not every row could be kept."""
        if self.spool is not None:
            self.spool.check()

    def benchmark(self, name: str | None, cache_dir: Path, options: BenchmarkOptions = NATIVE) -> Benchmark:
        """Return the benchmark of that name or file; without a name, the one that the task ids belong to.

        Raises DataError and UnknownNameError where there is no such benchmark.
        """
        if name is not None:
            return resolve.load(name, cache_dir, options)
        if self.named.endswith(":examples") and resolve.find_examples(self.named) is not None:
            return resolve.load(self.named.partition(":")[0], cache_dir, options)
        try:
            return resolve.find_by_ids(first_ids(self.samples), cache_dir, options)
        except DataError:
            # What is wrong with a row says more than that no row names a benchmark.
            self.check()
            raise

    def _has_row(self) -> bool:
        with open_unpacked(self.samples) as file:
            head = file.read(HEAD_BYTES)
        return b"\n" in head or len(head) == HEAD_BYTES


def from_file(samples: str, run: Path | None = None, results: Path | None = None, *, pattern: str = "") -> Input:
    """Return a file of samples, or the examples that a built-in benchmark ships, as in ``starter:examples``.

    A run of the problems of a ``pattern`` alone has a run directory and results of its own.
    Raises DataError for a file that does not exist, with the nearest name.
    """
    path = Path(samples)
    shipped = resolve.find_examples(samples)
    if shipped is None and not path.exists():
        raise DataError(f"no file {samples!r}{nearest_file(path)}")
    base = name_choice(place_name(samples), pattern)
    return Input(
        samples=shipped or path,
        run=run or default_run_dir(base),
        results=results or Path(f"{base}_results.jsonl"),
        named=samples,
    )


def place_name(samples: str) -> str:
    """Return the path after which the run directory and the results are named."""
    path = Path(samples)
    if path.is_dir():
        # With its name, and without a slash at the end: what belongs to a folder stands beside it.
        return str(path if path.name not in ("", "..") else path.resolve())
    return samples if path.exists() else samples.replace(":", "-")


def from_files(
    samples: Sequence[str],
    run: Path | None = None,
    results: Path | None = None,
    *,
    options: ReadOptions,
    benchmark: Callable[[], Benchmark | None],
    idle_s: float | None = None,
    pattern: str = "",
) -> Input:
    """Return samples of one file or several, or of a folder; other forms than rows are converted beside the run.

    ``benchmark`` returns the one that the user named; only files without task ids need it.
    With ``idle_s`` the file grows, and its rows are converted as they come, until it rests so many seconds.
    Raises DataError for a file that does not exist or holds no samples, UsageError where one cannot be followed.
    """
    sources = [from_file(name, run, results, pattern=pattern) for name in samples]
    first = sources[0]
    follow = idle_s is not None
    if not options.field and not follow:
        options = _with_answer_field(options, first_fields(first.samples), benchmark)
    if len(sources) == 1 and not options and is_usual(first.samples, follow=follow):
        return first
    if idle_s is not None:
        if len(sources) > 1 or not is_usual(first.samples, follow=True):
            raise UsageError("--follow reads one .jsonl file with a row in each line")
        return _followed(first, options, lambda: _problems_of(benchmark), idle_s)
    paths = [source.samples for source in sources]
    files = expand(paths)
    # By their places, for a folder may hold what is named beside it, or a link to what else it holds.
    places: set[Path] = set()
    for file in files:
        if (place := file.resolve()) in places:
            raise UsageError(f"{str(file)!r} is named twice: each of its samples would count twice")
        places.add(place)
    if len(sources) > 1:
        joint = Path(place_name(samples[0])).with_name(_joint_name([path.name for path in paths]))
        base = name_choice(str(joint), pattern)
        first = msgspec.structs.replace(
            first, run=run or default_run_dir(base), results=results or Path(f"{base}_results.jsonl")
        )
    path = _rows_path(first.run)
    # Before they are read: who changes them from then on changes what was judged.
    judged_files = {str(file.resolve()): judged for file in files if (judged := identify(file)) is not None}
    RunDir(first.run).check_sources(judged_files)
    notes: list[str] = []
    write_lines(path, convert(files, options, _target(benchmark, pattern, notes)))
    return msgspec.structs.replace(
        first,
        samples=path,
        named=samples[0],
        reading=options.describe(),
        sources=judged_files,
        notes=tuple(notes),
    )


def _followed(first: Input, options: ReadOptions, problems: FindProblems, idle_s: float) -> Input:
    """Return a file that grows, whose rows are converted as they come."""
    name = str(first.samples.resolve())
    RunDir(first.run).check_sources((name,))
    lines = convert_lines(growing_lines(first.samples, idle_s), options, problems, repr(str(first.samples)))
    made = _spooled(lines, first.run, first.results)
    return msgspec.structs.replace(made, named=first.named, reading=options.describe(), sources={name: None})


def _problems_of(benchmark: Callable[[], Benchmark | None]) -> Sequence[Problem] | None:
    named = benchmark()
    return named.problems if named is not None else None


def _target(benchmark: Callable[[], Benchmark | None], pattern: str, notes: list[str]) -> Target:
    """Return the problems that rows belong to; notes on how they were assigned are added to the list."""

    def choice() -> Sequence[Problem] | None:
        named = benchmark()
        return choose_problems(named, pattern) if named is not None and pattern else None

    return Target(lambda: _problems_of(benchmark), choice, notes.append)


def _rows_path(run: Path) -> Path:
    """Return the file for the rows of a run; raise StoreError where another process judges them."""
    RunDir(run).check_free()
    return run.with_name(run.name + ".samples.jsonl")


def _with_answer_field(
    options: ReadOptions, fields: AbstractSet[str], benchmark: Callable[[], Benchmark | None]
) -> ReadOptions:
    """Return the options with the field that the format of the benchmark defines, where rows have no other text."""
    if not fields or fields & {"completion", "solution"}:
        return options
    named = benchmark()
    field = named.problems[0].answer_field if named is not None and named.problems else ""
    wanted = parse_options(field or None, None)
    if not field or wanted.field not in fields:
        return options
    return msgspec.structs.replace(options, field=wanted.field, form=wanted.form)


def _joint_name(names: Sequence[str]) -> str:
    """Return a name for several files: theirs, or that of the first and a digest where they are long."""
    joint = "+".join(names)
    if len(joint) <= _MAX_NAME:
        return joint
    return f"{names[0]}+{len(names) - 1}-{blake2b(joint.encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}"


def file_names(samples: str | Path | Iterable[Any]) -> list[str] | None:
    """Return the names of files; None for rows."""
    if isinstance(samples, str | Path):
        return [str(samples)]
    if isinstance(samples, list | tuple) and samples and all(isinstance(item, str | Path) for item in samples):
        return [str(item) for item in samples]
    return None


def from_stream(
    stream: BinaryIO,
    run: Path | None,
    results: Path | None = None,
    *,
    options: ReadOptions = NO_OPTIONS,
    benchmark: Callable[[], Benchmark | None] = lambda: None,
    follow: bool = False,
    pattern: str = "",
) -> Input:
    """Return samples from a stream, kept beside the run directory; with ``follow`` they are judged as they come.

    Raises UsageError without a run directory, DataError where they cannot be kept or are no samples; without
    ``follow`` those of before stay then.
    """
    if run is None:
        raise UsageError("samples from stdin need --run DIR, so that an interrupted run can go on")
    if follow and options:
        lines = convert_lines(stream, options, lambda: _problems_of(benchmark), "stdin")
        return msgspec.structs.replace(_spooled(lines, run, results), reading=options.describe())
    if follow:
        return _spooled(_pieces(stream), run, results)
    path, draft = _rows_path(run), run.with_name(run.name + ".stdin")
    notes: list[str] = []
    spool = Spool(_pieces(stream), draft)
    spool.wait()
    spool.check()
    if options or not is_usual(draft, follow=False):
        write_lines(path, convert([draft], options, _target(benchmark, pattern, notes)))
        draft.unlink()
    else:
        draft.replace(path)
    return Input(
        samples=path,
        run=run,
        results=results or _results_beside(path),
        named="",
        reading=options.describe(),
        notes=tuple(notes),
    )


def from_rows(
    rows: Iterable[Row],
    run: Path | None = None,
    results: Path | None = None,
    *,
    options: ReadOptions = NO_OPTIONS,
    benchmark: Callable[[], Benchmark | None] = lambda: None,
) -> Input:
    """Return rows in memory, kept beside the run directory, or in a temporary one where none is named.

    The rows are taken from another thread, while those before them are judged.
    Raises DataError where they cannot be kept.
    """
    lines = _lines(rows, options, benchmark)
    if run is not None:
        return msgspec.structs.replace(_spooled(lines, run, results), reading=options.describe())
    folder = TemporaryFolder()
    made = _spooled(lines, folder.path / "run", results)
    return msgspec.structs.replace(made, results=results, folder=folder, reading=options.describe())


def _spooled(pieces: Iterable[bytes], run: Path, results: Path | None) -> Input:
    path = _rows_path(run)
    return Input(
        samples=path,
        run=run,
        results=results or _results_beside(path),
        named="",
        spool=Spool(pieces, path),
    )


def _results_beside(rows: Path) -> Path:
    return Path(f"{rows}_results.jsonl")


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    """Yield as much as is there, whenever something is."""
    while piece := os.read(stream.fileno(), _PIECE_BYTES):
        yield piece


def _lines(rows: Iterable[Row], options: ReadOptions, benchmark: Callable[[], Benchmark | None]) -> Iterator[bytes]:
    later = _checked(rows)
    first = next(later, None)
    if first is None:
        return
    if not options.field:
        options = _with_answer_field(options, first.keys(), benchmark)
    checked = itertools.chain((first,), later)
    for number, row in enumerate(
        convert_rows(checked, options, lambda: _problems_of(benchmark)) if options else checked
    ):
        try:
            yield encode_json(row) + b"\n"
        except (TypeError, ValueError) as error:
            raise DataError(f"sample {number} cannot be written as JSON: {error}") from None


def _checked(rows: Iterable[Row]) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise DataError(
                f"sample {number} must be a dict with task_id and completion or solution, got {type(row).__name__}"
            )
        made = dict(row)
        for name in ("task_id", "completion", "solution"):
            value = made.get(name)
            if isinstance(value, bytes | bytearray | memoryview):
                # It would be written as base64.
                raise DataError(f"sample {number}: {name} must be a str, got {type(value).__name__}; decode it first")
            if isinstance(value, str):
                # Of a subclass, as numpy has one, no JSON can be made.
                made[name] = str.__getitem__(value, slice(None))
        yield made
