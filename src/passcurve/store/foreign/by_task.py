"""One JSON object with the texts of each task: ``{task_id: [texts]}``, or one text in place of a list."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from passcurve.types import Problem

_ROW_FIELDS = ("task_id", "completion", "solution", "prompt")
_TOP_LEVEL = re.compile(r"^(?:async def|def|class) ", re.MULTILINE)


def is_by_task(document: object) -> bool:
    """Tell whether a document holds texts by task id; one with texts only may also be a row with other fields."""
    if not isinstance(document, dict) or not document or not document.keys().isdisjoint(_ROW_FIELDS):
        return False
    values = list(document.values())
    if not all(isinstance(value, str) or _is_texts(value) for value in values):
        return False
    numbered = sum(any(character.isdigit() for character in name) for name in document)
    return any(isinstance(value, list) for value in values) or 2 * numbered > len(document)


def read_by_task(
    document: Mapping[str, str | Sequence[str | None]], ids: Mapping[str, str], problems: Sequence[Problem] | None
) -> Iterator[dict[str, Any]]:
    """Yield a row for each text: continuations, or whole programs where most of them are.

    A whole program begins with the prompt, or defines the function to test.
    Null in a list is a sample without a text.  ``ids`` are the benchmark's ids of the tasks that have another here.
    """
    by_id = {problem.id: problem for problem in problems or ()}
    pairs = [
        (task, text) for task, items in document.items() for text in ([items] if isinstance(items, str) else items)
    ]
    texts = [(task, text) for task, text in pairs if text is not None]
    whole = sum(_is_whole(text, by_id.get(ids.get(task, task))) for task, text in texts)
    form = "solution" if 2 * whole > len(texts) else "completion"
    for task, text in pairs:
        yield {"task_id": task, form: text}


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str | None) for item in value)


def _is_whole(text: str, problem: Problem | None) -> bool:
    if "```" in text:
        return False
    if problem is not None and (prompt := problem.prompt.strip()) and text.lstrip().startswith(prompt):
        # In languages other than Python nothing else tells.
        return True
    if problem is not None:
        # A method is tested by its class.
        name = re.escape(problem.entry_point.partition(".")[0])
        return re.search(rf"^(?:(?:async def|def|class) {name}\b|{name} *[:=])", text, re.MULTILINE) is not None
    return not text.lstrip("\n\r")[:1].isspace() and _TOP_LEVEL.search(text) is not None
