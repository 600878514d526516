"""Options of judging that ``judge``, ``generate`` and ``evaluate`` share, and the request that they make."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict, cast, get_args, get_origin, get_type_hints

from passcurve import config
from passcurve.bench import resolve
from passcurve.bench.profiles import NATIVE, find_rules, reading_options
from passcurve.errors import UsageError, nearest
from passcurve.judging.request import Progress, Request
from passcurve.types import DEFAULT_TIMEOUT_S, LEAST_TIMEOUT_S, MOST_TIMEOUT_S, Benchmark, Limits


class JudgingOptions(TypedDict, total=False):
    """Keywords of ``judge``, ``generate`` and ``evaluate``, each an option of the commands ``judge`` and ``run``."""

    k: int | Sequence[int]
    """Values of k, by default 1, 10 and 100."""
    level: float
    """Level of the intervals, by default 0.95."""
    timeout_s: float
    """Seconds of time for each sample, by default 3."""
    test_timeout_s: float | None
    """Seconds for each test, where tests are counted."""
    clock: Literal["own", "wall"]
    memory: str | int | None
    """Memory of each sample, as in ``4GiB``."""
    workers: int | None
    problems: str
    """Only these problems, as in ``1-5,2?``."""
    extract: str
    """The policy by which texts become programs; ``auto+prelude:NAME`` has a prelude as well."""
    prelude: str
    """Imports that are put in front, as a harness does."""
    profile: str
    """The harness whose rules are followed."""
    task: str
    """The task of a file that has two."""
    language: str
    """The language of the programs, where a file has several or leaves it open."""
    verdict: Literal["auto", "referee", "shared"]
    isolation: Literal["auto", "full", "restricted", "none"]
    reuse: Literal["auto", "rewind", "fork"]
    packages: Sequence[str]
    """Installed packages that samples may import."""
    python: str | Path | None
    dedup: bool
    all_tests: bool
    """Go on after the first failure, and store the outcome of each test."""
    accept_input: bool
    accept_benchmark: bool


_PLAIN = ("verdict", "isolation", "reuse", "problems", "python", "dedup", "all_tests", "accept_input")
_NAMES = JudgingOptions.__annotations__
_NUMBERS: dict[str, Any] = {
    "level": int | float,
    "timeout_s": int | float,
    "test_timeout_s": int | float,
    "workers": int,
}
_TIMES_S = LEAST_TIMEOUT_S, MOST_TIMEOUT_S
_RANGES = {"level": (0.5, 0.9999), "timeout_s": _TIMES_S, "test_timeout_s": _TIMES_S}
_CHECKED_ELSEWHERE = ("k", "packages", *_NUMBERS)


class Prepared(NamedTuple):
    """A request to judge, and what this machine could not give of it."""

    request: Request
    notes: list[str]


def check_options(function: str, options: JudgingOptions) -> None:
    """Raise TypeError for a keyword that no function has, UsageError for a value that cannot be.

    An option that is None, where that is no value of it, is left out.
    """
    for name in options:
        if name not in _NAMES:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{nearest(name, _NAMES)}")
    _check_types(options)
    _check_numbers(options)
    reading_options(options.get("profile", NATIVE), options.get("task", ""), options.get("language", ""))


def _check_numbers(options: JudgingOptions) -> None:
    for name, kinds in _NUMBERS.items():
        value: Any = options.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, kinds)):
            wanted = "an integer" if kinds is int else "a number"
            raise UsageError(f"{name}={value!r} must be {wanted}, got {type(value).__name__}")
        least, most = _RANGES.get(name, (-math.inf, math.inf))
        if value is not None and not least <= value <= most:
            raise UsageError(f"{name}={value!r} must be from {least:g} to {most:g}")


def _check_types(options: JudgingOptions) -> None:
    """Leave out what is None where that is no value, and refuse a value of another type."""
    values = cast(dict[str, Any], options)
    for name, kind in get_type_hints(JudgingOptions).items():
        choices = get_args(kind)
        if values.get(name, "") is None and type(None) not in choices:
            del values[name]
        if name not in values or name in _CHECKED_ELSEWHERE:
            continue
        value = values[name]
        if get_origin(kind) is Literal:
            if value not in choices:
                known_names = ", ".join(choices)
                raise UsageError(f"{name}={value!r} is unknown{nearest(str(value), choices)} (known: {known_names})")
        elif not isinstance(value, choices or kind):
            raise UsageError(f"{name}={value!r} cannot be of type {type(value).__name__}")
    if "packages" in values:
        values["packages"] = _names_of_packages(values["packages"])


def _names_of_packages(packages: object) -> tuple[str, ...]:
    names = tuple(packages) if isinstance(packages, Iterable) and not isinstance(packages, str) else (None,)
    if not all(isinstance(name, str) for name in names):
        raise UsageError(f"packages={packages!r} must be a sequence of names")
    return names


def load_benchmark(
    benchmark: str | Path | Benchmark, *, profile: str = NATIVE, task: str = "", language: str = ""
) -> Benchmark:
    """Return the benchmark of a known name or of a file of problems, read by the rules of a profile.

    Raises UnknownNameError with the nearest name when nothing has the name, DataError when the benchmark is not on this
    machine (the message says how to get it) or when the file is not in the format.
    """
    if not isinstance(benchmark, Benchmark):
        return resolve.load(str(benchmark), config.cache_dir(), reading_options(profile, task, language))
    if (
        profile not in (NATIVE, benchmark.profile)
        or task not in ("", benchmark.task)
        or language not in ("", benchmark.language)
    ):
        raise UsageError(
            "profile, task and language apply when a benchmark is read: name it, or pass them to load_benchmark"
        )
    return benchmark


def benchmark_of(benchmark: str | Path | Benchmark, options: JudgingOptions) -> Benchmark:
    """Return the benchmark that these options read."""
    return load_benchmark(
        benchmark,
        profile=options.get("profile", NATIVE),
        task=options.get("task", ""),
        language=options.get("language", ""),
    )


def make_request(
    benchmark: Benchmark, run: Path, options: JudgingOptions, *, default_extract: str = "", **others: Any
) -> Prepared:
    """Return the request of these options; what they leave out is as the profile has it."""
    profile = find_rules(benchmark.profile or NATIVE, benchmark)
    memory = options.get("memory")
    memory_bytes = config.parse_size(str(memory)) if memory is not None else None
    workers, memory_bytes, note = config.fit_to_machine(options.get("workers"), memory_bytes)
    plain: dict[str, Any] = {name: options[name] for name in _PLAIN if name in options}  # type: ignore[literal-required]
    request = Request(
        **{"samples": run, "results": run / "results.jsonl"} | plain | others,
        benchmark=benchmark,
        run=run,
        limits=Limits(
            timeout_s=options.get("timeout_s", profile.timeout_s or DEFAULT_TIMEOUT_S),
            test_timeout_s=options.get("test_timeout_s"),
            clock=options.get("clock", "own"),
            memory_bytes=memory_bytes,
        ),
        workers=workers,
        ks=config.checked_ks(options.get("k", config.DEFAULT_KS)),
        level=options.get("level", 0.95),
        packages=tuple(options.get("packages", ())),
        extract=options.get("extract") or default_extract or profile.extract,
        prelude=options.get("prelude") or profile.prelude,
        accept_benchmark=options.get("accept_benchmark", False),
        cache=config.cache_dir(),
    )
    return Prepared(request, [note] if note else [])


def watch_nothing(progress: Progress) -> None:
    """Do nothing with the progress of a run."""
