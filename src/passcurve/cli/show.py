"""``passcurve show``: show stored scores and verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import msgspec
import typer

from passcurve import config
from passcurve.cli.options import AsJson, Format, Level, Metrics, Plots, PlotTheme, Stale, TableFormat, Theme, Verbose
from passcurve.cli.output import warn, write, write_json, write_lines
from passcurve.cli.pictures import check_plots, draw_curves, read_curves
from passcurve.errors import DataError, UsageError
from passcurve.store.locate import explain_partial_runs, find_run_dir
from passcurve.types import LEAST_TIMEOUT_S, MOST_TIMEOUT_S

if TYPE_CHECKING:
    from passcurve.analysis.inspect import InspectedSample


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
    rerun: Annotated[
        bool, typer.Option("--rerun", help="Judge this sample again, and show both verdicts; nothing stored changes.")
    ] = False,
    timeout: Annotated[
        Optional[float],
        typer.Option(
            min=LEAST_TIMEOUT_S, max=MOST_TIMEOUT_S, help="With --rerun: seconds, in place of the limit of the run."
        ),
    ] = None,
    stale: Stale = False,
    plot: Plots = [],
    theme: PlotTheme = Theme.light,
    verbose: Verbose = False,
    form: Format = TableFormat.text,
    as_json: AsJson = False,
) -> None:
    """Show what is stored: scores, or the verdicts on a problem with prompt, program, failing call, exception."""
    check_plots(plot)
    _check_rerun(index, timeout, rerun=rerun)
    if problem is None:
        curves = read_curves([run], level, stale=stale) if plot else []
        chosen = TableFormat.json if as_json else form
        code = _show_scores(run, k, metric, level, chosen, stale=stale, verbose=verbose)
        draw_curves(curves, plot, theme)
        raise typer.Exit(code)
    if plot:
        raise UsageError("--plot draws the scores of a run; leave the problem out")
    if form not in (TableFormat.text, TableFormat.json):
        raise UsageError(f"--format {form.value} is for the scores of a run; leave the problem out")
    raise typer.Exit(
        _show_verdicts(
            run, problem, index, timeout, rerun=rerun, stale=stale, as_json=as_json or form is TableFormat.json
        )
    )


def _show_verdicts(
    run: Path, problem: str, index: int | None, timeout_s: float | None, *, rerun: bool, stale: bool, as_json: bool
) -> int:
    """Write the verdicts on a problem, or judge one of its samples again; return the exit code."""
    from passcurve.analysis import inspect

    folder = find_run_dir(run)
    if not folder.is_dir():
        raise DataError(explain_partial_runs(run) or _explain_missing_run(run, folder))
    samples = inspect.inspect_problem(folder, problem, config.cache_dir(), stale=stale)
    if index is not None:
        samples = _choose_sample(samples, index)
    if rerun:
        return _judge_again(samples[0], timeout_s, as_json=as_json)
    if as_json:
        write_json({"verdicts": [_verdict_record(sample) for sample in samples]})
    elif len(samples) == 1:
        _write_verdict(samples[0])
    else:
        _write_verdict_lines(samples)
    return 0


def _explain_missing_run(run: Path, folder: Path) -> str:
    if not run.exists():
        return f"no file {str(run)!r} and no run directory {str(folder)!r}"
    return (
        f"{str(run)!r} has no run directory {str(folder)!r}, where each verdict is kept: judge it first, or name the "
        "run directory; without a problem its scores are shown"
    )


def _check_rerun(index: int | None, timeout: float | None, *, rerun: bool) -> None:
    if rerun and index is None:
        raise UsageError("--rerun judges one sample again: name its problem and its index")
    if timeout is not None and not rerun:
        raise UsageError("--timeout is for --rerun: stored verdicts keep the limit that they had")


def _choose_sample(samples: Sequence[InspectedSample], index: int) -> list[InspectedSample]:
    indices = [sample.verdict.key.sample_index for sample in samples]
    if index not in indices:
        name = samples[0].problem.id
        raise DataError(f"{name!r} has no judged sample {index}; it has {indices[0]} to {indices[-1]}")
    return [sample for sample in samples if sample.verdict.key.sample_index == index]


def _judge_again(sample: InspectedSample, timeout_s: float | None, *, as_json: bool) -> int:
    """Judge a sample again, write both verdicts and return the exit code."""
    from passcurve.analysis.rerun import judge_again
    from passcurve.report.terminal import printable_line, verdict_text

    made = judge_again(sample, timeout_s)
    if as_json:
        record = {name: msgspec.to_builtins(getattr(made, name)) for name in ("stored", "fresh", "limits")}
        write_json(record | {"same": made.is_same})
        return 0
    write(verdict_text(sample.problem, sample.program, made.fresh, made.limits, sample.header.jail, "").rstrip("\n"))
    for name, verdict in (("stored", made.stored), ("now", made.fresh)):
        message = f" - {verdict.message}" if verdict.message else ""
        write(printable_line(f"{name:>6}: {verdict.status}{message} ({verdict.own_s:.3f} s)"))
    if not made.is_same:
        warn("the verdict differs from the stored one")
    return 0


def _write_verdict(sample: InspectedSample) -> None:
    from passcurve.report.terminal import verdict_text

    jail = sample.header.jail
    text = verdict_text(sample.problem, sample.program, sample.verdict, sample.limits, jail, sample.missing)
    write(text.rstrip("\n"))


def _write_verdict_lines(samples: Iterable[InspectedSample]) -> None:
    from passcurve.report.terminal import printable_line

    for sample in samples:
        verdict = sample.verdict
        line = f"{verdict.key.problem_id} {verdict.key.sample_index:>3}  {verdict.status:<8} {verdict.message}"
        write(printable_line(line).rstrip())


def _verdict_record(sample: InspectedSample) -> dict[str, object]:
    program = sample.program
    return {
        **msgspec.to_builtins(sample.verdict),
        "prompt": sample.problem.prompt,
        "program": program.text if program is not None else None,
        "steps": list(program.steps) if program is not None else [],
        "limits": msgspec.to_builtins(sample.limits),
        "isolation": sample.header.jail.isolation,
    }


def _show_scores(
    run: Path, k: str | None, metric: str, level: float, form: TableFormat, *, stale: bool, verbose: bool
) -> int:
    """Write the scores of stored verdicts and return the exit code."""
    wanted = config.parse_scores(k, metric)
    from passcurve.analysis import score
    from passcurve.analysis.scored_record import scored_record, table_record
    from passcurve.report import exchange, methods, terminal
    from passcurve.stats.metrics import ScoreRequest, lacks_requested_value
    from passcurve.store.run_counts import read_counts

    request = ScoreRequest(metrics=wanted.metrics, ks=wanted.ks, with_curve=wanted.with_curve, level=level)
    scored = score.score_run(read_counts(run, stale=stale), request, config.cache_dir())
    unmet = lacks_requested_value(scored.estimates, wanted.metrics, ks_requested=wanted.ks_requested)
    lacks_samples = scored.attempted < max(1, scored.problems)
    code = 2 if unmet or scored.withheld or not scored.finished or lacks_samples else 0
    benchmark = scored.header.benchmark if scored.header is not None else ""
    scope = scored.diagnosis.scope if scored.diagnosis is not None else None
    paragraph = methods.describe_scores(scored.estimates, scored.curve, scored.counts, benchmark, scored.header, scope)
    if form is TableFormat.json:
        write_json(scored_record(scored, paragraph))
        return code
    for note in scored.notes:
        warn(terminal.printable(f"note: {note}"))
    if form is TableFormat.text:
        from passcurve.cli.scored_lines import scored_lines

        write_lines(scored_lines(scored, paragraph, verbose=verbose))
        return code
    if scored.withheld:
        warn(terminal.printable(f"the score is withheld: {scored.withheld}"))
    # A default k without a value needs no reason in a table.
    names = [estimate.name for estimate in scored.estimates] if unmet else []
    for line in exchange.table_lines({"runs": [table_record(scored, run.name)]}, form.value, names):
        write(line)
    return code
