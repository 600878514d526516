"""Text match as text and as a picture: what it says of the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from string import ascii_uppercase
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from passcurve.report.comparison import p_value, run_finding_lines, signed
from passcurve.report.plots import Sheet, sheet
from passcurve.report.records import Match, MatchedRun, MatchValues
from passcurve.report.tables import table
from passcurve.report.terminal import number, number_or_dash, printable
from passcurve.signature import digest
from passcurve.types.amounts import amount, have, part_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from passcurve.lab.ranking import Statistic

NAMES = {
    "exact": "exact match",
    "bleu": "BLEU",
    "chrf": "chrF",
    "rouge-l": "ROUGE-L",
    "edit": "edit similarity",
    "codebleu": "CodeBLEU",
}
_SHORT = {"exact": "exact", "edit": "edit"}
"""Names that fit into a table of several runs."""
_ALPHA = 0.05
"""Largest p-value of a difference that is told from chance."""
_BINS = 25


def match_lines(match: Match, width: int | None = None, *, verbose: bool = False) -> Iterator[str]:
    """Return one run or several as text; of several also their scores, and the pairs that a metric ranks wrongly.

    With ``verbose`` each number has its interval, and the signatures are in full.
    """
    yield from run_finding_lines(match.findings)
    for run in match.runs:
        yield from _run_lines(run, width, verbose=verbose)
        yield ""
    if len(match.runs) > 1:
        yield from _score_lines(match, width)
    for note in match.notes:
        yield printable(f"  note: {note}")


def _run_lines(run: MatchedRun, width: int | None, *, verbose: bool) -> Iterator[str]:
    yield printable(
        f"{run.run}: {amount(run.samples, 'sample')} of {amount(run.problems, 'problem')} of {run.benchmark}, "
        f"{run.passed:,} passed"
    )
    rows = [
        [
            NAMES[name],
            number_or_dash(ranking.mean_right),
            number_or_dash(ranking.mean_wrong),
            _statistic_text(ranking.within),
            _statistic_text(ranking.pooled, interval=verbose),
            _statistic_text(ranking.point_biserial, signs=True, interval=verbose),
        ]
        for name, ranking in run.ranked.items()
    ]
    level = f"{100 * run.level:g}% CI"
    yield from table(["", "right", "wrong", f"AUC within ({level})", "pooled", "corr."], rows, width=width)
    informative = max((ranking.informative for ranking in run.ranked.values()), default=0)
    yield "  right, wrong: mean over the samples that passed and over the others"
    both = f"{part_of(informative, run.problems, 'problem')} {have(informative)} both kinds"
    yield f"  AUC within problems and pooled: .5 is a coin; {both}"
    yield f"  corr.: point-biserial; CI: {run.resamples:,} bootstrap resamples of problems, seed {run.seed}"
    left = {NAMES[name]: ranking.left_out for name, ranking in run.ranked.items() if ranking.left_out}
    if left:
        yield f"  without a value, left out: {', '.join(f'{count:,} of {name}' for name, count in left.items())}"
    if run.no_code:
        are = "have no program and are" if run.no_code > 1 else "has no program and is"
        yield f"  {amount(run.no_code, 'sample')} {are} compared as the empty text"
    if run.whole:
        are = "do not begin with the prompt and are" if run.whole > 1 else "does not begin with the prompt and is"
        yield f"  {amount(run.whole, 'program')} {are} compared whole"
    if verbose:
        for signature in run.signatures.values():
            yield f"  signature: {signature}"
    if not run.kept:
        yield "  verdicts: as they stand in the file"
        return
    if verbose:
        yield printable(f"  signature of the verdicts: {run.signature}")
    else:
        yield f"  signature of the verdicts: {digest(run.signature)} (in full with --verbose or --json)"
    yield printable(f"  values of each sample: {run.kept}")


def _score_lines(match: Match, width: int | None) -> Iterator[str]:
    metrics = list(dict.fromkeys(name for run in match.runs for name in run.scores))
    estimates = match.runs[0].estimates
    yield "the same samples, judged and compared (mean over problems)"
    if len(match.runs) <= len(ascii_uppercase):
        letters = dict(zip((run.run for run in match.runs), ascii_uppercase, strict=False))
        yield from (printable(f"  {letter} {name}") for name, letter in letters.items())
    else:
        letters = {run.run: run.run for run in match.runs}
    rows = [
        [printable(letters[run.run])]
        + [number_or_dash(estimate.value) for estimate in run.estimates]
        + [number_or_dash(run.scores.get(name)) for name in metrics]
        for run in match.runs
    ]
    yield from table(
        ["", *(estimate.name for estimate in estimates), *(_SHORT.get(name, NAMES[name]) for name in metrics)],
        rows,
        width=width,
    )
    if not match.inverted and not match.notes:
        differ = len({run.pass_at_1 for run in match.runs}) > 1
        yield (
            "  no metric ranks a pair of them the wrong way round"
            if differ
            else "  all pass alike, so no metric can rank them the wrong way round"
        )
    for inversion in match.inverted:
        yield printable(
            f"  wrong way round: {NAMES[inversion.metric]} prefers {inversion.worse} ({number(inversion.score[1])} to "
            f"{number(inversion.score[0])}), {inversion.better} passes more ({number(inversion.pass_at_1[0])} to "
            f"{number(inversion.pass_at_1[1])}, p {p_value(inversion.p)}{_doubt(inversion.p)})"
        )


def _doubt(p: float) -> str:
    return "" if p <= _ALPHA else ", which may be chance"


def _statistic_text(statistic: Statistic, *, signs: bool = False, interval: bool = True) -> str:
    show = signed if signs else number
    if statistic.value is None:
        return "-"
    if not interval or statistic.low is None or statistic.high is None:
        return show(statistic.value)
    return f"{show(statistic.value)} ({show(statistic.low)} to {show(statistic.high)})"


def match_picture(values: MatchValues, theme: str) -> Sheet:
    """Draw how each metric is distributed over the programs that pass and those that fail."""
    metrics: Mapping[str, NDArray[np.float64]] = {
        name: metric for name, metric in values.metrics.items() if name != "exact"
    }
    metrics = metrics or values.metrics
    columns = 2 if len(metrics) == 4 else min(3, len(metrics))
    rows = -(-len(metrics) // columns)
    with sheet(theme, columns=columns, rows=rows, size=(2.5 * columns + 0.4, 2.2 * rows + 0.5), sharex=True) as canvas:
        blue, orange, *_ = canvas.theme.series
        for at, (panel, (name, likeness)) in enumerate(zip(canvas.panels, metrics.items(), strict=False)):
            for kind, colour, label, style in (
                (values.passed, blue, "right", "-"),
                (~values.passed, orange, "wrong", "--"),
            ):
                likenesses = likeness[kind & ~np.isnan(likeness)]
                if likenesses.size:
                    heights, edges = np.histogram(likenesses, bins=_BINS, range=(0.0, 1.0), density=True)
                    panel.stairs(heights, edges, fill=True, color=colour, alpha=0.22)
                    panel.stairs(heights, edges, color=colour, linestyle=style, linewidth=1.5, label=label)
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
        for panel in canvas.panels[len(metrics) :]:
            panel.set_visible(False)
    return canvas


def match_record(match: Match) -> dict[str, object]:
    """Return what ``--json`` prints, under plain names."""
    return {
        "runs": [_run_record(run) for run in match.runs],
        "inverted": [msgspec.to_builtins(inversion) for inversion in match.inverted],
        "findings": [msgspec.to_builtins(finding) for finding in match.findings],
        "notes": list(match.notes),
    }


def _run_record(run: MatchedRun) -> dict[str, object]:
    record: dict[str, object] = msgspec.to_builtins(run)
    return record | {"estimates": {estimate.name: estimate.value for estimate in run.estimates}}
