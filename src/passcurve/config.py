"""Settings: from words and the environment to frozen values; the only file that reads the environment."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from passcurve.errors import DataError, UsageError, nearest
from passcurve.types import Metric, Prices

DEFAULT_KS = (1, 10, 100)
ALL_KS = "all"
METRICS = ("pass@k", "pass^k", "g-pass@k", "mg-pass@k", "attempts@k", "distinct@k", "cover")
"""What can be had from stored verdicts."""
_SHARED = {"g-pass@k": "g-pass@k:0.5", "cover": "cover:0.5"}
"""Metrics that need tau, and how they are written."""
_SHORT = {"attempts": "attempts@k", "distinct": "distinct@k"}
_UNSTORED = {
    "maj@k": "the answer that each sample gave (passcurve.maj_at_k takes them)",
    "best-of@k": "a score of each sample (passcurve.best_of_k takes them)",
    "max@k": "the share of tests that each sample passed (passcurve.max_at_k takes them)",
    "min@k": "the share of tests that each sample passed (passcurve.min_at_k takes them)",
    "n@k": "which samples passed the public tests (passcurve.n_at_k takes their number)",
    "ranked@k": "the order in which the samples were ranked (passcurve.ranked_top_k takes it)",
}
"""Metrics that need more than verdicts, and what."""
_METRIC = re.compile(r"(?P<stem>[a-z-]+)(?:(?P<sign>[@^])(?P<k>k|[1-9][0-9]{0,14}))?(?::(?P<share>[0-9]*\.?[0-9]+))?")
DEFAULT_MEMORY_BYTES = 4 << 30
_UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(k|m|g|ki|mi|gi)?b?\s*", re.IGNORECASE)
_THREADS, _ONE_THREAD = "OPENBLAS_NUM_THREADS", "1"
OWN_ADDRESS_SPACE_BYTES = 512 << 20
"""Of address space, for ourselves: numpy's library looks for it for ever where it gets too little."""
_MEMORY_SHARE = 0.9
_DIGITS = 15
"""More would be no count and no size of anything."""


def cache_dir() -> Path:
    """Return where fetched benchmarks lie: ``PASSCURVE_CACHE``, else the user's cache folder."""
    if named := os.environ.get("PASSCURVE_CACHE"):
        return Path(named)
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "passcurve"
    try:
        return Path("~/.cache/passcurve").expanduser()
    except RuntimeError:
        # Nobody knows this user, as in many containers.
        return Path(tempfile.gettempdir()) / f"passcurve-cache-{os.getuid()}"


def use_one_thread() -> None:
    """Have numpy start no threads for linear algebra: the command does none, and they take 0.2 s of CPU to start."""
    if _THREADS not in os.environ:
        os.environ[_THREADS] = _ONE_THREAD


def original_environment() -> dict[str, str]:
    """Return the environment for a program of the user's: as it was when we were started."""
    return {name: value for name, value in os.environ.items() if (name, value) != (_THREADS, _ONE_THREAD)}


def api_key(variable: str) -> str:
    """Return the key that an environment variable holds; empty for ``none`` and for one that is not set."""
    return "" if variable == "none" else os.environ.get(variable, "").strip()


def parse_temperatures(text: str, option: str = "--temperature") -> tuple[float, ...]:
    """Return the temperatures of ``0.2,0.8``, each once.  Raises UsageError for what is none."""
    said = "0.8 or 0.2,0.8"
    return tuple(dict.fromkeys(_parse_numbers(option, text, 100.0, "none", "no temperature", said)))


