"""The command ``passcurve``."""

from __future__ import annotations

from typing import Annotated

import typer

from passcurve import __version__
from passcurve.cli import (
    autopsy,
    bench,
    compare,
    convert,
    doctor,
    judge,
    lab,
    match,
    profiles,
    report,
    run,
    serve,
    show,
    view,
)
from passcurve.cli.command import Commands
from passcurve.cli.output import write

app = Commands(
    name="passcurve",
    help="Judge model-written programs without harm or forgery, and estimate pass@k without bias.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["--help", "-h"]},
)
app.command("judge")(judge.judge)
app.command("run")(run.run)
app.command("show")(show.show)
app.command("report")(report.report)
app.command("view")(view.view)
app.command("serve")(serve.serve)
app.command("compare")(compare.compare)
app.command("convert")(convert.convert)
app.command("autopsy")(autopsy.autopsy)
app.command("profiles")(profiles.profiles)
app.command("plan")(compare.plan)
app.command("match")(match.match)
app.add_typer(lab.app, name="lab")
app.add_typer(bench.app, name="bench")
app.command("doctor")(doctor.doctor)


def _print_version(wanted: bool) -> None:
    if wanted:
        write(f"passcurve {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Judge model-written programs without harm or forgery, and estimate pass@k without bias."""
