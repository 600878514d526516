"""Rows of a file of samples that another tool wrote, as Completions."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, cast

import msgspec
from msgspec import UNSET, UnsetType

from passcurve.errors import nearest
from passcurve.store.lines import MAX_LINE_BYTES, NOT_YET, NotYet, follow_lines, read_lines
from passcurve.types import Completion, SampleKey

MAX_TEXT_BYTES = 16 << 20
"""Of one completion, encoded as UTF-8; a longer one counts as having no code."""
MAX_DEPTH = 200
"""Nesting of one row; fixed, because the parser's own limit moves with the depth of its caller."""
DIGEST_BYTES = 8
MAX_SHOWN = 80
MAX_HINTS = 100
FIRST_ROWS = 1000
"""Rows whose task ids tell the benchmark."""
BOM = b"\xef\xbb\xbf"


class BadLine(msgspec.Struct, frozen=True):
    """A line that is no row: it is listed, never counted."""

    line: int
    """Of the file, from 1."""
    reason: str


class RawRow(msgspec.Struct, frozen=True, gc=False):
    """A row that counts, with what it was read from."""

    key: SampleKey
    row: int
    line: int
    raw: bytes
    """The line without its end, and without a byte order mark."""
    said: Said


class _Common(msgspec.Struct, frozen=True, gc=False):
    """A row as nearly all are; what else it holds is passed over."""

    task_id: str
    completion: str | UnsetType = UNSET
    solution: str | UnsetType = UNSET


class Said(NamedTuple):
    """What a row says, before it has a place among the others."""

    task: str
    form: Literal["completion", "solution"]
    text: str | None
    missing: str


_COMMON = msgspec.json.Decoder(_Common)
RECOGNISED = Said("", "completion", None, "")
"""What a row says that was judged before, and whose bytes are the same: nobody needs to read it again."""

Recognise: TypeAlias = Callable[[int, bytes], str | None]
"""Returns the task of the row of that number if these are the bytes that were judged as it, else None."""


class KnownRow(msgspec.Struct, frozen=True, gc=False):
    """A row that was judged before, as it stands."""

    key: SampleKey
    row: int


class _Named(msgspec.Struct):
    task_id: str


class _Refused(Exception):  # noqa: N818 - it never leaves this file
    """The line is no row; the text says why."""


def first_ids(samples: Path) -> list[str]:
    """Return the task ids of the first rows of a file, as far as they can be read.

    Raises DataError when the file itself cannot be read.
    """
    ids = []
    for line in islice(read_lines(samples), FIRST_ROWS):
        try:
            ids.append(msgspec.json.decode((line or b"").removeprefix(BOM), type=_Named).task_id)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
    return ids


def read_rows(path: Path, known: Collection[str]) -> Iterator[Completion | BadLine]:
    """Yield what each line of the file says, blank lines aside; ``known`` are the ids of the tasks.

    Raises DataError, on iteration, when the file cannot be read to its end.
    """
    for row in scan(path, known):
        yield _completion(row) if isinstance(row, RawRow) else row


def resume_rows(path: Path, known: Collection[str], recognise: Recognise) -> Iterator[Completion | BadLine | KnownRow]:
    """Yield as read_rows does, but KnownRow for each row that is recognised; raises what read_rows raises."""
    for row in scan(path, known, recognise):
        if not isinstance(row, RawRow):
            yield row
        elif row.said is RECOGNISED:
            yield KnownRow(row.key, row.row)
        else:
            yield _completion(row)


def follow_rows(
    path: Path, known: Collection[str], idle_s: float, ended: Callable[[], bool] | None = None
) -> Iterator[Completion | BadLine | None]:
    """Yield as read_rows does, of a file that grows, and None whenever no whole line more is there yet.

    Ends when the file has not grown for ``idle_s`` seconds.  Raises DataError, on iteration, when it cannot be read,
    is compressed, or becomes shorter.
    """
    for row in _scan(follow_lines(path, idle_s, ended), known):
        yield _completion(row) if isinstance(row, RawRow) else row


def scan(path: Path, known: Collection[str], recognise: Recognise | None = None) -> Iterator[RawRow | BadLine]:
    """Yield as read_rows does, of each row what it was read from; raises what read_rows raises.

    A row that is recognised says ``RECOGNISED``.
    """
    return (row for row in _scan(read_lines(path), known, recognise) if row is not None)


def _scan(
    lines: Iterable[bytes | NotYet | None], known: Collection[str], recognise: Recognise | None = None
) -> Iterator[RawRow | BadLine | None]:
    seen = dict.fromkeys(known, 0)
    hints: dict[str, str] = {}
    row = line = 0
    for raw in lines:
        if raw is NOT_YET:
            yield None
            continue
        line += 1
        if raw is None:
            yield BadLine(line, f"the line is longer than {MAX_LINE_BYTES:,} bytes")
            continue
        # Some editors open a file with a mark that is no part of its first row.
        text = raw.removeprefix(BOM) if line == 1 else raw
        if not text.strip():
            continue
        task = recognise(row, text) if recognise is not None else None
        if task is not None:
            said = RECOGNISED
        else:
            try:
                said = _common(text, seen) or _any(text, seen, hints)
            except _Refused as refusal:
                yield BadLine(line, str(refusal))
                continue
            task = said.task
        key = SampleKey(problem_id=task, sample_index=seen[task])
        yield RawRow(key, row, line, text, said)
        seen[task] += 1
        row += 1


