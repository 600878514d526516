"""Temporary folders of processes: those of the killed are removed, those of the living are not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest

from passcurve.errors import SandboxError
from passcurve.sandbox.own_folders import OwnFolder
from passcurve.sandbox.probe import try_walls
from passcurve.sandbox.toolchain import find_toolchain
from passcurve.sandbox.zygote_client import Walls
from passcurve.types import Limits

OWNER = """
import sys, time
from passcurve.sandbox.own_folders import OwnFolder
folder = OwnFolder("test")
print(folder.path, flush=True)
time.sleep(60)
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have temporary folders made in a folder of the test."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_a_killed_owner(temporary: Path) -> None:
    """A folder stays while its process lives and goes after it was killed; another's stays."""
    (temporary / "passcurve-1x-other").mkdir()
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    folder = Path(owner.stdout.readline().strip())
    assert temporary == folder.parent
    OwnFolder().close()
    assert folder.is_dir()
    owner.send_signal(signal.SIGKILL)
    owner.communicate()
    OwnFolder().close()
    assert ["passcurve-1x-other"] == [left.name for left in temporary.iterdir()]


def test_an_owner_in_another_namespace(temporary: Path) -> None:
    """A folder whose process has no number here is not removed while that process has it locked."""
    folder = OwnFolder()
    last = int(Path("/proc/sys/kernel/pid_max").read_text())
    elsewhere = folder.path.rename(temporary / f"passcurve-{last}-x")
    OwnFolder().close()
    assert elsewhere.is_dir()
    folder.close()
    OwnFolder().close()
    assert not elsewhere.exists()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_removes_nothing(temporary: Path) -> None:
    """The folder is its owner's, not that of a copy of its owner; nor does a copy keep it locked."""
    with OwnFolder() as folder:
        if not (child := os.fork()):
            folder.close()
            os._exit(0)
        assert 0 == os.waitpid(child, 0)[1]
        assert folder.path.is_dir()
    assert [] == list(temporary.iterdir())


def test_a_zygote_that_cannot_be_built(temporary: Path) -> None:
    """The folder of a zygote goes with it where the system refuses what else is to lie there."""
    toolchain = msgspec.structs.replace(find_toolchain(None, ()), package_paths=(("x" * 300, "/nowhere"),))
    with pytest.raises(SandboxError, match="cannot build"):
        try_walls(Walls(namespaces=False, landlock=False, seccomp=False), toolchain, Limits())
    assert [] == list(temporary.iterdir())
