"""A problem that comes with a sample: a row of any format that is read from files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from passcurve.bench.formats import parse_problems
from passcurve.bench.writing import PYTHON, choose_language, language_name
from passcurve.errors import DataError, UnknownNameError, UsageError
from passcurve.types import Problem, UnitTests

KEPT = 2000
"""The latest problems that are kept as they were read."""
_PLACE = "problem"


class InlineProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A problem, whose id says what it holds, and its own name."""

    problem: Problem
    name: str


def read_inline(fields: Mapping[str, object], language: str = "", timeout_s: float | None = None) -> InlineProblem:
    """Return the problem of a row; ``language``: of the programs, where the row leaves that open.

    ``timeout_s`` is the time limit of a sample, where the judge has no other than its default.  Equal rows are equal
    problems, whatever they are called elsewhere.  Raises DataError for what is no row of a benchmark.
    """
    try:
        # As a file has it: dictionaries keep their order, and NaN and integers of any length are numbers.
        text = json.dumps(dict(fields), default=msgspec.to_builtins).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"the problem cannot be read: {error}") from None
    return _read(text, language, timeout_s)


@lru_cache(maxsize=KEPT)
def _read(text: bytes, language: str, timeout_s: float | None) -> InlineProblem:
    try:
        problems = parse_problems(text, _PLACE)
        if language and language_name(language) != PYTHON[0]:
            problems, _ = choose_language(problems, language_name(language), _PLACE)
    except (UsageError, UnknownNameError, RecursionError) as error:
        raise DataError(f"the problem cannot be judged: {error}") from None
    if len(problems) != 1:
        raise DataError(f"`problem` must be one row of a benchmark, got {len(problems)} in one object")
    (problem,) = problems
    if isinstance(problem.check, UnitTests):
        raise DataError("a problem whose tests are a module of unittest cannot come with a sample: serve its benchmark")
    name, digest = problem.id, hashlib.blake2b(text, digest_size=12)
    digest.update(f"{language}\0{timeout_s}".encode())
    limit_s = problem.timeout_s if timeout_s is None else timeout_s
    problem = msgspec.structs.replace(problem, id=f"inline/{digest.hexdigest()}", timeout_s=limit_s)
    return InlineProblem(problem=problem, name=name)
