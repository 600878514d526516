"""One JSON array: of rows, or of lists of programs as bigcode-evaluation-harness writes ``generations.json``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from passcurve.errors import DataError
from passcurve.store.documents import read_document
from passcurve.types import Problem

_EXPECTED = "expected rows, or lists of programs as bigcode-evaluation-harness writes them"
_END_OF_LINE = re.compile(rb"[\r\n]+")


def read_array(path: Path, problems: Callable[[], Sequence[Problem] | None]) -> Iterator[bytes | dict[str, Any]]:
    """Yield the rows of an array, or a row for each program of its lists."""
    content = read_document(path)
    elements = _elements(path, content)
    if elements and all(element.lstrip().startswith(b"[") for element in elements):
        yield from _programs(path, json.loads(content), problems())
        return
    for index, element in enumerate(elements):
        if not element.lstrip().startswith(b"{"):
            shown = ascii(element[:40].decode("utf-8", "replace"))
            raise DataError(f"{str(path)!r}, element {index} of the array is {shown}; {_EXPECTED}")
        # Within a string an end of line is an escape, so these are space.
        yield _END_OF_LINE.sub(b" ", element)


def _elements(path: Path, content: bytes) -> list[bytes]:
    try:
        return [bytes(element) for element in msgspec.json.decode(content, type=list[msgspec.Raw])]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        # More than JSON allows, such as NaN.
        return [json.dumps(element).encode() for element in json.loads(content)]
    except (ValueError, RecursionError) as error:
        raise DataError(f"{str(path)!r} is not one JSON array: {error}; copy or write it again") from None


def _programs(path: Path, lists: list[list[object]], problems: Sequence[Problem] | None) -> Iterator[dict[str, Any]]:
    if problems is None:
        raise DataError(
            f"{str(path)!r} has lists of programs without task ids (list 0 belongs to problem 0): name the benchmark "
            "with --benchmark"
        )
    if len(lists) > len(problems):
        raise DataError(
            f"{str(path)!r} has lists of programs for {len(lists)} problems, but the benchmark has {len(problems)}: "
            "name the right one with --benchmark"
        )
    ids = {problem.id for problem in problems}
    if pairs := [programs for programs in lists if any(program in ids for program in map(str, programs))]:
        named = next(program for program in map(str, pairs[0]) if program in ids)
        raise DataError(
            f"{str(path)!r} has the task id {named!r} among the programs of a list; write rows with `task_id` and "
            "`completion` or `solution`"
        )
    _check_order(path, lists, problems)
    for problem, programs in zip(problems, lists, strict=False):
        for program in programs:
            yield {"task_id": problem.id, "solution": program}


def _check_order(path: Path, lists: list[list[object]], problems: Sequence[Problem]) -> None:
    """Raise DataError where most programs belong to other problems: nothing but their order says which."""
    pairs = [(problem, programs) for problem, programs in zip(problems, lists, strict=False) if programs]
    strangers = [
        problem
        for problem, programs in pairs
        if not any(
            re.search(rf"\b{re.escape(problem.entry_point.rpartition('.')[2])}\b", str(program)) for program in programs
        )
    ]
    texts = [str(program) for _, programs in pairs for program in programs]
    if len(strangers) * 2 > len(pairs) and 2 * sum(text.lstrip("\r\n")[:1].isspace() for text in texts) > len(texts):
        raise DataError(
            f"{str(path)!r} has bodies that continue the prompt where whole programs should stand; write rows with "
            "`task_id` and `completion`"
        )
    if len(strangers) * 2 > len(pairs):
        raise DataError(
            f"{str(path)!r}: the programs for {len(strangers)} of {len(pairs)} problems lack the function to test "
            f"(first {strangers[0].entry_point!r} of {strangers[0].id}), so the lists belong to other problems; check "
            "--benchmark, or write rows with `task_id` and `solution` (after --limit_start they are shifted)"
        )
