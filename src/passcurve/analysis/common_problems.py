"""The problems that several runs share, and whether their scores may be compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from passcurve.errors import DataError
from passcurve.report.diagnosis import coverage
from passcurve.store.run_counts import RunCounts
from passcurve.store.verdicts import require_finished
from passcurve.types import Counts
from passcurve.types.amounts import amount, are, part_of

_SHOWN = 3


class CommonProblems(NamedTuple):
    """The problems that all runs have, and in what the runs differ."""

    ids: list[str]
    notes: tuple[str, ...]
    """Differences of tests or problems, which the user accepts; empty where there are none."""


def require_score(run: RunCounts, name: str) -> None:
    """Raise DataError when a run has no score: samples without verdicts, problems without samples, a withheld score."""
    require_finished(run, name)
    require_accepted(run, name)
    scope = run.diagnosis.scope if run.diagnosis is not None else None
    if scope is not None and (missing := scope.missing(len(run.counts))):
        raise DataError(
            f"{name!r} has no sample of {part_of(missing, scope.requested, 'problem')}, so it has no score: "
            "judge it with --subset, or choose problems with --problems"
        )


def require_accepted(run: RunCounts, name: str) -> None:
    """Raise DataError when the score of a run is withheld."""
    if run.withheld:
        raise DataError(f"the score of {name!r} is withheld: {run.withheld}")


def has_copies(run: RunCounts) -> bool:
    """Tell whether the samples of each problem are copies of one program (temperature 0), as scores take them."""
    # Loaded here: numpy takes long to load, and other functions of this module do not need it.
    from passcurve.stats.metrics import are_copies

    greedy = run.header is not None and run.header.is_greedy
    return are_copies(run.equal_programs.uniform_problems, greedy=greedy)


def effective_counts(run: RunCounts, k: int = 1) -> tuple[Counts, ...]:
    """Return n and c of each problem as a score counts them: n is 1 where the samples are copies.

    A problem whose copies have different verdicts keeps its n and c.  Raises DataError for k > 1 of copies.
    """
    if not has_copies(run):
        return run.counts
    if k > 1:
        from passcurve.stats.estimate import COPIES

        raise DataError(f"{run.source!r} has no pass@{k}: {COPIES}")
    return tuple(
        msgspec.structs.replace(count, n=1, c=count.c // count.n) if count.n and count.c in (0, count.n) else count
        for count in run.counts
    )


def require_samples(counts: Sequence[Counts], name: str, k: int) -> None:
    """Raise DataError when a problem has fewer than k samples."""
    least = min(counts, key=lambda count: count.n, default=None)
    if least is not None and least.n < k:
        samples = amount(least.n, "sample")
        raise DataError(f"{name!r} has {samples} of {least.problem_id!r}: pass@{k} needs {k}")


def natural_key(name: str) -> tuple[tuple[int, str], ...]:
    """Return what sorts names as a reader counts: ``p/7`` before ``p/30``."""
    parts = re.split("0*([0-9]+)", name)
    return tuple((len(part) if at % 2 else 0, part) for at, part in enumerate(parts))


def unique_names(runs: Sequence[RunCounts]) -> tuple[str, ...]:
    """Return a name for each run, with a number where one occurs again."""
    numbers: dict[str, int] = {}
    names = []
    for run in runs:
        numbers[run.source] = numbers.get(run.source, 0) + 1
        names.append(run.source if numbers[run.source] == 1 else f"{run.source} ({numbers[run.source]})")
    return tuple(names)


def find_common(runs: Sequence[RunCounts], names: Sequence[str], *, common: bool = False) -> CommonProblems:
    """Return the problems that all runs have, in the order of the first.

    Raises DataError when the runs differ in tests or problems unless ``common``, and when they share no problem.
    """
    differences = [*_different_tests(runs, names), *_different_problems(runs, names)]
    sets = [{count.problem_id for count in run.counts} for run in runs]
    ids = [count.problem_id for count in runs[0].counts if all(count.problem_id in one for one in sets)]
    for one, name in zip(sets, names, strict=True):
        if not one:
            raise DataError(f"{name!r} has no verdicts")
    if not differences:
        return CommonProblems(ids, ())
    if not ids:
        raise DataError(f"{'; '.join(differences)}; they have no problem in common")
    if not common:
        listed = ", ".join(ids[:_SHOWN]) + (", ..." if len(ids) > _SHOWN else "")
        raise DataError(
            f"{'; '.join(differences)}; {amount(len(ids), 'problem')} {are(len(ids))} common ({listed}): "
            "--common compares those"
        )
    sizes = " and ".join(str(len(one)) for one in sets)
    return CommonProblems(ids, (*differences, f"compared on the {amount(len(ids), 'common problem')} of {sizes}"))


def describe_coverage(runs: Sequence[RunCounts], problems: int) -> str:
    """Return which part of a benchmark the runs cover, as in ``60 of 164 problems (--problems '*/1?')``; else nothing.

    Runs of different parts have each its own.
    """
    scopes = [run.diagnosis.scope for run in runs if run.diagnosis is not None]
    texts = dict.fromkeys(
        coverage(scope, min(problems, scope.covered)) if len(scopes) == 1 else coverage(scope, scope.covered)
        for scope in scopes
        if scope.choice or scope.covered < scope.total
    )
    return "; ".join(texts)


def _different_tests(runs: Sequence[RunCounts], names: Sequence[str]) -> list[str]:
    differences = []
    digests = {run.header.benchmark_digest: name for run, name in zip(runs, names, strict=True) if run.header}
    if len(digests) > 1:
        one, other, *_ = digests.values()
        differences.append(f"{one!r} and {other!r} were judged on different benchmarks")
    if any(run.tests for run in runs):
        by_tests = {
            tests: name for run, name in reversed(list(zip(runs, names, strict=True))) if (tests := _tests_of(run))
        }
        if len(by_tests) > 1:
            listed = ", ".join(f"{name!r} by the {tests} tests" for tests, name in by_tests.items())
            differences.append(f"the tests differ: {listed}")
    return differences


def _tests_of(run: RunCounts) -> str:
    """Return the tests of a run in the words of EvalPlus; empty where they are not known."""
    if run.tests or run.header is None:
        return run.tests
    return "base and plus" if "plus" in run.header.benchmark.lower() else "base"


def _different_problems(runs: Sequence[RunCounts], names: Sequence[str]) -> list[str]:
    differences = []
    ids = [count.problem_id for count in runs[0].counts]
    for run, name in zip(runs[1:], names[1:], strict=True):
        own = {count.problem_id for count in run.counts}
        lacking = [problem_id for problem_id in ids if problem_id not in own]
        extra = own.difference(ids)
        if lacking or extra:
            missing = lacking or sorted(extra)
            where, other = (name, names[0]) if lacking else (names[0], name)
            differences.append(
                f"{where!r} has no verdict on {len(missing)} of the problems of {other!r}, such as {missing[0]!r}"
            )
    return differences
