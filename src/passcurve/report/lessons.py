"""The lessons of the lab as text: tables, and three sentences on what each shows."""

from __future__ import annotations

from collections import Counter
from typing import Any

from passcurve.report.comparison import signed
from passcurve.report.tables import table
from passcurve.report.terminal import number, printable

_SHOWN = 20
"""Rows of a table that a terminal shows; the JSON has all."""
_KINDS = 4
"""Kinds of problems that are listed."""
_DIGITS = 24
"""Longest fraction that is shown as one."""


def urn_says(urn: Any) -> list[str]:
    """Return three sentences on an urn."""
    n, c, k = urn.n, urn.c, urn.k
    return [
        f"The samples are an urn of {n} balls, {c} of them right: {k} drawn without putting back are all wrong with "
        f"chance {number(urn.fails.value)}, so pass@{k} is {_short(urn.passes)}.",
        f"Putting each ball back would give {number(urn.replaced.value)}, which is the plug-in 1 - (1 - c/n)^k: it "
        "takes the samples for all that the model can write.",
        "Reckon it as a product or a sum of logarithms: the ratio of two binomials is right on paper and is nothing in "
        "floating point once both are infinite.",
    ]


def urn_lines(urn: Any, width: int | None = None) -> list[str]:
    """Return an urn as text."""
    n, c, k = urn.n, urn.c, urn.k
    steps = [
        [f"draw {step.draw}", f"{step.wrong} of {step.left}", _short(step.chance), _short(step.all_wrong)]
        for step in urn.steps[:_SHOWN]
    ]
    share = [
        [str(each.c), _short(each.passes), number(each.passes.value), number(each.replaced.value)]
        for each in urn.table
        if each.c in _chosen(n, c)
    ]
    reckoned = [
        [
            f"n={each.n} c={each.c} k={each.k}",
            "inf/inf" if each.ratio is None else repr(each.ratio),
            repr(each.product),
            repr(each.ours),
            repr(each.exact),
        ]
        for each in urn.reckoned
    ]
    counted = [f"  {urn.failing} of {urn.subsets} subsets hold no right sample"] if len(urn.subsets) < _DIGITS else []
    return [
        f"an urn of {n} samples, {c} right; {k} are drawn and not put back",
        *table(["", "wrong balls left", "this one wrong", "all wrong so far"], steps, width=width),
        *([f"  ... and {len(urn.steps) - _SHOWN} more"] if len(urn.steps) > _SHOWN else []),
        *counted,
        f"  pass@{k} = 1 - {_short(urn.fails)} = {_short(urn.passes)} = {number(urn.passes.value)}",
        "",
        *table(["c", f"pass@{k}", "", "put back (biased)"], share, left=0, width=width),
        "",
        *table(["in floating point", "ratio", "product", "passcurve", "exact, rounded"], reckoned, width=width),
        "",
        *(f"  {each}" for each in urn_says(urn)),
    ]


def estimators_says(found: Any) -> list[str]:
    """Return three sentences on the estimators."""
    first, last = found.rows[0], found.rows[-1]
    gain = last.repeated.variance / last.unbiased.variance if last.unbiased.variance > 0.0 else 1.0
    return [
        f"The plug-in is off by {signed(first.plug_in.bias)} at n = {first.n} and by {signed(last.plug_in.bias)} at "
        f"n = {last.n}, whatever is averaged over; the other three are right on average at every n.",
        f"At n = {last.n} the {last.batches:,} batches of {found.k} stray by {number(last.repeated.sd)}, the average "
        f"over all subsets of the same samples by {number(last.unbiased.sd)}: batches would need {gain:.3g} times the "
        "samples for that.",
        f"At n = {first.n} the root mean squared error of the plug-in is {number(first.plug_in.rmse)} and that of the "
        f"unbiased estimator {number(first.unbiased.rmse)}; a mean over problems averages the straying out, and never "
        "the bias.",
    ]


