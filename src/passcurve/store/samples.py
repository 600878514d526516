"""The rows of a samples file, read as Completions; another tool may have written it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator
from hashlib import blake2b
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from passcurve.errors import DataError, nearest
from passcurve.store.describe import MAX_SHOWN, describe_value, shorten
from passcurve.store.hints import (
    code_field,
    empty_field_remedy,
    field_remedy,
    numbered_fields_remedy,
    reference_field,
)
from passcurve.store.lines import MAX_LINE_BYTES, PENDING, Pending, follow_lines, read_lines
from passcurve.store.mixture import ORIGIN_FIELDS, Origin, origin_of
from passcurve.store.replies import TASK_FIELDS, find_reply, reply_remedy
from passcurve.store.row_fields import MAX_DEPTH, MalformedError, read_fields
from passcurve.types import Completion, SampleKey, task_name
from passcurve.types.decoding import decodable
from passcurve.types.files import BOM

MAX_TEXT_BYTES = 16 << 20
"""Largest completion as UTF-8, in bytes; a larger one counts as having no code."""
DIGEST_BYTES = 8
MAX_HINTS = 100
FIRST_ROWS = 1000
"""Rows whose task ids tell the benchmark."""
EMPTY_SOLUTION = "`solution` is empty, but `completion` is not"
NO_CODE_FIELD = "the row has neither 'completion' nor 'solution'"
CUT_OFF = ("cut off",)
"""Hint on a row which says that the model reached its limit of tokens."""
FAILED_REQUEST = ("error", "request them again")
"""Hint on a row with an error in place of an answer."""
_LIMIT_REASONS = frozenset(("length", "max_tokens", "MAX_TOKENS"))
"""Values of ``finish_reason`` and ``stop_reason`` of a model that reached its limit of tokens."""


class MalformedLine(msgspec.Struct, frozen=True):
    """A line that is not a row: it is listed, never counted."""

    line: int
    """Its number in the file, from 1."""
    reason: str
    task: str | int | None = None
    """Its task id, where the line is a row of a task that the benchmark lacks."""
    field: str = ""
    """The field that may be the task, where the row has none."""
    number: int | None = None
    """The number in that field."""


class RawRow(msgspec.Struct, frozen=True, gc=False):
    """A row that counts, with the bytes that it was read from."""

    key: SampleKey
    row: int
    line: int
    raw: bytes
    """The line without its end, and without a byte order mark."""
    content: RowContent


class _CommonRow(msgspec.Struct, frozen=True, gc=False):
    """A row in the usual form; other fields are skipped."""

    task_id: str
    completion: str | UnsetType = UNSET
    solution: str | UnsetType = UNSET
    finish_reason: Any = None
    stop_reason: Any = None
    prompt: Any = None
    passed: Any = None


class RowContent(NamedTuple):
    """The fields of a row that count, before it has an index among the samples of its task."""

    task: str
    form: Literal["completion", "solution"]
    text: str | None
    missing: str
    """Why there is no text."""
    hints: tuple[str, ...] = ()
    """``CUT_OFF``, or the field that seems to hold the code of a row without ``completion`` and what reads it."""
    has_both: bool = False
    """Whether ``completion`` and ``solution`` have different texts."""
    origin: Origin = ()
    prompt: str = ""
    """The prompt that the row says it continues; empty where it says none."""
    passed: bool | None = None
    """What the row says became of it."""


_DIGITS = re.compile(r"\d+")
_made = attrgetter(*(name.lstrip("_") for name in ORIGIN_FIELDS))
_NOT_SAID = (None,) * len(ORIGIN_FIELDS)
_COMMON: msgspec.json.Decoder[_CommonRow] = msgspec.json.Decoder(
    decodable(
        msgspec.defstruct(
            "_RowWithOrigin",
            [(name.lstrip("_"), Any, msgspec.field(default=None, name=name)) for name in ORIGIN_FIELDS],
            bases=(_CommonRow,),
            gc=False,
        )
    )
)
ALREADY_JUDGED = RowContent("", "completion", None, "")
"""Stands for the content of a row that was judged before with the same bytes: it is not read again."""

FindTask: TypeAlias = Callable[[int, bytes], str | None]
"""Returns the task of the row of that number if these are the bytes that were judged, else None."""


class _RowTask(msgspec.Struct):
    task_id: str


def first_ids(samples: Path) -> list[str]:
    """Return the task ids of the first rows of a file, as far as they can be read.

    Raises DataError when the file itself cannot be read, and where none of these rows has one.
    """
    ids: list[str] = []
    for line in islice(read_lines(samples), FIRST_ROWS):
        try:
            ids.append(msgspec.json.decode((line or b"").removeprefix(BOM), type=decodable(_RowTask)).task_id)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
    if not ids:
        first = next(read_rows(samples, ()), None)
        reason = f" (line {first.line}: {first.reason})" if isinstance(first, MalformedLine) else ""
        raise DataError(f"the samples have no task ids to find their benchmark by{reason}: name it with --benchmark")
    return ids


def read_rows(path: Path, task_ids: Collection[str]) -> Iterator[Completion | MalformedLine]:
    """Yield a Completion or a MalformedLine for each line of the file, except blank ones.

    Raises DataError, on iteration, when the file cannot be read to its end.
    """
    for row in scan_rows(path, task_ids):
        yield as_completion(row) if isinstance(row, RawRow) else row


def follow_rows(
    path: Path, task_ids: Collection[str], idle_s: float, ended: Callable[[], bool] | None = None
) -> Iterator[Completion | MalformedLine | None]:
    """Yield as ``read_rows`` does from a file that grows, and None whenever the next line is not whole yet.

    Ends when the file has not grown for ``idle_s`` seconds.  Raises DataError, on iteration, when it cannot be read,
    is compressed, becomes shorter, or is replaced.
    """
    for row in _scan(follow_lines(path, idle_s, ended), task_ids):
        yield as_completion(row) if isinstance(row, RawRow) else row


def scan_rows(
    path: Path, task_ids: Collection[str], find_task: FindTask | None = None
) -> Iterator[RawRow | MalformedLine]:
    """Yield each row with the bytes that it was read from; raises what ``read_rows`` raises.

    The content of a row that ``find_task`` knows is ``ALREADY_JUDGED``.
    """
    return (row for row in _scan(read_lines(path), task_ids, find_task) if row is not None)


def _scan(
    lines: Iterable[bytes | Pending | None], task_ids: Collection[str], find_task: FindTask | None = None
) -> Iterator[RawRow | MalformedLine | None]:
    sizes = dict.fromkeys(task_ids, 0)
    hints: dict[str, str] = {}
    row = line = 0
    for raw in lines:
        if raw is PENDING:
            yield None
            continue
        line += 1
        if raw is None:
            yield MalformedLine(line, f"the line is longer than {MAX_LINE_BYTES:,} bytes")
            continue
        # Some editors begin a file with a byte order mark.
        text = raw.removeprefix(BOM) if line == 1 else raw
        if not text.strip():
            continue
        task = find_task(row, text) if find_task is not None else None
        if task is not None:
            content = ALREADY_JUDGED
        else:
            try:
                content = read_common(text, sizes) or read_any(text, sizes, hints)
            except MalformedError as error:
                yield MalformedLine(line, str(error), error.task, error.field, error.number)
                continue
            task = content.task
        key = SampleKey(problem_id=task, sample_index=sizes[task])
        yield RawRow(key, row, line, text, content)
        sizes[task] += 1
        row += 1


def as_completion(row: RawRow) -> Completion:
    """Return the sample of a row without the bytes that it was read from."""
    content = row.content
    return Completion(
        key=row.key,
        row=row.row,
        line=row.line,
        digest=blake2b(row.raw, digest_size=DIGEST_BYTES).hexdigest(),
        form=content.form,
        text=content.text,
        missing=content.missing,
        hints=content.hints,
        has_both=content.has_both,
        origin=content.origin,
        prompt=content.prompt,
        passed=content.passed,
    )


def read_common(text: bytes, task_ids: Container[str]) -> RowContent | None:
    """Read a row in the usual form; return None for any other, which ``read_any`` must read.

    It accepts nothing that ``read_any`` would refuse or read otherwise, such as lone surrogates, NaN or a field of
    another type.
    """
    try:
        row = _COMMON.decode(text)
        if not text.isascii():
            text.decode()  # the decoder does not check skipped fields
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if row.task_id not in task_ids or text.count(b"[") + text.count(b"{") > MAX_DEPTH:
        return None
    hints = _hints(row.finish_reason, row.stop_reason)
    made = _made(row)
    origin = origin_of(made) if made != _NOT_SAID else ()
    more = (
        origin,
        row.prompt if isinstance(row.prompt, str) else "",
        row.passed if isinstance(row.passed, bool) else None,
    )
    if row.solution is not UNSET:
        if not row.solution:
            return None  # its code may stand in another field
        missing = size_error("solution", row.solution)
        has_both = bool(row.completion) and row.completion is not UNSET and row.completion != row.solution
        return RowContent(row.task_id, "solution", None if missing else row.solution, missing, hints, has_both, *more)
    if row.completion is not UNSET:
        if not row.completion:
            return None  # another field may have a text
        missing = size_error("completion", row.completion)
        return RowContent(row.task_id, "completion", None if missing else row.completion, missing, hints, False, *more)
    return None


def read_any(text: bytes, task_ids: Collection[str], hints: dict[str, str]) -> RowContent:
    """Read a row in any form; raise MalformedError for a line that is not a row."""
    fields = read_fields(text)
    task = _read_task(fields, task_ids, hints)
    form: Literal["completion", "solution"] = "completion"
    if isinstance(fields.get("solution"), str) or ("solution" in fields and "completion" not in fields):
        form = "solution"
    content, missing = None, NO_CODE_FIELD
    facts = _hints(fields.get("finish_reason"), fields.get("stop_reason"))
    if form in fields:
        value = fields[form]
        missing = (
            size_error(form, value)
            if isinstance(value, str)
            else f"`{form}` must be a string, got {describe_value(value)}"
        )
        content = value if isinstance(value, str) and not missing else None
        if isinstance(value, list) and value:
            reply = find_reply({form: value})
            facts = (form, reply_remedy(fields, reply) if reply else field_remedy(form, value))
        elif isinstance(value, dict) and value:
            facts = (form, "write the text itself there")
        elif not value and form == "solution" and fields.get("completion"):
            content, missing, facts = None, EMPTY_SOLUTION, ("completion", "use --field completion")
        elif not value:
            facts = facts or empty_field_remedy(fields) or ()
    elif reply := find_reply(fields):
        facts = (reply.field, reply_remedy(fields, reply), *([str(reply.total)] if reply.answers else []))
    elif own := reference_field(fields):
        facts = (own, "this is the benchmark itself: name the samples of the model")
    elif fields.get("error"):
        facts = FAILED_REQUEST
    elif other := code_field(fields):
        facts = (other, numbered_fields_remedy(fields, other) or field_remedy(other, fields[other]))
    completion = fields.get("completion")
    has_both = form == "solution" and bool(content) and isinstance(completion, str) and completion not in ("", content)
    origin = origin_of(tuple(map(fields.get, ORIGIN_FIELDS)))
    prompt, passed = fields.get("prompt"), fields.get("passed")
    more = (prompt if isinstance(prompt, str) else "", passed if isinstance(passed, bool) else None)
    return RowContent(task, form, content, missing, facts, has_both, origin, *more)


def _hints(finish_reason: object, stop_reason: object) -> tuple[str, ...]:
    reasons = (finish_reason, stop_reason)
    return CUT_OFF if any(isinstance(reason, str) and reason in _LIMIT_REASONS for reason in reasons) else ()


def _read_task(fields: dict[str, object], task_ids: Collection[str], hints: dict[str, str]) -> str:
    if "task_id" not in fields:
        lower = {name.lower(): name for name in reversed(fields)}
        name = next((lower[name] for name in ("task_id", *map(str.lower, TASK_FIELDS)) if name in lower), None)
        remedy = f"; if `{name}` is the task, rename it" if name else ""
        if isinstance(fields.get("prompt"), str) and not name:
            remedy = (
                "; take it from the problem with its `prompt`: jq -c --slurpfile b PROBLEMS.jsonl "
                "'. as $r | $b[] | select(.prompt == $r.prompt) | {task_id} + $r' IN > OUT"
            )
        if "entry_point" in fields and not name:
            remedy = "; if `entry_point` tells it: jq -c '.task_id = .entry_point' IN > OUT, then --id-map entry_point"
        if outer := next((key for key, value in fields.items() if isinstance(value, dict) and "task_id" in value), ""):
            inner = fields[outer]
            # The viewer of Hugging Face wraps each row so.
            is_row = isinstance(inner, dict) and not inner.keys().isdisjoint(("completion", "solution"))
            how = f".{outer}" if is_row else f".task_id = .{outer}.task_id"
            remedy = f"; take it out of `{outer}`: jq -c '{how}' IN > OUT"
        if name and (reply := find_reply(fields)):
            remedy = f"; if `{name}` is the task, {reply_remedy(fields, reply)}"
        if "instance_id" in fields and not fields.keys().isdisjoint(("model_patch", "patch")):
            remedy = ", but a patch of a repository, as SWE-bench has it: passcurve judges programs"
        value = fields[name] if name else None
        number = value if isinstance(value, int) and not isinstance(value, bool) else None
        raise MalformedError(f"the row has no 'task_id'{remedy}", None, name or "", number)
    task = fields["task_id"]
    if not isinstance(task, str):
        name = task_name(task)
        if name is not None and name in task_ids:
            return name
        number = int(name) if name is not None else None
        raise MalformedError(
            f"`task_id` must be a string, got {describe_value(task if number is None else number)}", number
        )
    if task in task_ids:
        return task
    # A search for the nearest name takes a millisecond: bound them for a file full of unknown names.
    if task not in hints and len(hints) < MAX_HINTS:
        numbers = _numbers(task)
        # An id with another number is another problem, however like it is.
        others = (other for other in task_ids if not numbers or _numbers(other) == numbers)
        hints[task] = nearest(task[:MAX_SHOWN], others)
    raise MalformedError(f"unknown task {shorten(task)}{hints.get(task, '')}", task)


def _numbers(task: str) -> list[str]:
    return [number.lstrip("0") for number in _DIGITS.findall(task[:MAX_SHOWN])]


def size_error(form: str, text: str) -> str:
    """Return why a text is too long to be judged; empty where it is not."""
    if len(text) > MAX_TEXT_BYTES:
        return f"the {form} has {len(text):,} characters; at most {MAX_TEXT_BYTES:,} are judged"
    # A character takes four bytes at most, so most texts need no encoding to be measured.
    if len(text) * 4 <= MAX_TEXT_BYTES:
        return ""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size <= MAX_TEXT_BYTES:
        return ""
    return f"the {form} has {size:,} bytes as UTF-8; at most {MAX_TEXT_BYTES:,} are judged"
