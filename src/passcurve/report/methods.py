"""A sentence for the methods section of a paper, made from what was done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from passcurve.report.records import Comparison
from passcurve.types import Counts, Curve, Estimate, Header

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


def judged(
    estimates: Sequence[Estimate],
    curve: Curve | None,
    counts: Sequence[Counts],
    benchmark: str,
    header: Header | None,
) -> str:
    """Return the sentence for a scored run; empty where no metric has a value."""
    there = [each for each in estimates if each.value is not None]
    if not there:
        return ""
    parts = []
    for metric in dict.fromkeys(each.metric for each in there):
        names = [each.name for each in there if each.metric == metric]
        parts.append(f"{_names(names)}, {_MADE[metric.partition(':')[0]]}")
    means = "" if all(each.k == 0 for each in there) else ", averaged over problems"
    copies = any(text.startswith("copies") for each in there for text in each.warnings)
    of = f" of {benchmark}" if benchmark else ""
    text = f"From {_samples(counts, copies=copies)}{of} we report {'; '.join(parts)}{means}"
    made = [
        f"for {said} ({_list(dict.fromkeys(_INTERVALS.get(each, each) for each in methods))})"
        for said, methods in (
            ("new problems like these", [each.new_problems.method for each in there if each.new_problems]),
            ("fresh samples of these problems", [each.these_problems.method for each in there if each.these_problems]),
        )
        if methods
    ]
    levels = [each.new_problems.level for each in there if each.new_problems]
    if made and levels:
        text += f", with {100 * levels[0]:g}% intervals {' and '.join(made)}"
    if curve is not None:
        text += f"; the band of the curve is simultaneous (sup-t, {curve.draws:,} draws, seed {curve.seed})"
    return f"{text}{_judging(header)}."


def compared(comparison: Comparison) -> str:
    """Return the sentence for a comparison of runs."""
    differences = [each for pair in comparison.pairs for each in pair.differences]
    first = differences[0]
    names = _names([f"pass@{each.k}" for each in comparison.pairs[0].differences])
    benchmark = f" of {comparison.benchmark}" if comparison.benchmark else ""
    text = (
        f"Runs were compared in {names} (unbiased estimator of {_CHEN}) on the same {comparison.problems} "
        f"problems{benchmark}, problem by problem"
    )
    made = []
    level = None
    for said, intervals in (
        ("new problems like these", [each.new_problems for each in differences]),
        ("fresh samples of these problems", [each.these_problems for each in differences]),
    ):
        methods = dict.fromkeys(each.method for each in intervals if each is not None)
        level = next((each.level for each in intervals if each is not None), level)
        if methods:
            made.append(f"for {said} ({_list(methods)})")
    if level is not None:
        text += f", with {100 * level:g}% intervals of the difference {' and '.join(made)}"
    drawn = any(each.p_error > 0 for each in differences)
    how = f"Monte Carlo, seed {comparison.seed}" if drawn else "exact"
    text += f" and two-sided sign-flip tests ({how})"
    if any("numbers of samples" in said for each in differences for said in each.warnings):
        text += ", with unequal n the larger p of these and of permutations within problems"
    if first.adjusted is not None:
        text += f", adjusted for {len(differences)} comparisons by the step-down maximum of |t|"
    return f"{text}."


def _names(names: Sequence[str]) -> str:
    """Return names as prose; of many the first and the last."""
    return _list(names) if len(names) < 6 else f"{names[0]} to {names[-1]}"


def _list(words: Iterable[str]) -> str:
    every = list(words)
    return every[0] if len(every) == 1 else f"{', '.join(every[:-1])} and {every[-1]}"


def _samples(counts: Sequence[Counts], *, copies: bool) -> str:
    least, most = min(each.n for each in counts), max(each.n for each in counts)
    n = f"n = {least}" if least == most else f"n = {least} to {most}"
    kind = "identical samples (n = 1 in effect)" if copies else "sample" if most == 1 else "samples"
    return f"{n} {kind} of {'the one problem' if len(counts) == 1 else f'each of {len(counts)} problems'}"


def _judging(header: Header | None) -> str:
    if header is None:
        return ""
    limits = header.limits
    clock = "of its own time" if limits.clock == "own" else "of wall time"
    return (
        f"; each program ran under {header.jail.isolation} isolation with {limits.timeout_s:g} s {clock} and "
        f"{limits.memory_bytes / (1 << 30):.3g} GiB of memory (passcurve {header.version}, python {header.jail.python})"
    )
