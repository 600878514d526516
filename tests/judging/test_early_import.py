"""Loading the statistics early."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

WITHOUT_THREADS = """
import os, resource
from passcurve.judging.early_import import MIN_JUDGED, EarlyImport
resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
os.setuid(65534)
EarlyImport().watch(MIN_JUDGED)
print("went on")
"""


def test_no_thread_can_be_started():
    """Where the system allows no thread, a run goes on without."""
    if os.getuid() != 0:
        pytest.skip("only root may become a user without processes")
    done = subprocess.run([sys.executable, "-c", WITHOUT_THREADS], capture_output=True, text=True, check=False)
    assert ("went on\n", "") == (done.stdout, done.stderr)
