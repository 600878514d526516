"""Text match as text and as a picture: what it says of the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from passcurve.report.comparison import p_value, signed
from passcurve.report.plots import Sheet, sheet
from passcurve.report.tables import table
from passcurve.report.terminal import number, printable

NAMES = {
    "exact": "exact match",
    "bleu": "BLEU",
    "chrf": "chrF",
    "rouge-l": "ROUGE-L",
    "edit": "edit similarity",
    "codebleu": "CodeBLEU",
}


def match_lines(found: Any, width: int | None = None) -> Iterator[str]:
    """Return one run or several as text; of several also their scores, and the pairs that a metric ranks wrongly."""
    for each in found.runs:
        yield from _run(each, width)
        yield ""
    if len(found.runs) > 1:
        yield from _scores(found, width)
    for note in found.notes:
        yield printable(f"  note: {note}")


def _run(each: Any, width: int | None) -> Iterator[str]:
    yield printable(
        f"{each.run}: {each.samples:,} samples of {each.problems} problems of {each.benchmark}, {each.passed:,} passed"
    )
    rows = [
        [
            NAMES[name],
            _plain(one.mean_right),
            _plain(one.mean_wrong),
            _measured(one.within),
            _measured(one.pooled),
            _measured(one.point_biserial, signs=True),
        ]
        for name, one in each.ranked.items()
    ]
    yield from table(["", "right", "wrong", "AUC within problems", "AUC pooled", "point-biserial"], rows, width=width)
    informative = max((one.informative for one in each.ranked.values()), default=0)
    yield (
        "  right, wrong: mean over the samples that passed and over the others; "
        f"within: {informative} of {each.problems} problems have both; AUC .5 is a coin"
    )
    yield f"  intervals: {each.level:.0%}, {each.resamples:,} bootstrap resamples of problems, seed {each.seed}"
    left = {NAMES[name]: one.left_out for name, one in each.ranked.items() if one.left_out}
    if left:
        yield f"  without a value, left out: {', '.join(f'{count:,} of {name}' for name, count in left.items())}"
    if each.no_code:
        yield f"  {each.no_code:,} samples have no program and are compared as the empty text"
    if each.whole:
        yield f"  {each.whole:,} programs do not begin with the prompt and are compared whole"
    for signature in each.signatures.values():
        yield f"  signature: {signature}"
    yield printable(f"  signature of the verdicts: {each.signature}")
    yield printable(f"  values of each sample: {each.kept}")


def _scores(found: Any, width: int | None) -> Iterator[str]:
    metrics = list(dict.fromkeys(name for each in found.runs for name in each.scores))
    estimates = found.runs[0].estimates
    yield "the same samples, judged and compared (mean over problems)"
    rows = [
        [printable(each.run)]
        + ["-" if one.value is None else number(one.value) for one in each.estimates]
        + [_plain(each.scores.get(name)) for name in metrics]
        for each in found.runs
    ]
    yield from table(["", *(one.name for one in estimates), *(NAMES[name] for name in metrics)], rows, width=width)
    if not found.inverted and not found.notes:
        yield "  no metric ranks a pair of them the wrong way round"
    for each in found.inverted:
        yield printable(
            f"  wrong way round: {NAMES[each.metric]} prefers {each.worse} ({number(each.score[1])} to "
            f"{number(each.score[0])}), {each.better} passes more ({number(each.pass_at_1[0])} to "
            f"{number(each.pass_at_1[1])}, p {p_value(each.p)})"
        )


def _plain(value: float | None) -> str:
    return "-" if value is None else number(value)


def _measured(one: Any, *, signs: bool = False) -> str:
    show = signed if signs else number
    if one.value is None:
        return "-"
    if one.low is None:
        return show(one.value)
    return f"{show(one.value)} ({show(one.low)} to {show(one.high)})"


_BINS = 25


def match_picture(values: Any, theme: str) -> Sheet:
    """Draw how each metric is distributed over the programs that pass and those that fail."""
    metrics: Mapping[str, Any] = {name: each for name, each in values.metrics.items() if name != "exact"}
    metrics = metrics or values.metrics
    columns = 2 if len(metrics) == 4 else min(3, len(metrics))
    rows = -(-len(metrics) // columns)
    with sheet(theme, columns=columns, rows=rows, size=(2.5 * columns + 0.4, 2.2 * rows + 0.5), sharex=True) as made:
        blue, orange, *_ = made.theme.series
        for at, (panel, (name, each)) in enumerate(zip(made.panels, metrics.items(), strict=False)):
            for kind, colour, said, style in (
                (values.passed, blue, "right", "-"),
                (~values.passed, orange, "wrong", "--"),
            ):
                known = each[kind & ~np.isnan(each)]
                if known.size:
                    heights, edges = np.histogram(known, bins=_BINS, range=(0.0, 1.0), density=True)
                    panel.stairs(heights, edges, fill=True, color=colour, alpha=0.22)
                    panel.stairs(heights, edges, color=colour, linestyle=style, linewidth=1.5, label=said)
            panel.set_title(NAMES[name])
            panel.set_yticks([])
            panel.set_xlim(0.0, 1.0)
            panel.set_ylim(bottom=0.0)
            if at == 0:
                panel.legend(loc="upper right")
            if at % columns == 0:
                panel.set_ylabel("density")
            if at + columns >= len(metrics):
                panel.set_xlabel("likeness to the reference")
                panel.tick_params(labelbottom=True)
        for panel in made.panels[len(metrics) :]:
            panel.set_visible(False)
    return made


def match_record(found: Any) -> dict[str, Any]:
    """Return what ``--json`` prints, under plain names."""
    inverted = [_builtin(each) for each in found.inverted]
    return {"runs": [_builtin(each) for each in found.runs], "inverted": inverted, "notes": list(found.notes)}


def _builtin(each: Any) -> Any:
    import msgspec

    record: Any = msgspec.to_builtins(each)
    if "estimates" in record:
        estimates: Sequence[Any] = each.estimates
        record["estimates"] = {one.name: one.value for one in estimates}
    return record
