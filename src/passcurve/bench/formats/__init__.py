"""Files of benchmarks become Problems: one file per format, which the fields of the rows show.

In: a path or bytes.  Out: Problems.  Refuses: a file with tests that would not be run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from passcurve.bench.formats import human_eval
from passcurve.bench.formats.rows import Format, ReadOptions, Row, listed, parse_rows, read_file, unpack
from passcurve.errors import DataError, UsageError
from passcurve.types import FunctionTests, Problem
from passcurve.types.amounts import are

__all__ = [
    "DEFAULT_OPTIONS",
    "ReadOptions",
    "digest_problems",
    "is_toml",
    "parse_problems",
    "parse_text",
    "read_file",
    "read_problems",
    "unpack",
]

DEFAULT_OPTIONS = ReadOptions()


def read_problems(
    path: Path, notes: list[str] | None = None, options: ReadOptions = DEFAULT_OPTIONS
) -> tuple[Problem, ...]:
    """Return the problems of a file, in its order: JSON Lines or one JSON document, plain or gzipped.

    Appends to ``notes`` what the file holds and is not used.  Raises DataError, with the file, the line and the
    expected content, for any other file, and for one with tests that would not be run.
    """
    return parse_problems(read_file(path), str(path), notes, options)


def parse_problems(
    data: bytes, source: str, notes: list[str] | None = None, options: ReadOptions = DEFAULT_OPTIONS
) -> tuple[Problem, ...]:
    """Return the problems in the bytes of a file; ``source`` names it in messages.

    Raises DataError as ``read_problems`` does.
    """
    text = unpack(data, source)
    file_hash = hashlib.md5(text, usedforsecurity=False).hexdigest()
    return parse_text(text, source, notes, msgspec.structs.replace(options, file_hash=file_hash))


def parse_text(text: bytes, source: str, notes: list[str] | None, options: ReadOptions) -> tuple[Problem, ...]:
    """Return the problems in the bytes of an unpacked file, whose md5 ``options`` have, as ``parse_problems`` does."""
    rows = tuple(_parse_toml(text, source) if is_toml(source) else parse_rows(text, source))
    if not rows:
        fault = "is empty" if not text else "has no rows"
        raise DataError(f"{source!r} {fault}; expected one JSON object per line with {listed(human_eval.REQUIRED)}")
    form = _find_format(rows, in_toml=is_toml(source))
    if options.task and not form.tasks:
        raise UsageError(f"--task {options.task} is for CRUXEval and BigCodeBench: {source!r} has one task")
    parsed = form.parse(rows, options)
    if notes is not None:
        notes += parsed.notes
    seen: dict[str, tuple[str, Problem]] = {}
    for row, problem in zip(rows, parsed.problems, strict=True):
        place, other = seen.setdefault(problem.id, (row.place, problem))
        if other is not problem and not (parsed.may_repeat and other == problem):
            first = place.removeprefix(f"{source!r}, ")
            raise DataError(f"{row.place}: id {problem.id!r} is that of {first}; expected once")
    if notes is not None and len(seen) < len(rows):
        twice = len(rows) - len(seen)
        notes.append(f"{twice} of {len(rows)} rows {are(twice)} there twice, and {are(twice)} read once")
    return tuple(problem for _, problem in seen.values())


def is_toml(source: str) -> bool:
    """Return whether a file of this name holds TOML."""
    return source.removesuffix(".gz").endswith(".toml")


def digest_problems(problems: Iterable[Problem]) -> str:
    """Return the sha256 of the problems' canonical JSON, which does not depend on compression."""
    rows = [_digest_row(problem) for problem in problems]
    return hashlib.sha256(json.dumps(rows, sort_keys=True, separators=(",", ":")).encode("ascii")).hexdigest()


def _parse_toml(text: bytes, source: str) -> Iterator[Row]:
    # Loaded here: most files are JSON.
    from passcurve.bench.formats.own import parse_toml

    return parse_toml(text, source)


def _find_format(rows: tuple[Row, ...], *, in_toml: bool) -> Format:
    """Return the format of rows: in TOML the schema of our own, else that of HumanEval where no other matches."""
    fields = rows[0].fields
    if not in_toml and human_eval.FORMAT.matches(fields) and isinstance(fields["prompt"], str):
        return human_eval.FORMAT
    # Loaded here: most files are in the format of HumanEval.
    from passcurve.bench.formats import own
    from passcurve.bench.formats.detect import FORMATS, explain_layout

    if in_toml:
        return own.FORMAT
    if layout := explain_layout(fields):
        raise DataError(f"{rows[0].place}: this looks like {layout}")
    return next((form for form in FORMATS if form.matches(fields)), human_eval.FORMAT)


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
    if problem.other_references:
        row["other_references"] = problem.other_references
    if problem.suffix:
        row["suffix"] = problem.suffix
    if problem.timeout_s is not None:
        row["timeout_s"] = problem.timeout_s
    return row