def _completion(row: RawRow) -> Completion:
    said = row.said
    return Completion(
        key=row.key,
        row=row.row,
        line=row.line,
        digest=blake2b(row.raw, digest_size=DIGEST_BYTES).hexdigest(),
        form=said.form,
        text=said.text,
        missing=said.missing,
    )


def _common(text: bytes, known: dict[str, int]) -> Said | None:
    """Read a row of a known task with text in it; None for any other, at which ``_any`` looks closely.

    It takes nothing that ``_any`` would refuse or read otherwise: half surrogate pairs, NaN, a field of another type
    and the like it leaves alone.
    """
    try:
        row = _COMMON.decode(text)
        if not text.isascii():
            text.decode()  # what is passed over is not looked at
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if row.task_id not in known or text.count(b"[") + text.count(b"{") > MAX_DEPTH:
        return None
    if row.solution is not UNSET:
        missing = _excess("solution", row.solution)
        return Said(row.task_id, "solution", None if missing else row.solution, missing)
    if row.completion is not UNSET:
        missing = _excess("completion", row.completion)
        return Said(row.task_id, "completion", None if missing else row.completion, missing)
    return None


def _any(text: bytes, known: dict[str, int], hints: dict[str, str]) -> Said:
    """Read any row; raise _Refused for a line that is none."""
    fields = _fields(text)
    task = _task(fields, known, hints)
    form: Literal["completion", "solution"] = "completion"
    if isinstance(fields.get("solution"), str) or ("solution" in fields and "completion" not in fields):
        form = "solution"
    found, missing = None, "the row has neither 'completion' nor 'solution'"
    if form in fields:
        value = fields[form]
        missing = _excess(form, value) if isinstance(value, str) else f"{form} is {_described(value)}"
        found = value if isinstance(value, str) and not missing else None
    return Said(task, form, found, missing)


def _fields(text: bytes) -> dict[str, object]:
    try:
        source = text.decode()
    except UnicodeDecodeError as error:
        raise _Refused(f"not UTF-8: byte 0x{text[error.start]:02x} at column {error.start + 1}") from error
    try:
        value = _parse(source)
    except json.JSONDecodeError as error:
        found = _shown(source[error.pos : error.pos + MAX_SHOWN])
        raise _Refused(f"not JSON: {error.msg} at column {error.pos + 1}, before {found}") from error
    except RecursionError as error:
        raise _Refused(_TOO_DEEP) from error
    if not isinstance(value, dict):
        raise _Refused(f"a row is a JSON object; this line is {_described(value)}")
    # Without as many brackets the nesting cannot be that deep.
    if text.count(b"[") + text.count(b"{") > MAX_DEPTH and _too_deep(value):
        raise _Refused(_TOO_DEEP)
    return cast("dict[str, object]", value)


_TOO_DEEP = f"the row is nested deeper than {MAX_DEPTH} levels"


def _parse(source: str) -> object:
    try:
        return json.loads(source)
    except json.JSONDecodeError:
        raise
    except ValueError:
        # Python refuses to read integers of thousands of digits; the row is JSON all the same.
        return json.loads(source, parse_int=float)


def _too_deep(value: object) -> bool:
    layer = [value]
    for _ in range(MAX_DEPTH):
        inner: list[object] = []
        for item in layer:
            if isinstance(item, dict):
                inner.extend(item.values())
            elif isinstance(item, list):
                inner.extend(item)
        layer = inner
        if not layer:
            return False
    return any(isinstance(item, (dict, list)) for item in layer)


def _task(fields: dict[str, object], known: dict[str, int], hints: dict[str, str]) -> str:
    if "task_id" not in fields:
        raise _Refused("the row has no 'task_id'")
    task = fields["task_id"]
    if not isinstance(task, str):
        raise _Refused(f"task_id is {_described(task)}; it should be a string")
    if task in known:
        return task
    # The nearest name takes a millisecond to find; a file full of unknown names must not take hours.
    if task not in hints and len(hints) < MAX_HINTS:
        hints[task] = nearest(task[:MAX_SHOWN], known)
    raise _Refused(f"unknown task {_shown(task)}{hints.get(task, '')}")


def _excess(form: str, text: str) -> str:
    if len(text) > MAX_TEXT_BYTES:
        return f"the {form} has {len(text):,} characters; at most {MAX_TEXT_BYTES:,} are judged"
    # A character takes four bytes at most, so most texts need not be encoded to be measured.
    if len(text) * 4 <= MAX_TEXT_BYTES:
        return ""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size <= MAX_TEXT_BYTES:
        return ""
    return f"the {form} has {size:,} bytes as UTF-8; at most {MAX_TEXT_BYTES:,} are judged"


def _described(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return f"a boolean ({str(value).lower()})"
        case int() | float():
            return f"a number ({str(value)[:MAX_SHOWN]})"
        case str():
            return f"a string ({_shown(value)})"
        case list():
            return "a list"
        case _:
            return "an object"


def _shown(text: str) -> str:
    short = text if len(text) <= MAX_SHOWN // 2 else text[: MAX_SHOWN // 2] + "..."
    return ascii(short)[: MAX_SHOWN + 2]
