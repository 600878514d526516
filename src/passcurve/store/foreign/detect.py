"""The kind of a file of samples, by its content."""

from __future__ import annotations

import enum
import json
import re
from itertools import islice
from pathlib import Path
from typing import Any

from passcurve.errors import DataError
from passcurve.store.documents import (
    EXPECTED,
    explain_outcomes,
    is_lm_eval,
    is_record_line,
    parse_json,
    read_document,
    text_lines,
)
from passcurve.store.foreign.by_task import is_by_task
from passcurve.store.foreign.folder import is_completions
from passcurve.store.lines import open_unpacked
from passcurve.types.files import BOM, PARQUET, describe_file

HEAD_BYTES = 1 << 16
_YAML = re.compile(rb"(?:- )?task_id: ")
_FROM_YAML = (
    "python3 -c \"import json, yaml; [print(json.dumps(row)) for row in yaml.safe_load(open('{name}'))]\" > {out}"
)
_CSV = "pandas.read_csv({name!r}, sep={sep!r}).to_json({out!r}, orient='records', lines=True)"


class Kind(enum.Enum):
    """A kind of file."""

    EMPTY = "nothing yet"
    ROWS = "rows in JSON lines"
    LM_EVAL = "rows of lm-eval in JSON lines"
    DOCUMENT = "one JSON array"
    RECORD = "a file of another harness with verdicts, or a log"
    RECORD_ROWS = "rows of another harness in JSON lines, with the programs of a problem each"
    COMPLETIONS = "one JSON object with the completions of one problem"
    BY_TASK = "one JSON object with the texts of each task"
    PARQUET = "Parquet"
    FOLDER = "a folder"


def is_usual(path: Path, *, follow: bool) -> bool:
    """Tell whether a path is a file in the usual form, or may become one; raises what ``detect`` raises."""
    kind = detect(path)
    return kind is Kind.ROWS or (follow and kind is Kind.EMPTY)


def first_fields(path: Path) -> frozenset[str]:
    """Return the names of the fields of the first row of a file of JSON lines; none for any other file."""
    if not path.is_file():
        return frozenset()
    try:
        row = parse_json(next(text_lines(path), b""))
    except DataError:
        return frozenset()
    return frozenset(row) if isinstance(row, dict) else frozenset()


def detect(path: Path) -> Kind:
    """Return the kind of a path; raises DataError for a file of a kind that holds no samples, and for a pipe.

    A file that cannot be read counts as rows: whoever reads them says why.
    """
    if path.is_dir():
        return Kind.RECORD if _has_results(path) else Kind.FOLDER
    if not path.is_file():
        refuse_pipe(path)
        return Kind.ROWS
    head = _read_head(path)
    if head.startswith(b"PK") and _is_log(path):
        return Kind.RECORD
    if head.startswith(PARQUET):
        return Kind.PARQUET
    if what := describe_file(head):
        raise DataError(f"{str(path)!r} is {what}")
    start = head.removeprefix(BOM).lstrip()
    if start.startswith(b"["):
        return Kind.ROWS if _has_lists_in_lines(path) else Kind.DOCUMENT
    if start.startswith(b"{"):
        return _kind_of_objects(path)
    if not start:
        return Kind.EMPTY if _is_blank(path) else Kind.ROWS
    _refuse_table(path, start)
    return Kind.ROWS


