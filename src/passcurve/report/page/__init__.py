"""One HTML file from stored runs: template, style and script of our own, figures as SVG, texts in compressed parts.

In: the record of a report, whose numbers are those of ``--json``; the samples of its runs.
Out: one page that needs no network and no server.
"""

from passcurve.report.page.document import render, render_list, render_rows

__all__ = ["render", "render_list", "render_rows"]
