"""Selection of problems of a benchmark by a pattern."""

from __future__ import annotations

import datetime as dt
import fnmatch
import re

from passcurve.errors import UsageError, nearest
from passcurve.types import Benchmark, Problem
from passcurve.types.amounts import are, have, part_of

_RANGE = re.compile(r"(.*/)?([0-9]{1,9})-([0-9]{1,9})")


_DATES = re.compile(r"(\d{4}-\d\d-\d\d)?\.\.(\d{4}-\d\d-\d\d)?")


def join_dates(first: str, last: str) -> str:
    """Return the part of a pattern that chooses the problems of some days; the ends are included.

    Raises UsageError for what is no date.
    """
    for option, text in (("--from", first), ("--to", last)):
        if text and not is_date(text):
            raise UsageError(f"{option} {text!r} is no date; write it like 2024-05-31")
    if first and last and first > last:
        raise UsageError(f"--from {first} is after --to {last}")
    return f"{first}..{last}"


def is_date(text: str) -> bool:
    """Tell whether a text is a day like 2024-05-31."""
    try:
        return dt.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def describe_undated(benchmark: Benchmark, pattern: str) -> str:
    """Return how many problems have no date, where dates choose; empty where each has one, or none is asked for."""
    parts = pattern.split(",")
    others = [part for part in parts if not _DATES.fullmatch(part.strip())]
    problems = choose_problems(benchmark, ",".join(others)) if len(others) < len(parts) else ()
    undated = [problem.id for problem in problems if not problem.date]
    if not undated:
        return ""
    count = len(undated)
    part = part_of(count, len(problems), "problem")
    return f"{part} {have(count)} no date and {are(count)} left out, as {undated[0]}"


def choose_problems(benchmark: Benchmark, pattern: str) -> tuple[Problem, ...]:
    """Return the problems that match a comma-separated list of ids, wildcards and ranges, as in ``1-5,1?``.

    Of these only the ones of some days, where a part is like ``2024-01-01..2024-06-30``.

    A part that is no whole id is compared with the last parts of the ids, behind the slash.
    Raises UsageError for a part of the list that matches none.
    """
    if not pattern:
        return benchmark.problems
    parts = [part.strip() for part in pattern.split(",") if part.strip()]
    dates = [match for part in parts if (match := _DATES.fullmatch(part))]
    parts = [part for part in parts if not _DATES.fullmatch(part)]
    chosen: set[str] = set() if parts else {problem.id for problem in benchmark.problems}
    ids = [problem.id for problem in benchmark.problems]
    for part in parts:
        matching = {name for name in ids if name == part or fnmatch.fnmatchcase(name, part)}
        matching = matching or {name for name in ids if fnmatch.fnmatchcase(name.rpartition("/")[2], part)}
        matching = matching or _in_range(part, ids)
        if not matching:
            raise UsageError(f"--problems {part!r} matches no problem of {benchmark.name}{nearest(part, ids)}")
        chosen |= matching
    problems = [problem for problem in benchmark.problems if problem.id in chosen]
    for match in dates:
        problems = [problem for problem in problems if _is_between(problem.date, match[1], match[2])]
        if not problems:
            dated = sorted(problem.date for problem in benchmark.problems if problem.date)
            what = f"its problems are of {dated[0]} to {dated[-1]}" if dated else "its problems have no dates"
            raise UsageError(f"{benchmark.name} has no problem of {match[0]}; {what}")
    return tuple(problems)


def _is_between(date: str, first: str | None, last: str | None) -> bool:
    return bool(date) and (first or date) <= date <= (last or date)


def _in_range(part: str, ids: list[str]) -> set[str]:
    """Return the ids that end with a number of a range like ``1-5`` or ``HumanEval/1-5``; the ends are included."""
    match = _RANGE.fullmatch(part)
    if match is None:
        return set()
    prefix, first, last = match[1], int(match[2]), int(match[3])
    if first > last:
        raise UsageError(f"--problems {part!r} is an empty range; write it like {last}-{first}")
    numbers = {name: name.rpartition("/")[2] for name in ids if name.startswith(prefix or "")}
    return {name for name, end in numbers.items() if end.isascii() and end.isdigit() and first <= int(end) <= last}
