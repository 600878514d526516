"""``passcurve report``: one HTML file that shows stored runs, or their tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import msgspec
import typer

from passcurve import config
from passcurve.cli.options import AsJson, Format, Level, Stale, TableFormat, check_prices
from passcurve.cli.output import warn, write, write_json, write_lines
from passcurve.errors import UsageError, place_error

if TYPE_CHECKING:
    from passcurve.analysis.report import Report

_MOST_RUNS = 20


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Runs, samples that were judged, or files of results, of other harnesses too."),
    ],
    output: Annotated[
        Optional[Path], typer.Option("--output", "-o", metavar="FILE", help="Write an HTML file that opens anywhere.")
    ] = None,
    prices: Annotated[Optional[Path], typer.Option(help="TOML file that says what tokens cost.")] = None,
    level: Level = 0.95,
    common: Annotated[
        bool, typer.Option("--common", help="Compare the problems that all have, even if problems or tests differ.")
    ] = False,
    stale: Stale = False,
    form: Format = TableFormat.text,
    as_json: AsJson = False,
) -> None:
    """Report on stored runs: scores, comparison, every sample and why it failed."""
    if len(runs) > _MOST_RUNS:
        raise UsageError(f"a report shows at most {_MOST_RUNS} runs, got {len(runs)}")
    _check_output(output)
    check_prices(prices)
    from passcurve.analysis.report import ReportOptions, read_report

    options = ReportOptions(level=level, prices=prices, stale=stale, common=common)
    made = read_report(runs, config.cache_dir(), options)
    if output is not None:
        from passcurve.report.page import render

        _write(output, render(made.record, made.evidence))
    if as_json or form is TableFormat.json:
        write_json(made.record)
    elif output is None or form is not TableFormat.text:
        _write_tables(made, form)
    raise typer.Exit(2 if any(run.withheld or not run.finished for run in made.scored) else 0)


def _write_tables(made: Report, form: TableFormat) -> None:
    from passcurve.report import comparison, exchange
    from passcurve.report.terminal import printable

    for name, run in zip(made.record["runs"], made.scored, strict=True):
        for note in run.notes:
            warn(printable(f"note: {name['name']}: {note}"))
    if made.comparison is None and made.record["comparison"]:
        warn(printable(f"no comparison: {made.record['comparison']['reason']}"))
    if made.comparison is not None and form is TableFormat.csv:
        warn("note: CSV has the scores alone; the other formats have the comparison")
    if form is not TableFormat.text:
        for line in exchange.table_lines(made.record, form.value):
            write(line)
        return
    from passcurve.cli.scored_lines import scored_lines

    for at, run in enumerate(made.scored):
        write_lines([*([""] if at else []), *([printable(made.record["runs"][at]["name"])] * (len(made.scored) > 1))])
        steps = [step for step in run.estimates if step.metric == "pass@k"]
        write_lines(scored_lines(msgspec.structs.replace(run, estimates=tuple(steps)), ""))
    if made.comparison is not None:
        write_lines(["", *comparison.comparison_lines(made.comparison)])


def _check_output(output: Path | None) -> None:
    """Raise UsageError, before any work, for a file that cannot be written."""
    if output is not None and (output.is_dir() or not output.absolute().parent.is_dir()):
        raise UsageError(f"--output {str(output)!r} is a folder or in none that there is; name a file like report.html")


def _write(output: Path, page: str) -> None:
    from passcurve.store.whole_files import write_output

    content = page.encode()
    try:
        write_output(output, content)
    except OSError as error:
        raise place_error(f"--output {str(output)!r} cannot be written: {error.strerror or error}", error) from error
    warn(f"written {str(output)!r}: {len(content) / 1e6:.2f} MB")
