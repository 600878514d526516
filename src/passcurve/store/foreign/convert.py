"""Conversion of files, or of rows in memory, into rows in the usual form."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from passcurve.errors import DataError, UsageError
from passcurve.store.documents import EXPECTED, TOO_LONG, is_lm_eval, is_record_row, read_document, text_lines
from passcurve.store.foreign.by_task import read_by_task
from passcurve.store.foreign.detect import Kind, detect
from passcurve.store.foreign.document import read_array
from passcurve.store.foreign.folder import find_parts, read_completions, read_programs
from passcurve.store.foreign.lm_eval import read_lm_eval
from passcurve.store.foreign.options import FindProblems, ReadOptions, Target, with_functions
from passcurve.store.foreign.parquet import read_parquet
from passcurve.store.foreign.values import flatten, parse_object
from passcurve.store.lines import PENDING, Pending, follow_lines
from passcurve.store.replies import find_reply, reply_remedy
from passcurve.store.whole_files import whole_file
from passcurve.types import task_name
from passcurve.types.files import BOM

Sample = dict[str, Any]
"""A row; where a format yields it and not bytes, it is in the usual form already."""
_MAX_MAPPED = 10_000
_PAUSE_S = 0.02
"""Between two looks at a file that grows."""


def convert(paths: Sequence[Path], options: ReadOptions, target: Target) -> Iterator[bytes]:
    """Yield the rows of these files in the usual form, each as a line with its end.

    Rows that are in it already stay as they were written.  Raises DataError for what holds no samples.
    """
    name = ", ".join(repr(str(path)) for path in paths)
    options = with_functions(options, target.problems)
    mapping = _RowMapping(options, target.problems, name)
    kinds: dict[str, Path] = {}
    lines = (line for path in expand(paths) for line in mapping.lines(_read(path, options, target, kinds)))
    first = next(lines, None)
    if first is None:
        raise DataError(f"{name} has no row to judge: there is nothing in it; {EXPECTED}")
    yield first
    yield from lines
    mapping.check()


def convert_rows(rows: Iterable[Sample], options: ReadOptions, problems: FindProblems) -> Iterator[Sample]:
    """Yield rows in memory in the usual form; raises DataError at the end where no row has the field."""
    mapping = _RowMapping(with_functions(options, problems), problems, "the samples")
    for row in rows:
        yield from mapping.rows(row)
    mapping.check()


def convert_lines(lines: Iterable[bytes], options: ReadOptions, problems: FindProblems, name: str) -> Iterator[bytes]:
    """Return rows that come one by one in the usual form; raises DataError at the end where an option fits none."""
    return _RowMapping(with_functions(options, problems), problems, name).checked_lines(lines)


def growing_lines(path: Path, idle_s: float) -> Iterator[bytes]:
    """Yield the lines of a file as they come, until it has not grown for so many seconds."""
    for line in follow_lines(path, idle_s):
        if not _is_pending(line):
            yield line if isinstance(line, bytes) else TOO_LONG


def _is_pending(line: bytes | Pending | None) -> bool:
    if line is PENDING:
        time.sleep(_PAUSE_S)
    return line is PENDING


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write lines to a file that appears whole or not at all; raises UsageError when it cannot be written."""
    try:
        with whole_file(path) as file:
            file.writelines(lines)
    except OSError as error:
        raise UsageError(
            f"cannot write the samples to {str(path)!r}: {error.strerror or error}; choose another place with --run DIR"
        ) from None


