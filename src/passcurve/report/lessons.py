"""The lessons of the lab as text: tables, and three sentences on what each shows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from passcurve.report.comparison import signed
from passcurve.report.tables import table
from passcurve.report.terminal import number, number_or_dash, printable

if TYPE_CHECKING:
    from passcurve.lab.budget import Budget, Size
    from passcurve.lab.estimators import Estimators
    from passcurve.lab.mixture import Mixture, Model
    from passcurve.lab.temperature import Temperature
    from passcurve.lab.urn import Exact, Urn

_SHOWN = 20
"""Largest number of table rows on a terminal; the JSON has all."""
_KINDS = 4
"""Largest number of listed kinds of problems."""
_DIGITS = 24
"""Length of the longest fraction that is shown as a fraction."""


def urn_sentences(lesson: Urn) -> list[str]:
    """Return three sentences on an lesson."""
    n, c, k = lesson.n, lesson.c, lesson.k
    return [
        f"The samples are an urn of {n} balls, {c} of them right: {k} drawn without putting back are all wrong with "
        f"chance {number(lesson.fails.value)}, so pass@{k} is {_short_fraction(lesson.passes)}.",
        f"Putting each ball back would give {number(lesson.replaced.value)}, which is the plug-in 1 - (1 - c/n)^k: it "
        "takes the samples for all that the model can write.",
        "Reckon it as a product or a sum of logarithms: the ratio of two binomials is right on paper and is nothing in "
        "floating point once both are infinite.",
    ]


def urn_lines(lesson: Urn, width: int | None = None) -> list[str]:
    """Return an urn as text."""
    n, c, k = lesson.n, lesson.c, lesson.k
    steps = [
        [
            f"draw {step.draw}",
            f"{step.wrong} of {step.left}",
            _short_fraction(step.chance),
            _short_fraction(step.all_wrong),
        ]
        for step in lesson.steps[:_SHOWN]
    ]
    share = [
        [str(share.c), _short_fraction(share.passes), number(share.passes.value), number(share.replaced.value)]
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
    counted = (
        [f"  {lesson.failing} of {lesson.subsets} subsets hold no right sample"]
        if len(lesson.subsets) < _DIGITS
        else []
    )
    return [
        f"an urn of {n} samples, {c} right; {k} are drawn and not put back",
        *table(["", "wrong balls left", "this one wrong", "all wrong so far"], steps, width=width),
        *([f"  ... and {len(lesson.steps) - _SHOWN} more"] if len(lesson.steps) > _SHOWN else []),
        *counted,
        f"  pass@{k} = 1 - {_short_fraction(lesson.fails)} = {_short_fraction(lesson.passes)} "
        f"= {number(lesson.passes.value)}",
        "",
        *table(["c", f"pass@{k}", "", "put back (biased)"], share, left=0, width=width),
        "",
        *table(["in floating point", "ratio", "product", "passcurve", "exact, rounded"], reckoned, width=width),
        "",
        *(f"  {sentence}" for sentence in urn_sentences(lesson)),
    ]


def estimators_sentences(lesson: Estimators) -> list[str]:
    """Return three sentences on the estimators."""
    first, last = lesson.rows[0], lesson.rows[-1]
    gain = last.repeated.variance / last.unbiased.variance if last.unbiased.variance > 0.0 else 1.0
    return [
        f"The plug-in is off by {signed(first.plug_in.bias)} at n = {first.n} and by {signed(last.plug_in.bias)} at "
        f"n = {last.n}, whatever is averaged over; the other three are right on average at every n.",
        f"At n = {last.n} the {last.batches:,} batches of {lesson.k} stray by {number(last.repeated.sd)}, the average "
        f"over all subsets of the same samples by {number(last.unbiased.sd)}: batches would need {gain:.3g} times the "
        "samples for that.",
        f"At n = {first.n} the root mean squared error of the plug-in is {number(first.plug_in.rmse)} and that of the "
        f"unbiased estimator {number(first.unbiased.rmse)}; a mean over problems averages the straying out, and never "
        "the bias.",
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


def budget_sentences(lesson: Budget) -> list[str]:
    """Return three sentences on smaller runs."""
    whole = lesson.sizes[0]
    samples = [size for size in lesson.sizes if size.m == whole.m][-1]
    problems = [size for size in lesson.sizes if size.n == whole.n][-1]
    return [
        f"Fewer samples or problems leave the score where it is on average, {number(lesson.value)}; what changes is "
        f"how far one run strays: by {number(samples.sd)} with {_samples(samples.n)} of each of {samples.m} problems, "
        f"by {number(problems.sd)} with {problems.n} of each of {problems.m}.",
        _compare_widths(whole, samples, problems),
        f"For fresh samples of the same problems it is {number(samples.these_problems)} with {_samples(samples.n)} of "
        f"each, where the whole run has {number(whole.these_problems)}; about other problems that narrower interval "
        "says nothing.",
    ]


def _compare_widths(whole: Size, samples: Size, problems: Size) -> str:
    """Return the sentence on which way of saving widens the interval for new problems more."""
    sentence = (
        f"For other problems like these, {samples.cost:,} samples on {samples.m} problems leave an interval of "
        f"{number(samples.new_problems)}"
    )
    if problems.m < whole.m:
        sentence += f", and {problems.cost:,} on {problems.m} problems one of {number(problems.new_problems)}"
    better = problems.m < whole.m and samples.new_problems < problems.new_problems
    end = ": leave out samples before problems." if better else "."
    return f"{sentence}, where the whole run has {number(whole.new_problems)}{end}"


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
    heads = ["problems", "samples", "cost", "score", "sd", "19 of 20", "width: new problems", "width: these problems"]
    return [
        f"pass@{lesson.k} = {number(lesson.value)} from {lesson.n} samples of each of {lesson.m} problems; what parts "
        "of them would have said",
        *table(heads, rows, left=0, width=width),
        f"  score and range: {lesson.draws:,} subsamples without replacement of each size, seed {lesson.seed}; "
        f"sd: exact; width: of the {lesson.level:.0%} interval, mean",
        "",
        *(f"  {sentence}" for sentence in budget_sentences(lesson)),
    ]


def temperature_sentences(lesson: Temperature) -> list[str]:
    """Return three sentences on temperatures."""
    degrees = [curve.temperature for curve in lesson.curves]
    best = {k: max(lesson.curves, key=lambda curve: curve.value[at]) for at, k in enumerate(lesson.k)}
    first, last = lesson.k[0], lesson.k[-1]
    best_first, best_last = best[first], best[last]
    start = (
        f"Of {len(degrees)} temperatures {best_first.temperature:g} is best at k = {first} "
        f"({number(best_first.value[0])}) and "
    )
    if best_first is best_last:
        start += f"also at k = {last} ({number(best_last.value[-1])})."
    else:
        start += (
            f"{best_last.temperature:g} at k = {last} ({number(best_last.value[-1])}): none is good or bad but for a k."
        )
    middle = (
        "Heat trades the chance of the likeliest program for variety, which one draw does not need and many draws do."
    )
    if not lesson.choices:
        end = f"With {lesson.n} samples no k has two halves to choose on one and report on the other."
        return [start, middle, end]
    widest = max(lesson.choices, key=lambda choice: choice.upper - choice.honest)
    end = (
        f"The best of several, chosen and reported on the same samples, is too high: at k = {widest.k} it looks like "
        f"{number(widest.upper)}, and chosen on one half and read off the other it is {number(widest.honest)}"
    )
    if not lesson.simulated:
        return [start, middle, f"{end}."]
    worst = max(lesson.choices, key=lambda choice: choice.optimism or 0.0)
    luck = number_or_dash(worst.optimism)
    return [start, middle, f"{end}; over {lesson.sweeps} such sweeps the luck is {luck} on average at k = {worst.k}."]


def temperature_lines(lesson: Temperature, width: int | None = None) -> list[str]:
    """Return a sweep as text."""
    what = "simulated decks" if lesson.simulated else "problems"
    heads = ["T", *(f"pass@{k}" for k in lesson.k)]
    rows = [[f"{curve.temperature:g}", *map(number, curve.value)] for curve in lesson.curves]
    lines = [
        f"{len(lesson.curves)} temperatures, {lesson.m} {what}, {lesson.n} samples of each",
        *table(heads, rows, left=0, width=width),
    ]
    if lesson.simulated:
        truth = [[f"{curve.temperature:g}", *map(number, curve.truth)] for curve in lesson.curves]
        lines += ["", "  the truth, which a simulation knows", *table(heads, truth, left=0, width=width)]
    if lesson.choices:
        heads = ["k", "looks best", "on these samples", "on the other half"]
        heads += ["its truth", "is best", "true hull", "luck (standard error)"] if lesson.simulated else []
        rows = []
        for choice in lesson.choices:
            row = [f"{choice.k}", f"{choice.best:g}", number(choice.upper), number(choice.honest)]
            if lesson.simulated:
                luck = f"{number_or_dash(choice.optimism)} ({number_or_dash(choice.optimism_se)})"
                row += [number_or_dash(choice.truth), f"{choice.true_best:g}", number_or_dash(choice.true_upper), luck]
            rows.append(row)
        lines += ["", *table(heads, rows, left=0, width=width)]
        halves = f"  other half: mean over {lesson.splits} splits of the samples, seed {lesson.seed}"
        lines.append(f"{halves}; luck: over {lesson.sweeps} simulated sweeps" if lesson.simulated else halves)
    return [*lines, "", *(f"  {sentence}" for sentence in temperature_sentences(lesson))]


def mixture_sentences(lesson: Mixture) -> list[str]:
    """Return three sentences on why pass@1 does not say what pass@k is."""
    last = lesson.k[-1]
    worst = max(lesson.models, key=lambda model: model.wrong[-1] - model.value[-1])
    first = (
        f"{worst.name} has pass@1 {number(worst.pass_at_1)} and pass@{last} {number(worst.value[-1])}; "
        f"1 - (1 - pass@1)^{last} says {number(worst.wrong[-1])}."
    )
    second = (
        "The formula takes every problem for equally hard; where they differ it is too high, because further draws of "
        "an easy problem win nothing and those of a hard one win little."
    )
    if len(lesson.models) == 1:
        third = "So pass@k is worked out for each problem and then averaged; it does not follow from pass@1."
    else:
        ends = ", ".join(f"{model.name} {number(model.value[-1])}" for model in lesson.models)
        same = len({number(model.pass_at_1) for model in lesson.models}) == 1
        third = (
            f"All have pass@1 {number(worst.pass_at_1)}, and pass@{last} is {ends}: pass@1 cannot tell them apart."
            if same
            else f"At k = {last} they have {ends}: which model is better depends on k."
        )
    return [first, second, third]


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
        lines.append(f"  simulated: {lesson.n:,} samples of each of {lesson.m:,} such problems, seed {lesson.seed}")
    return [printable(line) for line in lines] + [f"  {sentence}" for sentence in mixture_sentences(lesson)]


def _chances(model: Model) -> str:
    """Return how many problems have which chance."""
    counted = Counter(model.chances)
    if len(counted) > _KINDS:
        return f"{len(model.chances)} problems, chances {min(counted):g} to {max(counted):g}"
    parts = [f"{count} of {len(model.chances)} at {p:g}" for p, count in sorted(counted.items())]
    return "every problem at " + f"{model.chances[0]:g}" if len(counted) == 1 else "problems: " + ", ".join(parts)


def _samples(n: int) -> str:
    return f"{n:,} sample{'s' if n != 1 else ''}"


def _short_fraction(exact: Exact) -> str:
    """Return a fraction as it is while it can be read, else as a number."""
    return exact.fraction if len(exact.fraction) <= _DIGITS else number(exact.value)


def _rows_to_show(n: int, c: int) -> set[int]:
    """Return the numbers of right samples that are shown."""
    if n <= _SHOWN:
        return set(range(n + 1))
    return {c, *(round(n * at / 10) for at in range(11))}
