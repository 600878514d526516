"""Pictures that ``--plot`` asks for: those of the lab, and the curves of runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from passcurve import config
from passcurve.cli.options import Theme
from passcurve.cli.output import warn
from passcurve.errors import UsageError, nearest, place_error
from passcurve.types import Curve


def check_plots(paths: Sequence[Path]) -> None:
    """Raise UsageError, before any work, for a picture that cannot be drawn."""
    from passcurve.report import plots

    for path in paths:
        if path.suffix.lower() not in plots.FORMATS:
            formats = ", ".join(plots.FORMATS)
            raise UsageError(f"--plot {str(path)!r} ends in none of {formats}{nearest(path.suffix, plots.FORMATS)}")
        if not path.absolute().parent.is_dir():
            raise UsageError(f"--plot {str(path)!r}: there is no folder {str(path.absolute().parent)!r}")
    if paths and not plots.is_available():
        raise UsageError(f"--plot needs matplotlib: {plots.INSTALL}; tables and --json do without it")


def draw(picture: Callable[[Any, str], Any], numbers: Any, paths: Sequence[Path], theme: Theme) -> None:
    """Draw a picture of some numbers into each file."""
    from passcurve.report import plots

    for path in paths:
        try:
            plots.save(picture(numbers, theme.value), path)
        except OSError as error:
            message = f"--plot {str(path)!r} cannot be written: {error.strerror or error}"
            raise place_error(message, error) from error
        warn(f"drawn {str(path)!r}")


def read_curves(runs: Sequence[Path], level: float, *, stale: bool) -> list[tuple[str, Curve]]:
    """Return each run's label and its curve.  Raises DataError with the reason where a run has none."""
    from passcurve.analysis.score import read_curve
    from passcurve.report.curves import legend_labels

    scores_and_curves = [read_curve(run, config.cache_dir(), level, stale=stale) for run in runs]
    scopes = [scored.diagnosis.scope if scored.diagnosis is not None else None for scored, _ in scores_and_curves]
    labels = legend_labels(list(zip(runs, scopes, strict=True)))
    return [(label, curve) for label, (_, curve) in zip(labels, scores_and_curves, strict=True)]


def draw_curves(curves: Sequence[tuple[str, Curve]], paths: Sequence[Path], theme: Theme) -> None:
    """Draw pass@k of some runs against k into each file."""
    if paths:
        from passcurve.report.curves import curve_sheet

        draw(curve_sheet, curves, paths, theme)
