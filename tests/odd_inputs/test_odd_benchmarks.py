"""Benchmarks that are broken, incomplete or vacuous, or that forget something."""

from __future__ import annotations

import odd_input
import pytest
from case import Case

FILES = ("cases_benchmark", "cases_gaps", "cases_preludes")


@pytest.mark.parametrize("case", odd_input.parameters(*FILES))
def test_an_odd_input(shell, case: Case):
    """Diagnosis, score or refusal, and exit code are as expected."""
    odd_input.check(shell, case)
