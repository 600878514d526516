"""``passcurve convert``: write samples and verdicts in the format of another harness."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import msgspec
import typer

from passcurve import config
from passcurve.cli.options import AsJson, Stale
from passcurve.cli.output import warn, write, write_json
from passcurve.types.amounts import amount


def convert(
    source: Annotated[
        Path,
        typer.Argument(metavar="IN", help="A run directory, samples, or the results of another harness."),
    ],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The new file or folder; .gz at its end packs it.")],
    to: Annotated[
        str, typer.Option("--to", metavar="FORMAT", help="Its format, as in evalplus; an unknown name lists all.")
    ],
    benchmark: Annotated[
        Optional[str], typer.Option(help="The benchmark, where its prompts or its order are needed: a name or a file.")
    ] = None,
    stale: Stale = False,
    as_json: AsJson = False,
) -> None:
    """Write samples, and verdicts where the format holds them, as another harness would."""
    from passcurve.analysis import convert as conversion

    made = conversion.convert_file(source, target, to, benchmark, config.cache_dir(), stale=stale)
    if as_json:
        write_json(msgspec.to_builtins(made))
        return
    for note in made.notes:
        warn(note)
    contents = f"{amount(made.samples, 'sample')} of {amount(made.problems, 'problem')}"
    verdicts = f", {amount(made.verdicts, 'verdict')}" if made.verdicts else ""
    write(f"{made.target}: {contents}{verdicts} as {made.format}")
