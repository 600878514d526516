"""The host keeps its name: also at the level that has no namespace of names."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest


def test_restricted_leaves_the_name_of_the_host(tmp_path):
    """Root judges at level restricted; the name, which is that of a namespace of this test, is the same after it."""
    if os.getuid() != 0 or shutil.which("unshare") is None or shutil.which("hostname") is None:
        pytest.skip("needs root, unshare and hostname")
    options = "--problems starter/0 --isolation restricted --run r --results r.jsonl"
    judge = f"{sys.executable} -m passcurve judge starter:examples {options}"
    done = subprocess.run(
        ["unshare", "--uts", "sh", "-c", f"hostname kept-name; {judge} >/dev/null 2>&1; echo $?; hostname"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    code, name = done.stdout.split()
    if code == "2":
        pytest.skip("restricted isolation is not to be had here")
    assert "kept-name" == name