def estimators_lines(found: Any, width: int | None = None) -> list[str]:
    """Return the estimators as text."""
    names = ("first_k", "repeated", "plug_in", "unbiased")
    heads = [f"first {found.k}", f"t x {found.k}", "plug-in", "unbiased"]
    exact, strays, simulated = [], [], []
    for row in found.rows:
        each = [getattr(row, name) for name in names]
        exact.append([f"{row.n:,}", f"{row.batches:,}", *(number(one.expectation) for one in each)])
        strays.append([f"{row.n:,}", f"{row.batches:,}", *(number(one.sd) for one in each), number(row.plug_in.rmse)])
        simulated.append(
            [f"{row.n:,}", f"{row.batches:,}"]
            + [f"{number(one.simulated)} ({number(one.simulated_se)})" for one in each]
        )
    return [
        f"p = {found.p:g}, k = {found.k}: the true pass@{found.k} is {number(found.truth)}",
        "  what each gives on average",
        *table(["n", "t", *heads], exact, left=0, width=width),
        "",
        "  how far it strays: standard deviation; of the plug-in also the root mean squared error",
        *table(["n", "t", *heads, "plug-in rmse"], strays, left=0, width=width),
        "",
        f"  simulated: mean of {found.draws:,} data sets for each n (its standard error), seed {found.seed}",
        *table(["n", "t", *heads], simulated, left=0, width=width),
        "",
        *(f"  {each}" for each in estimators_says(found)),
    ]


def budget_says(found: Any) -> list[str]:
    """Return three sentences on what a smaller run would have said."""
    whole = found.sizes[0]
    samples = [size for size in found.sizes if size.m == whole.m][-1]
    problems = [size for size in found.sizes if size.n == whole.n][-1]
    return [
        f"Fewer samples or problems leave the score where it is on average, {number(found.value)}; what changes is how "
        f"far one run strays: by {number(samples.sd)} with {_samples(samples.n)} of each of {samples.m} problems, by "
        f"{number(problems.sd)} with {problems.n} of each of {problems.m}.",
        _others(whole, samples, problems),
        f"For fresh samples of the same problems it is {number(samples.these_problems)} with {_samples(samples.n)} of "
        f"each, where the whole run has {number(whole.these_problems)}; about other problems that narrower interval "
        "says nothing.",
    ]


def _others(whole: Any, samples: Any, problems: Any) -> str:
    """Say which of the two ways to be cheaper costs more of what is known about other problems."""
    said = (
        f"For other problems like these, {samples.cost:,} samples on {samples.m} problems leave an interval of "
        f"{number(samples.new_problems)}"
    )
    if problems.m < whole.m:
        said += f", and {problems.cost:,} on {problems.m} problems one of {number(problems.new_problems)}"
    better = problems.m < whole.m and samples.new_problems < problems.new_problems
    end = ": leave out samples before problems." if better else "."
    return f"{said}, where the whole run has {number(whole.new_problems)}{end}"


def budget_lines(found: Any, width: int | None = None) -> list[str]:
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
        for size in found.sizes
    ]
    heads = ["problems", "samples", "cost", "score", "sd", "19 of 20", "width: new problems", "width: these problems"]
    return [
        f"pass@{found.k} = {number(found.value)} from {found.n} samples of each of {found.m} problems; what parts of "
        "them would have said",
        *table(heads, rows, left=0, width=width),
        f"  score and range: {found.draws:,} subsamples without replacement of each size, seed {found.seed}; "
        f"sd: exact; width: of the {found.level:.0%} interval, mean",
        "",
        *(f"  {each}" for each in budget_says(found)),
    ]


def temperature_says(found: Any) -> list[str]:
    """Return three sentences on temperatures."""
    degrees = [curve.temperature for curve in found.curves]
    best = {k: max(found.curves, key=lambda curve: curve.value[at]) for at, k in enumerate(found.k)}
    first, last = found.k[0], found.k[-1]
    one, many = best[first], best[last]
    start = f"Of {len(degrees)} temperatures {one.temperature:g} is best at k = {first} ({number(one.value[0])}) and "
    if one is many:
        start += f"also at k = {last} ({number(many.value[-1])})."
    else:
        start += f"{many.temperature:g} at k = {last} ({number(many.value[-1])}): none is good or bad but for a k."
    middle = (
        "Heat trades the chance of the likeliest program for variety, which one draw does not need and many draws do."
    )
    if not found.choices:
        end = f"With {found.n} samples no k has two halves to choose on one and report on the other."
        return [start, middle, end]
    widest = max(found.choices, key=lambda each: each.upper - each.honest)
    end = (
        f"The best of several, chosen and reported on the same samples, is too high: at k = {widest.k} it looks like "
        f"{number(widest.upper)}, and chosen on one half and read off the other it is {number(widest.honest)}"
    )
    if not found.simulated:
        return [start, middle, f"{end}."]
    worst = max(found.choices, key=lambda each: each.optimism)
    return [
        start,
        middle,
        f"{end}; over {found.sweeps} such sweeps the luck is {number(worst.optimism)} on average at k = {worst.k}.",
    ]


