"""One command, run and measured."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from perf.tree import Memory, Watch


@dataclass(frozen=True)
class Used:
    """What a command took."""

    wall_s: float
    cpu_s: float
    """Of it and of all that it waited for."""
    memory: Memory | None = None
    """Largest; None where nobody looked."""
    seen: tuple[int, ...] = ()
    """Bytes without samples at each look, in order."""


def environment(folder: Path) -> dict[str, str]:
    """Return an environment with nothing of the user's in it."""
    place = str(folder)
    return {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": place,
        "TMPDIR": place,
        "LANG": "C.UTF-8",
        "PASSCURVE_CACHE": place,
    }


def run(command: list[str], folder: Path, codes: tuple[int, ...] = (0,), look_every_s: float | None = None) -> Used:
    """Run a command in a folder, where ``log`` takes what it says; leave with its last words if it fails."""
    began = time.perf_counter()
    log = folder / "log"
    with log.open("wb") as text:
        process = subprocess.Popen(
            command, cwd=folder, stdout=text, stderr=text, stdin=subprocess.DEVNULL, env=environment(folder)
        )
        if look_every_s is None:
            _, status, used = os.wait4(process.pid, 0)
            memory, seen = None, ()
        else:
            with Watch(process.pid, look_every_s) as watch:
                _, status, used = os.wait4(process.pid, 0)
            memory, seen = watch.peak, tuple(watch.seen)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in codes:
        sys.exit(f"{' '.join(command)}\nended with {process.returncode}:\n{log.read_text('utf-8', 'replace')[-2000:]}")
    return Used(wall, used.ru_utime + used.ru_stime, memory, seen)
