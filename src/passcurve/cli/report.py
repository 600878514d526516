"""``passcurve report``: one HTML file that shows stored runs, or their tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from passcurve import config
from passcurve.cli.options import AsJson, Level, Stale
from passcurve.cli.output import warn, write_json
from passcurve.errors import UsageError, place_error

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
    as_json: AsJson = False,
) -> None:
    """Report on stored runs: scores, comparison, every sample and why it failed."""
    if len(runs) > _MOST_RUNS:
        raise UsageError(f"a report shows at most {_MOST_RUNS} runs, got {len(runs)}")
    _check_output(output)
    from passcurve.analysis.report import ReportOptions, read_report

    options = ReportOptions(level=level, prices=prices, stale=stale, common=common)
    made = read_report(runs, config.cache_dir(), options)
    if output is not None:
        from passcurve.report.page import render

        _write(output, render(made.record, made.evidence))
    if as_json:
        write_json(made.record)


def _check_output(output: Path | None) -> None:
    """Raise UsageError, before any work, for a file that cannot be written."""
    if output is not None and (output.is_dir() or not output.absolute().parent.is_dir()):
        raise UsageError(f"--output {str(output)!r} is a folder or in none that there is; name a file like report.html")


def _write(output: Path, page: str) -> None:
    from passcurve.store.parts import write_atomically

    try:
        write_atomically(output, page.encode())
    except OSError as error:
        raise place_error(f"--output {str(output)!r} cannot be written: {error.strerror or error}", error) from error
    warn(f"written {str(output)!r}: {len(page.encode()) / 1e6:.2f} MB")
