"""What the tests of languages need of this machine."""

from __future__ import annotations

import pytest

from passcurve.bench.languages import find_language
from passcurve.judging.scripts import missing_tools


def require(language: str) -> None:
    """Skip where the toolchain is not there."""
    if missing := missing_tools(find_language(language)):
        pytest.skip(f"{' and '.join(missing)} not installed here")
