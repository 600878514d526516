"""The runs that the tests of this room share."""

from __future__ import annotations

from typing import Any

import pytest
from campaign import Campaign, campaign
from corpus import ATTACKS, CONTROLS


@pytest.fixture(scope="session")
def attacked(shell_in: Any, tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """Return the attacks that are quick behind every wall, tests apart, one after another on one worker.

    Two that fill their memory at once take each other's time for it.
    """
    return campaign(
        shell_in(tmp_path_factory.mktemp("attacks")),
        [each for each in ATTACKS if not each.slow],
        "--verdict",
        "referee",
    )


@pytest.fixture(scope="session")
def controlled(shell_in: Any, tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """Return all controls behind every wall, as any user would judge them."""
    return campaign(shell_in(tmp_path_factory.mktemp("controls")), CONTROLS, workers=2)
