"""The command line with the oldest Typer that pyproject.toml allows, beside the newest click."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.nightly
def test_options_that_are_not_given(tmp_path):
    """They are not taken for given: no command prints the version in place of its result, and what lacks is named."""
    (oldest,) = re.findall(r'"typer>=([0-9.]+),', (ROOT / "pyproject.toml").read_text("utf-8"))
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True, capture_output=True)
    programs = tmp_path / "venv" / "bin"
    pip = [str(programs / "pip"), "install", "--quiet", "--no-compile", str(ROOT), f"typer=={oldest}", "click"]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    # Bounds of ours that exclude one another are a fault; without an index nothing can be installed.
    assert "ResolutionImpossible" not in done.stderr, done.stderr
    if done.returncode:
        pytest.skip(f"Typer {oldest} could not be installed: {done.stderr[-200:]}")

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        command = [str(programs / "passcurve"), *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)

    assert 6 == json.loads(call("lab", "urn", "-n", "6", "--json").stdout)["n"]
    refused = call("run", "starter")
    assert (2, "", True) == (refused.returncode, refused.stdout, "'--model'" in refused.stderr)
    assert 0 == call("judge", "--help").returncode
