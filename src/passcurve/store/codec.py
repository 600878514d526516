"""Records of the store as lines of JSON, and back."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

from passcurve.types import Header, Mode, Status, Verdict

FORMAT = "passcurve verdicts 1"

Row: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
RowDigest: TypeAlias = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]


class VerdictLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One verdict, with the row that it is of."""

    row: Row
    digest: RowDigest
    """Of the row's bytes, as in Completion."""
    program: str = ""
    """Digest of the program that was run: equal programs may share one judgement."""
    verdict: Verdict


class PartHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a part: whose verdicts these are."""

    format: str = FORMAT
    attempt: int
    session: int
    started_at: str
    """In UTC, as ISO 8601."""
    digest: str
    """The stage's: verdicts of equal digests may stand together."""
    header: Header


class Footer(msgspec.Struct, frozen=True, kw_only=True):
    """What is written once every row of an attempt has its verdict."""

    attempt: int
    finished_at: str
    """In UTC, as ISO 8601."""
    digest: str
    planned: int
    malformed: int = 0
    """Lines of the file of samples that were no rows."""
    statuses: dict[Status, int] = {}


class _Problem(msgspec.Struct, frozen=True, gc=False):
    problem_id: str


class _Gist(msgspec.Struct, frozen=True, gc=False):
    key: _Problem
    status: Status
    mode: Mode
    own_s: float = 0.0
    suspicious: tuple[str, ...] = ()


class LineKey(msgspec.Struct, frozen=True, gc=False):
    """What the index needs of a VerdictLine; the rest of the line is skipped unread."""

    row: Row
    digest: RowDigest
    verdict: _Gist
    program: str = ""


_LINES = msgspec.json.Decoder(VerdictLine)
_KEYS = msgspec.json.Decoder(LineKey)
_PARTS = msgspec.json.Decoder(PartHeader)
_FOOTERS = msgspec.json.Decoder(Footer)
BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def encode(record: VerdictLine | PartHeader | Footer) -> bytes:
    """Return the record as one line with its end; half a surrogate pair is spelled out as an escape."""
    try:
        text = msgspec.json.encode(record)
    except UnicodeEncodeError:
        # JSON can hold half a surrogate pair but UTF-8 cannot; the text is for readers, so it is spelled out.
        text = msgspec.json.encode(_spelled_out(msgspec.to_builtins(record)))
    return text + b"\n"


def decode_verdict(line: bytes) -> VerdictLine | None:
    """Return the verdict of a line, or None when the line is torn or damaged."""
    try:
        return _LINES.decode(line)
    except BROKEN:
        return None


def decode_key(line: bytes) -> LineKey | None:
    """Return what the index needs of a line, or None when the line is torn or damaged."""
    try:
        return _KEYS.decode(line)
    except BROKEN:
        return None


def decode_part(line: bytes) -> PartHeader | None:
    """Return the first line of a part, or None when it is torn, damaged or of another format."""
    try:
        part = _PARTS.decode(line)
    except BROKEN:
        return None
    return part if part.format == FORMAT else None


def decode_footer(text: bytes) -> Footer | None:
    """Return the footer, or None when it is damaged."""
    try:
        return _FOOTERS.decode(text)
    except BROKEN:
        return None


def _spelled_out(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case dict():
            return {_spelled_out(name): _spelled_out(item) for name, item in value.items()}
        case list() | tuple():
            return [_spelled_out(item) for item in value]
        case _:
            return value
