"""``passcurve view``: reports on a folder of runs in the browser, also while runs go on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from passcurve.cli.options import check_prices
from passcurve.cli.output import write_now
from passcurve.errors import UsageError


def view(
    folder: Annotated[Path, typer.Argument(help="The folder with the runs; those in its folders count too.")] = Path(),
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port on loopback; 0 takes a free one.")] = 0,
    prices: Annotated[Optional[Path], typer.Option(help="TOML file that says what tokens cost.")] = None,
) -> None:
    """Show the runs of a folder in a browser on this machine, until Ctrl-C."""
    if not folder.is_dir():
        raise UsageError(f"{str(folder)!r} is no folder; name one with runs in it")
    check_prices(prices)
    from passcurve.view.server import serve

    def announce(address: str) -> None:
        write_now(f"runs in {str(folder.resolve())!r}: {address} (Ctrl-C ends)")

    serve(folder, port, prices, announce)
