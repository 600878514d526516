"""Runs the coverage-guided fuzzer for a short while, where atheris is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.nightly
def test_the_decoder():
    """Some hundred thousand inputs chosen by coverage are values or WireError, and values come back as they went."""
    pytest.importorskip("atheris")
    script = Path(__file__).with_name("decode_bytes.py")
    command = [sys.executable, str(script), "-runs=200000", "-max_total_time=60", "-max_len=400", "-verbosity=0"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
