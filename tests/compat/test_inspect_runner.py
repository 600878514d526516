"""The sandbox behind inspect's, which needs no inspect."""

from __future__ import annotations

import pytest

from passcurve.compat.inspect_ai import _runner
from passcurve.judging.jailed_folder import JailedFolder
from passcurve.types import Limits


@pytest.mark.ci
def test_a_sandbox_that_was_lost_is_started_again() -> None:
    """The next sample has its jail, and so has one that began before."""
    folder = JailedFolder(_runner(), Limits(timeout_s=20.0))
    for _ in range(2):
        runner = _runner()
        assert b"1\n" == folder.run(["echo", "1"]).out
        runner.close()
