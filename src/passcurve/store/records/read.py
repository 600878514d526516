"""Recognition of a file with samples of another harness by its content."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from passcurve.errors import DataError
from passcurve.store.documents import is_lm_eval, is_record_line, parse_json, read_document, text_lines
from passcurve.store.lines import open_unpacked
from passcurve.store.records import cruxeval, evalplus, inspect_log, inspect_scores, lists, lm_eval_scores, multipl_e
from passcurve.store.records.sample import MalformedRecordError, Record
from passcurve.types.files import BOM

_HEAD_BYTES = 1 << 16
_READERS: tuple[tuple[Callable[[Any], bool], Callable[[Any], Record]], ...] = (
    (inspect_log.matches, inspect_log.read),
    # Some of its results have the outline of EvalPlus' own.
    (lists.matches, lists.read),
    (evalplus.matches, evalplus.read),
    (cruxeval.matches, cruxeval.read),
    (multipl_e.matches, multipl_e.read),
)


def read_record(path: Path) -> Record | None:
    """Return the record in a file or a folder; None for one of another kind.

    Raises DataError where the file is of a known kind and cannot be read as it.
    """
    try:
        return _read(path)
    except MalformedRecordError as error:
        raise DataError(f"{str(path)!r}: {error}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"cannot read {str(path)!r}: {error}") from None


def _read(path: Path) -> Record | None:
    if path.is_dir():
        return multipl_e.read_folder(path)
    head = _head(path)
    if head.startswith(b"PK"):
        return inspect_log.read_archive(path) if inspect_log.is_archive(path) else None
    if not head.startswith((b"{", b"[")):
        return None
    first = _first_object(head, path)
    if is_lm_eval(first):
        return lm_eval_scores.read(path)
    if inspect_scores.is_row(first):
        return inspect_scores.read(path)
    if is_record_line(first):
        return lists.read([parse_json(line) for line in text_lines(path)])
    if head.startswith(b"{") and _is_row(head, path):
        return None
    document = parse_json(read_document(path))
    # What is written in lines, as an array.
    first = document[0] if isinstance(document, list) and document else None
    if is_lm_eval(first):
        return lm_eval_scores.read(path)
    reader = find_reader(document)
    return reader(document) if reader is not None else None


def find_reader(document: Any) -> Callable[[Any], Record] | None:
    """Return what reads a document; None for one of another kind."""
    return next((read for matches, read in _READERS if matches(document)), None)


def _head(path: Path) -> bytes:
    with open_unpacked(path) as file:
        return file.read(_HEAD_BYTES).removeprefix(BOM).lstrip()


def _first_object(head: bytes, path: Path) -> Any:
    """Return the object of the first line; None for a document of several lines."""
    if not head.startswith(b"{"):
        return None
    line, end, _ = head.partition(b"\n")
    if not end:
        with open_unpacked(path) as file:
            line = file.readline(64 << 20)
    return parse_json(line)


def _is_row(head: bytes, path: Path) -> bool:
    row = _first_object(head, path)
    # MultiPL-E's file of one problem may have a field of that name.
    return isinstance(row, dict) and "task_id" in row and not multipl_e.matches(row)
