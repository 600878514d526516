"""Short run of the coverage-guided fuzzer, if atheris is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.nightly
def test_decode_inputs_chosen_by_coverage():
    """Each of 200,000 inputs decodes to a value or raises WireError, and each value survives a round trip."""
    pytest.importorskip("atheris")
    script = Path(__file__).with_name("decode_bytes.py")
    command = [sys.executable, str(script), "-runs=200000", "-max_total_time=60", "-max_len=400", "-verbosity=0"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
