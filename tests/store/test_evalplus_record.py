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
    ("statuses", "passed", "is_base_only"),
    [
        ([("pass", "pass"), ("pass", "fail"), ("fail", "fail")], 1, False),
        ([("pass", None), ("pass", None), ("fail", None)], 2, True),
        ([("fail", None), ("fail", None)], 0, True),
        ([("pass", "pass"), ("pass", "fail"), ("pass", None)], 3, True),
        ([("pass", "pass"), ("fail", None)], 1, False),
    ],
)
def test_base_and_plus(tmp_path: Path, statuses: list[tuple[str, str | None]], passed: int, is_base_only: bool) -> None:
    """Where the added tests were not run on every sample, all count by the base tests, and a note says so."""
    run = read_counts(record(tmp_path / "x_eval_results.json", *statuses))
    assert [(len(statuses), passed)] == [(count.n, count.c) for count in run.counts]
    assert is_base_only == ("not run" in run.note)


def test_no_status(tmp_path: Path) -> None:
    """A sample without any status is an error, not a failure."""
    with pytest.raises(DataError, match="base_status"):
        read_counts(record(tmp_path / "x_eval_results.json", ("pass", "pass"), (None, None)))
