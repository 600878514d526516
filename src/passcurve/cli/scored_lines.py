"""Stored scores as the lines of a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from passcurve.cli.output import terminal_width
from passcurve.cli.result import count_line, headline, mode_line, signature_line
from passcurve.report import scores, terminal
from passcurve.report.diagnosis import fault_lines
from passcurve.report.sparkline import curve_line

if TYPE_CHECKING:
    from passcurve.analysis.score import ScoredRun


def scored_lines(scored: ScoredRun, paragraph: str, *, verbose: bool = False) -> list[str]:
    """Return the diagnosis, the scores with their curve, and the outcomes of a run; ``paragraph`` is for a paper."""
    diagnosis = scored.diagnosis
    scope = diagnosis.scope if diagnosis is not None else None
    header = scored.header
    # Without a value there is no interval, and copies have none for fresh samples: neither has a curve.
    has_curve = any(
        estimate.metric == "pass@k" and estimate.these_problems is not None for estimate in scored.estimates
    )
    curve = curve_line(scored.counts, getattr(sys.stdout, "encoding", None) or "ascii") if has_curve else ""
    lines = [
        *fault_lines(diagnosis, scored.findings),
        headline(header.benchmark if header is not None else scored.source, scored.counts, scope),
        *scores.score_lines(
            scored.estimates,
            scored.curve,
            terminal_width(),
            verbose=verbose,
            above=diagnosis.withheld if diagnosis is not None else "",
        ),
        *([curve] if curve else []),
        count_line(scored.all_rows.statuses, scored.counts, diagnosis),
        *([scores.suite_line(scored.suites)] if scored.suites else []),
        *([mode_line(scored.all_rows.modes, header.jail, verbose=verbose)] if header is not None else []),
        *([f"  for a paper: {paragraph}"] if paragraph and verbose else []),
        *([signature_line(scored.signature, verbose=verbose)] if scored.signature else []),
    ]
    # Characters of the curve are ours, and where the terminal lacks them there are none.
    return [line if line == curve else terminal.printable(line) for line in lines]
