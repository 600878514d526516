"""Light and dark sheets to draw on, and their files: the only module that imports matplotlib."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from passcurve.store.whole_files import write_output

FORMATS = (".svg", ".png", ".pdf")
INSTALL = "pip install 'passcurve[plots]'"
_DOTS_PER_INCH = 200


class Theme(NamedTuple):
    """Colours that everybody can distinguish, with enough contrast on their background."""

    ground: str
    ink: str
    muted: str
    grid: str
    series: tuple[str, ...]


THEMES = {
    "light": Theme("#ffffff", "#1f2328", "#59636e", "#e1e5ea", ("#0b62c4", "#c2500a", "#18794e", "#8a3fc7", "#59636e")),
    "dark": Theme("#0d1117", "#e6edf3", "#a3adb8", "#2a313a", ("#6cb2ff", "#ffa657", "#56d39b", "#d2a8ff", "#a3adb8")),
}


class Sheet(NamedTuple):
    """A figure with its panels, and the colours to draw them in."""

    figure: Any
    panels: tuple[Any, ...]
    theme: Theme


def is_available() -> bool:
    """Return whether matplotlib is installed."""
    try:
        import matplotlib as mpl  # noqa: F401 - only whether it can be
    except ImportError:
        return False
    return True


@contextmanager
def sheet(
    theme: str, columns: int = 1, rows: int = 1, size: tuple[float, float] = (7.2, 3.4), **shared: bool
) -> Iterator[Sheet]:
    """Yield an empty sheet of panels to draw on; ``size`` is in inches.

    Raises ModuleNotFoundError without matplotlib.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    colours = THEMES[theme]
    with mpl.rc_context(_settings(colours)):
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False, **shared)
        for panel in panels.flat:
            panel.spines[["top", "right"]].set_visible(False)
            panel.grid(visible=True, linewidth=0.6)
            panel.set_axisbelow(True)
        yield Sheet(figure, tuple(panels.flat), colours)


def render(on: Sheet, format_: str) -> bytes:
    """Return a sheet as a file of a format, ``svg``, ``png`` or ``pdf``; the same sheet gives the same bytes."""
    import matplotlib as mpl

    # A date in the file would make each one different.
    metadata: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(format_, {})
    file = BytesIO()
    with mpl.rc_context(_settings(on.theme)), warnings.catch_warnings():
        # A name may have letters that the font lacks; SVG has them as text all the same.
        warnings.filterwarnings("ignore", "Glyph .* missing")
        on.figure.savefig(file, format=format_, dpi=_DOTS_PER_INCH, metadata=metadata)
    return file.getvalue()


def save(on: Sheet, path: Path) -> None:
    """Write a sheet, whole or not at all, in the format that its name ends with; raise OSError where that fails."""
    write_output(path, render(on, path.suffix.lower().removeprefix(".")))


def set_ticks(axis: Any, at: Sequence[float]) -> None:
    """Put ticks at these numbers only, written in full."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axis.set_major_locator(FixedLocator(list(at)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))


def heat_colour(theme: Theme, share: float) -> Any:
    """Return a colour between cold, 0, and hot, 1, that is visible on the background of the theme."""
    import matplotlib as mpl

    low, high = (0.05, 0.8) if theme is THEMES["light"] else (0.3, 0.98)
    return mpl.colormaps["plasma"](low + (high - low) * share)


def _settings(theme: Theme) -> dict[str, Any]:
    return {
        "figure.facecolor": theme.ground,
        "savefig.facecolor": theme.ground,
        "axes.facecolor": theme.ground,
        "axes.edgecolor": theme.muted,
        "axes.labelcolor": theme.ink,
        "axes.titlecolor": theme.ink,
        "axes.titlesize": 10,
        "axes.titlelocation": "left",
        "axes.labelsize": 9,
        "text.color": theme.ink,
        "xtick.color": theme.muted,
        "ytick.color": theme.muted,
        "xtick.labelcolor": theme.ink,
        "ytick.labelcolor": theme.ink,
        "xtick.labelsize": 8.5,
        "ytick.labelsize": 8.5,
        "grid.color": theme.grid,
        "legend.facecolor": theme.ground,
        "legend.edgecolor": theme.ground,
        "legend.framealpha": 0.85,
        "legend.fontsize": 8.5,
        "lines.linewidth": 1.8,
        "lines.markersize": 4.5,
        "font.size": 9,
        "svg.fonttype": "none",
        "svg.hashsalt": "passcurve",
        "pdf.fonttype": 42,
    }
