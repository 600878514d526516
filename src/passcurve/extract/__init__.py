"""Extraction: what a model wrote becomes a program, each step recorded.

In: Problem and Completion.  Out: Program.  Refuses: to run code, or to look at the tests.
"""

from __future__ import annotations

from passcurve.extract.policies import POLICIES, Policy, Taken, extract

__all__ = ["POLICIES", "Policy", "Taken", "extract"]