def refuse_pipe(path: Path) -> None:
    """Raise DataError for what can be read only once, as its kind, its rows and its results are read one by one."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise DataError(
            f"{str(path)!r} is no file but a pipe or a device, which can be read only once: write it to a file, "
            "or pipe it into passcurve judge - --run DIR"
        )


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


def _has_lists_in_lines(path: Path) -> bool:
    """Tell whether the first line is a whole list and others follow: lines that are no rows, then."""
    try:
        first = list(islice(text_lines(path), 2))
    except DataError:
        return True
    return len(first) == 2 and isinstance(parse_json(first[0]), list)


def _kind_of_objects(path: Path) -> Kind:
    try:
        first = list(islice(text_lines(path), 2))
    except DataError:
        return Kind.ROWS
    row = parse_json(first[0]) if first else None
    if is_lm_eval(row):
        return Kind.LM_EVAL
    if is_record_line(row):
        return Kind.RECORD_ROWS
    if len(first) == 1 or row is None:
        whole = row if isinstance(row, dict) else _whole_object(path)
        if _is_record(whole):
            return Kind.RECORD
        if is_completions(whole):
            return Kind.COMPLETIONS
        if is_by_task(whole):
            return Kind.BY_TASK
        _refuse_object(path, whole)
    return Kind.ROWS


def _is_log(path: Path) -> bool:
    # Loaded here: most files are rows.
    from passcurve.store.records.inspect_log import is_archive

    return is_archive(path)


def _has_results(folder: Path) -> bool:
    from passcurve.store.records.multipl_e import result_files

    return bool(result_files(folder))


def _is_record(whole: object) -> bool:
    from passcurve.store.records import find_reader

    return find_reader(whole) is not None


def _whole_object(path: Path) -> dict[str, Any] | None:
    """Return the object that a file of several lines is; None where it is none."""
    whole = parse_json(read_document(path))
    return whole if isinstance(whole, dict) else None


def _refuse_object(path: Path, whole: dict[str, Any] | None) -> None:
    if whole is None:
        _refuse_stream(path)
        return
    if isinstance(whole.get("task_id"), dict | list):
        raise DataError(
            f"{str(path)!r} is a table by columns; {EXPECTED}: pandas writes them with "
            "to_json(OUT, orient='records', lines=True)"
        )
    if "task_id" in whole:
        return
    if what := explain_outcomes(whole):
        raise DataError(f"{str(path)!r} {what}")
    values = list(whole.values())
    if any(isinstance(value, dict | list) for value in values) and whole.keys().isdisjoint(("completion", "solution")):
        names = ", ".join(repr(name[:40]) for name in islice(whole, 3))
        command = _command_for(whole)
        how = f": jq -c {command} IN > OUT" if command else ""
        raise DataError(f"{str(path)!r} is one JSON object with {len(whole)} keys ({names}, ...); {EXPECTED}{how}")


def _command_for(whole: dict[str, Any]) -> str:
    """Return the command by which ``jq`` makes rows of an object; empty where it is not clear."""
    inner = next((name for name, value in whole.items() if _is_list_of_rows(value)), "")
    if inner.isidentifier():
        return f"'.{inner}[]{_row_of(whole[inner])}'"
    values = list(whole.values())
    if all(_is_row(value) for value in values):
        return "'.[]'"
    if all(_is_prediction(value) for value in values):
        return "'.[] | {task_id: .gold, completion: .prediction}'"
    if all(_has_text(value) for value in values):
        return "'to_entries[] | {task_id: .key} + .value'"
    if all(isinstance(value, list) and value and all(map(_has_text, value)) for value in values):
        return "'to_entries[] | {task_id: .key} + .value[]'"
    return ""


def _is_prediction(value: object) -> bool:
    """Tell whether a value is a prediction of OpenCompass whose reference is the name of the task, as in HumanEval."""
    gold = value.get("gold") if isinstance(value, dict) and "prediction" in value else None
    return isinstance(gold, str) and not any(character.isspace() for character in gold)


def _has_text(value: object) -> bool:
    return isinstance(value, dict) and not value.keys().isdisjoint(("completion", "solution"))


def _is_list_of_rows(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(_is_row(row) or _is_wrapped(row) for row in value)


def _is_row(value: object) -> bool:
    return isinstance(value, dict) and "task_id" in value


def _is_wrapped(value: object) -> bool:
    """Tell whether a value is a row as the viewer of Hugging Face gives it."""
    return isinstance(value, dict) and _is_row(value.get("row"))


def _row_of(rows: list[object]) -> str:
    """Return the place of a row in each item of a list, as ``jq`` writes it."""
    return ".row" if _is_wrapped(rows[0]) else ""


def _refuse_stream(path: Path) -> None:
    """Raise DataError for JSON objects that stand otherwise than one in each line."""
    try:
        # A line that is not UTF-8 is a row, too, of which its reader says so.
        lines = [line.decode("utf-8", "replace").encode() for line in islice(text_lines(path), 2)]
        head = _read_head(path).removeprefix(BOM).decode("utf-8", "replace")
        row, end = json.JSONDecoder().raw_decode(head.lstrip())
    except (DataError, ValueError, RecursionError):
        return
    if not isinstance(row, dict) or any(isinstance(parse_json(line), dict) for line in lines):
        return
    if all(line.rstrip().endswith(b"},") for line in lines):
        raise DataError(f"{str(path)!r} has a comma after each row; {EXPECTED}: sed 's/,$//' IN > OUT")
    if head.lstrip()[end:].strip():
        raise DataError(f"{str(path)!r} has JSON objects that are not one in each line: jq -c . IN > OUT")


def _refuse_table(path: Path, start: bytes) -> None:
    first = start.split(b"\n", 1)[0]
    is_header = b"task_id" in first and (b"," in first or b"\t" in first) and b"{" not in first
    if is_header or path.suffix in (".csv", ".tsv"):
        is_tsv = b"\t" in first
        # A table may be called .jsonl, and must not be overwritten.
        out = f"{path.stem}.jsonl" if path.suffix != ".jsonl" else f"{path.stem}_rows.jsonl"
        how = _CSV.format(name=path.name, sep="\t" if is_tsv else ",", out=out)
        raise DataError(f"{str(path)!r} is a table in {'TSV' if is_tsv else 'CSV'}; {EXPECTED}: {how}")
    if path.suffix in (".yaml", ".yml") or _YAML.match(first):
        out = f"{path.stem}.jsonl" if path.suffix != ".jsonl" else f"{path.stem}_rows.jsonl"
        raise DataError(f"{str(path)!r} is YAML; {EXPECTED}: {_FROM_YAML.format(name=path.name, out=out)}")
    if b"\0" in start[:512]:
        raise DataError(f"{str(path)!r} is a binary file; {EXPECTED}")