class _RowMapping:
    """Applies the options to rows, and remembers whether they had any effect."""

    def __init__(self, options: ReadOptions, problems: FindProblems, name: str) -> None:
        self._options, self._problems, self._name = options, problems, name
        self._raw_rows = self._with_field = self._with_mapping = 0
        self._example: Sample = {}
        self._mapped: set[str] = set()
        """The first ids that the mapping has made."""

    def lines(self, items: Iterable[bytes | Sample]) -> Iterator[bytes]:
        """Yield rows as lines; bytes that are no object stay as they are, for the reader to report."""
        for item in items:
            if isinstance(item, dict):
                self._count(item)
                yield _encode(self._with_task(item))
                continue
            row = parse_object(item) if self._options else None
            if row is None:
                yield item + b"\n"
            else:
                yield from map(_encode, self.rows(row))

    def checked_lines(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Yield rows that come one by one, and check at their end that each option had an effect."""
        for number, line in enumerate(lines):
            text = line if number else line.removeprefix(BOM)
            yield from self.lines([text.removesuffix(b"\n").removesuffix(b"\r")])
        self.check()

    def rows(self, row: Sample) -> Iterator[Sample]:
        """Yield the samples of a row: several where its field is a list."""
        self._count(row)
        self._raw_rows += 1
        name = self._options.field
        if not name:
            yield self._with_task(row)
            return
        rest = {key: value for key, value in row.items() if key not in ("completion", "solution", name)}
        if name not in row:
            yield self._with_task(rest)
            return
        self._with_field += 1
        texts = list(flatten(row[name]))
        if not texts:
            # For the reader to report: it would be gone without a word.
            yield self._with_task(rest)
        for text in texts:
            if isinstance(text, dict):
                reply = find_reply(row)
                remedy = reply_remedy(row, reply) if reply else "name a field of text"
                raise DataError(f"`{name}` in {self._name} holds objects, not text; {remedy}")
            yield self._with_task(rest | {self._options.form: text})

    def check(self) -> None:
        """Raise DataError where an option had no effect on any row."""
        field, mapping = self._options.field, self._options.id_map
        if self._raw_rows and field and not self._with_field:
            names = ", ".join(f"`{name}`" for name in list(self._example)[:12])
            raise DataError(f"no row of {self._name} has the field `{field}`; the first has {names}")
        if self._example and mapping is not None and not self._with_mapping:
            task = self._example.get("task_id")
            raise DataError(f"--id-map {mapping.text!r} fits no row of {self._name}; the first task_id is {task!r}")
        ids = [problem.id for problem in self._problems() or ()] if self._mapped else []
        if mapping is not None and ids and self._mapped.isdisjoint(ids):
            raise DataError(
                f"--id-map {mapping.text!r} makes ids such as {min(self._mapped)!r}, which the benchmark lacks: it has "
                f"ids like {ids[0]!r}"
            )

    def _count(self, row: Sample) -> None:
        self._example = self._example or row

    def _with_task(self, row: Sample) -> Sample:
        mapping, task = self._options.id_map, task_name(row.get("task_id"))
        if mapping is None or task is None:
            return row
        mapped = mapping.find(task)
        self._with_mapping += mapped is not None
        if mapped is not None and len(self._mapped) < _MAX_MAPPED:
            self._mapped.add(mapped)
        return row if mapped is None else row | {"task_id": mapped}


def _encode(row: Sample) -> bytes:
    return json.dumps(row).encode() + b"\n"


def expand(paths: Iterable[Path]) -> list[Path]:
    """Return the files of these paths: a folder of parts as its parts, one of programs as it is."""
    return [file for path in paths for file in ((find_parts(path) or [path]) if path.is_dir() else [path])]


def _read(path: Path, options: ReadOptions, target: Target, kinds: dict[str, Path]) -> Iterator[bytes | Sample]:
    problems = target.problems
    match detect(path):
        case Kind.EMPTY | Kind.ROWS:
            yield from text_lines(path)
        case Kind.LM_EVAL:
            yield from read_lm_eval(str(path), text_lines(path), options, problems)
        case Kind.DOCUMENT:
            yield from _document(path, options, target)
        case Kind.RECORD_ROWS if options.field:
            yield from text_lines(path)
        case Kind.RECORD | Kind.RECORD_ROWS:
            yield from _record(path, options, target)
        case Kind.BY_TASK:
            _refuse_field(path, options)
            document = json.loads(read_document(path))
            mapping = options.id_map
            ids = {task: ours for task in document if mapping and (ours := mapping.find(task)) is not None}
            yield from read_by_task(document, ids, problems())
        case Kind.PARQUET:
            yield from read_parquet(path)
        case Kind.FOLDER:
            _refuse_field(path, options)
            yield from read_programs(path, problems(), kinds)
        case Kind.COMPLETIONS:
            _refuse_field(path, options)
            yield from read_completions(path, kinds)


def _document(path: Path, options: ReadOptions, target: Target) -> Iterator[bytes | Sample]:
    items = read_array(path, target)
    first = next(items, None)
    if first is None:
        return
    if isinstance(first, dict):
        _refuse_field(path, options)
        yield first
        yield from items
        return
    rows = chain([first], (item for item in items if isinstance(item, bytes)))
    row = parse_object(first)
    if is_record_row(row) and not options.field:
        yield from _record(path, options, target)
    elif is_lm_eval(row):
        yield from read_lm_eval(str(path), rows, options, target.problems)
    else:
        yield from rows


def _record(path: Path, options: ReadOptions, target: Target) -> Iterator[Sample]:
    # Loaded here: most files are rows.
    from passcurve.store.records import read_record

    _refuse_field(path, options)
    record = read_record(path)
    samples = record.samples if record is not None else ()
    if all(sample.text is None for sample in samples):
        raise DataError(
            f"{str(path)!r} holds verdicts without programs: `passcurve show` scores it; to judge, name the samples"
        )
    if record is not None and record.withheld:
        target.say(f"{str(path)!r}: {record.withheld}")
    for sample in samples:
        yield {"task_id": sample.task_id, sample.form: sample.text}


def _refuse_field(path: Path, options: ReadOptions) -> None:
    if options.field:
        raise DataError(f"{str(path)!r} holds whole programs, not rows with fields: leave --field out")
