"""The runs that the tests of this room share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from campaign import Campaign, campaign
from corpus import CONTROLS, PARTS


@pytest.fixture(scope="session")
def attacked(shell_in: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Campaign]:
    """Return what runs a part of the attacks that are quick behind every wall, tests apart, when first asked for it.

    One runs after another on one worker: two that fill their memory at once take each other's time for it.
    """

    @functools.cache
    def run(part: str) -> Campaign:
        return campaign(shell_in(tmp_path_factory.mktemp("attacks")), PARTS[part], "--verdict", "referee")

    return run


@pytest.fixture(scope="session")
def controlled(shell_in: Any, tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """Return all controls behind every wall, as any user would judge them."""
    return campaign(shell_in(tmp_path_factory.mktemp("controls")), CONTROLS, workers=2)
