"""``passcurve show``: show stored scores and verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import msgspec
import typer

from passcurve import config
from passcurve.cli.options import AsJson, Level, Metrics, Plots, PlotTheme, Stale, Theme, Verbose
from passcurve.cli.output import terminal_width, warn, write, write_json, write_lines
from passcurve.cli.pictures import check_plots, draw_curves, read_curves
from passcurve.cli.result import count_line, headline, mode_line, signature_line
from passcurve.errors import DataError, UsageError
from passcurve.store.locate import explain_partial_runs, find_run_dir

if TYPE_CHECKING:
    from passcurve.analysis.inspect import InspectedSample
    from passcurve.analysis.score import ScoredRun


def show(
    run: Annotated[
        Path,
        typer.Argument(help="A run directory, the file of samples that was judged, or (for scores) a file of results."),
    ],
    problem: Annotated[
        Optional[str],
        typer.Argument(
            help="The problem's id; its last part will do: 32 for HumanEval/32; default: the scores of all."
        ),
    ] = None,
    index: Annotated[
        Optional[int], typer.Argument(help="Which of its samples, from 0; default: all, in a line each.")
    ] = None,
    k: Annotated[
        Optional[str], typer.Option("--k", "-k", help="Of the scores: 1,10,100 (the default) or any list, or all.")
    ] = None,
    metric: Metrics = "pass@k",
    level: Level = 0.95,
    stale: Stale = False,
    plot: Plots = [],
    theme: PlotTheme = Theme.light,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Show what is stored: scores, or the verdicts on a problem with prompt, program, failing call, exception."""
    check_plots(plot)
    if problem is None:
        curves = read_curves([run], level, stale=stale) if plot else []
        code = _show_scores(run, k, metric, level, stale=stale, verbose=verbose, as_json=as_json)
        draw_curves(curves, plot, theme)
        raise typer.Exit(code)
    if plot:
        raise UsageError("--plot draws the scores of a run; leave the problem out")
    from passcurve.analysis import inspect

    if not find_run_dir(run).is_dir() and (reason := explain_partial_runs(run)):
        raise DataError(reason)
    samples = inspect.inspect_problem(find_run_dir(run), problem, config.cache_dir(), stale=stale)
    if index is not None:
        samples = _choose_sample(samples, index)
    if as_json:
        write_json({"verdicts": [_verdict_record(sample) for sample in samples]})
    elif len(samples) == 1:
        _write_verdict(samples[0])
    else:
        _write_verdict_lines(samples)


def _choose_sample(samples: Sequence[InspectedSample], index: int) -> list[InspectedSample]:
    indices = [sample.verdict.key.sample_index for sample in samples]
    if index not in indices:
        name = samples[0].problem.id
        raise DataError(f"{name!r} has no judged sample {index}; it has {indices[0]} to {indices[-1]}")
    return [sample for sample in samples if sample.verdict.key.sample_index == index]


def _write_verdict(sample: InspectedSample) -> None:
    from passcurve.report.terminal import verdict_text

    header = sample.header
    text = verdict_text(sample.problem, sample.program, sample.verdict, header.limits, header.jail, sample.missing)
    write(text.rstrip("\n"))


def _write_verdict_lines(samples: Iterable[InspectedSample]) -> None:
    from passcurve.report.terminal import printable

    for sample in samples:
        verdict = sample.verdict
        line = f"{verdict.key.problem_id} {verdict.key.sample_index:>3}  {verdict.status:<8} {verdict.message}"
        write(printable(line.replace("\n", " ").rstrip()))


def _verdict_record(sample: InspectedSample) -> dict[str, object]:
    program = sample.program
    return {
        **msgspec.to_builtins(sample.verdict),
        "prompt": sample.problem.prompt,
        "program": program.text if program is not None else None,
        "steps": list(program.steps) if program is not None else [],
        "limits": msgspec.to_builtins(sample.header.limits),
        "isolation": sample.header.jail.isolation,
    }


def _show_scores(
    run: Path, k: str | None, metric: str, level: float, *, stale: bool, verbose: bool, as_json: bool
) -> int:
    """Write the scores of stored verdicts and return the exit code."""
    wanted = config.parse_scores(k, metric)
    from passcurve.analysis import score
    from passcurve.analysis.scored_record import scored_record
    from passcurve.report import methods, scores, terminal
    from passcurve.report.diagnosis import diagnosis_lines
    from passcurve.stats.metrics import ScoreRequest, lacks_requested_value

    request = ScoreRequest(metrics=wanted.metrics, ks=wanted.ks, every_k=wanted.every_k, level=level)
    scored = score.score_run(run, request, config.cache_dir(), stale=stale)
    unmet = lacks_requested_value(scored.estimates, wanted.metrics, ks_requested=wanted.ks_requested)
    code = 2 if unmet or not scored.finished or scored.attempted < scored.problems else 0
    benchmark = scored.header.benchmark if scored.header is not None else ""
    diagnosis = scored.diagnosis
    scope = diagnosis.scope if diagnosis is not None else None
    paragraph = methods.describe_scores(scored.estimates, scored.curve, scored.counts, benchmark, scored.header, scope)
    code = 2 if scored.withheld else code
    if as_json:
        write_json(scored_record(scored, paragraph))
        return code
    for note in scored.notes:
        warn(terminal.printable(f"note: {note}"))
    lines = [
        *(diagnosis_lines(diagnosis) if diagnosis is not None else []),
        headline(benchmark or scored.source, scored.counts, scope),
        *scores.score_lines(
            scored.estimates,
            scored.curve,
            terminal_width(),
            verbose=verbose,
            above=diagnosis.withheld if diagnosis is not None else "",
        ),
        count_line(scored.by_status.statuses, scored.counts),
        *([_suite_line(scored)] if scored.suites else []),
        *(
            [mode_line(scored.by_status.modes, scored.header.jail, verbose=verbose)]
            if scored.header is not None
            else []
        ),
        *([f"  for a paper: {paragraph}"] if paragraph and verbose else []),
        *([signature_line(scored.signature, verbose=verbose)] if scored.signature else []),
    ]
    write_lines(terminal.printable(line) for line in lines)
    return code


def _suite_line(scored: ScoredRun) -> str:
    """Return the number of samples that pass each suite and all before it, with their pass@1."""
    from passcurve.report.terminal import number

    parts: list[str] = []
    for at, (_, suite) in enumerate(scored.suites.items(), start=1):
        value = next((estimate.value for estimate in suite.estimates if estimate.name == "pass@1"), None)
        score = f" (pass@1 {number(value)})" if value is not None else ""
        parts.append(f"{' and '.join([*scored.suites][:at])}: {suite.passed:,} passed{score}")
    return f"  suites: {'; '.join(parts)}"
