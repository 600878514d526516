"""Records of the store as lines of JSON, and back."""

from __future__ import annotations

import re
import zlib
from datetime import UTC, datetime
from typing import Annotated, TypeAlias

import msgspec

from passcurve.diagnosis import Diagnosis
from passcurve.store.samples_file import SamplesFile
from passcurve.types import Header, Mode, Status, Verdict
from passcurve.types.decoding import decodable

FORMAT = "passcurve verdicts 1"

Row: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
RowDigest: TypeAlias = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]


class VerdictLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One verdict, with the row that it belongs to."""

    row: Row
    digest: RowDigest
    """Digest of the row's bytes, as in Completion."""
    program: str = ""
    """Digest of the program that ran; equal programs may share one judgement."""
    verdict: Verdict


class PartHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a part, which says whose verdicts follow."""

    format: str = FORMAT
    attempt: int
    session: int
    started_at: str
    """In UTC, as ISO 8601."""
    digest: str
    """Digest of the settings that could change a verdict; verdicts of equal digests may stand together."""
    header: Header


class Footer(msgspec.Struct, frozen=True, kw_only=True):
    """The record that is written once every row of an attempt has its verdict."""

    attempt: int
    finished_at: str
    """In UTC, as ISO 8601."""
    digest: str
    planned: int
    malformed: int = 0
    """Number of malformed lines in the file of samples."""
    statuses: dict[Status, int] = {}
    diagnosis: Diagnosis | None = None
    """What was found, and what the score covers; None in a run of an older version."""
    sources: dict[str, SamplesFile] = {}
    """The files that were turned into the samples, where these were in another form."""
    samples: SamplesFile | None = None
    """The file that was judged; None for generated samples, and in a run of an older version."""


class _IndexedKey(msgspec.Struct, frozen=True, gc=False):
    problem_id: str


class _IndexedVerdict(msgspec.Struct, frozen=True, gc=False):
    key: _IndexedKey
    status: Status
    mode: Mode
    own_s: float = 0.0
    suspicious: tuple[str, ...] = ()
    suites: msgspec.Raw = msgspec.Raw()


class IndexedLine(msgspec.Struct, frozen=True, gc=False):
    """The part of a VerdictLine that the index needs; the rest of the line is skipped unread."""

    row: Row
    digest: RowDigest
    verdict: _IndexedVerdict
    program: str = ""


_CHECK = re.compile(rb',"check":"([0-9a-f]{8})"\}\n?\Z')
"""The last field of a verdict's line: the CRC-32 of the bytes before it."""
_CHECK_BYTES = 21
"""Its length, with the end of the line."""
_LINES = msgspec.json.Decoder(decodable(VerdictLine))
_INDEXED = msgspec.json.Decoder(decodable(IndexedLine))
_PARTS = msgspec.json.Decoder(decodable(PartHeader))
_FOOTERS = msgspec.json.Decoder(decodable(Footer))
BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def utc_now() -> str:
    """Return the time, in UTC, as ISO 8601."""
    return _now().isoformat(timespec="seconds")


def _now() -> datetime:
    return datetime.now(UTC)


def encode(record: VerdictLine | PartHeader | Footer) -> bytes:
    """Return the record as one line with its end; a lone surrogate becomes an escape sequence."""
    try:
        text = msgspec.json.encode(record)
    except UnicodeEncodeError:
        # JSON can hold a lone surrogate but UTF-8 cannot.
        text = msgspec.json.encode(_escape_surrogates(msgspec.to_builtins(record)))
    if isinstance(record, VerdictLine):
        text = text[:-1] + b',"check":"%08x"}' % zlib.crc32(text[:-1])
    return text + b"\n"


def without_check(line: bytes) -> bytes | None:
    """Return the line of a verdict without its check, or None when it does not fit; earlier versions wrote none."""
    match = _CHECK.search(line, max(0, len(line) - _CHECK_BYTES))
    if match is None:
        return line
    text = line[: match.start()]
    return text + b"}\n" if int(match[1], 16) == zlib.crc32(text) else None


def decode_verdict(line: bytes) -> VerdictLine | None:
    """Return the verdict of a line, or None when the line is torn or damaged."""
    try:
        return _LINES.decode(line)
    except BROKEN:
        return None


def decode_indexed(line: bytes) -> IndexedLine | None:
    """Return the part of a line that the index needs, or None when the line is torn or damaged."""
    try:
        return _INDEXED.decode(line)
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


def as_stored(text: str) -> str:
    """Return a text as ``encode`` stores it: a lone surrogate, as in the name of a file, becomes an escape sequence."""
    return text.encode("utf-8", "backslashreplace").decode()


def _escape_surrogates(value: object) -> object:
    match value:
        case str():
            return as_stored(value)
        case dict():
            return {_escape_surrogates(name): _escape_surrogates(item) for name, item in value.items()}
        case list() | tuple():
            return [_escape_surrogates(item) for item in value]
        case _:
            return value
