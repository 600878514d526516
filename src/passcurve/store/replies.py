"""Texts inside the replies of APIs: where they stand, and the ``jq`` command that makes rows of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

TASK_FIELDS = (
    "task",
    "taskid",
    "custom_id",
    "sample_id",
    "problem_id",
    "problem",
    "question_id",
    "recordId",
    "name",
    "key",
    "id",
    "idx",
    "index",
)
"""Fields that name the task in rows of other tools, the surest first."""
_ANSWERS = frozenset("choices candidates outputs generations completions samples responses predictions".split())
"""Lists with an answer in each item."""
_KEYS = (
    *("response", "result", "body", "modelOutput", "message", "messages", "choices", "candidates", "outputs"),
    *("generations", "completions", "samples", "responses", "predictions", "output", "content", "parts"),
    *("text", "completion", "code", "generated_text", "generation", "tool_calls", "function", "arguments"),
)
"""Fields on the way to a text, in the order in which they are tried."""
_TEXT_TYPES = frozenset((None, "text", "output_text", "message"))
"""Types of parts of a reply that are the answer; others are thoughts or calls of tools."""
_NO_REPLIES = frozenset(
    "error usage metadata meta config settings args parameters doc prompt messages request "
    "test tests test_cases testcases test_info public_tests private_tests generated_tests official_tests "
    "public_test_cases private_test_cases input_output sample_io example examples labels verification_info "
    "reward_model extra_info ground_truth".split()
)
"""Fields of objects that hold no answer: what stands about a request, and tests of the benchmark."""
_PIECES = ("content", "parts", "tool_calls")
"""Lists whose items belong together."""
_MAX_DEPTH = 8


class ReplyPlace(NamedTuple):
    """The place of a text, as ``jq`` writes it."""

    field: str
    """The field of the row that it is in."""
    answers: str
    """Place of the list of answers; empty where there is one answer."""
    place: str
    """Place of the text in the row, or in each answer."""
    total: int = 1
    """Number of answers."""


def text_in_json(form: str, text: str) -> str:
    """Return what takes the code out of a text of a row that is JSON, as ``jq`` writes it."""
    is_fenced = text.strip().startswith("```")
    text = text.strip().removeprefix("```json").removesuffix("```")
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = None
    reply = find_reply(value) if isinstance(value, Mapping) else None
    place = reply.place if reply is not None and not reply.answers else ""
    if not place and isinstance(value, Mapping):
        place = next((f".{name}" for name in ("code", "solution", "completion", "answer", *value) if name in value), "")
    if isinstance(value, list):
        place = ".[0]"
    bare = 'gsub("^\\\\s*```json|```\\\\s*$"; "") | ' if is_fenced else ""
    return f".{form} |= ({bare}fromjson | {place or '.code'})"


def find_reply(fields: Mapping[str, object]) -> ReplyPlace | None:
    """Return where the text of the model is in a row that holds a reply of an API; None where there is none."""
    for name in (*_KEYS, *(name for name in fields if name not in _NO_REPLIES)):
        value = fields.get(name)
        # A text, or a list of texts, is read by --field.
        if isinstance(value, Mapping) or (isinstance(value, list) and value and isinstance(value[0], Mapping)):
            reply = _find(value, name, 1)
            if reply is not None:
                return reply._replace(field=name)
    return None


def _find(value: object, name: str, depth: int) -> ReplyPlace | None:
    """Return the place of the text in the value of a field, with the name of that field."""
    if isinstance(value, str):
        return ReplyPlace(name, "", f".{name}") if value else None
    if depth > _MAX_DEPTH:
        return None
    if isinstance(value, Mapping):
        return _find_field(value, f".{name}", depth)
    if not isinstance(value, list):
        return None
    if name == "messages":
        return _last_answer(value)
    if len(value) > 1 and (name in _ANSWERS or (name not in _PIECES and _are_answers(value))):
        inner = _find_item(value[0], "", depth)
        return inner and ReplyPlace(name, f".{name}[]", inner.place or ".", len(value))
    for at, item in enumerate(value):
        if not isinstance(item, Mapping) or item.get("type") in _TEXT_TYPES or name == "tool_calls":
            inner = _find_item(item, f".{name}[{at}]", depth)
            if inner is not None:
                return inner
    return None


def _are_answers(items: list[object]) -> bool:
    """Tell whether the items of a list are answers, and not parts or turns of one."""
    return all(isinstance(item, Mapping) and not {"type", "role"} & item.keys() for item in items)


def _find_item(item: object, path: str, depth: int) -> ReplyPlace | None:
    if isinstance(item, str):
        return ReplyPlace("", "", path) if item else None
    return _find_field(item, path, depth) if isinstance(item, Mapping) else None


def _find_field(fields: Mapping[str, object], path: str, depth: int) -> ReplyPlace | None:
    for name in _KEYS:
        if name in fields and (inner := _find(fields[name], name, depth + 1)) is not None:
            if inner.answers:
                return inner._replace(answers=path + inner.answers)
            # The place of the last answer of a conversation is a list itself.
            is_list = inner.place.startswith("[.")
            return inner._replace(place=f"[{path}{inner.place[1:]}" if is_list else path + inner.place)
    return None


def _last_answer(messages: list[object]) -> ReplyPlace | None:
    """Return the place of the last message of the assistant: the user may have the last word."""
    texts = [message for message in messages if isinstance(message, Mapping) and message.get("role") == "assistant"]
    if not texts or not isinstance(texts[-1].get("content"), str):
        return None
    if texts[-1] is messages[-1]:
        return ReplyPlace("messages", "", ".messages[-1].content")
    return ReplyPlace("messages", "", '[.messages[] | select(.role == "assistant")][-1].content')


def reply_remedy(fields: Mapping[str, object], reply: ReplyPlace) -> str:
    """Return the command that makes rows of replies of an API."""
    name = "task_id" if "task_id" in fields else next((name for name in TASK_FIELDS if name in fields), "task_id")
    if reply.answers:
        row = f". as $r | {reply.answers} | {{task_id: $r.{name}, completion: {reply.place}}}"
    else:
        task = "task_id" if name == "task_id" else f"task_id: .{name}"
        row = f"{{{task}, completion: {reply.place}}}"
    return f"take {'them' if reply.answers else 'it'} out first: jq -c '{row}' IN > OUT, then --extract auto"
