"""The jail that the problems of a run need, besides what every sample gets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from passcurve.types import Problem, UnitTests

_THREADED = frozenset(("tensorflow", "keras", "torch"))
"""Packages that start threads when they are imported: a process that has them cannot be forked."""


def preload_modules(problems: Iterable[Problem]) -> tuple[str, ...]:
    """Return the modules to import once for all programs that run beside their tests: those that several need."""
    unit_tests = [problem for problem in problems if isinstance(problem.check, UnitTests)]
    counts = Counter(name for problem in unit_tests for name in problem.packages)
    names = sorted(name for name, count in counts.items() if count > 1 and name.partition(".")[0] not in _THREADED)
    return ("unittest.mock", *names) if unit_tests else ()


def needs_processes(problems: Iterable[Problem]) -> bool:
    """Return whether the programs or the tests of any problem may start processes."""
    return any(isinstance(problem.check, UnitTests) and problem.check.processes for problem in problems)
