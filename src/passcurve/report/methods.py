"""A sentence for the methods section of a paper, made from what was done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from passcurve.diagnosis import Scope
from passcurve.report.records import ComparedRuns
from passcurve.types import Counts, Curve, Estimate, Header
from passcurve.types.amounts import amount

_CHEN = "Chen et al. (2021, arXiv:2107.03374)"
_MADE = {
    "pass@k": f"the unbiased estimator of {_CHEN}",
    "pass^k": "the unbiased estimator of all k passing (Yao et al. 2024, arXiv:2406.12045)",
    "g-pass@k": "the share of passes reached among k (Liu et al. 2024, arXiv:2412.13147)",
    "mg-pass@k": "the mean over tau from 1/2 to 1 of G-Pass@k (Liu et al. 2024, arXiv:2412.13147; its integral)",
    "attempts@k": f"the expected attempts until the first pass, at most k (from the estimator of {_CHEN})",
    "distinct@k": "the expected number of distinct programs among k (rarefaction, Hurlbert 1971)",
    "cover": "the expected share of problems solved with chance tau or more (Dragoi et al. 2025, arXiv:2510.08325; "
    "posterior of a fitted beta-binomial model)",
}
_INTERVALS = {
    "plus-two t": "t with one success and one failure added",
    "beta-binomial": "effective sample size from a fitted beta-binomial model",
    "bound": "exact bounds",
    "one problem": "transformed Clopper-Pearson limits",
}


def describe_scores(
    estimates: Sequence[Estimate],
    curve: Curve | None,
    counts: Sequence[Counts],
    benchmark: str,
    header: Header | None,
    scope: Scope | None = None,
) -> str:
    """Return the sentence for a scored run; empty if no metric has a value."""
    available = [estimate for estimate in estimates if estimate.value is not None]
    if not available:
        return ""
    parts = []
    for metric in dict.fromkeys(estimate.metric for estimate in available):
        names = [estimate.name for estimate in available if estimate.metric == metric]
        parts.append(f"{_names(names)}, {_MADE[metric.partition(':')[0]]}")
    means = "" if all(estimate.k == 0 for estimate in available) else ", averaged over problems"
    copies = any(text.startswith("copies") for estimate in available for text in estimate.warnings)
    origin = f" of {benchmark}" if benchmark else ""
    text = f"From {_samples(counts, copies=copies)}{origin}{_describe_scope(scope)} we report {'; '.join(parts)}{means}"
    intervals = [
        f"for {target} ({_list(dict.fromkeys(_INTERVALS.get(method, method) for method in methods))})"
        for target, methods in (
            (
                "new problems like these",
                [estimate.new_problems.method for estimate in available if estimate.new_problems],
            ),
            (
                "fresh samples of these problems",
                [estimate.these_problems.method for estimate in available if estimate.these_problems],
            ),
        )
        if methods
    ]
    levels = [estimate.new_problems.level for estimate in available if estimate.new_problems]
    if intervals and levels:
        text += f", with {100 * levels[0]:g}% intervals {' and '.join(intervals)}"
    if curve is not None:
        text += f"; the band of the curve is simultaneous (sup-t, {curve.draws:,} draws, seed {curve.seed})"
    return f"{text}{_describe_judging(header)}."


def describe_comparison(comparison: ComparedRuns) -> str:
    """Return the sentence for a comparison of runs."""
    differences = [difference for pair in comparison.pairs for difference in pair.differences]
    first = differences[0]
    names = _names([f"pass@{difference.k}" for difference in comparison.pairs[0].differences])
    benchmark = f" of {comparison.benchmark}" if comparison.benchmark else ""
    covered = f" ({comparison.coverage})" if comparison.coverage else ""
    text = (
        f"Runs were compared in {names} (unbiased estimator of {_CHEN}) on the same "
        f"{amount(comparison.problems, 'problem')}{benchmark}{covered}, problem by problem"
    )
    parts = []
    level = None
    for target, intervals in (
        ("new problems like these", [difference.new_problems for difference in differences]),
        ("fresh samples of these problems", [difference.these_problems for difference in differences]),
    ):
        methods = dict.fromkeys(interval.method for interval in intervals if interval is not None)
        level = next((interval.level for interval in intervals if interval is not None), level)
        if methods:
            parts.append(f"for {target} ({_list(methods)})")
    if level is not None:
        text += f", with {100 * level:g}% intervals of the difference {' and '.join(parts)}"
    is_monte_carlo = any(difference.p_error > 0 for difference in differences)
    how = f"Monte Carlo, seed {comparison.seed}" if is_monte_carlo else "exact"
    text += f" and two-sided sign-flip tests ({how})"
    if any("numbers of samples" in warning for difference in differences for warning in difference.warnings):
        text += ", with unequal n the larger p of these and of permutations within problems"
    if first.adjusted is not None:
        # Loaded here: numpy takes long to load.
        from passcurve.stats.permutation import MAX_T_DRAWS, MAX_T_EXACT

        draws = "exact" if comparison.problems <= MAX_T_EXACT else f"{MAX_T_DRAWS:,} draws, seed {comparison.seed}"
        text += f", adjusted for {len(differences)} comparisons by the step-down maximum of |t| ({draws})"
        if any(difference.p_test != "sign flips" for difference in differences):
            text += ", or by Holm's rule where that gives more"
    return f"{text}."


def _describe_scope(scope: Scope | None) -> str:
    """Return which part of the benchmark is scored; nothing for all of it."""
    if scope is None or scope.covered == scope.total:
        return ""
    reasons = [f"chosen by {scope.choice}"] if scope.choice else []
    if scope.excluded:
        reasons.append(
            f"{len(scope.excluded)} {'was' if len(scope.excluded) == 1 else 'were'} excluded as not judgeable"
        )
    return f" ({scope.covered} of its {scope.total} problems: {'; '.join(reasons)})"


def _names(names: Sequence[str]) -> str:
    """Return names as prose; for many, the first and the last."""
    return _list(names) if len(names) < 6 else f"{names[0]} to {names[-1]}"


def _list(words: Iterable[str]) -> str:
    every = list(words)
    return every[0] if len(every) == 1 else f"{', '.join(every[:-1])} and {every[-1]}"


def _samples(counts: Sequence[Counts], *, copies: bool) -> str:
    least, most = min(problem.n for problem in counts), max(problem.n for problem in counts)
    n = f"n = {least}" if least == most else f"n = {least} to {most}"
    kind = "identical samples (n = 1 in effect)" if copies else "sample" if most == 1 else "samples"
    return f"{n} {kind} of {'the one problem' if len(counts) == 1 else f'each of {len(counts)} problems'}"


def _describe_judging(header: Header | None) -> str:
    if header is None:
        return ""
    limits = header.limits
    clock = "of its own time" if limits.clock == "own" else "of wall time"
    tools = ", ".join(header.jail.toolchains) or f"python {header.jail.python}"
    allowed = "what the benchmark allows" if header.own_limits else f"{limits.timeout_s:g} s"
    return (
        f"; each program ran under {header.jail.isolation} isolation with {allowed} {clock} and "
        f"{limits.memory_bytes / (1 << 30):.3g} GiB of memory (passcurve {header.version}, {tools})"
    )