def temperature_lines(found: Any, width: int | None = None) -> list[str]:
    """Return a sweep as text."""
    what = "simulated decks" if found.simulated else "problems"
    heads = ["T", *(f"pass@{k}" for k in found.k)]
    rows = [[f"{curve.temperature:g}", *map(number, curve.value)] for curve in found.curves]
    lines = [
        f"{len(found.curves)} temperatures, {found.m} {what}, {found.n} samples of each",
        *table(heads, rows, left=0, width=width),
    ]
    if found.simulated:
        truth = [[f"{curve.temperature:g}", *map(number, curve.truth)] for curve in found.curves]
        lines += ["", "  the truth, which a simulation knows", *table(heads, truth, left=0, width=width)]
    if found.choices:
        heads = ["k", "looks best", "on these samples", "on the other half"]
        heads += ["its truth", "is best", "true hull", "luck (standard error)"] if found.simulated else []
        rows = []
        for each in found.choices:
            row = [f"{each.k}", f"{each.best:g}", number(each.upper), number(each.honest)]
            if found.simulated:
                luck = f"{number(each.optimism)} ({number(each.optimism_se)})"
                row += [number(each.truth), f"{each.true_best:g}", number(each.true_upper), luck]
            rows.append(row)
        lines += ["", *table(heads, rows, left=0, width=width)]
        halves = f"  other half: mean over {found.splits} splits of the samples, seed {found.seed}"
        lines.append(f"{halves}; luck: over {found.sweeps} simulated sweeps" if found.simulated else halves)
    return [*lines, "", *(f"  {each}" for each in temperature_says(found))]


def mixture_says(found: Any) -> list[str]:
    """Return three sentences on why pass@1 does not say what pass@k is."""
    last = found.k[-1]
    worst = max(found.models, key=lambda model: model.wrong[-1] - model.value[-1])
    first = (
        f"{worst.name} has pass@1 {number(worst.pass_at_1)} and pass@{last} {number(worst.value[-1])}; "
        f"1 - (1 - pass@1)^{last} says {number(worst.wrong[-1])}."
    )
    second = (
        "The formula takes every problem for equally hard; where they differ it is too high, because further draws of "
        "an easy problem win nothing and those of a hard one win little."
    )
    if len(found.models) == 1:
        third = "So pass@k is worked out for each problem and then averaged; it does not follow from pass@1."
    else:
        ends = ", ".join(f"{model.name} {number(model.value[-1])}" for model in found.models)
        same = len({number(model.pass_at_1) for model in found.models}) == 1
        third = (
            f"All have pass@1 {number(worst.pass_at_1)}, and pass@{last} is {ends}: pass@1 cannot tell them apart."
            if same
            else f"At k = {last} they have {ends}: which model is better depends on k."
        )
    return [first, second, third]


def mixture_lines(found: Any, width: int | None = None) -> list[str]:
    """Return the curves of models or of a run as text."""
    lines = []
    for model in found.models:
        known = bool(model.chances)
        lines.append(f"{model.name}: pass@1 {number(model.pass_at_1)}" + (f"; {_chances(model)}" if known else ""))
        heads = ["k", "pass@k", "1 - (1 - pass@1)^k", *(["simulated (standard error)"] if known else [])]
        rows = [
            [f"{k:,}", number(value), number(wrong)]
            + ([f"{number(model.simulated[at])} ({number(model.simulated_se[at])})"] if known else [])
            for at, (k, value, wrong) in enumerate(zip(found.k, model.value, model.wrong, strict=True))
        ]
        lines += [*table(heads, rows, left=0, width=width), ""]
    if any(model.simulated for model in found.models):
        lines.append(f"  simulated: {found.n:,} samples of each of {found.m:,} such problems, seed {found.seed}")
    return [printable(line) for line in lines] + [f"  {each}" for each in mixture_says(found)]


def _chances(model: Any) -> str:
    """Return how many problems have which chance."""
    counted = Counter(model.chances)
    if len(counted) > _KINDS:
        return f"{len(model.chances)} problems, chances {min(counted):g} to {max(counted):g}"
    parts = [f"{count} of {len(model.chances)} at {p:g}" for p, count in sorted(counted.items())]
    return "every problem at " + f"{model.chances[0]:g}" if len(counted) == 1 else "problems: " + ", ".join(parts)


def _samples(n: int) -> str:
    return f"{n:,} sample{'s' if n != 1 else ''}"


def _short(exact: Any) -> str:
    """Return a fraction as it is while it can be read, else as a number."""
    return exact.fraction if len(exact.fraction) <= _DIGITS else number(exact.value)


def _chosen(n: int, c: int) -> set[int]:
    """Return the numbers of right samples that are shown."""
    if n <= _SHOWN:
        return set(range(n + 1))
    return {c, *(round(n * at / 10) for at in range(11))}
