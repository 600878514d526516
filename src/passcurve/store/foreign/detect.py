"""The kind of a file of samples, by its content."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from passcurve.errors import DataError
from passcurve.store.lines import open_unpacked, read_lines

HEAD_BYTES = 1 << 16
WHOLE_BYTES = 2 << 30
"""Largest file that must fit into memory as one JSON document, in bytes."""
EXPECTED = "expected rows in JSON lines, with `task_id` and `completion` or `solution`"
_BOM = b"\xef\xbb\xbf"
_ARCHIVES = {
    b"PK\x03\x04": "a zip archive; unpack it and name the file",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it (zstd -d) and name the file",
    b"\xfd7zXZ\x00": "compressed with xz; unpack it (xz -d) and name the file",
    b"BZh": "compressed with bzip2; unpack it (bzip2 -d) and name the file",
    b"SQLite format 3": "an SQLite database; write its rows as JSON lines",
    b"\x80\x04": "a Python pickle; write its rows as JSON lines",
    b"\x80\x05": "a Python pickle; write its rows as JSON lines",
}
_TOO_LONG = b'"a line that is too long"'
_CSV = "pandas.read_csv({name!r}, sep={sep!r}).to_json({out!r}, orient='records', lines=True)"


class Kind(enum.Enum):
    """A kind of file."""

    EMPTY = "nothing yet"
    ROWS = "rows in JSON lines"
    LM_EVAL = "rows of lm-eval in JSON lines"
    DOCUMENT = "one JSON array"
    PARQUET = "Parquet"
    FOLDER = "a folder"


def is_usual(path: Path, *, follow: bool) -> bool:
    """Tell whether a path is a file in the usual form, or may become one; raises what ``detect`` raises."""
    kind = detect(path)
    return kind is Kind.ROWS or (follow and kind is Kind.EMPTY)


def detect(path: Path) -> Kind:
    """Return the kind of a path; raises DataError for a file of a kind that holds no samples.

    A file that cannot be read counts as rows: whoever reads them says why.
    """
    if path.is_dir():
        return Kind.FOLDER
    if not path.is_file():
        return Kind.ROWS
    head = _read_head(path)
    for magic, what in _ARCHIVES.items():
        if head.startswith(magic):
            raise DataError(f"{str(path)!r} is {what}")
    if head.startswith(b"PAR1"):
        return Kind.PARQUET
    if _is_utf_16(head):
        raise DataError(f"{str(path)!r} is UTF-16; convert it: iconv -f UTF-16 -t UTF-8 IN > OUT")
    start = head.removeprefix(_BOM).lstrip()
    if start.startswith(b"["):
        return Kind.ROWS if _has_lists_in_lines(path) else Kind.DOCUMENT
    if start.startswith(b"{"):
        return _kind_of_objects(path)
    if not start:
        return Kind.EMPTY if _is_blank(path) else Kind.ROWS
    _refuse_table(path, start)
    return Kind.ROWS


def text_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file that are not blank; for one that is too long, a text that is no row."""
    for number, line in enumerate(read_lines(path)):
        text = _TOO_LONG if line is None else line.removeprefix(_BOM) if number == 0 else line
        if text.strip():
            yield text


def read_document(path: Path) -> bytes:
    """Return a file that holds one JSON document; raises DataError where it is too large."""
    with open_unpacked(path) as file:
        content = file.read(WHOLE_BYTES + 1)
    if len(content) > WHOLE_BYTES:
        raise DataError(f"{str(path)!r} is one JSON document of more than {WHOLE_BYTES >> 30} GiB; {EXPECTED}")
    return content.removeprefix(_BOM)


def is_lm_eval(row: object) -> bool:
    """Tell whether a row is one that lm-eval writes with ``--log_samples``."""
    return isinstance(row, dict) and isinstance(row.get("doc"), dict) and not row.keys().isdisjoint(_RESPONSES)


_RESPONSES = ("resps", "filtered_resps")


def _read_head(path: Path) -> bytes:
    try:
        with open_unpacked(path) as file:
            return file.read(HEAD_BYTES)
    except DataError:
        return b""


def _is_blank(path: Path) -> bool:
    try:
        return next(text_lines(path), None) is None
    except DataError:
        return False


def _is_utf_16(head: bytes) -> bool:
    zeros = (head[:8:2].strip(b"\0"), head[1:8:2].strip(b"\0"))
    return head[:2] in (b"\xff\xfe", b"\xfe\xff") or (len(head) >= 8 and b"" in zeros and zeros != (b"", b""))


def _parse(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _has_lists_in_lines(path: Path) -> bool:
    """Tell whether the first line is a whole list and others follow: lines that are no rows, then."""
    try:
        first = list(islice(text_lines(path), 2))
    except DataError:
        return True
    return len(first) == 2 and isinstance(_parse(first[0]), list)


def _kind_of_objects(path: Path) -> Kind:
    try:
        first = list(islice(text_lines(path), 2))
    except DataError:
        return Kind.ROWS
    row = _parse(first[0]) if first else None
    if is_lm_eval(row):
        return Kind.LM_EVAL
    if len(first) == 1 or row is None:
        _refuse_object(path, row if isinstance(row, dict) else _whole_object(path))
    return Kind.ROWS


def _whole_object(path: Path) -> dict[str, Any] | None:
    """Return the object that a file of several lines is; None where it is none."""
    whole = _parse(read_document(path))
    return whole if isinstance(whole, dict) else None


def _refuse_object(path: Path, whole: dict[str, Any] | None) -> None:
    if whole is None or "task_id" in whole:
        return
    if isinstance(whole.get("eval"), dict):
        raise DataError(
            f"{str(path)!r} is a record of verdicts by EvalPlus: `passcurve show` scores it; to judge, name the samples"
        )
    values = list(whole.values())
    if any(isinstance(value, dict | list) for value in values) and whole.keys().isdisjoint(("completion", "solution")):
        names = ", ".join(repr(name[:40]) for name in islice(whole, 3))
        raise DataError(f"{str(path)!r} is one JSON object with {len(whole)} keys ({names}, ...); {EXPECTED}")


def _refuse_table(path: Path, start: bytes) -> None:
    first = start.split(b"\n", 1)[0]
    is_header = b"task_id" in first and (b"," in first or b"\t" in first) and b"{" not in first
    if is_header or path.suffix in (".csv", ".tsv"):
        how = _CSV.format(name=path.name, sep="\t" if b"\t" in first else ",", out=f"{path.stem}.jsonl")
        raise DataError(f"{str(path)!r} is a table in CSV; {EXPECTED}: {how}")
    if b"\0" in start[:512]:
        raise DataError(f"{str(path)!r} is a binary file; {EXPECTED}")
