"""The metric ``code_eval``, called as evaluate's is: a contract test."""

from __future__ import annotations

import pytest

from passcurve.compat.code_eval import compute
from passcurve.errors import DataError, UsageError

RIGHT = "def add(a, b):\n    return a + b\n"
WRONG = "def add(a, b):\n    return a * b\n"
CHECK = "def check(candidate):\n    assert candidate(2, 3) == 5\ncheck(add)"


@pytest.mark.ci
def test_compute():
    """Leaving early and printing earn nothing; a k that a task has too few programs for is left out."""
    cheats = ["import sys\nsys.exit(0)\n", "import os\nos._exit(0)\n", "print('passed')\n"]
    scores, results = compute(
        predictions=[[RIGHT, WRONG], [*cheats, RIGHT, "def add(a, b):\n    while True: pass\n"]],
        references=["assert add(2, 3) == 5", CHECK],
        k=[1, 2, 10],
        num_workers=2,
        timeout=1.0,
    )
    assert [True, False] == [row["passed"] for _, row in results[0]]
    assert [False, False, False, True, False] == [row["passed"] for _, row in results[1]]
    assert {"pass@1", "pass@2"} == set(scores)
    assert (1 / 2 + 1 / 5) / 2 == pytest.approx(scores["pass@1"])
    assert (1 + 2 / 5) / 2 == pytest.approx(scores["pass@2"])
    assert (0, {"task_id": 0, "passed": True, "result": "passed", "completion_id": 0}) == results[0][0]
    assert "timed out" == results[1][4][1]["result"]


def test_references_that_use_objects_of_the_program():
    """A reference that needs a live object is judged beside the program."""
    scores, _ = compute(
        [["class A:\n    def f(self):\n        return 1\n", RIGHT], ["x = 5\n", "x = 4\n"]],
        ["assert A().f() == 1", "assert x == 5"],
        k=[1],
    )
    assert {"pass@1": 0.5} == scores


@pytest.mark.ci
def test_what_is_no_input():
    """Programs without tests, tests without programs, and tests that call nothing are wrong input."""
    with pytest.raises(DataError):
        compute([[RIGHT]], [])
    with pytest.raises(DataError):
        compute([[]], ["assert add(2, 3) == 5"])
    with pytest.raises(DataError, match="reference 0"):
        compute([[RIGHT]], ["assert 2 + 3 == 5"])


@pytest.mark.parametrize(
    ("predictions", "references"),
    [
        ([RIGHT], ["assert add(2, 3) == 5"]),
        ([[RIGHT], RIGHT], ["assert add(2, 3) == 5"] * 2),
        (RIGHT, ["assert add(2, 3) == 5"] * len(RIGHT)),
        ([[RIGHT]], "assert add(2, 3) == 5"),
        ([[RIGHT]], [None]),
    ],
)
def test_a_text_in_place_of_a_list_has_no_score(predictions, references):
    """The characters of a text are no programs, and no tests."""
    with pytest.raises(DataError, match="must be a list"):
        compute(predictions, references, [1])


@pytest.mark.parametrize("k", [0, [-1], ["1"], [1.5], []])
def test_a_k_that_cannot_be_is_refused_first(k):
    """A wrong k is an error before programs are judged."""
    with pytest.raises(UsageError, match="k must be"):
        compute([[RIGHT]], [None], k)
