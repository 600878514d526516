"""Counts of suites that count by themselves: how many pass, and how many pass in part."""

from __future__ import annotations

from collections.abc import Container

from passcurve.types import Counts, Verdict

FUNCTION, FUNCTION_PARTIAL, CLASS_PARTIAL = "function", "function_partial", "class_partial"
"""The scores by such suites: each suite passes, each passes in part at least, and every suite of a problem does."""


class PartTally:
    """For each suite of each problem: how many samples were judged, passed, and passed in part at least."""

    def __init__(self) -> None:
        self._suites: dict[tuple[str, str], tuple[int, int, int]] = {}
        self._problems: dict[str, tuple[int, int]] = {}
        """By problem, the samples that were judged, and those that pass every suite in part at least."""

    def add(self, verdict: Verdict) -> None:
        """Count the suites of one verdict, those that count alone."""
        suites = [suite for suite in verdict.suites if suite.alone]
        if not suites:
            return
        problem_id = verdict.key.problem_id
        for suite in suites:
            n, passed, partial = self._suites.get((problem_id, suite.name), (0, 0, 0))
            counts = (n + 1, passed + suite.passed, partial + (suite.right > 0))
            self._suites[problem_id, suite.name] = counts
        n, whole = self._problems.get(problem_id, (0, 0))
        self._problems[problem_id] = (n + 1, whole + all(suite.right > 0 for suite in suites))

    def counts(self, counted: Container[str]) -> dict[str, tuple[Counts, ...]]:
        """Return n and c for each score by such suites; nothing where there are none."""
        suites = {key: value for key, value in self._suites.items() if key[0] in counted}
        if not suites:
            return {}
        return {
            FUNCTION: tuple(Counts(problem_id="/".join(key), n=n, c=c) for key, (n, c, _) in suites.items()),
            FUNCTION_PARTIAL: tuple(Counts(problem_id="/".join(key), n=n, c=c) for key, (n, _, c) in suites.items()),
            CLASS_PARTIAL: tuple(
                Counts(problem_id=problem_id, n=n, c=c)
                for problem_id, (n, c) in self._problems.items()
                if problem_id in counted
            ),
        }
