"""The problems that the corpus is about, in HumanEval's format, with a right and a wrong answer to each."""

from __future__ import annotations

from typing import Any, NamedTuple


class Problem(NamedTuple):
    """One problem."""

    prompt: str
    right: str
    wrong: str
    test: str

    def row(self, name: str) -> dict[str, Any]:
        """Return the problem as a line of a benchmark."""
        return {
            "task_id": name,
            "prompt": self.prompt,
            "entry_point": name,
            "canonical_solution": self.right,
            "test": self.test,
        }


PROBLEMS = {
    "add": Problem(
        'def add(a: int, b: int) -> int:\n    """Return the sum of two whole numbers."""\n',
        "    return a + b\n",
        "    return a - b\n",
        """
def check(candidate):
    assert candidate(1, 2) == 3
    assert candidate(-4, 4) == 0
    assert candidate(10 ** 20, 5) == 100000000000000000005
    assert candidate(7, 35) == 42, "seven and thirty-five"
""",
    ),
    "evens": Problem(
        'def evens(numbers: list) -> list:\n    """Return the even ones of some numbers, in their order."""\n',
        "    return [number for number in numbers if number % 2 == 0]\n",
        "    return numbers\n",
        """
def check(candidate):
    assert candidate([1, 2, 3, 4]) == [2, 4]
    assert candidate([]) == []
    assert candidate([7, 9]) == []
    assert len(candidate(list(range(10)))) == 5
    assert sorted(candidate([8, 6])) == [6, 8]
""",
    ),
    "shout": Problem(
        'def shout(text: str) -> str:\n    """Return a text in capitals, with an exclamation mark."""\n',
        '    return text.upper() + "!"\n',
        "    return text.upper()\n",
        """
def check(candidate):
    assert candidate("hey") == "HEY!"
    assert candidate("") == "!"
    assert candidate("a b").startswith("A B")
    assert len(candidate("abc")) == 4
""",
    ),
    "mean": Problem(
        'def mean(numbers: list) -> float:\n    """Return the mean of some numbers."""\n',
        "    return sum(numbers) / len(numbers)\n",
        "    return float(max(numbers))\n",
        """
import math

def check(candidate):
    assert abs(candidate([1, 2]) - 1.5) < 1e-6
    assert math.isclose(candidate([1.0, 1.0, 4.0]), 2.0)
    assert candidate([3]) == 3.0
    assert round(candidate([0.1, 0.2]), 6) == 0.15
""",
    ),
    "is_leap": Problem(
        'def is_leap(year: int) -> bool:\n    """Say whether a year is a leap year."""\n',
        "    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)\n",
        "    return year % 4 == 0\n",
        """
def check(candidate):
    assert candidate(2024) is True
    assert candidate(1900) is False
    assert candidate(2000) is True
    assert candidate(2023) is False
""",
    ),
    "unfold": Problem(
        'def fold(text: str) -> str:\n    """Move every third letter to the end."""\n'
        '    kept = [c for i, c in enumerate(text) if i % 3]\n    return "".join(kept) + text[::3]\n\n\n'
        'def unfold(text: str) -> str:\n    """Undo what fold did."""\n',
        "    count = (len(text) + 2) // 3\n    kept, moved = text[: len(text) - count], text[len(text) - count :]\n"
        "    out, kept, moved = [], list(kept), list(moved)\n    while kept or moved:\n"
        "        out.append((moved if len(out) % 3 == 0 else kept).pop(0))\n"
        '    return "".join(out)\n',
        "    return text\n",
        """
import random

def check(candidate):
    for _ in range(20):
        text = "".join(random.choice("abcdef") for _ in range(random.randint(4, 12))) + "xyz"
        assert candidate(fold(text)) == text
""",
    ),
    "twice": Problem(
        'def twice(f, x):\n    """Apply a function two times."""\n',
        "    return f(f(x))\n",
        "    return f(x)\n",
        """
def check(candidate):
    seen = []
    def step(x):
        seen.append(x)
        return x + 3
    assert candidate(step, 1) == 7
    assert seen == [1, 4]
    assert candidate(lambda s: s + "!", "a") == "a!!"
""",
    ),
    "counts": Problem(
        'def counts(words: list) -> dict:\n    """Return how often each word occurs."""\n',
        "    found = {}\n    for word in words:\n        found[word] = found.get(word, 0) + 1\n    return found\n",
        "    return {word: 1 for word in words}\n",
        """
def check(candidate):
    assert candidate(["a", "b", "a"]) == {"a": 2, "b": 1}
    assert candidate([]) == {}
    assert candidate(["x", "x"])["x"] == 2
    assert list(candidate(["q"]).items()) == [("q", 1)]
""",
    ),
    "ends": Problem(
        'def ends(numbers: list) -> tuple:\n    """Return the least and the greatest of some numbers."""\n',
        "    return min(numbers), max(numbers)\n",
        "    return numbers[0], numbers[-1]\n",
        """
def check(candidate):
    assert candidate([3, 1, 2]) == (1, 3)
    low, high = candidate([5, 5, 4])
    assert (low, high) == (4, 5)
    assert candidate([9, -9, 0]) == (-9, 9)
""",
    ),
    "root": Problem(
        'def root(x: int) -> int:\n    """Return the whole square root; ValueError for what is below zero."""\n',
        "    if x < 0:\n        raise ValueError('below zero')\n    return int(x ** 0.5 + 1e-9)\n",
        "    return x\n",
        """
def check(candidate):
    assert candidate(17) == 4
    assert candidate(25) == 5
    try:
        candidate(-1)
    except ValueError as error:
        assert "below" in str(error)
    else:
        assert False, "no error"
""",
    ),
}
