"""Extraction: what a model wrote becomes a program by a named policy, each step recorded.

In: Problem and Completion.  Out: Program.  Refuses: to run code, or to look at the tests.
"""

from __future__ import annotations

from passcurve.extract.policies import DEFAULT, extract, find, names

__all__ = ["DEFAULT", "extract", "find", "names"]
