"""Three sentences on each lesson of the lab, each made from the numbers that stand above it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from passcurve.report.comparison import p_value, signed
from passcurve.report.terminal import number, number_or_dash
from passcurve.types.amounts import amount

if TYPE_CHECKING:
    from passcurve.lab.budget import Budget, Size
    from passcurve.lab.estimators import Estimators
    from passcurve.lab.mixture import Mixture, Model
    from passcurve.lab.temperature import Choice, Contrast, Temperature
    from passcurve.lab.urn import Exact, Urn

DIGITS = 24
"""Length of the longest fraction that is shown as a fraction."""
_VISIBLE = 5e-5
"""Least difference of two scores that four digits show."""
_ALPHA = 0.05
"""Largest p-value of a difference that is told from chance."""


def urn_sentences(lesson: Urn) -> list[str]:
    """Return three sentences on an urn."""
    n, c, k = lesson.n, lesson.c, lesson.k
    replaced = number(lesson.replaced.value)
    wrong = "is wrong" if k == 1 else "are all wrong"
    first = (
        f"The samples are an urn of {amount(n, 'ball')}, {c} of them right: {k} drawn without putting back {wrong} "
        f"with chance {number(lesson.fails.value)}, so pass@{k} is {short_fraction(lesson.passes)}."
    )
    if lesson.replaced.fraction == lesson.passes.fraction:
        second = f"Putting each ball back gives {replaced} as well: the plug-in 1 - (1 - c/n)^k is right here."
    else:
        second = (
            f"Putting each ball back would give {replaced}, which is the plug-in 1 - (1 - c/n)^k: it takes the samples "
            "for all that the model can write."
        )
    infinite = next((example for example in lesson.reckoned if example.ratio is None), None)
    third = "Reckon it as a product or a sum of logarithms: the ratio of two binomials is right on paper"
    if infinite is None:
        return [first, second, f"{third}, and in the cases above also in floating point."]
    case = f"n = {infinite.n}, c = {infinite.c}, k = {infinite.k}"
    return [first, second, f"{third} and is nothing in floating point once both are infinite, as with {case}."]


def estimators_sentences(lesson: Estimators) -> list[str]:
    """Return three sentences on the estimators."""
    first, last = lesson.rows[0], lesson.rows[-1]
    at = f"by {signed(first.plug_in.bias)} at n = {first.n}"
    if first is not last:
        at += f" and by {signed(last.plug_in.bias)} at n = {last.n}"
    biased = any(row.plug_in.bias for row in lesson.rows)
    if biased:
        start = f"The plug-in is off {at}, whatever is averaged over; the other three are right on average at every n."
    else:
        start = f"With p = {lesson.p:g} and k = {lesson.k} all four are right on average, the plug-in too."
    gain = last.repeated.variance / last.unbiased.variance if last.unbiased.variance > 0.0 else None
    batches = f"{last.batches:,} batch{'es' * (last.batches != 1)} of {lesson.k}"
    if gain is None:
        middle = f"At n = {last.n} nothing is left to chance: no estimator strays."
    elif gain <= 1.0 + 1e-9:
        middle = (
            f"At n = {last.n} {batches} and the average over all subsets of the same samples stray alike, by "
            f"{number(last.unbiased.sd)}."
        )
    else:
        middle = (
            f"At n = {last.n} {batches} stray{'s' * (last.batches == 1)} by {number(last.repeated.sd)}, the average "
            f"over all subsets of the same samples by {number(last.unbiased.sd)}: batches would need {gain:.3g} times "
            "the samples for that."
        )
    end = (
        f"At n = {first.n} the root mean squared error of the plug-in is {number(first.plug_in.rmse)} and that of the "
        f"unbiased estimator {number(first.unbiased.rmse)}"
    )
    end += "; a mean over problems averages the straying out, and never the bias." if biased else "."
    return [start, middle, end]


def budget_sentences(lesson: Budget) -> list[str]:
    """Return three sentences on smaller runs."""
    largest = lesson.sizes[0]
    largest_text = "the whole run has" if largest.cost == lesson.cost else f"{size_text(largest)} have"
    samples = [size for size in lesson.sizes if size.m == largest.m][-1]
    problems = [size for size in lesson.sizes if size.n == largest.n][-1]
    smaller = [size for size in dict.fromkeys((samples, problems)) if size is not largest]
    score = number(lesson.value)
    if not smaller:
        its = "its interval is" if largest.cost == lesson.cost else f"the interval of {size_text(largest)} is"
        return [
            f"There is no smaller run to compare with: the score is {score}.",
            f"For new problems {its} {number(largest.new_problems)} wide.",
            f"For resampling it is {number(largest.these_problems)} wide.",
        ]
    strays = ", ".join(f"by {number(size.sd)} with {size_text(size)}" for size in smaller)
    first = f"Fewer samples or problems leave the score where it is on average, {score}; "
    if any(size.sd > 0.0 for size in smaller):
        first += f"what changes is how far one run strays: {strays}."
    else:
        first += "and here no smaller run strays."
    return [
        first,
        _compare_widths(largest, largest_text, samples, problems),
        _compare_resampling(largest, largest_text, smaller[0]),
    ]


def size_text(size: Size | Budget) -> str:
    """Return the samples and problems of a part of a run, or of the run."""
    up_to = "up to " if size.cost < size.n * size.m else ""
    return f"{up_to}{amount(size.n, 'sample')} of each of {amount(size.m, 'problem')}"


def _compare_widths(largest: Size, largest_text: str, samples: Size, problems: Size) -> str:
    """Return the sentence on which way of saving widens the interval for new problems more."""
    parts = [
        f"{amount(size.cost, 'sample')} on {amount(size.m, 'problem')} leave an interval of {number(size.new_problems)}"
        for size in dict.fromkeys((samples, problems))
        if size is not largest
    ]
    sentence = f"For new problems {', and '.join(parts)}, where {largest_text} {number(largest.new_problems)}"
    if samples is largest or problems is largest:
        return f"{sentence}."
    gain = problems.new_problems - samples.new_problems
    if gain > _VISIBLE and samples.cost <= problems.cost:
        return f"{sentence}: leave out samples before problems."
    if gain < -_VISIBLE and problems.cost <= samples.cost:
        return f"{sentence}: leave out problems before samples."
    return f"{sentence}."


def _compare_resampling(largest: Size, largest_text: str, size: Size) -> str:
    sentence = (
        f"For resampling of the same problems it is {number(size.these_problems)} with {size_text(size)}, where "
        f"{largest_text} {number(largest.these_problems)}"
    )
    if size.these_problems < size.new_problems:
        return f"{sentence}; about other problems that narrower interval says nothing."
    return f"{sentence}."


def temperature_sentences(lesson: Temperature) -> list[str]:
    """Return three sentences on temperatures: the best, the effect of heat, and the luck of choosing."""
    if len(lesson.curves) == 1:
        return [
            f"There is one temperature, {lesson.curves[0].temperature:g}: none to compare it with.",
            "What heat does cannot be seen from one temperature.",
            "Nothing was chosen, so no score is too high by the choice.",
        ]
    leads = [lesson.leads[0], lesson.leads[-1]] if len(lesson.leads) > 1 else [lesson.leads[0]]
    first = f"Of {len(lesson.curves)} temperatures {', and '.join(_lead_text(lead) for lead in leads)}"
    is_clear = all(_is_clear(lead) for lead in leads)
    if is_clear and leads[0].high != leads[-1].high:
        first += ": none is good or bad but for a k"
    return [f"{first}.", _heat_text(lesson), _choice_text(lesson)]


def _lead_text(lead: Contrast) -> str:
    """Return which temperature has the highest score at one k, and whether that can be told from chance."""
    where = f"{lead.high:g} is highest at k = {lead.k} ({number(lead.value)})"
    if lead.difference < _VISIBLE:
        return f"none is best at k = {lead.k}: {lead.high:g} and {lead.low:g} have the same score there"
    if _is_clear(lead):
        return where
    return f"{where}, by {number(lead.difference)} over {lead.low:g}, which may be chance (p {p_value(lead.p)})"


def _is_clear(contrast: Contrast) -> bool:
    return contrast.p <= _ALPHA


def _heat_text(lesson: Temperature) -> str:
    """Return what the hottest temperature gains over the coldest at the smallest and the largest k."""
    ends = [lesson.heat[0], lesson.heat[-1]] if len(lesson.heat) > 1 else [lesson.heat[0]]
    start = f"From {ends[0].low:g} to {ends[0].high:g} "
    clear = [end for end in ends if _is_clear(end)]
    changes = " and ".join(_change_text(end) for end in ends)
    if not clear:
        return f"{start}{changes}: that may be chance, so these samples do not say what heat does."
    if len(clear) < len(ends):
        unclear = next(end for end in ends if not _is_clear(end))
        if abs(unclear.difference) < _VISIBLE:
            return f"{start}{changes}."
        return f"{start}{changes}; that of pass@{unclear.k} may be chance (p {p_value(unclear.p)})."
    if ends[0].difference < 0.0 < ends[-1].difference:
        return (
            f"{start}{changes}: heat trades the chance of the likeliest program for variety, which one draw does not "
            "need and many draws do."
        )
    signs = {end.difference > 0.0 for end in ends}
    if len(signs) == 2:
        return f"{start}{changes}: heat helps few draws here, and not many."
    effect = "helps" if signs == {True} else "costs"
    return f"{start}{changes}: heat {effect} at {'both' if len(ends) > 1 else 'this'} k."


def _change_text(contrast: Contrast) -> str:
    if abs(contrast.difference) < _VISIBLE:
        return f"pass@{contrast.k} stays the same"
    return f"pass@{contrast.k} changes by {signed(contrast.difference)}"


def _choice_text(lesson: Temperature) -> str:
    """Return how much the best of several temperatures owes to the choice."""
    if not lesson.choices:
        return f"With {amount(lesson.n, 'sample')} no k has two halves to choose on one and report on the other."
    widest = max(lesson.choices, key=lambda choice: choice.upper - choice.honest)
    values = (
        f"at k = {widest.k} the best looks like {number(widest.upper)}, and chosen on one half and read off the other "
        f"it is {number(widest.honest)}"
    )
    if widest.upper - widest.honest > _VISIBLE:
        text = f"The best of several, chosen and reported on the same samples, looks better than it is: {values}"
    else:
        text = f"Choosing on the same samples shows no gain here: {values}"
    return f"{text}; {_luck_text(lesson)}." if lesson.simulated else f"{text}."


def _luck_text(lesson: Temperature) -> str:
    def luck(choice: Choice) -> float:
        return choice.optimism or 0.0

    most = max(lesson.choices, key=luck)
    text = f"over {lesson.sweeps} such sweeps the luck is {number_or_dash(most.optimism)} on average at k = {most.k}"
    if luck(most) <= 2.0 * (most.optimism_se or 0.0):
        text += ", which may be none"
    return text


def mixture_sentences(lesson: Mixture) -> list[str]:
    """Return three sentences on why pass@1 does not say what pass@k is."""
    last = lesson.k[-1]
    worst = max(lesson.models, key=lambda model: model.wrong[-1] - model.value[-1])
    first = (
        f"{worst.name} has pass@1 {number(worst.pass_at_1)} and pass@{last} {number(worst.value[-1])}; "
        f"1 - (1 - pass@1)^{last} says {number(worst.wrong[-1])}."
    )
    excess = worst.wrong[-1] - worst.value[-1]
    if excess > _VISIBLE:
        second = (
            f"The formula takes every problem for equally hard; where they differ it is too high, here by "
            f"{number(excess)}, because further draws of an easy problem win nothing and those of a hard one little."
        )
    elif last == 1:
        second = "At k = 1 the formula is pass@1 itself; it goes wrong for larger k where problems differ."
    elif excess >= -_VISIBLE:
        second = "The formula takes every problem for equally hard, and here that does no harm."
    else:
        second = (
            f"The formula takes every problem for equally hard; here it is too low, by {number(-excess)}, for it also "
            "takes the samples for all that the model can write."
        )
    return [first, second, _compare_models(lesson)]


def _compare_models(lesson: Mixture) -> str:
    models, last = lesson.models, lesson.k[-1]
    if len(models) == 1:
        return "So pass@k is worked out for each problem and then averaged; it does not follow from pass@1."
    ends = ", ".join(f"{model.name} {number(model.value[-1])}" for model in models)
    differ = len({number(model.value[-1]) for model in models}) > 1
    if len({number(model.pass_at_1) for model in models}) == 1:
        text = f"All have pass@1 {number(models[0].pass_at_1)}, and pass@{last} is {ends}"
        return f"{text}: pass@1 cannot tell them apart." if differ else f"{text}: here pass@1 tells all."
    text = f"At k = {last} they have {ends}"
    if _crosses(models):
        return f"{text}: which model is better depends on k."
    return f"{text}: no model that is better at k = 1 is worse at k = {last}."


def _crosses(models: tuple[Model, ...]) -> bool:
    """Return whether a model that is better at k = 1 is worse at the largest k."""
    return any(
        one.pass_at_1 - other.pass_at_1 > _VISIBLE and other.value[-1] - one.value[-1] > _VISIBLE
        for one in models
        for other in models
    )


def short_fraction(exact: Exact) -> str:
    """Return a fraction as it is while it can be read, else as a number."""
    return exact.fraction if len(exact.fraction) <= DIGITS else number(exact.value)
