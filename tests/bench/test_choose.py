"""The choice of problems: ids, last parts, wildcards and ranges."""

from __future__ import annotations

import pytest

from passcurve.bench.choose import choose_problems
from passcurve.errors import UsageError
from passcurve.types import Benchmark, FunctionTests, Problem


def ids_of(pattern: str, names: tuple[str, ...] = ()) -> list[str]:
    """Return the ids that a pattern chooses among X/0 to X/24, or among these."""
    ids = names or tuple(f"X/{number}" for number in range(25))
    problems = tuple(Problem(id=name, prompt="", entry_point="f", check=FunctionTests(source="")) for name in ids)
    return [
        problem.id for problem in choose_problems(Benchmark(name="X", source="", digest="", problems=problems), pattern)
    ]


@pytest.mark.parametrize(
    ("pattern", "numbers"),
    [
        ("3", [3]),
        ("X/3", [3]),
        ("1-5", [1, 2, 3, 4, 5]),
        ("X/1-3", [1, 2, 3]),
        ("22-99", [22, 23, 24]),
        ("7-7", [7]),
        ("1?", list(range(10, 20))),
        ("X/2?", [20, 21, 22, 23, 24]),
        ("1-3,1?,3", [1, 2, 3, *range(10, 20)]),
        (" 1-2 , 4 ", [1, 2, 4]),
    ],
)
def test_what_a_pattern_chooses(pattern, numbers):
    """Ranges and wildcards are compared with the last part of an id, both ends of a range included."""
    assert [f"X/{number}" for number in numbers] == ids_of(pattern)


def test_an_id_comes_before_a_range():
    """An id, or the last part of one, that looks like a range is that id."""
    names = ("X/1-3", "X/1", "X/2", "Y/2")
    assert ["X/1-3"] == ids_of("1-3", names)
    assert ["X/2", "Y/2"] == ids_of("2-3", names)
    assert ["Y/2"] == ids_of("Y/1-3", names)


@pytest.mark.parametrize("pattern", ["5-1", "30-40", "1-", "-3", "a-b", "3,30"])
def test_a_part_that_chooses_nothing(pattern):
    """A part that matches no problem, or an empty range, is refused."""
    with pytest.raises(UsageError, match="--problems"):
        ids_of(pattern)
