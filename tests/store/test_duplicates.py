"""Which problems have copies of one program, and how many samples share each."""

from __future__ import annotations

import pytest

from passcurve.store.duplicates import Alike, group_sizes
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
    """They count only when no problem with several samples has two programs; having none is like no program."""
    alike = Alike()
    for problem_id, own in programs.items():
        for program in own:
            alike.add(problem_id, program)
    counts = [Counts(problem_id=each, n=len(own), c=0) for each, own in programs.items()]
    assert expected == alike.problems(counts)
    assert [len(set(own)) > 1 for own in programs.values()] == [alike.differs(each) for each in programs]


def test_group_sizes():
    """Each problem has the sizes of its groups, in the order asked; one without samples none."""
    samples = [("a", "x"), ("b", "y"), ("a", "z"), ("a", "x"), ("a", "")]
    assert ((1,), (2, 1, 1), ()) == group_sizes(samples, ["b", "a", "c"])
    assert group_sizes([("a", ""), ("b", "")], ["a", "b"]) is None
