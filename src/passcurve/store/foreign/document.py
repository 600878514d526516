"""One JSON array: of rows, or of lists of programs as bigcode-evaluation-harness writes ``generations.json``."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from passcurve.errors import DataError
from passcurve.store.documents import array_elements, explain_outcomes, read_document
from passcurve.store.foreign.options import Target
from passcurve.types import Cases, Expression, Problem

_EXPECTED = "expected rows, or lists of programs as bigcode-evaluation-harness writes them"
_LIVECODEBENCH = ("livecodebench", "equal-json")
"""Comparators of its programs and of its methods."""
_END_OF_LINE = re.compile(rb"[\r\n]+")


def read_array(path: Path, target: Target) -> Iterator[bytes | dict[str, Any]]:
    """Yield the rows of an array, or a row for each program of its lists."""
    content = read_document(path)
    elements = _elements(path, content)
    if elements and all(element.lstrip().startswith(b"[") for element in elements):
        yield from _programs(path, _parse(path, content), target)
        return
    for index, element in enumerate(elements):
        if not element.lstrip().startswith(b"{"):
            if what := explain_outcomes(_parse(path, content)):
                raise DataError(f"{str(path)!r} {what}")
            shown = ascii(element[:40].decode("utf-8", "replace"))
            raise DataError(f"{str(path)!r}, element {index} of the array is {shown}; {_EXPECTED}")
        # Within a string an end of line is an escape, so these are space.
        yield _END_OF_LINE.sub(b" ", element)


def _elements(path: Path, content: bytes) -> list[bytes]:
    try:
        return array_elements(content)
    except (ValueError, RecursionError) as error:
        raise _no_array(path, error) from None


def _parse(path: Path, content: bytes) -> list[Any]:
    try:
        array: list[Any] = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _no_array(path, error) from None
    return array


def _no_array(path: Path, error: Exception) -> DataError:
    return DataError(f"{str(path)!r} is not one JSON array: {error}; copy or write it again")


def list_order(problems: Sequence[Problem]) -> list[Problem]:
    """Return the problems in the order in which lists of programs without ids follow them.

    LiveCodeBench's ``custom_evaluator.py`` takes lists by the text of ``question_id``, other harnesses by the file.
    """
    return sorted(problems, key=lambda problem: problem.id) if _is_livecodebench(problems) else list(problems)


def _is_livecodebench(problems: Sequence[Problem]) -> bool:
    # Other layouts share its comparators; dates are its own.
    return all(
        problem.date and isinstance(problem.check, Cases) and problem.check.comparator in _LIVECODEBENCH
        for problem in problems
    )


def _programs(path: Path, lists: list[list[object]], target: Target) -> Iterator[dict[str, Any]]:
    benchmark = target.problems()
    if benchmark is None:
        raise DataError(
            f"{str(path)!r} has lists of programs without task ids (list 0 belongs to problem 0): name the benchmark "
            "with --benchmark"
        )
    problems = list_order(_owners(path, lists, benchmark, target))
    ids = {problem.id for problem in problems}
    if pairs := [programs for programs in lists if any(program in ids for program in map(str, programs))]:
        example = next(program for program in map(str, pairs[0]) if program in ids)
        raise DataError(
            f"{str(path)!r} has the task id {example!r} among the programs of a list; write rows with `task_id` and "
            "`completion` or `solution`"
        )
    _check_order(path, lists, problems, target)
    for problem, programs in zip(problems, lists, strict=False):
        for program in programs:
            yield {"task_id": problem.id, "solution": program}


def _owners(path: Path, lists: list[list[object]], benchmark: Sequence[Problem], target: Target) -> Sequence[Problem]:
    """Return the problems to which the lists belong: those of the benchmark, or those that ``--problems`` chooses."""
    choice = target.choice() or benchmark
    if len(lists) == len(choice) < len(benchmark):
        target.say(f"{str(path)!r}: its {len(lists)} lists are taken as those of the {len(choice)} chosen problems")
        return choice
    if len(lists) > len(benchmark):
        raise DataError(
            f"{str(path)!r} has lists of programs for {len(lists)} problems, but the benchmark has {len(benchmark)}: "
            "name the right one with --benchmark"
        )
    if len(lists) < len(benchmark) and _is_livecodebench(benchmark):
        raise DataError(
            f"{str(path)!r} has {len(lists)} lists of programs without ids for {len(benchmark)} problems of "
            "LiveCodeBench: choose as many with --problems, or write objects with `question_id` and `code_list`"
        )
    return benchmark


def _name_of(problem: Problem) -> str:
    """Return the function that each program for a problem names; an answer to a question about one need not."""
    return "" if isinstance(problem.check, Expression) else problem.entry_point


def _own_names(problems: Sequence[Problem]) -> set[str]:
    """Return the names of functions that tell whose a program is: none that most problems share."""
    counts = Counter(map(_name_of, problems))
    return {name for name, count in counts.items() if name and (count == 1 or 2 * count <= len(problems))}


def _check_order(path: Path, lists: list[list[object]], problems: Sequence[Problem], target: Target) -> None:
    """Raise DataError where most programs belong to other problems: nothing but their order says which."""
    pairs = [(problem, programs) for problem, programs in zip(problems, lists, strict=False) if programs]
    testable = [(problem, programs) for problem, programs in pairs if _name_of(problem)]
    strangers = [
        problem
        for problem, programs in testable
        if not any(
            re.search(rf"\b{re.escape(problem.entry_point.rpartition('.')[2])}\b", str(program)) for program in programs
        )
    ]
    texts = [str(program) for _, programs in pairs for program in programs]
    if len(strangers) * 2 > len(testable) and 2 * sum(text.lstrip("\r\n")[:1].isspace() for text in texts) > len(texts):
        raise DataError(
            f"{str(path)!r} has bodies that continue the prompt where whole programs should stand; write rows with "
            "`task_id` and `completion`"
        )
    is_sorted = _is_livecodebench(problems)
    if len(strangers) * 2 > len(testable):
        order = "in the order of question_id they" if is_sorted else "so the lists"
        raise DataError(
            f"{str(path)!r}: the programs for {len(strangers)} of {len(testable)} problems lack the function to test "
            f"(first {strangers[0].entry_point!r} of {strangers[0].id}), {order} belong to other problems; check "
            "--benchmark, or choose the problems that have lists with --problems (after --limit_start), or write rows "
            "with `task_id` and `solution`"
        )
    own_names = _own_names(problems)
    unsure = sum(_name_of(problem) not in own_names for problem, _ in pairs)
    hint = ""
    if unsure:
        hint = f", and {unsure} of {len(pairs)} problems have no function name of their own by which to check that"
    if is_sorted:
        target.say(
            f"{str(path)!r}: its lists are assigned in the order of question_id, as LiveCodeBench's custom_evaluator "
            f"takes them{hint}"
        )
    elif 2 * unsure > len(pairs):
        target.say(f"{str(path)!r}: its lists are assigned in the order of the benchmark's file{hint}")
