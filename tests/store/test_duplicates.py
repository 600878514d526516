"""Tests of finding duplicate programs and counting the samples that share each."""

from __future__ import annotations

from collections import Counter

import pytest

from passcurve.store.duplicates import DuplicateTracker, group_sizes
from passcurve.types import Counts


@pytest.mark.parametrize(
    ("programs", "expected"),
    [
        ({"a": ["x", "x"], "b": ["y", "y", "y"]}, 2),
        ({"a": ["x", "x"], "b": ["y", "z"]}, 0),
        ({"a": ["x", "x"], "b": ["y"]}, 1),
        ({"a": ["x"], "b": ["y"]}, 0),
        ({"a": ["", ""], "b": ["y", "y"]}, 1),
        ({"a": ["", ""], "b": ["", ""]}, 0),
        ({"a": ["x", ""], "b": ["y", "y"]}, 0),
        ({}, 0),
    ],
)
def test_problems_whose_samples_are_one_program(programs, expected):
    """Problems with one program count only if no problem with several samples has two; no program is none."""
    tracker = DuplicateTracker()
    for problem_id, digests in programs.items():
        for digest in digests:
            tracker.add(problem_id, digest)
    counts = [Counts(problem_id=problem_id, n=len(digests), c=0) for problem_id, digests in programs.items()]
    assert expected == tracker.count_uniform_problems(counts)
    differ = [tracker.has_two_programs(problem_id) for problem_id in programs]
    assert [len(set(digests)) > 1 for digests in programs.values()] == differ


def test_group_sizes():
    """Each problem has its group sizes in the order of the ids; a problem without samples has none."""
    programs = {"a": Counter(["x", "z", "x", ""]), "b": Counter(["y"])}
    assert ((1,), (2, 1, 1), ()) == group_sizes(programs, ["b", "a", "c"])
    assert group_sizes({"a": Counter([""]), "b": Counter([""])}, ["a", "b"]) is None
