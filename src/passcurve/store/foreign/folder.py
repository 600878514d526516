"""A folder: programs as EvalPlus keeps them (``HumanEval_0/0.py``), MultiPL-E's completions, or parts of samples."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from passcurve.errors import DataError
from passcurve.store.documents import read_document
from passcurve.store.parts import LOCK
from passcurve.store.records.multipl_e import SUFFIXES as RESULT_SUFFIXES
from passcurve.store.records.multipl_e import check_kind, task_of
from passcurve.store.records.sample import MalformedRecordError
from passcurve.types import Problem

_EXPECTED = (
    "expected parts of samples (.jsonl, .jsonl.gz, .parquet), programs as EvalPlus keeps them (HumanEval_0/0.py) or "
    "completions as MultiPL-E does"
)
_PARTS = (".jsonl", ".jsonl.gz", ".parquet")
_DOCUMENTS = (".json", ".json.gz")
_OURS = re.compile(r".*(_results|\.passcurve\.samples)\.jsonl(\.gz)?")
_LM_EVAL_LOG = re.compile(r"samples_.+_[0-9]{4}-[0-9]{2}-[0-9]{2}T")
_EDITED = re.compile(r"(?:\.raw|[-_]sanitized|[-_]calibrated)+\Z")
"""Ends of the names by which EvalPlus and BigCodeBench tell what became of the same samples."""
_TEMPERATURE = r"[0-9]+(?:\.[0-9]+)?"
_ORIGIN = re.compile(rf".+(?:--bigcodebench-.+--[a-z0-9]+-|_[a-z0-9]+_temp_){_TEMPERATURE}")
"""Beginnings of the names that both give to a file: the model, the back end and the temperature."""
_PROGRAM_FOLDER = re.compile(r".+_[^_]+")


def find_parts(folder: Path) -> list[Path]:
    """Return the files of samples in a folder, by name; none where it holds programs.

    Raises DataError where it holds neither, or files of which one is the other once more.
    """
    try:
        entries = sorted(folder.iterdir(), key=lambda path: _in_order(path.name))
    except OSError as error:
        raise DataError(f"cannot read the folder {str(folder)!r}: {error.strerror or error}") from None
    if any(path.name == LOCK for path in entries):
        raise DataError(f"{str(folder)!r} is a run directory: `passcurve show` shows it; to judge, name the samples")
    parts = [path for path in entries if path.is_file() and _is_part(path.name)]
    if not parts and any(path.name.endswith(RESULT_SUFFIXES) for path in entries):
        return []
    if not parts and completion_files(folder):
        return []
    if any(_program_files(path) for path in entries):
        if parts:
            raise DataError(f"{str(folder)!r} holds both programs and samples in {parts[0].name!r}; name one of them")
        return []
    if not parts:
        _refuse(folder, entries)
    logs = [path.name for path in parts if _LM_EVAL_LOG.match(path.name)]
    if len(logs) > 1:
        raise DataError(
            f"{str(folder)!r} holds {len(logs)} logs of lm-eval ({logs[0]!r}, {logs[1]!r}): name one of them"
        )
    origins = {match[0]: path.name for path in parts if (match := _ORIGIN.match(path.name))}
    if len(origins) > 1:
        first, second, *_ = origins.values()
        raise DataError(
            f"{str(folder)!r} holds {first!r} and {second!r}, whose names are of different models or temperatures: "
            "name one of them, or both to pool them"
        )
    names: dict[str, str] = {}
    for path in parts:
        twin = names.setdefault(_EDITED.sub("", _stem(path.name)), path.name)
        if twin != path.name:
            raise DataError(
                f"{str(folder)!r} holds {path.name!r} and {twin!r}, which seem to be the same samples: name one of them"
            )
    return parts


def read_programs(folder: Path, problems: Sequence[Problem] | None, kinds: dict[str, Path]) -> Iterator[dict[str, Any]]:
    """Yield a row for each program of a folder, in the order of their numbers.

    ``kinds`` are the kinds of the completions before it, to which its own are added.
    """
    for path in completion_files(folder):
        yield from read_completions(path, kinds)
    ids = {problem.id.replace("/", "_"): problem.id for problem in problems or ()}
    for place in sorted(folder.iterdir(), key=lambda path: _in_order(path.name)):
        for path in _program_files(place):
            text: str | None = None
            try:
                text = path.read_bytes().decode()
            except OSError as error:
                raise DataError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
            except UnicodeDecodeError:
                pass
            task = ids.get(place.name) or "/".join(place.name.rsplit("_", 1))
            yield {"task_id": task, "solution": text, "file": f"{place.name}/{path.name}"}


def read_completions(path: Path, kinds: dict[str, Path]) -> Iterator[dict[str, Any]]:
    """Yield a row for each completion of one problem, as MultiPL-E and CanItEdit keep them.

    Raises DataError for another file, and for one of another kind than those before it.
    """
    document = _completions(path)
    if document is None:
        raise DataError(f"{str(path)!r} has no 'name' with its 'completions', as the files beside it")
    check_kind(document, path, kinds)
    try:
        task = task_of(document)
    except MalformedRecordError as error:
        raise DataError(f"{str(path)!r}: {error}") from None
    for completion in document["completions"]:
        text = completion.get("content") if isinstance(completion, dict) else completion
        yield {"task_id": task, "completion": text, "file": path.name}


def is_completions(document: object) -> bool:
    """Tell whether a document holds the completions of one problem."""
    return (
        isinstance(document, dict)
        and document.keys() >= {"name", "language", "prompt", "completions"}
        and isinstance(document["completions"], list)
    )


def completion_files(folder: Path) -> list[Path]:
    """Return the files of a folder in which MultiPL-E keeps the completions of one problem each; none of another."""
    files = [
        path
        for path in sorted(folder.iterdir(), key=lambda path: _in_order(path.name))
        if path.name.endswith(_DOCUMENTS) and not path.name.endswith(RESULT_SUFFIXES) and path.is_file()
    ]
    return files if files and _completions(files[0]) is not None else []


def _completions(path: Path) -> dict[str, Any] | None:
    try:
        document = msgspec.json.decode(read_document(path))
    except (OSError, EOFError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return document if is_completions(document) else None


def _program_files(place: Path) -> list[Path]:
    if not _PROGRAM_FOLDER.fullmatch(place.name) or not place.is_dir():
        return []
    return sorted((path for path in place.iterdir() if path.suffix == ".py"), key=lambda path: _in_order(path.name))


def is_ours(name: str) -> bool:
    """Tell whether a file of this name is one that a judging leaves beside its samples."""
    return _OURS.fullmatch(name) is not None


def _is_part(name: str) -> bool:
    return name.endswith(_PARTS) and not is_ours(name) and not name.startswith(".")


def _stem(name: str) -> str:
    return next(name.removesuffix(suffix) for suffix in (".jsonl.gz", ".jsonl", ".parquet") if name.endswith(suffix))


def _in_order(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts ``part-2`` before ``part-10``."""
    return [(int(piece), "") if piece.isdecimal() else (-1, piece) for piece in re.split(r"([0-9]+)", name)]


def _refuse(folder: Path, entries: Sequence[Path]) -> None:
    names = [path.name for path in entries]
    shown = ", ".join(repr(name) for name in names[:3]) + (", ..." if len(names) > 3 else "")
    if any(name.endswith(".arrow") for name in names):
        raise DataError(
            f"{str(folder)!r} is a data set of Arrow files ({shown}); write its rows as JSON lines: "
            "datasets.load_from_disk(IN).to_json(OUT)"
        )
    raise DataError(f"{str(folder)!r} is a directory without samples ({shown or 'it is empty'}); {_EXPECTED}")
