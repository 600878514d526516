"""Stored files read for display: the size of a samples file, the verdicts on one problem."""

from __future__ import annotations

from pathlib import Path

import msgspec

from passcurve.bench import resolve
from passcurve.errors import DataError, nearest
from passcurve.extract import extract
from passcurve.store.completions import stored_completions
from passcurve.store.lines import read_lines
from passcurve.store.locate import samples_of
from passcurve.store.run_counts import check_samples
from passcurve.store.rundir import RunDir
from passcurve.store.samples import read_rows
from passcurve.types import Completion, Header, Limits, Problem, Program, Verdict

_COUNTED_BYTES = 64 << 20


def estimate_row_count(samples: Path) -> int | None:
    """Return the approximate number of rows of a file; None when counting would take long."""
    if samples.stat().st_size > _COUNTED_BYTES:
        return None
    return sum(1 for _ in read_lines(samples))


class InspectedSample(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict with everything that explains it."""

    header: Header
    problem: Problem
    verdict: Verdict
    program: Program | None
    missing: str
    """Why there is no program; shown when the samples are gone or have changed."""

    @property
    def limits(self) -> Limits:
        """The limits of this sample: the time is that of its problem where the benchmark sets one for each."""
        limits = self.header.limits
        return msgspec.structs.replace(limits, timeout_s=self.problem.limit_s(limits.timeout_s))


def inspect_problem(run: Path, problem_id: str, cache_dir: Path, *, stale: bool = False) -> list[InspectedSample]:
    """Return every verdict of a problem in a run, by sample.

    The last part of an id is enough, as 32 for HumanEval/32.  Raises StoreError when there is no run, DataError when
    the problem is not in it, when the benchmark is not on this machine, or when the samples have changed since they
    were judged unless ``stale``.
    """
    if not stale:
        check_samples(run)
    with RunDir(run).read() as stored:
        header = stored.attempt.header
        problems = {problem.id: problem for problem in resolve.reload(header, cache_dir).problems}
        judged = stored.problem_ids()
        chosen = [judged_id for judged_id in judged if judged_id == problem_id]
        chosen = chosen or [judged_id for judged_id in judged if judged_id.rpartition("/")[2] == problem_id]
        if len(chosen) > 1:
            raise DataError(f"{problem_id!r} is the last part of several ids: {', '.join(chosen)}; name one")
        if not chosen or chosen[0] not in problems:
            raise DataError(f"no verdict on {problem_id!r} in {str(run)!r}{nearest(problem_id, judged)}")
        problem = problems[chosen[0]]
        lines = list(stored.lines_of(problem.id))
    if header.generation is not None:
        rows, missing = _generated_rows(run, problem.id), ""
    else:
        rows, missing = _file_rows(samples_of(header.samples, run), list(problems), problem.id)
    samples = []
    for line in lines:
        completion = rows.get(line.row)
        if completion is not None and completion.digest != line.digest:
            completion = None
        samples.append(
            InspectedSample(
                header=header,
                problem=problem,
                verdict=line.verdict,
                program=extract(problem, completion, header.extract) if completion is not None else None,
                missing=missing or f"row {line.row} of {header.samples!r} has gone or has changed since it was judged",
            )
        )
    return sorted(samples, key=lambda sample: sample.verdict.key.sample_index)


def _generated_rows(run: Path, problem_id: str) -> dict[int, Completion]:
    return {row.row: row for row in stored_completions(run) if row.key.problem_id == problem_id}


def _file_rows(samples: Path, task_ids: list[str], problem_id: str) -> tuple[dict[int, Completion], str]:
    try:
        rows = (row for row in read_rows(samples, task_ids) if isinstance(row, Completion))
        return {row.row: row for row in rows if row.key.problem_id == problem_id}, ""
    except DataError as error:
        return {}, str(error)