def parse_object(option: str, text: str) -> dict[str, object]:
    """Return the JSON object that an option holds.  Raises UsageError for anything else."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{option} {text!r} is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise UsageError(f"{option} {text!r} is no JSON object; write it like {option} '{{\"top_k\": 20}}'")
    return found


def parse_assignments(option: str, texts: Sequence[str], known: Sequence[str], whose: str) -> dict[str, str]:
    """Return what ``NAME=VALUE`` says, several times.  Raises UsageError for a name that ``whose`` does not have."""
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        name = name.strip().replace("_", "-")
        if not sign:
            raise UsageError(f"{option} {text!r} sets nothing; write it like {option} NAME=VALUE")
        if name not in known:
            there = f"it has {', '.join(known)}" if known else "it has none"
            raise UsageError(f"{option} {text!r}: {whose} has no {name!r}{nearest(name, known)} ({there})")
        found[name] = value.strip()
    return found


def read_options(path: Path, known: Collection[str]) -> dict[str, object]:
    """Return the options of a TOML file, ``known`` being their names with dashes.

    Raises DataError, with the nearest name, for a file that cannot be read and for a name that is none.
    """
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"--config {str(path)!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"--config {str(path)!r} is no TOML: {error}") from None
    for name in table:
        if name.replace("_", "-") not in known:
            raise DataError(f"--config {str(path)!r} sets {name!r}, which is no option{nearest(name, known)}")
    return {name.replace("_", "-"): value for name, value in table.items()}


def read_prices(path: Path, model: str) -> Prices:
    """Return what a TOML file of prices, one table for each model, says of a model, ``openai:NAME`` or ``NAME``.

    Raises DataError when it says nothing of it, with the nearest name, or cannot be read.
    """
    where = f"--prices {str(path)!r}"
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{where} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{where} is no TOML: {error}") from None
    name = model if model in table else model.partition(":")[2]
    if name not in table:
        raise DataError(f"{where} has no table for {model!r}{nearest(name, table)}")
    try:
        return msgspec.convert(table[name], Prices)
    except msgspec.ValidationError as error:
        raise DataError(f"{where}, {name!r}: {error}") from None


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def machine_memory_bytes() -> int | None:
    """Return the bytes of memory that this machine or container has, or None where that cannot be known."""
    found = []
    with contextlib.suppress(ValueError, OSError, AttributeError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            found.append(int(Path(name).read_text(encoding="ascii")))
        except (OSError, ValueError):
            continue
    return min(found) if found else None


def address_space() -> tuple[int | None, int | None]:
    """Return the limits of our address space in bytes: ours, and the hard one, which no sample can exceed.

    None stands for no limit.
    """
    if sys.platform == "win32":
        return None, None
    import resource

    soft, hard = (None if each == resource.RLIM_INFINITY else each for each in resource.getrlimit(resource.RLIMIT_AS))
    return soft, hard


def parse_size(text: str) -> int:
    """Return bytes for words like ``4GiB``, ``512MB`` or ``1073741824``.  Raises UsageError for anything else."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise UsageError(f"--memory {text!r} is no size; write it like 4GiB, 512MiB or 2G")
    if len(match[1]) > _DIGITS:
        raise UsageError(f"--memory has {len(match[1])} digits; write it like 4GiB, 512MiB or 2G")
    size = int(float(match[1]) * _UNITS[(match[2] or "").lower()])
    if size < 64 << 20:
        raise UsageError(f"--memory {text!r} is too little for an interpreter; at least 64MiB is needed")
    return size


def parse_ks(text: str) -> tuple[int, ...]:
    """Return the values of ``--k 1,10,100``, each once, in order.  Raises UsageError for what is no list of counts."""
    return parse_counts("--k", text)


def checked_ks(k: int | Sequence[int]) -> tuple[int, ...]:
    """Return the values of k that were given in Python, each once.  Raises UsageError for what is none."""
    ks = (k,) if isinstance(k, int) else tuple(dict.fromkeys(k))
    if not ks or any(type(value) is not int or value < 1 for value in ks):
        raise UsageError(f"k must be a positive integer or several, got {k!r}")
    return ks


def parse_counts(option: str, text: str, example: str = "1,10,100") -> tuple[int, ...]:
    """Return the counts of an option like ``--k 1,10,100``, each once, in order.

    Raises UsageError for what is no list of counts.
    """
    found = []
    for part in re.split(r"[\s,]+", text.strip("()[] \t")):
        if part:
            if not part.isdecimal() or len(part) > _DIGITS or int(part) < 1:
                raise UsageError(
                    f"{option} {text!r}: {part!r} is no whole number from 1 on; write it like {option} {example}"
                )
            found.append(int(part))
    if not found:
        raise UsageError(f"{option} {text!r} names no {option.lstrip('-')}; write it like {option} {example}")
    return tuple(dict.fromkeys(found))


def parse_chances(option: str, text: str) -> tuple[float, ...]:
    """Return the chances of an option like ``--model 0.1,0.5``, in order.  Raises UsageError for what is none."""
    return _parse_numbers(option, text, 1.0, "no chance", "no chance from 0 to 1", f"{option} 0.1,0.5")


def _parse_numbers(option: str, text: str, most: float, none: str, wrong: str, example: str) -> tuple[float, ...]:
    """Return the numbers from 0 to ``most``; the other words are what an error says."""
    found = []
    for part in filter(None, re.split(r"[\s,]+", text.strip())):
        try:
            value = float(part)
        except ValueError:
            value = -1.0
        if not 0.0 <= value <= most:
            raise UsageError(f"{option} {text!r}: {part!r} is {wrong}; write it like {example}")
        found.append(value)
    if not found:
        raise UsageError(f"{option} {text!r} names {none}; write it like {example}")
    return tuple(found)


