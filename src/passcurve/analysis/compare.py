"""Two or more scored runs on the same problems, compared problem by problem."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from passcurve.errors import DataError, UsageError
from passcurve.signature import signature
from passcurve.store.run_counts import RunCounts, read_counts
from passcurve.store.tally import select_counts
from passcurve.store.verdicts import require_finished
from passcurve.types import Counts, Header, Interval

if TYPE_CHECKING:
    from passcurve.stats import Plan

_NAMED = 5


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A less B in pass@k."""

    k: int
    a: float
    b: float
    difference: float
    new_problems: Interval | None
    """None where no interval can be had, as ``these_problems``; the warnings say why."""
    these_problems: Interval | None
    p: float
    p_error: float
    """Standard error of ``p`` from drawing at random; 0 where it was counted."""
    p_method: str
    """``exact`` or ``Monte Carlo``."""
    p_test: str
    """``sign flips``; with unequal n whichever gives more, that or ``permutation within problems``."""
    adjusted: float | None
    """``p`` adjusted for all k and pairs asked for, by the step-down maximum; None where only one was asked for."""
    wins: int
    ties: int
    losses: int
    between: float | None
    """Variance over problems of the true differences, raw; None where no sampling variance can be had."""
    within: float | None
    """Mean variance of a problem's difference over fresh samples."""
    minimum_detectable: float | None
    """True difference that these runs would have found at the level with power .8; None where nothing tells."""
    warnings: tuple[str, ...]


class Decider(msgspec.Struct, frozen=True, kw_only=True):
    """A problem on which two runs differ."""

    problem_id: str
    a: Counts
    b: Counts
    difference: float
    """In pass@1."""


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs, A and B."""

    a: str
    b: str
    differences: tuple[Difference, ...]
    deciders: tuple[Decider, ...]
    """Those with the largest difference in pass@1 first."""
    differs: tuple[str, ...]
    """What else differs between the runs, by their signatures."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Every pair of the runs."""

    runs: tuple[str, ...]
    benchmark: str
    """Empty where no run says."""
    problems: int
    pairs: tuple[Pair, ...]
    seed: int
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> Difference:
        """Return the difference at one k, as in ``pass@10``, between the first two runs.

        Raises UsageError for a k that was not compared.
        """
        for difference in self.pairs[0].differences:
            if name == f"pass@{difference.k}":
                return difference
        compared = ", ".join(f"pass@{difference.k}" for difference in self.pairs[0].differences)
        raise UsageError(f"{name!r} was not compared; there is {compared}, and k=... compares others")

    def __repr__(self) -> str:
        from passcurve.report.comparison import comparison_lines

        return "\n".join(comparison_lines(self))


def compare(runs: Sequence[RunCounts], ks: Sequence[int], *, level: float = 0.95, seed: int = 0) -> Comparison:
    """Compare every pair of runs for each k.

    Raises UsageError for fewer than two runs, DataError when they are not about the same problems, when samples are
    owed, or when a k is larger than some problem's n.
    """
    if len(runs) < 2:
        raise UsageError("a comparison needs two runs or more")
    names = _names(runs)
    ids = _same_problems(runs, names)
    for run, name in zip(runs, names, strict=True):
        require_finished(run, name)
        short = [each for each in run.counts if each.n < max(ks)]
        if short:
            least = min(short, key=lambda each: each.n)
            raise DataError(f"{name!r} has {least.n} samples of {least.problem_id!r}: pass@{max(ks)} cannot be had")
    tables = [_table(run, ids) for run in runs]
    pairs = [(i, j) for i, j in combinations(range(len(runs)), 2)]
    found = [[_difference(tables[i], tables[j], k, level, seed) for k in ks] for i, j in pairs]
    adjusted = _adjusted([each[1] for row in found for each in row], seed)
    flat = iter(adjusted)
    return Comparison(
        runs=names,
        benchmark=next((run.header.benchmark for run in runs if run.header is not None), ""),
        problems=len(ids),
        pairs=tuple(
            Pair(
                a=names[i],
                b=names[j],
                differences=tuple(_with_adjusted(each[0], next(flat)) for each in row),
                deciders=_deciders(tables[i], tables[j]),
                differs=_differs(runs[i].header, runs[j].header),
            )
            for (i, j), row in zip(pairs, found, strict=True)
        ),
        seed=seed,
        notes=tuple(f"{name}: {run.note}" for name, run in zip(names, runs, strict=True) if run.note),
    )


