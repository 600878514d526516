"""The command ``passcurve``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from passcurve import __version__
from passcurve.cli.command import Commands
from passcurve.cli.output import write
from passcurve.registry import COMMANDS, load


def make_app(words: Sequence[str] = ()) -> Commands:
    """Return the command line for these words: with the command that they begin with, or with all commands.

    A command loads as fast as what it needs, which is not what all of them need.
    """
    app = Commands(
        name="passcurve",
        help="Judge model-written programs without harm or forgery, and estimate pass@k without bias.",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    for name in words[:1] if words and words[0] in COMMANDS else COMMANDS:
        command: Any = load(COMMANDS[name])
        if isinstance(command, Commands):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    app.callback()(options)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        write(f"passcurve {__version__}")
        raise typer.Exit


def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Judge model-written programs without harm or forgery, and estimate pass@k without bias."""
