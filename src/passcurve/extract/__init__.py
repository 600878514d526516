"""Extraction: a named policy turns the text of a model into a program, and records each step.

In: Problem and Completion.  Out: Program.  Refuses: to run code, or to look at the tests.
"""

from __future__ import annotations

from passcurve.extract.policies import DEFAULT, extract, find_policy, policy_names

__all__ = ["DEFAULT", "extract", "find_policy", "policy_names"]
