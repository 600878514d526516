"""A package that is read from an archive has no file that another process can run."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import passcurve


@pytest.mark.ci
def test_an_archive_is_named(tmp_path):
    """The message names the archive, and says nothing of the machine."""
    package = Path(passcurve.__path__[0])
    with zipfile.ZipFile(tmp_path / "pc.zip", "w") as archive:
        for file in package.rglob("*.*"):
            if file.suffix != ".pyc" and file.is_file():
                archive.write(file, file.relative_to(package.parent))
    row = {"task_id": "starter/0", "completion": ""}
    code = f"import sys; sys.path[:0] = ['pc.zip']; import passcurve; passcurve.judge([{row}], 'starter')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert 1 == done.returncode
    assert "UsageError: passcurve lies in the archive 'pc.zip'" in done.stderr.replace(f"{tmp_path}/", "")
    assert "isolation" not in done.stderr.rpartition("UsageError")[2]
