"""What a model wrote becomes the program that is run: one named policy for each form of a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from passcurve.errors import UsageError
from passcurve.types import Completion, Problem, Program


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What a policy made of a text, and the steps by which it did."""

    text: str
    steps: tuple[str, ...]


Policy: TypeAlias = Callable[[Problem, str], Taken]


def join(problem: Problem, text: str) -> Taken:
    """Put the text behind the prompt, which it continues."""
    return Taken(text=problem.prompt + text, steps=("joined to the prompt",))


def whole(problem: Problem, text: str) -> Taken:  # noqa: ARG001 - every policy is called alike
    """Take the text as it stands."""
    return Taken(text=text, steps=("taken as a whole program",))


POLICIES: dict[str, Policy] = {
    "completion": join,
    "solution": whole,
}
"""Which policy makes the program, by the form of the row."""


def extract(problem: Problem, completion: Completion) -> Program:
    """Return the program of a completion, or why there is none; the completion is never altered.

    Raises UsageError when the completion is of another problem.
    """
    key = completion.key
    if key.problem_id != problem.id:
        raise UsageError(f"a completion of {key.problem_id!r} was given with problem {problem.id!r}")
    if completion.text is None:
        return Program(key=key, text=None, steps=(completion.missing or "there is no text",))
    if not completion.text.strip():
        return Program(key=key, text=None, steps=("the completion is empty",))
    taken = POLICIES[completion.form](problem, completion.text)
    return Program(key=key, text=taken.text, steps=taken.steps)
