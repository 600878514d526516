"""Settings from the command line and the environment, which no other file reads."""

from __future__ import annotations

import json
import operator
import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from passcurve import machine
from passcurve.errors import DataError, UsageError, nearest
from passcurve.types import Limits, Metric, Prices
from passcurve.types.decoding import decodable

DEFAULT_KS = (1, 10, 100)
NO_KEY = "none"
"""Name of no variable, for servers that want no key."""
ALL_KS = "all"
METRICS = ("pass@k", "pass^k", "g-pass@k", "mg-pass@k", "attempts@k", "distinct@k", "cover")
"""Metrics of stored verdicts."""
_WITH_SHARE = {"g-pass@k": "g-pass@k:0.5", "cover": "cover:0.5"}
"""Metrics with the parameter tau, each with an example."""
_SHORT_NAMES = {"attempts": "attempts@k", "distinct": "distinct@k"}
_NEEDS_MORE = {
    "maj@k": "the answer that each sample gave (passcurve.stats.maj_at_k takes them)",
    "best-of@k": "a score of each sample (passcurve.stats.best_of_k takes them)",
    "max@k": "the share of tests that each sample passed (passcurve.stats.max_at_k takes them)",
    "min@k": "the share of tests that each sample passed (passcurve.stats.min_at_k takes them)",
    "n@k": "which samples passed the public tests (passcurve.stats.n_at_k takes their number)",
    "ranked@k": "the order in which the samples were ranked (passcurve.stats.ranked_top_k takes it)",
}
"""Metrics that need more than verdicts, each with what it needs."""
_METRIC = re.compile(r"(?P<base>[a-z-]+)(?:(?P<sign>[@^])(?P<k>k|[1-9][0-9]{0,14}))?(?::(?P<share>[0-9]*\.?[0-9]+))?")
DEFAULT_MEMORY_BYTES = 4 << 30
_UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(k|m|g|ki|mi|gi)?b?\s*", re.IGNORECASE)
_THREADS, _ONE_THREAD = "OPENBLAS_NUM_THREADS", "1"
"""The variable that limits the threads of numpy, and our value of it."""
OWN_ADDRESS_SPACE_BYTES = 512 << 20
"""Least address space for passcurve itself: with less, the library of numpy tries to allocate for ever."""
SAMPLE_OPEN_FILES = 64
"""Open files of a sample.  The file that sets the limit cannot be imported here: it needs a POSIX system."""
SAMPLE_THREADS, SAMPLE_STACK_BYTES, SAMPLE_CPU_S = 64, 8 << 20, 600
"""Threads of a sample, the stack of its first one, and CPU time, so that its own clock ends it and no other limit."""
_MAX_DIGITS = 15
"""Most digits of a count or a size."""


def cache_dir() -> Path:
    """Return the folder of what is kept from run to run: ``PASSCURVE_CACHE``, or one in the user's cache folder."""
    if named := os.environ.get("PASSCURVE_CACHE"):
        return Path(named)
    # The standard (XDG Base Directory) says of a relative path: ignore it.
    if (base := Path(os.environ.get("XDG_CACHE_HOME", ""))).is_absolute():
        return base / "passcurve"
    try:
        return Path("~/.cache/passcurve").expanduser()
    except RuntimeError:
        # This user has no name and no home, as in many containers.
        return Path(tempfile.gettempdir()) / f"passcurve-cache-{os.getuid()}"


def use_one_thread() -> None:
    """Keep numpy from starting threads, which take 0.2 s of CPU: no command needs linear algebra."""
    if _THREADS not in os.environ:
        os.environ[_THREADS] = _ONE_THREAD


def original_environment() -> dict[str, str]:
    """Return the environment as it was when the command started, for programs of the user."""
    return {name: value for name, value in os.environ.items() if (name, value) != (_THREADS, _ONE_THREAD)}


def api_key(variable: str) -> str:
    """Return the key in an environment variable; empty for ``none`` and for a variable that is not set.

    Raises UsageError for a key that no header can hold.
    """
    key = "" if variable == NO_KEY else os.environ.get(variable, "").strip()
    if not key.isascii() or not key.isprintable():
        raise UsageError(f"the key in {variable} has characters that no header can hold; copy it again")
    return key


def proxy_variables() -> tuple[str, ...]:
    """Return the names of the environment variables that choose a proxy or certificates for requests, as far as set."""
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")
    return tuple(name for upper in names for name in (upper, upper.lower()) if os.environ.get(name))


