"""The programs and verdicts that a match compares: those of a judged run, or of a file of another harness."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from passcurve.bench import resolve
from passcurve.diagnosis import Diagnosis
from passcurve.errors import DataError, nearest, nearest_file
from passcurve.extract import DEFAULT, split_policy
from passcurve.signature import signature
from passcurve.store.completions import stored_completions
from passcurve.store.locate import explain_partial_runs, find_run_dir, samples_of
from passcurve.store.records import Record, read_record
from passcurve.store.records.human_eval import read_rows as read_rows_with_verdicts
from passcurve.store.records.sample import MalformedRecordError
from passcurve.store.rundir import RunDir
from passcurve.store.samples import read_rows
from passcurve.store.verdicts import StoredVerdicts, require_finished
from passcurve.types import Benchmark, Completion, Header, Problem, SampleKey

KEPT = "match.jsonl"
"""File in the run directory: a head with the signatures, then a line for each sample."""


class MatchRow(NamedTuple):
    """A completion, and the status of its verdict."""

    completion: Completion
    status: str

    @property
    def passed(self) -> bool:
        """True when every test passed."""
        return self.status == "passed"


class MatchRows(msgspec.Struct, frozen=True, kw_only=True):
    """All samples of a run or file, and the problems that they are of."""

    benchmark: str
    problems: Mapping[str, Problem]
    rows: list[MatchRow]
    policy: str
    """The policy by which texts became programs, without a prelude: its lines are the harness's, not the model's."""
    signature: str
    """Signature of the verdicts; empty for a file of another harness."""
    digest: str = ""
    """Digest of the attempt that the verdicts belong to."""
    kept: Path | None = None
    """Where the values of the samples are stored; None for a file of another harness."""


def is_run(path: Path) -> bool:
    """Tell whether a path is a folder and holds no results of another harness."""
    return path.is_dir() and read_record(path) is None


def find_source(path: Path) -> Path:
    """Return the run directory of a path, or the path itself where it is a file with verdicts of another harness.

    Raises DataError where it is neither.
    """
    folder = find_run_dir(path)
    if is_run(folder):
        return folder
    if path.exists() and (record := _read(path)) is not None and record.has_verdicts:
        if all(sample.text is not None and sample.status for sample in record.samples):
            return path
        raise DataError(f"{str(path)!r} lacks programs or verdicts of some samples: judge it, then match it")
    if reason := explain_partial_runs(path):
        raise DataError(reason)
    if not path.exists():
        raise DataError(f"no file {str(path)!r}{nearest_file(path)}")
    raise DataError(f"no run directory for {str(path)!r}: judge it first, because a match needs programs and verdicts")


def _read(path: Path) -> Record | None:
    try:
        return read_record(path) or (read_rows_with_verdicts(path) if path.is_file() else None)
    except MalformedRecordError as error:
        raise DataError(f"{str(path)!r}: {error}") from None


def read_file_rows(path: Path, name: str | None, cache_dir: Path) -> MatchRows:
    """Return the samples of a file of another harness; ``name`` is its benchmark, else the task ids tell it."""
    record = _read(path)
    samples = record.samples if record is not None else ()
    ids = dict.fromkeys(sample.task_id for sample in samples)
    benchmark: Benchmark = resolve.load(name, cache_dir) if name else resolve.find_by_ids(ids, cache_dir)
    problems = {problem.id: problem for problem in benchmark.problems}
    if strange := next((task for task in ids if task not in problems), ""):
        raise DataError(f"{str(path)!r}: {benchmark.name} has no problem {strange!r}{nearest(strange, problems)}")
    numbers: dict[str, int] = {}
    rows = []
    for row, sample in enumerate(samples):
        index = numbers[sample.task_id] = numbers.get(sample.task_id, -1) + 1
        key = SampleKey(problem_id=sample.task_id, sample_index=index)
        text, form = sample.text, sample.form
        completion = Completion(key=key, row=row, line=row + 1, digest="", form=form, text=text)
        rows.append(MatchRow(completion, sample.status))
    return MatchRows(benchmark=benchmark.name, problems=problems, rows=rows, policy=DEFAULT, signature="")


def read_run_rows(path: Path, folder: Path, cache_dir: Path, diagnosis: Diagnosis | None) -> MatchRows:
    """Return the samples of a judged run, those of excluded problems left out; ``path`` is its name for messages."""
    with RunDir(folder).read() as stored:
        attempt = stored.attempt
        require_finished(attempt, str(path))
        header = attempt.header
        problems = {problem.id: problem for problem in resolve.reload(header, cache_dir).problems}
        rows = list(_rows_of_run(folder, header, list(problems), stored))
        if len(rows) < len(stored):
            raise DataError(f"{str(path)!r} has fewer samples than verdicts: the samples have changed since")
    scope = diagnosis.scope if diagnosis is not None else None
    if scope is not None:
        rows = [row for row in rows if row.completion.key.problem_id not in scope.faulty]
    return MatchRows(
        benchmark=header.benchmark,
        problems=problems,
        rows=rows,
        policy=split_policy(header.extract)[0],
        signature=signature(header, scope),
        digest=attempt.digest,
        kept=folder / KEPT,
    )


def _rows_of_run(folder: Path, header: Header, task_ids: Sequence[str], stored: StoredVerdicts) -> Iterable[MatchRow]:
    """Yield the completions that were judged; raise DataError for one that has changed."""
    if header.generation is not None:
        rows: Iterable[object] = stored_completions(folder)
    else:
        source = samples_of(header.samples, folder)
        if not source.is_file():
            raise DataError(f"the samples file {str(source)!r} of this run is gone: a match needs the texts")
        rows = read_rows(source, task_ids)
    for row in rows:
        if isinstance(row, Completion) and (status := stored.status_at(row.row)) is not None:
            if stored.digest_at(row.row) != row.digest:
                raise DataError(f"row {row.row} of {header.samples!r} has changed since it was judged; judge it again")
            yield MatchRow(row, status)
