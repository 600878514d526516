"""Samples in files of other tools, with wrong fields, or with something wrong beside the text."""

from __future__ import annotations

import odd_input
import pytest
from case import Case

FILES = ("cases_formats", "cases_input", "cases_others", "cases_strangers")


@pytest.mark.parametrize("case", odd_input.parameters(*FILES))
def test_an_odd_input(shell, case: Case):
    """Diagnosis, score or refusal, and exit code are as expected."""
    odd_input.check(shell, case)
