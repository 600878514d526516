"""The file format of HumanEval, plain or gzipped, read as Problems."""

from __future__ import annotations

import difflib
import gzip
import hashlib
import io
import json
import keyword
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from passcurve.bench.unread_tests import explain, unread_tests, unused_tests
from passcurve.errors import DataError, nearest
from passcurve.types import FunctionTests, Problem

MAX_BYTES = 1 << 30
"""Largest file of problems, against device files and gzip bombs."""

_GZIP_MAGIC = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_REQUIRED = ("task_id", "prompt", "entry_point", "test")
_OPTIONAL = ("canonical_solution", "suffix")
_JSON_KINDS = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
}


class _Row(msgspec.Struct, frozen=True, kw_only=True):
    """One line with a JSON object, and its place."""

    place: str
    line: int
    fields: Mapping[str, object]


def read_problems(path: Path, notes: list[str] | None = None) -> tuple[Problem, ...]:
    """Return the problems of a ``.jsonl`` or ``.jsonl.gz`` file, in the order of the file.

    Appends to ``notes`` what the file holds and is not used.  Raises DataError, with the file, the line and the
    expected content, for any other file, and for one with tests that would not be run.
    """
    return parse_problems(read_file(path), str(path), notes)


def read_file(path: Path) -> bytes:
    """Return the bytes of a file; raise DataError when it is missing or cannot be read."""
    try:
        with path.open("rb") as handle:
            data = handle.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise DataError(f"no file {str(path)!r}{_hint(path)}") from None
    except IsADirectoryError:
        raise DataError(f"{str(path)!r} is a directory; expected a .jsonl or .jsonl.gz file") from None
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise DataError(f"{str(path)!r} cannot be read: {reason}") from error
    if len(data) > MAX_BYTES:
        raise DataError(f"{str(path)!r} is larger than {MAX_BYTES >> 30} GiB, the limit for benchmarks")
    return data


def parse_problems(data: bytes, source: str, notes: list[str] | None = None) -> tuple[Problem, ...]:
    """Return the problems in the bytes of a file; ``source`` names it in messages.

    A problem has an empty test where its row has none and other rows have.  Raises DataError as ``read_problems`` does.
    """
    problems: dict[str, Problem] = {}
    lines: dict[str, int] = {}
    unused: Counter[str] = Counter()
    without_test: _Row | None = None
    for row in _rows(_unpacked(data, source), source):
        if field := unread_tests(row.fields, (*_REQUIRED, *_OPTIONAL)):
            raise DataError(f"{row.place}: {explain(field)}")
        unused.update(unused_tests(row.fields))
        problem = _problem(row)
        if problem.id in problems:
            raise DataError(
                f"{row.place}: task_id {problem.id!r} is already on line {lines[problem.id]}; expected once"
            )
        problems[problem.id] = problem
        lines[problem.id] = row.line
        without_test = without_test or (None if problem.test else row)
    if without_test is not None and not any(problem.test for problem in problems.values()):
        raise _no_test(without_test)
    if notes is not None:
        notes += [f"{name!r} of {count} problems is not used, only 'test' is" for name, count in unused.items()]
    if not problems:
        fault = "is empty" if not data else "has no rows"
        raise DataError(f"{source!r} {fault}; expected one JSON object per line with {_listed(_REQUIRED)}")
    return tuple(problems.values())


def digest_problems(problems: Iterable[Problem]) -> str:
    """Return the sha256 of the problems' canonical JSON, which does not depend on compression."""
    rows = [_digest_row(problem) for problem in problems]
    return hashlib.sha256(json.dumps(rows, sort_keys=True, separators=(",", ":")).encode("ascii")).hexdigest()


def _digest_row(problem: Problem) -> dict[str, object]:
    row: dict[str, object] = {
        "id": problem.id,
        "prompt": problem.prompt,
        "entry_point": problem.entry_point,
        "reference": problem.reference,
    }
    # A benchmark in the form of HumanEval keeps the digest that it had when there was no other form.
    if isinstance(problem.check, FunctionTests):
        row["test"] = problem.check.source
    else:
        row["check"] = msgspec.to_builtins(problem.check)
    if problem.suffix:
        row["suffix"] = problem.suffix
    if problem.timeout_s is not None:
        row["timeout_s"] = problem.timeout_s
    return row


