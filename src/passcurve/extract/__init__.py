"""Extraction: a named policy turns the text of a model into a program, and records each step.

In: Problem and Completion.  Out: Program.  Refuses: to run code, or to look at the tests.
"""

from __future__ import annotations

from passcurve.extract.policies import DEFAULT, extract, find_policy, policy_names
from passcurve.extract.preludes import NO_PRELUDE, fit_to_packages, prelude_names, split_policy, with_prelude
from passcurve.extract.source import defines_all

__all__ = [
    "DEFAULT",
    "NO_PRELUDE",
    "defines_all",
    "extract",
    "find_policy",
    "fit_to_packages",
    "policy_names",
    "prelude_names",
    "split_policy",
    "with_prelude",
]
