"""A comparison and a plan as text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from passcurve.report import methods
from passcurve.report.records import ComparedRuns, Difference, Pair, RunFinding
from passcurve.report.terminal import number, printable
from passcurve.types import Counts, Interval
from passcurve.types.amounts import amount

if TYPE_CHECKING:
    from passcurve.stats import Plan

_DECIDERS = 5


def signed(value: float) -> str:
    """Return a difference with its sign and four digits, ``+.0315``."""
    return f"{'-' if value < 0 else '+'}{number(abs(value))}"


def tidy(value: float) -> str:
    """Return the difference of two shares with two digits where it has no more, ``+.30``, and with four otherwise."""
    text = signed(value)
    return text.removesuffix("00")


def p_value(p: float) -> str:
    """Return a p-value as a reader wants it: ``.032``, or ``< .0001``."""
    return "< .0001" if p < 0.0001 else f"{p:.4f}".removeprefix("0")


def signed_interval(interval: Interval) -> str:
    """Return an interval of differences."""
    return f"{signed(interval.low)} to {signed(interval.high)}"


def passes_of_samples(counts: Counts) -> str:
    """Return c of n."""
    return f"{counts.c}/{counts.n}"


def comparison_lines(comparison: ComparedRuns, *, verbose: bool = False) -> Iterator[str]:
    """Return a comparison, a block for each pair; with ``verbose`` also variances and the sentence for a paper."""
    name = f"{comparison.benchmark}: " if comparison.benchmark else ""
    yield f"{name}{len(comparison.runs)} runs on the same {amount(comparison.problems, 'problem')}"
    if comparison.coverage:
        yield printable(f"  covered: {comparison.coverage}")
    yield from run_finding_lines(comparison.findings)
    for note in comparison.notes:
        yield printable(f"  note: {note}")
    for pair in comparison.pairs:
        yield ""
        yield printable(f"  A {pair.a}")
        yield printable(f"  B {pair.b}")
        for difference in pair.differences:
            yield from _difference_lines(difference, verbose=verbose)
        yield from _decider_lines(pair)
        for text in pair.differs:
            yield printable(f"  differs: {text}")
    if verbose:
        yield ""
        yield printable(f"  for a paper: {methods.describe_comparison(comparison)}")


def run_finding_lines(findings: Iterable[RunFinding]) -> Iterator[str]:
    """Yield a line for each fault of the samples of a run: the number beside it may come from that alone."""
    for finding in findings:
        yield printable(f"  warning: {finding.run}: {finding.text}")


def _difference_lines(difference: Difference, *, verbose: bool) -> Iterator[str]:
    yield (
        f"  pass@{difference.k:<4} A {number(difference.a)}, B {number(difference.b)}, "
        f"A - B {signed(difference.difference)}"
    )
    yield (
        f"    A is ahead on {amount(difference.wins, 'problem')}, B on {difference.losses}, even on {difference.ties}"
    )
    for name, interval in (("new problems", difference.new_problems), ("resampling", difference.these_problems)):
        if interval is not None:
            yield f"    {100 * interval.level:g}% CI, {name}: {signed_interval(interval)}"
    if verbose and difference.between is not None and difference.within is not None:
        between, within = number(difference.between), number(difference.within)
        yield f"    variance of the differences: {between} between problems, {within} within"
    yield f"    equally good on problems like these: p {p_value(difference.p)} ({difference.p_test})"
    if difference.is_undecided:
        yield "    interval and p are made in different ways and disagree: it is undecided"
    if difference.adjusted is not None:
        yield f"    p {p_value(difference.adjusted)} after adjusting for all comparisons above and below"
    if difference.minimum_detectable is not None:
        smallest = number(difference.minimum_detectable)
        yield f"    smallest true difference that these runs would find (power .8): {smallest}"
    for warning in difference.warnings:
        yield f"    warning: {warning}"


def _decider_lines(pair: Pair) -> Iterator[str]:
    if not pair.deciders:
        yield "  no problem decides: every one is even"
        return
    yield "  the problems that decide, passed of samples:"
    for decider in pair.deciders[:_DECIDERS]:
        yield printable(f"    {decider.problem_id}: A {passes_of_samples(decider.a)}, B {passes_of_samples(decider.b)}")


def plan_lines(plan: Plan) -> Iterator[str]:
    """Return a plan: what the pilot can find, and what a wanted difference takes."""
    yield f"pass@{plan.k}, level {plan.level:g}, power {plan.power:g}, a pilot of {plan.m} problems"
    if plan.discordant is not None:
        yield from _single_sample_lines(plan)
        return
    yield f"  the pilot itself finds a true difference of {_detectable(plan.minimum_detectable)}"
    if math.isnan(plan.floor):
        yield f"  however many samples: {plan.m} problems find no difference at this level"
    elif plan.floor > 0:
        yield f"  however many samples: {plan.m} problems find no difference below {_detectable(plan.floor)}"
    else:
        yield "  however many samples: no bound is known, for the pilot's problems differ by noise alone"
    if plan.difference is not None:
        problems = f"{plan.problems:,}" if plan.problems is not None else "none"
        samples = f"{plan.samples:,}" if plan.samples is not None else "no number is enough"
        yield f"  to find {number(plan.difference)}: {problems} problems with the pilot's samples of each,"
        yield f"    or {plan.m} problems with this many samples of each: {samples}"
    yield "  samples of each   finds with the pilot's problems" + ("   problems needed" if plan.difference else "")
    for row in plan.rows:
        needed = f"{row.problems:>17,}" if row.problems is not None else ""
        yield f"  {row.n:>15,}   {_detectable(row.minimum_detectable):>31}{' ' if needed else ''}{needed}"
    for warning in plan.warnings:
        yield f"  warning: {warning}"


def _detectable(difference: float) -> str:
    """Return a difference that can be found; none is larger than 1."""
    return number(difference) if difference <= 1.0 else "none"


def _single_sample_lines(plan: Plan) -> Iterator[str]:
    """Return a plan for one sample of each problem, as of greedy decoding."""
    yield "  McNemar's exact test, one sample of each problem from each run (greedy against greedy)"
    if math.isnan(plan.minimum_detectable):
        yield f"  {plan.m} problems find no difference at this level and power"
    else:
        yield f"  the pilot's {plan.m} problems find a true difference of {number(plan.minimum_detectable)}"
    source = "as in the pilot" if plan.correlation is None else "assumed; --correlation changes it"
    yield f"  the runs differ on {number(plan.discordant or 0.0)} of the problems ({source})"
    if plan.difference is not None and plan.problems is not None:
        yield f"  to find {number(plan.difference)}: {plan.problems:,} problems"
    for warning in plan.warnings:
        yield f"  warning: {warning}"