def parse_temperatures(text: str) -> tuple[float, ...]:
    """Return the temperatures of ``--temperature 0.2,0.8``, each once.  Raises UsageError for anything else."""
    return tuple(dict.fromkeys(_parse_numbers("--temperature", text, 100.0, "0.8 or 0.2,0.8")))


def parse_temperatures_of_runs(text: str) -> tuple[float, ...]:
    """Return the temperatures of ``--temperatures 0.2,0.8``, one for each run.  Raises UsageError for anything else."""
    return tuple(_parse_numbers("--temperatures", text, 100.0, "0.8 or 0.2,0.8"))


def parse_object(option: str, text: str) -> dict[str, object]:
    """Return the JSON object in the text of an option.  Raises UsageError for anything else."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{option} {text!r} is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise UsageError(f"{option} {text!r} must be a JSON object, like {option} '{{\"top_k\": 20}}'")
    return value


def parse_assignments(option: str, texts: Sequence[str], allowed: Sequence[str], owner: str) -> dict[str, str]:
    """Return the values of several ``NAME=VALUE``.  Raises UsageError for a name that is not allowed."""
    values = {}
    for text in texts:
        name, sign, value = text.partition("=")
        name = name.strip().replace("_", "-")
        if not sign:
            raise UsageError(f"{option} {text!r} must be NAME=VALUE")
        if name not in allowed:
            names = f"its options are {', '.join(allowed)}" if allowed else "it has none"
            raise UsageError(f"{option} {text!r}: {owner} has no option {name!r}{nearest(name, allowed)} ({names})")
        values[name] = value.strip()
    return values


def read_options(path: Path, allowed: Collection[str]) -> dict[str, object]:
    """Return the options in a TOML file; ``allowed`` are their names with dashes.

    Raises DataError for a file that cannot be read, and for an unknown name, with the nearest one.
    """
    table = read_toml(f"--config {str(path)!r}", path)
    for name in table:
        if name.replace("_", "-") not in allowed:
            raise DataError(f"--config {str(path)!r} has an unknown option {name!r}{nearest(name, allowed)}")
    return {name.replace("_", "-"): value for name, value in table.items()}


def read_prices(path: Path, model: str) -> Prices:
    """Return the prices of a model, ``openai:NAME`` or ``NAME``, from a TOML file with one table for each model.

    Raises DataError when the file cannot be read, or has no table for the model.
    """
    table = read_toml(source := f"--prices {str(path)!r}", path)
    name = model if model in table else model.partition(":")[2]
    if name not in table:
        raise DataError(f"{source} has no table for {model!r}{nearest(name, table)}")
    try:
        return msgspec.convert(table[name], decodable(Prices))
    except msgspec.ValidationError as error:
        raise DataError(f"{source}, {name!r}: {error}") from None


def read_toml(source: str, path: Path) -> dict[str, Any]:
    """Return a TOML file, which messages name as ``source``.  Raises DataError when it cannot be read."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {source}: {getattr(error, 'strerror', None) or error}") from None
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{source} is not valid TOML: {error}") from None


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def inherited_limits(name: str) -> tuple[int | None, int | None]:
    """Return the soft and the hard limit of this process that ``resource`` calls ``name``; None stands for no limit.

    No sample can exceed the hard one.
    """
    if sys.platform == "win32":
        return None, None
    import resource

    limits = resource.getrlimit(getattr(resource, name))
    soft, hard = (None if limit == resource.RLIM_INFINITY else limit for limit in limits)
    return soft, hard


