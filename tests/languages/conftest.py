"""Fixtures of the tests of languages."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Compile everything in each test: what an earlier run has left says nothing about the compiler."""
    monkeypatch.setenv("PASSCURVE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
