"""Files of benchmarks, plain or gzipped, read as rows: JSON Lines, a JSON array, or a JSON object of rows."""

from __future__ import annotations

import difflib
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from passcurve.bench.formats.json_text import read_json_text
from passcurve.errors import DataError, UsageError, nearest
from passcurve.machine import total_memory_bytes
from passcurve.store.foreign.parquet import read_parquet
from passcurve.types import Problem
from passcurve.types.files import BOM, GZIP, PARQUET, describe_file

LEAST_LIMIT_BYTES = 1 << 30
"""Largest file of problems on a small machine, against device files and gzip bombs."""
_SHARE = 4
"""A file may have this part of the memory of a larger one: its problems take two to three times its size."""

_MIN_COLUMNS = 2
_HEAD_BYTES = 4096
_JSON_KINDS = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
}


class ReadOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Choices by which one file becomes different problems."""

    task: str = ""
    """The task of a file that holds several: ``input`` or ``output`` of CRUXEval; empty where none was named."""
    profile: str = "native"
    """The harness whose rules are followed; ``native`` is each benchmark's own, where it is sound."""
    language: str = ""
    """The language of the programs, where a file has several or leaves it open; empty where none was named."""
    file_hash: str = ""
    """md5 of the unpacked file, by which a harness knows an edition."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One row with a JSON object, and its place."""

    place: str
    line: int
    fields: Mapping[str, object]
    expected: tuple[str, ...] = ()
    """The fields that its format needs, for messages."""

    def text(self, field: str) -> str:
        """Return a field that must be a string; raise DataError where it is not there or is something else."""
        if field not in self.fields:
            raise self.fault(f"found no {field!r}{self._other_field(field)}", listed(self.expected))
        value = self.fields[field]
        if not isinstance(value, str):
            raise self.fault(f"found {kind(value)} in {field!r}", "a string")
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            # A lone surrogate is valid JSON, but no source file can contain it.
            surrogate = f"the lone surrogate U+{ord(value[error.start]):04X} in {field!r}"
            raise self.fault(f"found {surrogate}", "text that UTF-8 can encode") from error
        return value

    def optional_text(self, field: str) -> str:
        """Return a field as ``text`` does, or the empty string where it is null or not there."""
        return self.text(field) if self.fields.get(field) is not None else ""

    def name(self, field: str) -> str:
        """Return a field that must name a problem: text, or a number, which becomes text."""
        value = self.fields.get(field)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        name = self.text(field)
        if not name.strip():
            raise self.fault(f"found {field} {shown(name)}", "a name for the problem")
        return name

    def array(self, field: str) -> list[object]:
        """Return a field that must be an array; raise DataError where it is not there or is something else."""
        if field not in self.fields:
            raise self.fault(f"found no {field!r}{self._other_field(field)}", listed(self.expected))
        value = self.fields[field]
        if not isinstance(value, list):
            raise self.fault(f"found {kind(value)} in {field!r}", "an array")
        return value

    def texts(self, field: str) -> tuple[str, ...]:
        """Return a field that must be an array of strings; raise DataError where it is not."""
        values = self.array(field)
        texts = tuple(value for value in values if isinstance(value, str))
        if len(texts) < len(values):
            wrong = next(value for value in values if not isinstance(value, str))
            raise self.fault(f"found {kind(wrong)} in the array {field!r}", "strings")
        return texts

    def fault(self, seen: str, expected: str) -> DataError:
        """Return the error about a row, with its place."""
        return DataError(f"{self.place}: {seen}; expected {expected}")

    def _other_field(self, missing: str) -> str:
        if "completion" in self.fields or "solution" in self.fields:
            return " but a model's answer: this looks like a samples file"
        strangers = [name for name in self.fields if name not in self.expected]
        close = difflib.get_close_matches(missing, strangers, n=1, cutoff=0.6)
        return f" but {close[0]!r}" if close else ""


class Parsed(NamedTuple):
    """The problems of a file, and what it holds that no score uses."""

    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()
    may_repeat: bool = False
    """Whether a problem may stand in the file again, equal in everything: it is then read once."""


class Format(NamedTuple):
    """One form of benchmarks."""

    name: str
    matches: Callable[[Mapping[str, object]], bool]
    """Whether the fields of a file's first row are of this form."""
    parse: Callable[[Sequence[Row], ReadOptions], Parsed]
    tasks: tuple[str, ...] = ()
    """The tasks that one file of it holds, where there are several."""


def read_file(path: Path) -> bytes:
    """Return the bytes of a file; raise DataError when it is missing or cannot be read."""
    try:
        with path.open("rb") as handle:
            data = handle.read(_limit_bytes() + 1)
    except FileNotFoundError:
        raise DataError(f"no file {str(path)!r}{_hint(path)}") from None
    except IsADirectoryError:
        raise DataError(f"{str(path)!r} is a directory; expected a .jsonl or .jsonl.gz file") from None
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise DataError(f"{str(path)!r} cannot be read: {reason}") from error
    _check_size(len(data), f"{str(path)!r} is larger")
    return data