def parse_size(text: str) -> int:
    """Return the bytes of ``4GiB``, ``512MB`` or ``1073741824``.  Raises UsageError for anything else."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise UsageError(f"--memory {text!r} must be a size like 4GiB, 512MiB or 2G")
    if len(match[1]) > _MAX_DIGITS:
        raise UsageError(f"--memory has {len(match[1])} digits; it must be a size like 4GiB, 512MiB or 2G")
    size = int(float(match[1]) * _UNITS[(match[2] or "").lower()])
    if size < 64 << 20:
        raise UsageError(f"--memory {text!r} must be at least 64MiB, which an interpreter needs")
    return size


def parse_ks(text: str) -> tuple[int, ...]:
    """Return the values of ``--k 1,10,100``, each once, in order.  Raises UsageError for anything else."""
    return parse_counts("--k", text)


def checked_ks(k: int | Sequence[int]) -> tuple[int, ...]:
    """Return the values of k from a call in Python, each once.  Raises UsageError for anything else."""
    try:
        ks: tuple[Any, ...] = (
            tuple(dict.fromkeys(k)) if isinstance(k, Iterable) and not isinstance(k, str | bytes) else (k,)
        )
        whole = tuple(operator.index(one) for one in ks if not isinstance(one, bool))
    except TypeError:
        whole = ()
    if not whole or len(whole) < len(ks) or min(whole) < 1:
        raise UsageError(f"k must be a positive integer or a sequence of them, got {k!r}")
    return whole


def is_count(value: object, least: int = 1) -> bool:
    """Tell whether a value is an integer of at least ``least``; a truth value and a float are none."""
    return type(value) is int and value >= least


def parse_counts(option: str, text: str, example: str = "1,10,100") -> tuple[int, ...]:
    """Return the positive integers of an option like ``--k 1,10,100``, each once, in order.

    Raises UsageError for anything else.
    """
    counts = []
    for part in re.split(r"[\s,]+", text.strip("()[] \t")):
        if part:
            if not part.isdecimal() or len(part) > _MAX_DIGITS or int(part) < 1:
                kind = "a positive integer" + f" of at most {_MAX_DIGITS} digits" * (len(part) > _MAX_DIGITS)
                raise UsageError(f"{option} {text!r}: {part!r} must be {kind}; write it like {option} {example}")
            counts.append(int(part))
    if not counts:
        raise UsageError(f"{option} {text!r} is empty; write it like {option} {example}")
    return tuple(dict.fromkeys(counts))


def parse_chances(option: str, text: str) -> tuple[float, ...]:
    """Return the chances of an option like ``--model 0.1,0.5``, in order.  Raises UsageError for anything else."""
    return _parse_numbers(option, text, 1.0, f"{option} 0.1,0.5")


def _parse_numbers(option: str, text: str, largest: float, example: str) -> tuple[float, ...]:
    numbers = []
    for part in filter(None, re.split(r"[\s,]+", text.strip())):
        try:
            number = float(part)
        except ValueError:
            number = -1.0
        if not 0.0 <= number <= largest:
            raise UsageError(
                f"{option} {text!r}: {part!r} must be a number from 0 to {largest:g}; write it like {example}"
            )
        numbers.append(number)
    if not numbers:
        raise UsageError(f"{option} {text!r} is empty; write it like {example}")
    return tuple(numbers)


def parse_metrics(text: str) -> tuple[Metric, ...]:
    """Return the metrics of ``--metric pass@k,pass^5,g-pass@k:0.5``, each once, in order.

    Raises UsageError for an unknown metric, with the nearest name, and for one that needs more than verdicts.
    """
    metrics = tuple(dict.fromkeys(_metric(part) for part in re.split(r"[\s,]+", text.strip()) if part))
    if not metrics:
        raise UsageError(f"--metric {text!r} is empty; choose from {', '.join(METRICS)}")
    return metrics


def _metric(part: str) -> Metric:
    match = _METRIC.fullmatch(part)
    base, sign, k, share = match.group("base", "sign", "k", "share") if match else (part, None, None, None)
    name = f"{base}{sign}k" if sign else _SHORT_NAMES.get(str(base), str(base))
    if name in _NEEDS_MORE:
        raise UsageError(f"--metric {part!r} needs {_NEEDS_MORE[name]}, and verdicts do not hold that")
    if name not in METRICS:
        hint = nearest(name, (*METRICS, *_SHORT_NAMES, *_NEEDS_MORE)) or f"; choose from {', '.join(METRICS)}"
        raise UsageError(f"--metric {part!r} is not a metric{hint}")
    if name in _WITH_SHARE and share is None:
        raise UsageError(f"--metric {part!r} needs a share between 0 and 1; write it like {_WITH_SHARE[name]}")
    if share is not None and name not in _WITH_SHARE:
        raise UsageError(f"--metric {part!r} takes no share; leave out ':{share}'")
    if share is not None and not (0.0 <= float(share) <= 1.0 and (name != "cover" or 0.0 < float(share) < 1.0)):
        raise UsageError(f"--metric {part!r}: the share must be between 0 and 1{', and neither' * (name == 'cover')}")
    return Metric(name=name, k=int(k) if k not in (None, "k") else None, share=share or "")


class Resources(NamedTuple):
    """The resources of a run on this machine."""

    workers: int
    memory_bytes: int
    """Memory limit of each sample."""
    note: str
    """Reason why there is less than the user asked for; empty when there is not."""


def fit_to_machine(workers: int | None, memory_bytes: int | None) -> Resources:
    """Return as many workers as fit into this machine when each uses all its memory.

    Raises UsageError when a memory limit that the user set does not fit even once.
    """
    total = machine.total_memory_bytes()
    available = int(total * machine.MEMORY_SHARE) if total else None
    wanted = workers if workers is not None else cores()
    if wanted < 1:
        raise UsageError(f"--workers must be a positive integer, got {wanted}")
    if memory_bytes is None:
        memory_bytes = DEFAULT_MEMORY_BYTES
        if available is not None and available < memory_bytes:
            lowered = available >> 20 << 20
            _check_inherited_limits(lowered)
            return Resources(1, lowered, f"memory limit lowered to {lowered >> 20} MiB: this machine has no more")
    elif available is not None and available < memory_bytes:
        raise UsageError(
            f"--memory must fit into this machine: at most {_gib(available)} are available, got {_gib(memory_bytes)}"
        )
    _check_inherited_limits(memory_bytes)
    fitting = wanted if available is None else max(1, min(wanted, available // memory_bytes))
    note = ""
    if workers is not None and fitting < workers:
        note = (
            f"{fitting} workers instead of {workers}: {workers} with {_gib(memory_bytes)} each do not fit "
            "into this machine (a lower --memory lets more fit)"
        )
    return Resources(fitting, memory_bytes, note)


def _check_inherited_limits(memory_bytes: int) -> None:
    """Raise UsageError when samples would have less than they are promised: verdicts would depend on the shell."""
    soft, hard = inherited_limits("RLIMIT_AS")
    if soft is not None and soft < OWN_ADDRESS_SPACE_BYTES:
        raise UsageError(
            f"the address space of this process is limited to {_gib(soft)} (ulimit -v); "
            f"passcurve itself needs at least {_gib(OWN_ADDRESS_SPACE_BYTES)}"
        )
    # That of data has no limit of ours, which would replace the soft one.
    data, _ = inherited_limits("RLIMIT_DATA")
    for limit, what in ((hard, "address space (ulimit -v)"), (data, "data (ulimit -d)")):
        if limit is not None and limit < memory_bytes:
            raise UsageError(
                f"--memory is {_gib(memory_bytes)}, but samples inherit a limit of {_gib(limit)} of {what}; "
                "raise that limit, or lower --memory"
            )
    for name, most, what, flag in (
        ("RLIMIT_NOFILE", SAMPLE_OPEN_FILES, "open files", "-n"),
        ("RLIMIT_NPROC", SAMPLE_THREADS, "threads", "-u"),
        ("RLIMIT_STACK", SAMPLE_STACK_BYTES, "bytes of stack", "-s"),
        ("RLIMIT_FSIZE", Limits().scratch_bytes, "bytes in a file", "-f"),
        ("RLIMIT_CPU", SAMPLE_CPU_S, "seconds of CPU", "-t"),
    ):
        if (limit := inherited_limits(name)[1]) is not None and limit < most:
            raise UsageError(
                f"a sample may have {most:,} {what}, but inherits a limit of {limit:,}; raise it (ulimit {flag})"
            )


def _gib(size: int) -> str:
    return f"{size / (1 << 30):.3g} GiB"


class ScoreOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The scores that a command estimates."""

    ks: tuple[int, ...]
    ks_requested: bool
    """True when the user named them: a k without an estimate is then an error."""
    with_curve: bool
    metrics: tuple[Metric, ...]


def parse_scores(k: str | None, metric: str, gates: Sequence[int] = ()) -> ScoreOptions:
    """Return the scores of ``--k`` and ``--metric``, and pass@k at the k of each gate.

    Raises UsageError for an invalid k or an unknown metric.
    """
    with_curve = k is not None and k.strip() == ALL_KS
    ks = DEFAULT_KS if k is None else () if with_curve else parse_ks(k)
    metrics = parse_metrics(metric)
    if gates and Metric() not in metrics:
        metrics += (Metric(),)
    return ScoreOptions(
        ks=tuple(dict.fromkeys([*ks, *gates])),
        ks_requested=k is not None and not with_curve,
        with_curve=with_curve,
        metrics=metrics,
    )


def parse_names(text: str) -> tuple[str, ...]:
    """Return the names in a list, separated by commas or blanks."""
    return tuple(re.sub(r"[\s,]+", " ", text).split())