def steps(runs: Sequence[RunCounts]) -> tuple[int, ...]:
    """Return 1, 2, 5, 10, 20, ... and the least number of samples that any problem has in any run."""
    least = max(1, min((each.n for run in runs for each in run.counts), default=1))
    wanted = (digit * 10**power for power in range(len(str(least))) for digit in (1, 2, 5))
    return (*(k for k in wanted if k < least), least)


def read(path: Path) -> RunCounts:
    """Read one scored run; see ``store.run_counts.read_counts``."""
    return read_counts(path)


def whole(path: Path) -> tuple[list[int], list[int]]:
    """Return n and c of each problem of one scored run.

    Raises what ``read`` does, and DataError when samples are owed, or when a problem has none.
    """
    run = read(path)
    require_finished(run, str(path))
    if not run.counts:
        raise DataError(f"{str(path)!r} has no verdicts")
    return [each.n for each in run.counts], [each.c for each in run.counts]


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """Runs of one model on the same problems, a row for each temperature."""

    temperatures: tuple[float, ...]
    n: tuple[tuple[int, ...], ...]
    c: tuple[tuple[int, ...], ...]


def sweep(paths: Sequence[Path], temperatures: Sequence[float] = ()) -> Sweep:
    """Return the counts of runs at several temperatures, in the order of these.

    The temperatures are those that the runs were drawn at, unless they are given, one for each run.
    Raises DataError when a run does not say its temperature, when two have the same, when samples are owed, or when the
    runs are not about the same problems; UsageError when there are not as many temperatures as runs.
    """
    runs = [read(path) for path in paths]
    names = _names(runs)
    ids = _same_problems(runs, names)
    if temperatures and len(temperatures) != len(runs):
        raise UsageError(f"there are {len(runs)} runs and {len(temperatures)} of --temperatures: give one for each run")
    found: dict[float, Sequence[Counts]] = {}
    for at, (run, name) in enumerate(zip(runs, names, strict=True)):
        require_finished(run, name)
        stored = run.header.generation.decoding.temperature if run.header and run.header.generation else None
        degree = temperatures[at] if temperatures else stored
        if degree is None:
            raise DataError(f"{name!r} does not say at which temperature it was drawn; give all by --temperatures")
        if degree in found:
            raise DataError(f"{name!r} was drawn at temperature {degree:g} like another run; give each once")
        found[degree] = _table(run, ids)
    order = sorted(found)
    return Sweep(
        temperatures=tuple(order),
        n=tuple(tuple(each.n for each in found[degree]) for degree in order),
        c=tuple(tuple(each.c for each in found[degree]) for degree in order),
    )


def plan_from(
    runs: Sequence[RunCounts],
    k: int,
    *,
    difference: float | None,
    level: float,
    power: float,
    correlation: float,
) -> Plan:
    """Plan a comparison from one run or two on the same problems.

    Raises DataError when the runs cannot be compared, or cannot tell sampling noise from differences of problems.
    """
    from passcurve.stats import plan

    names = _names(runs)
    ids = _same_problems(runs, names)
    sides = [_table(run, ids) for run in runs]
    (n_a, c_a), (n_b, c_b) = ([[each.n for each in side], [each.c for each in side]] for side in (sides[0], sides[-1]))
    alone = len(runs) == 1
    try:
        return plan(
            n_a,
            c_a,
            None if alone else n_b,
            None if alone else c_b,
            k=k,
            difference=difference,
            level=level,
            power=power,
            correlation=correlation,
        )
    except ValueError as error:
        raise DataError(f"no plan from {names[0]!r}: {error}") from None


def _names(runs: Sequence[RunCounts]) -> tuple[str, ...]:
    seen: dict[str, int] = {}
    names = []
    for run in runs:
        seen[run.source] = seen.get(run.source, 0) + 1
        names.append(run.source if seen[run.source] == 1 else f"{run.source} ({seen[run.source]})")
    return tuple(names)


