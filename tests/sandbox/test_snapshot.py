"""The snapshot of a real process is compared with all of its memory, whether it had a copy or not."""

from __future__ import annotations

import mmap
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from passcurve.sandbox.zygote import copy_stub
from passcurve.sandbox.zygote.copy_stub import Stub
from passcurve.sandbox.zygote.dirty_pages import DirtyPages
from passcurve.sandbox.zygote.snapshot import Snapshot
from passcurve.sandbox.zygote.tracing import UncleanError

pytestmark = pytest.mark.skipif(not copy_stub.AVAILABLE, reason="the code that copies memory is for Linux on x86-64")

PAGES = 256
# It is killed long before it ends; where the tests are killed themselves, it ends alone.
PROGRAM = f"""
import ctypes, mmap, time
memory = mmap.mmap(-1, {PAGES * mmap.PAGESIZE}, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory[0] = 1
print(ctypes.addressof(ctypes.c_char.from_buffer(memory)), flush=True)
time.sleep(60)
"""


class Taken:
    """A process that is stopped, with a snapshot of it; of some of its pages only the first was ever touched."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.touched = int(process.stdout.readline())
        self.fresh = self.touched + mmap.PAGESIZE
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        self._mem = Path(f"/proc/{process.pid}/mem")
        stub = Stub()
        self.snapshot = Snapshot(process.pid, stub)
        stub.lay_out(self.snapshot.find_areas())
        self.dirty = DirtyPages(process.pid, os.open("/dev/null", os.O_RDONLY), stub.table)
        self.snapshot.take(self.dirty)

    def write(self, address: int, data: bytes) -> None:
        """Write into the memory of the process."""
        with self._mem.open("r+b", buffering=0) as file:
            file.seek(address)
            assert len(data) == file.write(data)

    def verify(self) -> None:
        """Compare the memory with the snapshot."""
        self.snapshot.verify(self.dirty)


@pytest.fixture
def taken() -> Iterator[Taken]:
    """Take the snapshot of a process."""
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as process:
        try:
            taken = Taken(process)
            yield taken
            taken.snapshot.close()
            taken.dirty.close()
        finally:
            process.kill()


@pytest.mark.parametrize("place", ["touched", "fresh"])
def test_a_difference(taken: Taken, place: str):
    """One byte that differs is found, and no longer once it is as before."""
    address = getattr(taken, place) + 9
    taken.verify()
    taken.write(address, b"x")
    with pytest.raises(UncleanError, match="differs"):
        taken.verify()
    taken.write(address, b"\0")
    taken.verify()


def test_what_a_look_takes(taken: Taken):
    """Pages that were touched since, and are zeros again, take no memory for a copy."""
    before_kb = copies_kb()
    taken.write(taken.fresh, bytes((PAGES - 1) * mmap.PAGESIZE))
    taken.verify()
    assert before_kb == copies_kb()


def copies_kb() -> int:
    """Return the memory that the snapshots of this process take."""
    maps = Path("/proc/self/smaps").read_text().partition("memfd:snapshot")[2]
    return int(re.findall(r"^Rss:\s+(\d+)", maps, re.MULTILINE)[0])
