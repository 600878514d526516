"""What the tests of languages need of this machine: toolchains, and published files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from passcurve.bench.languages import find_language
from passcurve.judging.scripts import missing_tools


def require(language: str) -> None:
    """Skip where the toolchain is not there."""
    if missing := missing_tools(find_language(language)):
        pytest.skip(f"{' and '.join(missing)} not installed here")


def read_published(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a published file; skip where it is not there."""
    if not path.exists():
        pytest.skip(f"no {path}")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]