def _same_problems(runs: Sequence[RunCounts], names: Sequence[str]) -> list[str]:
    ids = [each.problem_id for each in runs[0].counts]
    digests = {run.header.benchmark_digest: name for run, name in zip(runs, names, strict=True) if run.header}
    if len(digests) > 1:
        one, other, *_ = digests.values()
        raise DataError(f"{one!r} and {other!r} were judged on different benchmarks: their problems are not the same")
    for run, name in zip(runs[1:], names[1:], strict=True):
        there = {each.problem_id for each in run.counts}
        lacking = [each for each in ids if each not in there]
        extra = [each for each in there if each not in set(ids)]
        if lacking or extra:
            what = lacking or extra
            where, whose = (name, names[0]) if lacking else (names[0], name)
            raise DataError(
                f"{where!r} has no verdict on {len(what)} of the problems of {whose!r}, as {what[0]!r}; "
                "a comparison needs the same problems in both"
            )
    if not ids:
        raise DataError(f"{names[0]!r} has no verdicts")
    return ids


def _table(run: RunCounts, ids: Sequence[str]) -> list[Counts]:
    return list(select_counts(run.counts, ids))


def _difference(
    a: Sequence[Counts], b: Sequence[Counts], k: int, level: float, seed: int
) -> tuple[Difference, Sequence[float]]:
    from passcurve.stats import paired_difference
    from passcurve.stats.estimate import estimate

    found = paired_difference(
        [each.n for each in a], [each.c for each in a], [each.n for each in b], [each.c for each in b], k, level,
        seed=seed,
    )  # fmt: skip
    scores = [estimate(side, [k], level)[0].value for side in (a, b)]
    return (
        Difference(
            k=k,
            a=scores[0] or 0.0,
            b=scores[1] or 0.0,
            difference=found.difference,
            new_problems=_interval(found.new_problems, level, "paired plus-two t"),
            these_problems=_interval(found.these_problems, level, f"sampling variance, {found.sampling}"),
            p=found.p.p,
            p_error=found.p.error,
            p_method=found.p.method,
            p_test=found.p_test,
            adjusted=None,
            wins=found.wins,
            ties=found.ties,
            losses=found.losses,
            between=_number(found.between),
            within=_number(found.within),
            minimum_detectable=_number(found.minimum_detectable),
            warnings=found.warnings,
        ),
        found.differences.tolist(),
    )


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _interval(bounds: tuple[float, float], level: float, method: str) -> Interval | None:
    low, high = bounds
    return None if math.isnan(low) or math.isnan(high) else Interval(low=low, high=high, level=level, method=method)


def _adjusted(columns: Sequence[Sequence[float]], seed: int) -> list[float | None]:
    if len(columns) < 2:
        return [None] * len(columns)
    from passcurve.stats import max_t_p

    return list(max_t_p(list(zip(*columns, strict=True)), seed=seed).adjusted.tolist())


def _with_adjusted(found: Difference, adjusted: float | None) -> Difference:
    # The adjustment flips signs only: where another test gave more, that stands.
    return msgspec.structs.replace(found, adjusted=None if adjusted is None else max(adjusted, found.p))


def _deciders(a: Sequence[Counts], b: Sequence[Counts]) -> tuple[Decider, ...]:
    found = [
        Decider(problem_id=one.problem_id, a=one, b=other, difference=one.c / one.n - other.c / other.n)
        for one, other in zip(a, b, strict=True)
        if one.n and other.n and one.c * other.n != other.c * one.n
    ]
    found.sort(key=lambda each: (-abs(each.difference), each.problem_id))
    return tuple(found[: 4 * _NAMED])


def _differs(a: Header | None, b: Header | None) -> tuple[str, ...]:
    if a is None or b is None:
        return ("how one of them was judged is not known: it has no signature",)
    parts = [dict(part.partition(":")[::2] for part in signature(each).split("|")) for each in (a, b)]
    names = dict.fromkeys([*parts[0], *parts[1]])
    return tuple(
        f"{name}: {parts[0].get(name, 'none')} and {parts[1].get(name, 'none')}"
        for name in names
        if parts[0].get(name) != parts[1].get(name)
    )
