"""The problems that come with samples: which are kept, and which give way."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from passcurve.judging.inline_problems import InlineProblems


def test_unused_problems_give_way():
    """The oldest without a waiting sample go, down to half; one that is waited for stays, and one may come repeat."""
    problems = InlineProblems(most=4)
    futures: dict[str, Future[Any]] = {}
    for name in "abcdef":
        futures[name] = Future()
        assert problems.hold(name, futures[name])
    assert problems.is_full
    assert [] == problems.take_unused()
    for name in "bcdf":
        futures[name].set_result(None)
    futures["e"].cancel()
    repeat: Future[Any] = Future()
    assert not problems.hold("b", repeat)
    # a and b wait; c, d, e and f are free, and two of them are kept.
    assert ["c", "d", "e", "f"] == problems.take_unused()
    assert not problems.is_full
    assert problems.hold("c", Future())
    assert not problems.hold("a", Future())
