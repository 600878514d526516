"""Samples and their programs."""

from __future__ import annotations

from typing import Literal

import msgspec

# gc=False: there is one such record for each sample, and none is part of a cycle.


def task_name(value: object) -> str | None:
    """Return a task id as text, or None for a value that is no task id.

    Some benchmarks, such as MBPP, number their problems, and tables write whole numbers as 7.0 where one is missing.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else None


class SampleKey(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The identity of a sample: its problem, and its number among the samples of the problem, from 0."""

    problem_id: str
    sample_index: int


class Completion(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The text of a model for a problem, exactly as it stands in its row."""

    key: SampleKey
    row: int
    """Position among the rows that count, from 0."""
    line: int
    """Line of the file, from 1."""
    digest: str
    """Digest of the row's bytes, by which a resumed run detects a changed file."""
    form: Literal["completion", "solution"]
    """``completion`` continues the prompt; ``solution`` is a whole program."""
    text: str | None
    """None when there is no text to extract code from; ``missing`` is then the reason."""
    missing: str = ""
    hints: tuple[str, ...] = ()  # what store/samples.py saw in the other fields
    has_both: bool = False
    """Whether the row has text in ``completion`` and in ``solution``."""
    origin: tuple[tuple[str, str | float], ...] = ()
    """Fields that say how the row was made, such as the name of the model."""
    prompt: str = ""
    """The prompt that the row says it continues; empty where it says none."""
    passed: bool | None = None
    """What the row says became of it."""


class Program(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The program that is run for a completion, and the steps of its extraction."""

    key: SampleKey
    text: str | None
    """None when the completion has no code; ``steps`` ends with the reason."""
    steps: tuple[str, ...]
