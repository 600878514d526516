"""The comparison of two runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from passcurve import config
from passcurve.analysis import compare as comparison
from passcurve.analysis.notebook import Run
from passcurve.errors import UsageError
from passcurve.store.run_counts import read_counts


def compare(
    a: Run | str | Path,
    b: Run | str | Path,
    *,
    k: int | Sequence[int] = 1,
    level: float = 0.95,
    seed: int = 0,
    common: bool = False,
    stale: bool = False,
) -> comparison.Comparison:
    """Compare two runs on the same problems: A less B with its intervals, p, and the problems that decide.

    Each is a Run, a run directory, samples that were judged, or a file of results.  ``compare(a, b)["pass@1"]`` is the
    difference at one k.  Raises DataError where the runs are not finished or their score is withheld, where their
    problems or tests differ unless ``common``, and where samples have changed since they were judged unless ``stale``;
    UsageError for k, level or seed out of range, and for what is no run.
    """
    for run in (a, b):
        if not isinstance(run, Run | str | Path):
            raise UsageError(f"compare takes runs or their paths, not {type(run).__name__}")
    if not (isinstance(level, float) and 0.0 < level < 1.0):
        raise UsageError(f"level={level!r} is not a number between 0 and 1")
    if not config.is_count(seed, 0):
        raise UsageError(f"seed={seed!r} is not an integer of at least 0")
    scored = [read_counts(run.path if isinstance(run, Run) else Path(run), stale=stale) for run in (a, b)]
    return comparison.compare(scored, config.checked_ks(k), level=level, seed=seed, common=common)
