"""Hints for rows that name their code or their task differently: the option that reads them."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

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
_THOUGHTS = ("reasoning_content", "reasoning", "thinking")
"""Fields in which APIs write what a model thinks before its answer."""
_OTHER_FIELDS = frozenset(
    "prompt instruction question task_id entry_point test tests example_test declaration canonical_solution reference "
    "name id model language docstring finish_reason stop_reason reasoning status result "
    "base_input plus_input contract assertion suffix test_setup test_list test_imports test_setup_code source_file "
    "challenge_test_list import signature buggy_solution bug_type failure_symptoms original doctests stop_tokens "
    "prompt_terminology complete_prompt instruct_prompt code_prompt doc_struct libs skeleton "
    "import_statement class_description class_name class_constructor test_classes methods_info description "
    "starter_code sample_io input_output question_content question_title public_test_cases private_test_cases "
    "code_context reference_code before instruction_descriptive instruction_lazy labels".split()
)
"""Fields that never hold the code of a sample: those of benchmarks, which samples often repeat, among them."""
_OWN_FIELDS = (
    (frozenset(("test_list",)), frozenset(("code", "text"))),
    (frozenset(("declaration",)), frozenset(("text",))),
    (frozenset(("skeleton",)), frozenset(("solution_code",))),
    (frozenset(("before",)), frozenset(("after",))),
    (frozenset(("input_output",)), frozenset(("solutions",))),
    (frozenset(("content", "labels")), frozenset(("content",))),
)
"""Fields by which a row of a benchmark is known, with those of its own that would be taken for a sample."""
_MIN_CODE = 8
"""Characters from which on the text of a field of an unknown name may be code."""
_MAX_NAME = 40
_MIN_LINES = 2
_MIN_TOKENS, _TOKEN_CHARACTERS = 6, 8
"""Items from which on a list may hold tokens, and their mean length up to which it does."""
_MAX_HEAD = 1 << 16
"""Characters of a text that are looked at."""
_TOP_LEVEL = re.compile(r"^(?:def|class|import|from|async def) ", re.MULTILINE)
_HUMANEVAL = re.compile(r"HumanEval/\d{1,3}")
_NUMBERED = re.compile(r"(.*?)[_-]?\d+")
_MAX_NUMBER = 18
"""Digits of a number in an id."""
_NUMBER = re.compile(r"(.*?)(\d+)(\D*)", re.DOTALL)
_FIRST_NUMBER = re.compile(r"(\D*)(\d+)(.*)", re.DOTALL)


def usual_code_field(fields: Mapping[str, object]) -> str:
    """Return the first field with text among those that other tools write code in; empty where no field has any."""
    return next((name for name in _usual_fields(fields) if _text_of(fields[name])), "")


def _usual_fields(fields: Mapping[str, object]) -> Iterator[str]:
    own = _own_fields(fields)
    return (name for name in _CODE_FIELDS if name in fields and name not in own)


def _own_fields(fields: Mapping[str, object]) -> frozenset[str]:
    """Return the fields that may hold code, and are those of the benchmark in this row: its task or its reference."""
    names = [own for marks, own in _OWN_FIELDS if marks <= fields.keys()]
    code = fields.get("code")
    if "input" in fields and isinstance(code, str) and code.startswith("def f("):
        # CRUXEval's: other rows have an input and an output of the model.
        names.append(frozenset(("code", "output")))
    return frozenset().union(*names)


def reference_field(fields: Mapping[str, object]) -> str:
    """Return the field with the reference where a row is one of a benchmark, without a sample; empty for any other."""
    if "canonical_solution" in fields and "entry_point" in fields:
        return "" if usual_code_field(fields) else "canonical_solution"
    return "code" if "code" in fields and "test_list" in fields and not code_field(fields) else ""


def code_field(fields: Mapping[str, object]) -> str:
    """Return the field that seems to hold the code of a row without `completion` and `solution`; empty if none does."""
    if name := usual_code_field(fields):
        return name
    own = _OTHER_FIELDS | _own_fields(fields)
    texts = {
        name: len(text)
        for name, value in fields.items()
        if name not in own and name[:1] != "_" and len(name) <= _MAX_NAME and len(text := _text_of(value)) >= _MIN_CODE
    }
    return max(texts, key=lambda name: texts[name], default="")


def empty_field_remedy(fields: Mapping[str, object]) -> tuple[str, str] | None:
    """Return the field with text beside an empty one, and what to do; None where there is none."""
    for name in _THOUGHTS:
        if _text_of(fields.get(name)).strip():
            return name, "the model thought and gave no answer; if it was cut off, generate with more tokens"
    name = next((name for name in _usual_fields(fields) if _text_of(fields[name]).strip()), "")
    return (name, field_remedy(name, fields[name])) if name else None


def numbered_fields_remedy(fields: Mapping[str, object], name: str) -> str:
    """Return what reads the samples of a row that stand in fields with numbers; empty where there is one."""
    match = _NUMBERED.fullmatch(name)
    names = [one for one in fields if (other := _NUMBERED.fullmatch(one)) and match and other[1] == match[1]]
    texts = [one for one in names if isinstance(fields[one], str)]
    if len(texts) < _MIN_LINES:
        return ""
    listed = ", ".join(f'.["{one}"]' for one in texts)
    return (
        f"it is one of {len(texts)} such fields; make a row of each: "
        f"jq -c '. as $r | ({listed}) | {{task_id: $r.task_id, completion: .}}' IN > OUT"
    )


def field_remedy(name: str, value: object) -> str:
    """Return the options that read code from a field; a list is read as several samples."""
    pieces = ("tokens", '""') if _are_tokens(value) else ("lines", _joint_of_lines(value))
    if pieces[1] is not None:
        return (
            f"its items look like the {pieces[0]} of one program: jq -c '.{name} |= join({pieces[1]})' IN > OUT; "
            f"where each is a sample, use --field {shlex.quote(name)}"
        )
    text = _text_of(value)[:_MAX_HEAD]
    if text.lstrip().startswith(("{", "[{")) and '":' in text:
        return f"it holds JSON as text; decode it first: jq -c '.{name} |= fromjson' IN > OUT"
    if "```" in text:
        return f"use --field {shlex.quote(name)} --extract auto"
    is_whole = _TOP_LEVEL.search(text) is not None
    return f"use --field {shlex.quote(f'{name}:solution' if is_whole else name)}"


def _are_tokens(value: object) -> bool:
    """Tell whether a list holds many pieces of text that are too short for programs."""
    if not isinstance(value, list) or len(value) < _MIN_TOKENS:
        return False
    texts = [item for item in value if isinstance(item, str)]
    return len(texts) == len(value) and sum(map(len, texts)) <= _TOKEN_CHARACTERS * len(texts)


def _joint_of_lines(items: object) -> str | None:
    """Return what joins the items of a list that are lines of one program, for ``jq``; None where they are not."""
    if not isinstance(items, list):
        return None
    lines = [item for item in items if isinstance(item, str)]
    if len(lines) < _MIN_LINES or len(lines) < len(items) or any("\n" in line[:-1] for line in lines):
        return None
    # A line that opens a block, or an empty one, is no program by itself.
    if not any(line.rstrip().endswith((":", "(", "[", "{", ",")) or not line.strip() for line in lines):
        return None
    return '""' if lines[0].endswith("\n") else '"\\n"'


def _text_of(value: object) -> str:
    if isinstance(value, list):
        value = value[0] if value else ""
    return value if isinstance(value, str) else ""


class IdMapping(NamedTuple):
    """A suggestion of ``--id-map``."""

    option: str
    mapped: int
    """Number of the unknown ids that it maps."""
    other: str = ""
    """The option that maps as many, where theirs may count from 1."""


def suggest_id_map(unknown: Iterable[str | int], task_ids: Collection[str]) -> IdMapping | None:
    """Return the option that maps most of the unknown task ids to known ones by their numbers; None where none does."""
    tasks = list(unknown)
    # Where a number of the sample follows that of the problem, the first one counts.
    return _suggest(tasks, task_ids, _NUMBER) or _suggest(tasks, task_ids, _FIRST_NUMBER)


def is_row_number(tasks: Sequence[str | int], task_ids: Collection[str]) -> bool:
    """Tell whether ids are numbers that count rows: all differ, without a gap, and there are more than problems."""
    if len(tasks) <= len(task_ids) or not all(str(task).isdecimal() and len(str(task)) < _MAX_NUMBER for task in tasks):
        return False
    numbers = set(map(int, tasks))
    return len(numbers) == len(tasks) == max(numbers) - min(numbers) + 1


def _suggest(tasks: Sequence[str | int], task_ids: Collection[str], number: re.Pattern[str]) -> IdMapping | None:
    pieces = [match.groups() for task in tasks if (match := number.fullmatch(str(task)))]
    # A number behind that of the problem is that of the sample.
    pieces = [(before, digits, re.sub(r"\d+", "*", after)) for before, digits, after in pieces]
    templates = Counter((before, after) for before, _, after in pieces)
    targets = Counter(match.groups()[::2] for task in task_ids if (match := _NUMBER.fullmatch(task)))
    if not templates or not targets:
        return None
    theirs, rows = templates.most_common(1)[0]
    ours, _ = targets.most_common(1)[0]
    texts = [digits for start, digits, end in pieces if (start, end) == theirs and len(digits) < _MAX_NUMBER]
    numbers = list(map(int, texts))
    ids = frozenset(task_ids)
    hits = {"{}": sum(f"{ours[0]}{text}{ours[1]}" in ids for text in texts)}
    for offset in (0, -1):
        hits[f"{{{offset:+d}}}"] = sum(f"{ours[0]}{value + offset}{ours[1]}" in ids for value in numbers)
    slot = max(hits, key=lambda slot: hits[slot])
    # Ids of the same form are known unless they are counted otherwise; some of them fit by chance.
    least = len(tasks) if theirs == ours else min((len(tasks) + 1) // 2, len(ids))
    if 2 * rows < len(tasks) or hits[slot] < max(1, least):
        return None
    may_count_from_1 = slot != "{-1}" and hits["{-1}"] == hits[slot]
    other = _id_map_option(theirs, ours, "{-1}") if may_count_from_1 else ""
    return IdMapping(_id_map_option(theirs, ours, slot), hits[slot], other)


def _id_map_option(theirs: Sequence[str], ours: Sequence[str], slot: str) -> str:
    return f"--id-map {shlex.quote(f'{theirs[0]}{{}}{theirs[1]}={ours[0]}{slot}{ours[1]}')}"


def unknown_tasks_remedy(unknown: Iterable[str | int], task_ids: Collection[str]) -> str:
    """Return what to do about unknown task ids."""
    tasks = list(unknown)
    # Many benchmarks call all functions the same.
    names = Counter(task_ids.values()) if isinstance(task_ids, Mapping) else Counter()
    if 2 * sum(names[str(task)] == 1 for task in tasks) > len(tasks):
        return "they are names of functions: use --id-map entry_point with --benchmark"
    if is_row_number(tasks, task_ids):
        return (
            f"they number the rows ({min(map(int, tasks))} to {max(map(int, tasks))}) and name no task: "
            "write the id of its task into each row"
        )
    example = next(iter(task_ids), "")
    if all(_HUMANEVAL.fullmatch(str(task)) for task in tasks) and not any(map(_HUMANEVAL.fullmatch, task_ids)):
        return f"these are ids of HumanEval, and this one has ids like {example!r}: use --benchmark humaneval"
    if (mapping := suggest_id_map(tasks, task_ids)) is not None:
        some = f" (it maps {mapping.mapped} of {len(tasks)})" if mapping.mapped < len(tasks) else ""
        other = f", or {mapping.other} if theirs count from 1" if mapping.other else ""
        return f"if they are the same problems, use {mapping.option}{some}{other}"
    return (
        f"the benchmark has ids like {example!r}: name another with --benchmark, "
        "or map the ids with --id-map FILE.json (an object from theirs to those of the benchmark)"
    )
