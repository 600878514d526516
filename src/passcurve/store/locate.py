"""The place of a run directory: beside its file of samples unless the user names another."""

from __future__ import annotations

from pathlib import Path

SUFFIX = ".passcurve"


def default_run_dir(samples: str | Path) -> Path:
    """Return the run directory of a file of samples for which the user names none."""
    return Path(f"{samples}{SUFFIX}")


def find_run_dir(path: Path) -> Path:
    """Return the run directory that a path names: that folder, or the one beside the file of samples.

    The folder beside the samples need not exist.  The samples may be shipped ones, as in ``starter:examples``.
    """
    if path.is_dir():
        return path
    beside = default_run_dir(path)
    return beside if beside.is_dir() else default_run_dir(str(path).replace(":", "-"))
