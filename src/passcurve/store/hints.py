"""Hints for rows that name their code or their task differently: the option that reads them."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping

_CODE_FIELDS = (
    "generation",
    "generated_code",
    "generated_text",
    "raw_completion",
    "response",
    "output",
    "prediction",
    "predicted_code",
    "answer",
    "code",
    "program",
    "text",
    "content",
    "generations",
    "completions",
    "solutions",
    "outputs",
    "responses",
    "samples",
    "resps",
)
"""Fields in which other tools write code, the surest first."""
_OTHER_FIELDS = frozenset(
    "prompt instruction question task_id entry_point test tests example_test declaration canonical_solution reference "
    "name id model language docstring finish_reason stop_reason reasoning status result".split()
)
"""Fields that never hold the code of a sample."""
_MIN_CODE = 8
"""Characters from which on the text of a field of an unknown name may be code."""
_MAX_NAME = 40
_MAX_HEAD = 1 << 16
"""Characters of a text that are looked at."""
_TOP_LEVEL = re.compile(r"^(?:def|class|import|from|async def) ", re.MULTILINE)
_NUMBER = re.compile(r"(.*?)(\d+)(\D*)", re.DOTALL)


def code_field(fields: Mapping[str, object]) -> str:
    """Return the field that seems to hold the code of a row without `completion` and `solution`; empty if none does."""
    for name in _CODE_FIELDS:
        if _text_of(fields.get(name)):
            return name
    texts = {
        name: len(text)
        for name, value in fields.items()
        if name not in _OTHER_FIELDS and len(name) <= _MAX_NAME and len(text := _text_of(value)) >= _MIN_CODE
    }
    return max(texts, key=lambda name: texts[name], default="")


def field_remedy(name: str, value: object) -> str:
    """Return the options that read code from a field; a list is read as several samples."""
    text = _text_of(value)[:_MAX_HEAD]
    if "```" in text:
        return f"use --field {shlex.quote(name)} --extract auto"
    is_whole = _TOP_LEVEL.search(text) is not None
    return f"use --field {shlex.quote(f'{name}:solution' if is_whole else name)}"


def _text_of(value: object) -> str:
    if isinstance(value, list):
        value = value[0] if value else ""
    return value if isinstance(value, str) else ""


def suggest_id_map(unknown: Iterable[str | int], task_ids: Collection[str]) -> str:
    """Return the option that maps unknown task ids to known ones by their numbers; empty where none does."""
    tasks = list(unknown)
    pieces = [match.groups() for task in tasks if (match := _NUMBER.fullmatch(str(task)))]
    templates = Counter((before, after) for before, _, after in pieces)
    targets = Counter(match.groups()[::2] for task in task_ids if (match := _NUMBER.fullmatch(task)))
    if not templates or not targets:
        return ""
    (before, after), rows = templates.most_common(1)[0]
    (task_before, task_after), _ = targets.most_common(1)[0]
    numbers = [number for start, number, end in pieces if (start, end) == (before, after)]
    ids = frozenset(task_ids)
    if 2 * rows < len(tasks) or (before, after) == (task_before, task_after):
        return ""
    # Ids that count from 1 fit a benchmark that counts from 0, except for one: map nothing then.
    if not all(f"{task_before}{number}{task_after}" in ids for number in numbers):
        return ""
    return f"--id-map {shlex.quote(f'{before}{{}}{after}={task_before}{{}}{task_after}')}"


def unknown_tasks_remedy(unknown: Iterable[str | int], task_ids: Collection[str]) -> str:
    """Return what to do about unknown task ids."""
    tasks = list(unknown)
    option = suggest_id_map(tasks, task_ids)
    if option:
        return f"if they are the same problems, use {option}"
    example = next(iter(task_ids), "")
    return (
        f"the benchmark has ids like {example!r}: name another with --benchmark, "
        "or map the ids with --id-map FILE.json (an object from theirs to those of the benchmark)"
    )