def _limit_bytes() -> int:
    return max(LEAST_LIMIT_BYTES, (total_memory_bytes() or 0) // _SHARE)


def _check_size(size: int, what: str) -> None:
    if size > _limit_bytes():
        raise DataError(f"{what} than {_limit_bytes() / (1 << 30):.1f} GiB, the limit for benchmarks on this machine")


def unpack(data: bytes, source: str) -> bytes:
    """Return the bytes of a file without gzip; raise DataError where it is damaged or unpacks to too much."""
    if not data.startswith(GZIP):
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as handle:
            text = handle.read(_limit_bytes() + 1)
    except EOFError:
        raise DataError(f"{source!r} is a gzip file that ends too early; copy or fetch it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{source!r} is a damaged gzip file ({error}); copy or fetch it again") from error
    _check_size(len(text), f"{source!r} unpacks to more")
    return text


def parse_rows(text: bytes, source: str) -> Iterator[Row]:
    """Yield the rows of an unpacked file; raise DataError, with the place, for what is none."""
    if text.startswith(PARQUET):
        try:
            text = b"\n".join(read_parquet(Path(source), text))
        except UsageError as error:
            raise DataError(str(error)) from None
    if what := describe_file(text[:_HEAD_BYTES]):
        raise DataError(f"{source!r} is {what}")
    text = text.removeprefix(BOM)
    if rows := _document(text):
        for number, fields in enumerate(rows, start=1):
            if not isinstance(fields, dict):
                raise DataError(f"{source!r}, item {number}: found {kind(fields)}; expected an object")
            yield Row(place=f"{source!r}, item {number}", line=number, fields=fields)
        return
    for number, raw in enumerate(text.split(b"\n"), start=1):
        if not raw.strip():
            continue
        place = f"{source!r}, line {number}"
        try:
            value = read_json_text(raw.decode("utf-8"))
        except UnicodeDecodeError as error:
            byte = f"byte 0x{raw[error.start]:02x} at column {error.start + 1}"
            raise DataError(f"{place}: found {byte}; expected UTF-8") from error
        except (ValueError, RecursionError) as error:
            # ValueError includes JSONDecodeError and numbers of too many digits.
            raise DataError(
                f"{place}: found {shown(raw.decode('utf-8').strip())}, which is not JSON ({_one_line(error)}); "
                f"expected one JSON object per line{_table_hint(raw) if number == 1 else ''}"
            ) from error
        if not isinstance(value, dict):
            raise DataError(f"{place}: found {kind(value)}; expected one JSON object per line")
        yield Row(place=place, line=number, fields=value)


def _table_hint(line: bytes) -> str:
    """Return what makes rows of a table, where the first line looks like the head of one."""
    separator = "\t" if b"\t" in line else ","
    names = line.decode("utf-8").strip().split(separator)
    if len(names) < _MIN_COLUMNS or not all(name.strip('" ').isidentifier() for name in names):
        return ""
    how = f"pandas.read_csv(IN, sep={separator!r}).to_json(OUT, orient='records', lines=True)"
    return f"; this looks like a table: {how}"


def _document(text: bytes) -> list[object]:
    """Return the rows of a file that is one JSON array or one object of objects; none for any other file."""
    start = text.lstrip()[:1]
    first_line = text.lstrip().partition(b"\n")[0]
    if start == b"{":
        try:
            if not all(isinstance(item, dict) for item in json.loads(first_line).values()):
                return []
        except (ValueError, RecursionError, AttributeError):
            pass  # an object over several lines, or no JSON at all
    elif start != b"[":
        return []
    try:
        value = read_json_text(text.decode("utf-8"))
    except (ValueError, RecursionError):
        return []
    if isinstance(value, list):
        return value
    if value and all(isinstance(item, dict) for item in value.values()):
        return [{"task_id": name, **item} for name, item in value.items()]
    return []


def kind(value: object) -> str:
    """Return what a value of JSON is, in words."""
    return "null" if value is None else _JSON_KINDS[type(value)]


def shown(text: str) -> str:
    """Return the beginning of a text in quotes, for a message."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def excerpt(value: object) -> str:
    """Return the beginning of a value as Python writes it, or what it is where Python does not, for a message."""
    try:
        return f"{value!r:.60}"
    except ValueError:
        # An integer of more digits than CPython writes.
        return kind(value)


def listed(names: tuple[str, ...]) -> str:
    """Return names as an enumeration."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def _hint(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"; the folder {str(folder)!r} does not exist"
    try:
        return nearest(path.name, sorted(entry.name for entry in folder.iterdir() if entry.is_file()))
    except OSError:
        return ""


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
