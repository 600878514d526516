"""Samples whose text is odd, parts of benchmarks, and what changes between two commands."""

from __future__ import annotations

import odd_input
import pytest
from case import Case

FILES = ("cases_core", "cases_characters", "cases_reasons", "cases_replies", "cases_scope", "cases_texts")


@pytest.mark.parametrize("case", odd_input.parameters(*FILES))
def test_an_odd_input(shell, case: Case):
    """Diagnosis, score or refusal, and exit code are as expected."""
    odd_input.check(shell, case)
