"""The jail of the sandbox's tests, one for this room: what crosses between sample and tests is tried for real."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "sandbox"))

from jailed import Jailed, jail_at


@pytest.fixture(scope="module")
def jail() -> Iterator[Jailed]:
    """Return the best jail that there is here."""
    with jail_at("auto") as jail:
        yield jail
