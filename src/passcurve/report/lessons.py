"""The lessons of the lab as text: tables, above three sentences on what each shows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from passcurve.report.sentences import (
    DIGITS,
    budget_sentences,
    estimators_sentences,
    mixture_sentences,
    short_fraction,
    size_text,
    temperature_sentences,
    urn_sentences,
)
from passcurve.report.tables import table
from passcurve.report.terminal import number, number_or_dash, printable
from passcurve.types.amounts import amount, are

if TYPE_CHECKING:
    from passcurve.lab.budget import Budget
    from passcurve.lab.estimators import Estimators
    from passcurve.lab.mixture import Mixture, Model
    from passcurve.lab.temperature import Temperature
    from passcurve.lab.urn import Urn

_SHOWN = 20
"""Largest number of table rows on a terminal; the JSON has all."""
_KINDS = 4
"""Largest number of listed kinds of problems."""


def urn_lines(lesson: Urn, width: int | None = None) -> list[str]:
    """Return an urn as text."""
    n, c, k = lesson.n, lesson.c, lesson.k
    steps = [
        [
            f"draw {step.draw}",
            f"{step.wrong} of {step.left}",
            short_fraction(step.chance),
            short_fraction(step.all_wrong),
        ]
        for step in lesson.steps[:_SHOWN]
    ]
    share = [
        [str(share.c), short_fraction(share.passes), number(share.passes.value), number(share.replaced.value)]
        for share in lesson.table
        if share.c in _rows_to_show(n, c)
    ]
    reckoned = [
        [
            f"n={example.n} c={example.c} k={example.k}",
            "inf/inf" if example.ratio is None else repr(example.ratio),
            repr(example.product),
            repr(example.ours),
            repr(example.exact),
        ]
        for example in lesson.reckoned
    ]
    hold = "holds" if lesson.failing == "1" else "hold"
    subsets = f"subset{'s' * (lesson.subsets != '1')}"
    counted = (
        [f"  {lesson.failing} of {lesson.subsets} {subsets} {hold} no right sample"]
        if len(lesson.subsets) < DIGITS
        else []
    )
    return [
        f"an urn of {amount(n, 'sample')}, {c} right; {k} {are(k)} drawn and not put back",
        *table(["", "wrong balls left", "this one wrong", "all wrong so far"], steps, width=width),
        *([f"  ... and {len(lesson.steps) - _SHOWN} more"] if len(lesson.steps) > _SHOWN else []),
        *counted,
        f"  pass@{k} = 1 - {short_fraction(lesson.fails)} = {short_fraction(lesson.passes)} "
        f"= {number(lesson.passes.value)}",
        "",
        *table(["c", f"pass@{k}", "", "put back (biased)"], share, left=0, width=width),
        "",
        *table(["in floating point", "ratio", "product", "passcurve", "exact, rounded"], reckoned, width=width),
        "",
        *(f"  {sentence}" for sentence in urn_sentences(lesson)),
    ]


def estimators_lines(lesson: Estimators, width: int | None = None) -> list[str]:
    """Return the estimators as text."""
    names = ("first_k", "repeated", "plug_in", "unbiased")
    heads = [f"first {lesson.k}", f"t x {lesson.k}", "plug-in", "unbiased"]
    exact, strays, simulated = [], [], []
    for row in lesson.rows:
        moments = [getattr(row, name) for name in names]
        exact.append([f"{row.n:,}", f"{row.batches:,}", *(number(item.expectation) for item in moments)])
        strays.append(
            [f"{row.n:,}", f"{row.batches:,}", *(number(item.sd) for item in moments), number(row.plug_in.rmse)]
        )
        simulated.append(
            [f"{row.n:,}", f"{row.batches:,}"]
            + [f"{number(item.simulated)} ({number(item.simulated_se)})" for item in moments]
        )
    return [
        f"p = {lesson.p:g}, k = {lesson.k}: the true pass@{lesson.k} is {number(lesson.truth)}",
        "  what each gives on average",
        *table(["n", "t", *heads], exact, left=0, width=width),
        "",
        "  how far it strays: standard deviation; of the plug-in also the root mean squared error",
        *table(["n", "t", *heads, "plug-in rmse"], strays, left=0, width=width),
        "",
        f"  simulated: mean of {lesson.draws:,} data sets for each n (its standard error), seed {lesson.seed}",
        *table(["n", "t", *heads], simulated, left=0, width=width),
        "",
        *(f"  {sentence}" for sentence in estimators_sentences(lesson)),
    ]


def budget_lines(lesson: Budget, width: int | None = None) -> list[str]:
    """Return the smaller runs as text."""
    rows = [
        [
            f"{size.m:,}",
            f"{size.n:,}",
            f"{size.cost:,}",
            number(size.mean),
            number(size.sd),
            f"{number(size.low)} to {number(size.high)}",
            number(size.new_problems),
            number(size.these_problems),
        ]
        for size in lesson.sizes
    ]
    heads = ["problems", "samples", "cost", "score", "sd", "19 of 20 runs", "new", "resampling"]
    return [
        f"pass@{lesson.k} = {number(lesson.value)} from {size_text(lesson)}; what parts would have said",
        *table(heads, rows, left=0, width=width),
        f"  score, 19 of 20 runs: {lesson.draws:,} subsamples of each size, seed {lesson.seed}; sd: exact",
        f"  new, resampling: mean width of the {lesson.level:.0%} CI for new problems, for resampling",
        "",
        *(f"  {sentence}" for sentence in budget_sentences(lesson)),
    ]


def temperature_lines(lesson: Temperature, width: int | None = None) -> list[str]:
    """Return a sweep as text."""
    what = "simulated decks" if lesson.simulated else "problems"
    heads = ["T", *(f"pass@{k}" for k in lesson.k)]
    rows = [[f"{curve.temperature:g}", *map(number, curve.value)] for curve in lesson.curves]
    lines = [
        f"{amount(len(lesson.curves), 'temperature')}, {lesson.m} {what}, "
        + (amount(lesson.n, "sample") if lesson.n == lesson.most else f"{lesson.n:,} to {lesson.most:,} samples")
        + " of each",
        *table(heads, rows, left=0, width=width),
    ]
    if lesson.simulated:
        truth = [[f"{curve.temperature:g}", *map(number, curve.truth)] for curve in lesson.curves]
        lines += ["", "  the truth, which a simulation knows", *table(heads, truth, left=0, width=width)]
    if lesson.choices:
        heads = ["k", "looks best", "value", "other half"]
        heads += ["its truth", "is best", "true hull", "luck (error)"] if lesson.simulated else []
        rows = []
        for choice in lesson.choices:
            row = [f"{choice.k}", f"{choice.best:g}", number(choice.upper), number(choice.honest)]
            if lesson.simulated:
                luck = f"{number_or_dash(choice.optimism)} ({number_or_dash(choice.optimism_se)})"
                row += [number_or_dash(choice.truth), f"{choice.true_best:g}", number_or_dash(choice.true_upper), luck]
            rows.append(row)
        lines += ["", *table(heads, rows, left=0, width=width)]
        lines.append("  value: on all samples; other half: chosen on one half, read off the other,")
        lines.append(f"    mean over {lesson.splits} splits, seed {lesson.seed}")
        if lesson.simulated:
            lines.append(f"  luck: over {lesson.sweeps} simulated sweeps, with its standard error")
    return [*lines, "", *(f"  {sentence}" for sentence in temperature_sentences(lesson))]


def mixture_lines(lesson: Mixture, width: int | None = None) -> list[str]:
    """Return the curves of models or of a run as text."""
    lines = []
    for model in lesson.models:
        is_exact = bool(model.chances)
        lines.append(f"{model.name}: pass@1 {number(model.pass_at_1)}" + (f"; {_chances(model)}" if is_exact else ""))
        heads = ["k", "pass@k", "1 - (1 - pass@1)^k", *(["simulated (standard error)"] if is_exact else [])]
        rows = [
            [f"{k:,}", number(value), number(wrong)]
            + ([f"{number(model.simulated[at])} ({number(model.simulated_se[at])})"] if is_exact else [])
            for at, (k, value, wrong) in enumerate(zip(lesson.k, model.value, model.wrong, strict=True))
        ]
        lines += [*table(heads, rows, left=0, width=width), ""]
    if any(model.simulated for model in lesson.models):
        size = f"{amount(lesson.n, 'sample')} of each of {amount(lesson.m, 'such problem')}"
        lines.append(f"  simulated: {size}, seed {lesson.seed}")
    return [printable(line) for line in lines] + [f"  {sentence}" for sentence in mixture_sentences(lesson)]


def _chances(model: Model) -> str:
    """Return how many problems have which chance."""
    counted = Counter(model.chances)
    if len(counted) > _KINDS:
        return f"{len(model.chances)} problems, chances {min(counted):g} to {max(counted):g}"
    parts = [f"{count} of {len(model.chances)} at {p:g}" for p, count in sorted(counted.items())]
    return "every problem at " + f"{model.chances[0]:g}" if len(counted) == 1 else "problems: " + ", ".join(parts)


def _rows_to_show(n: int, c: int) -> set[int]:
    """Return the numbers of right samples that are shown."""
    if n <= _SHOWN:
        return set(range(n + 1))
    return {c, *(round(n * at / 10) for at in range(11))}