def _unpacked(data: bytes, source: str) -> bytes:
    if not data.startswith(_GZIP_MAGIC):
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as handle:
            text = handle.read(MAX_BYTES + 1)
    except EOFError:
        raise DataError(f"{source!r} is a gzip file that ends too early; copy or fetch it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{source!r} is a damaged gzip file ({error}); copy or fetch it again") from error
    if len(text) > MAX_BYTES:
        raise DataError(f"{source!r} unpacks to more than {MAX_BYTES >> 30} GiB, the limit for benchmarks")
    return text


def _rows(text: bytes, source: str) -> Iterator[_Row]:
    for number, raw in enumerate(text.removeprefix(_BOM).split(b"\n"), start=1):
        if not raw.strip():
            continue
        place = f"{source!r}, line {number}"
        try:
            value = json.loads(raw.decode("utf-8"))
        except UnicodeDecodeError as error:
            byte = f"byte 0x{raw[error.start]:02x} at column {error.start + 1}"
            raise DataError(f"{place}: found {byte}; expected UTF-8") from error
        except (ValueError, RecursionError) as error:
            # ValueError includes JSONDecodeError and numbers of too many digits.
            raise DataError(
                f"{place}: found {_shown(raw.decode('utf-8').strip())}, which is not JSON ({_one_line(error)}); "
                "expected one JSON object per line"
            ) from error
        if not isinstance(value, dict):
            raise DataError(f"{place}: found {_kind(value)}; expected one JSON object per line")
        yield _Row(place=place, line=number, fields=value)


def _problem(row: _Row) -> Problem:
    # Some published names end with a space, which a harness that pastes the name into a call does not notice.
    entry_point = _text(row, "entry_point").strip()
    if not entry_point.isidentifier() or keyword.iskeyword(entry_point):
        raise DataError(f"{row.place}: found entry_point {_shown(entry_point)}; expected the name of a function")
    task_id = _text(row, "task_id")
    if not task_id.strip():
        raise DataError(f"{row.place}: found task_id {_shown(task_id)}; expected a name for the problem")
    test = _text(row, "test") if row.fields.get("test") is not None else ""
    reference = _text(row, "canonical_solution") if row.fields.get("canonical_solution") is not None else ""
    return Problem(
        id=task_id,
        prompt=_text(row, "prompt"),
        entry_point=entry_point,
        check=FunctionTests(source=test if test.strip() else ""),
        reference=reference if reference.strip() else None,
        suffix=_text(row, "suffix") if row.fields.get("suffix") is not None else "",
    )


def _no_test(row: _Row) -> DataError:
    """Return the error of a file in which no row has a test."""
    try:
        _text(row, "test")
    except DataError as error:
        return error
    return DataError(f"{row.place}: found an empty test; expected source that defines check(candidate)")


def _text(row: _Row, field: str) -> str:
    if field not in row.fields:
        raise DataError(f"{row.place}: found no {field!r}{_other_field(row, field)}; expected {_listed(_REQUIRED)}")
    value = row.fields[field]
    if not isinstance(value, str):
        raise DataError(f"{row.place}: found {_kind(value)} in {field!r}; expected a string")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        # A lone surrogate is valid JSON, but no source file can contain it.
        surrogate = f"the lone surrogate U+{ord(value[error.start]):04X} in {field!r}"
        raise DataError(f"{row.place}: found {surrogate}; expected text that UTF-8 can encode") from error
    return value


def _other_field(row: _Row, missing: str) -> str:
    if "completion" in row.fields or "solution" in row.fields:
        return " but a model's answer: this looks like a samples file"
    strangers = [name for name in row.fields if name not in (*_REQUIRED, *_OPTIONAL)]
    close = difflib.get_close_matches(missing, strangers, n=1, cutoff=0.6)
    return f" but {close[0]!r}" if close else ""


def _hint(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"; the folder {str(folder)!r} does not exist"
    try:
        return nearest(path.name, sorted(entry.name for entry in folder.iterdir() if entry.is_file()))
    except OSError:
        return ""


def _kind(value: object) -> str:
    return "null" if value is None else _JSON_KINDS[type(value)]


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _listed(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
