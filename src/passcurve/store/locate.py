"""The place of a run directory: beside its file of samples unless the user names another."""

from __future__ import annotations

import re
from hashlib import blake2b
from pathlib import Path

from passcurve.store.parts import LOCK

SUFFIX = ".passcurve"
_CHOICE_LETTERS = 24


def default_run_dir(samples: str | Path) -> Path:
    """Return the run directory of a file of samples for which the user names none."""
    return Path(f"{samples}{SUFFIX}")


def name_choice(samples: str, pattern: str) -> str:
    """Return the name that a run of some problems has in place of its samples': ``s.jsonl.1-3f2a9c`` for ``*/1?``.

    The same pattern has the same name; without a pattern it is the name of the samples.
    """
    if not pattern.strip():
        return samples
    words = re.sub(r"[^A-Za-z0-9]+", "-", pattern).strip("-")[:_CHOICE_LETTERS].strip("-")
    digest = blake2b(pattern.strip().encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()
    return f"{samples}.{words}-{digest}" if words else f"{samples}.{digest}"


def partial_runs(samples: Path) -> list[Path]:
    """Return the run directories beside a file of samples that cover some of its problems."""
    name = re.compile(rf"{re.escape(samples.name)}\.([A-Za-z0-9-]+-)?[0-9a-f]{{6}}{re.escape(SUFFIX)}")
    folders = samples.parent.iterdir() if samples.parent.is_dir() else []
    return sorted(path for path in folders if name.fullmatch(path.name))


def explain_partial_runs(samples: Path) -> str:
    """Return the message for samples of which only parts were judged; empty where there is no such run."""
    runs = partial_runs(samples)
    return f"{str(samples)!r} has only runs of some problems; name one: {', '.join(map(str, runs))}" if runs else ""


def samples_of(samples: str, run: Path) -> Path:
    """Return the file of the samples of a run, which its header names: where it was, or beside it if both have moved.

    The file need not exist; it is then the one that the header names.
    """
    named, beside = Path(samples), run.with_name(run.name.removesuffix(SUFFIX))
    return beside if not named.is_file() and beside.is_file() else named


def find_run_dir(path: Path) -> Path:
    """Return the run directory that a path names: that folder, or the one beside the file of samples.

    The folder beside the samples need not exist.  The samples may be shipped ones, as in ``starter:examples``.
    """
    beside = default_run_dir(path)
    if path.is_dir():
        # Samples may be a folder too.
        return beside if beside.is_dir() and not (path / LOCK).exists() else path
    return beside if beside.is_dir() else default_run_dir(str(path).replace(":", "-"))
