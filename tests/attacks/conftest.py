"""Runs of the command that several tests share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from campaign import Campaign, run_campaign
from corpus import CONTROLS, PARTS


@pytest.fixture(scope="session")
def attacked(shell_in: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Campaign]:
    """Return a function that runs a part of the quick attacks in referee mode behind every wall, once.

    They run one after another on one worker: two that fill their memory at once would slow each other down.
    """

    @functools.cache
    def run(part: str) -> Campaign:
        return run_campaign(shell_in(tmp_path_factory.mktemp("attacks")), PARTS[part], "--verdict", "referee")

    return run


@pytest.fixture(scope="session")
def controlled(shell_in: Any, tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """Judge all controls behind every wall, with the default options."""
    return run_campaign(shell_in(tmp_path_factory.mktemp("controls")), CONTROLS, workers=2)