def parse_metrics(text: str) -> tuple[Metric, ...]:
    """Return the metrics of ``--metric pass@k,pass^5,g-pass@k:0.5``, each once, in order.

    Raises UsageError naming the part that is none, with the nearest name, or what a metric would need.
    """
    found = tuple(dict.fromkeys(_metric(part) for part in re.split(r"[\s,]+", text.strip()) if part))
    if not found:
        raise UsageError(f"--metric {text!r} names no metric; there are {', '.join(METRICS)}")
    return found


def _metric(part: str) -> Metric:
    match = _METRIC.fullmatch(part)
    stem, sign, k, share = match.group("stem", "sign", "k", "share") if match else (part, None, None, None)
    name = f"{stem}{sign}k" if sign else _SHORT.get(str(stem), str(stem))
    if name in _UNSTORED:
        raise UsageError(f"--metric {part!r} needs {_UNSTORED[name]}, and verdicts do not hold that")
    if name not in METRICS:
        known = (*METRICS, *_SHORT, *_UNSTORED)
        raise UsageError(f"--metric {part!r} is none{nearest(name, known) or '; there are ' + ', '.join(METRICS)}")
    if name in _SHARED and share is None:
        raise UsageError(f"--metric {part!r} needs a share between 0 and 1; write it like {_SHARED[name]}")
    if share is not None and (name not in _SHARED or not 0.0 <= float(share) <= 1.0):
        wanted = "takes no share" if name not in _SHARED else "has a share that is not between 0 and 1"
        raise UsageError(f"--metric {part!r} {wanted}")
    return Metric(name=name, k=int(k) if k not in (None, "k") else None, share=share or "")


def fit_to_machine(workers: int | None, memory_bytes: int | None) -> tuple[int, int, str]:
    """Return (workers, memory_bytes, note) such that all workers at their limit fit into this machine.

    Raises UsageError when a limit that was asked for does not fit even once.
    """
    total = machine_memory_bytes()
    room = int(total * _MEMORY_SHARE) if total else None
    wanted = workers if workers is not None else cores()
    if wanted < 1:
        raise UsageError(f"--workers {wanted} is too few; at least 1 is needed")
    if memory_bytes is None:
        memory_bytes = DEFAULT_MEMORY_BYTES
        if room is not None and room < memory_bytes:
            return 1, room >> 20 << 20, f"memory limit lowered to {room >> 20} MiB: this machine has no more"
    elif room is not None and room < memory_bytes:
        raise UsageError(f"--memory asks for {_gib(memory_bytes)}; at most {_gib(room)} of this machine can be given")
    own, allowed = address_space()
    if own is not None and own < OWN_ADDRESS_SPACE_BYTES:
        raise UsageError(
            f"this process may use {_gib(own)} of address space (ulimit -v); "
            f"at least {_gib(OWN_ADDRESS_SPACE_BYTES)} is needed, whatever samples may use"
        )
    if allowed is not None and allowed < memory_bytes:
        raise UsageError(
            f"--memory {_gib(memory_bytes)}: this process may use {_gib(allowed)} of address space (ulimit -v), "
            "and samples inherit that; raise the limit or ask for less memory"
        )
    fitting = wanted if room is None else max(1, min(wanted, room // memory_bytes))
    note = ""
    if workers is not None and fitting < workers:
        note = (
            f"{fitting} workers instead of {workers}: {workers} at {_gib(memory_bytes)} each do not fit "
            "into this machine (--memory lowers what each may use)"
        )
    return fitting, memory_bytes, note


def _gib(size: int) -> str:
    return f"{size / (1 << 30):.3g} GiB"


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """Which scores a command was asked for."""

    ks: tuple[int, ...]
    ks_asked: bool
    """Whether they were named, so that one that cannot be had is an error."""
    every_k: bool
    metrics: tuple[Metric, ...]


def parse_scores(k: str | None, metric: str, gates: Sequence[int] = ()) -> Scores:
    """Return what ``--k`` and ``--metric`` ask for, and pass@k at the k of each gate.

    Raises UsageError for a k or a metric that is none.
    """
    every_k = k is not None and k.strip() == ALL_KS
    ks = DEFAULT_KS if k is None else () if every_k else parse_ks(k)
    metrics = parse_metrics(metric)
    if gates and Metric() not in metrics:
        metrics += (Metric(),)
    return Scores(
        ks=tuple(dict.fromkeys([*ks, *gates])),
        ks_asked=k is not None and not every_k,
        every_k=every_k,
        metrics=metrics,
    )


def parse_names(text: str) -> tuple[str, ...]:
    """Return the names in a list that commas or blanks separate."""
    return tuple(re.sub(r"[\s,]+", " ", text).split())
