"""The step, of which policies are made: it changes the text or leaves it alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from passcurve.extract.source import Parser
from passcurve.types import Problem


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """The context of a text, for every step."""

    problem: Problem
    form: Literal["completion", "solution"]
    parser: Parser
    """Shared by the steps, which have one budget."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a step that changes a text."""

    text: str | None
    """None when there is nothing to run."""
    note: str
    """One short line for the record."""
    done: bool = False
    """True when the text is the program already, and later steps are skipped."""


Step: TypeAlias = Callable[[Task, str], Change | None]
"""Returns None when it changes nothing; then nothing is recorded."""
