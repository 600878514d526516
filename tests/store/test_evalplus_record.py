"""Records of EvalPlus: base tests alone, or base and added tests, and never the one under the other's name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from passcurve.errors import DataError
from passcurve.store.run_counts import read_counts


def record(path: Path, *statuses: tuple[str | None, str | None]) -> Path:
    """Write a record with a sample for each pair of base and plus status, all of one task."""
    samples = [
        {"task_id": "T/0", "solution": f"# {number}", "base_status": base, "plus_status": plus}
        for number, (base, plus) in enumerate(statuses)
    ]
    path.write_text(json.dumps({"eval": {"T/0": samples}}))
    return path


@pytest.mark.parametrize(
    ("statuses", "passed", "says"),
    [
        ([("pass", "pass"), ("pass", "fail"), ("fail", "fail")], 1, ""),
        ([("pass", None), ("pass", None), ("fail", None)], 2, "not run on 3 of 3 samples"),
        ([("fail", None), ("fail", None)], 0, "not run on 2 of 2 samples"),
        ([("pass", "pass"), ("pass", "fail"), ("pass", None)], 3, "not run on 1 of 3 samples"),
        ([("pass", "pass"), ("fail", None)], 1, ""),
    ],
)
def test_base_and_plus(tmp_path: Path, statuses: list[tuple[str, str | None]], passed: int, says: str) -> None:
    """Where the added tests were not run on every sample, all count by the base tests, and a note says so."""
    run = read_counts(record(tmp_path / "x_eval_results.json", *statuses))
    assert [(len(statuses), passed)] == [(count.n, count.c) for count in run.counts]
    assert says in run.note
    assert bool(says) == ("not run" in run.note)


def test_no_status(tmp_path: Path) -> None:
    """A sample without any status is an error, not a failure."""
    with pytest.raises(DataError, match="base_status"):
        read_counts(record(tmp_path / "x_eval_results.json", ("pass", "pass"), (None, None)))


def test_one_sample_without_an_array(tmp_path: Path) -> None:
    """A task whose one sample stands there alone counts as any other."""
    sample = {"solution": "x", "base_status": "pass", "plus_status": "pass"}
    path = tmp_path / "x_eval_results.json"
    path.write_text(json.dumps({"eval": {"T/0": sample, "T/1": [{**sample, "plus_status": "fail"}]}}))
    assert [("T/0", 1, 1), ("T/1", 1, 0)] == [
        (count.problem_id, count.n, count.c) for count in read_counts(path).counts
    ]


@pytest.mark.parametrize("empty", [[], {"nfiles": 0, "base": [], "plus": []}])
def test_a_task_without_samples(tmp_path: Path, empty: object) -> None:
    """A task that is named counts in the mean, so that one without samples leaves no score."""
    path = tmp_path / "x_eval_results.json"
    whole = {"nfiles": 1, "base": [["success", []]], "plus": [["success", []]]} if isinstance(empty, dict) else None
    sample = {"solution": "x", "base_status": "pass", "plus_status": "pass"}
    path.write_text(json.dumps({"eval": {"T/0": whole or [sample], "T/1": empty}}))
    assert "1 of 2 problems has no sample" == read_counts(path).withheld


@pytest.mark.parametrize("entry", [{}, {"solution": "x"}, {"nfiles": "1", "base": [["success", []]]}])
def test_a_task_that_is_none(tmp_path: Path, entry: object) -> None:
    """A task in no form of EvalPlus is refused, not left out."""
    path = tmp_path / "x_eval_results.json"
    path.write_text(json.dumps({"eval": {"T/0": entry}}))
    with pytest.raises(DataError, match="T/0"):
        read_counts(path)
