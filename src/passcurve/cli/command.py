"""Commands whose numbers are numbers, whichever version of the library reads them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand


class Command(TyperCommand):
    """A command that takes neither NaN nor infinity: no bound of an option holds for them."""

    def invoke(self, ctx: Any) -> Any:
        """Run it, or refuse an option by name."""
        for option in self.params:
            value = ctx.params.get(option.name)
            if isinstance(value, float) and not math.isfinite(value):
                raise typer.BadParameter(f"{value} is no finite number", ctx=ctx, param=option)
        return super().invoke(ctx)


class Commands(typer.Typer):
    """Several such commands."""

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
        """Add a command."""
        return super().command(name, cls=Command, **options)
