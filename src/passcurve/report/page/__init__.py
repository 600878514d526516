"""One HTML file from stored runs: template, style and script of our own, figures as SVG, texts in compressed parts.

In: the record of a report, whose numbers are those of ``--json``; the samples of its runs.
Out: one page that needs no network and no server.
"""

from passcurve.report.page.document import render

__all__ = ["render"]
