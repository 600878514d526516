"""What a policy is made of: steps that each take the text one bit further, or leave it alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from passcurve.extract.source import Parser
from passcurve.types import Problem


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What every step may know of the text that it is given."""

    problem: Problem
    form: Literal["completion", "solution"]
    parser: Parser
    """Shared by the steps, so that all of them together read no more than it allows."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What a step made of a text."""

    text: str | None
    """None when it found that there is nothing to run."""
    said: str
    """One short line for the record."""
    done: bool = False
    """Whether the text is the program already, so that no later step is asked."""


Step: TypeAlias = Callable[[Task, str], Change | None]
"""Returns None when it changes nothing; then nothing is recorded."""
