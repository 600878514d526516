"""The memory of a process and everything below it, from /proc: proportional set sizes, so nothing is counted twice."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Self

PROC = Path("/proc")
_UNLIMITED = "Max cpu time              unlimited"


@dataclass(frozen=True)
class Memory:
    """Proportional set sizes in bytes at one moment, or the largest of several."""

    whole: int
    without_samples: int
    """Without the processes that run samples, which are those whose CPU time is bounded."""
    unseen: int
    """Processes whose memory could not be read."""


def below(root: int) -> list[int]:
    """Return a process and its descendants, those in process namespaces of their own among them."""
    children: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdecimal():
            try:
                parent = int((entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    results, level = [], [root]
    while level:
        results += level
        level = [child for pid in level for child in children.get(pid, [])]
    return results


def memory(root: int) -> Memory:
    """Return what a process and its descendants have in memory now."""
    whole = without = unseen = 0
    for pid in below(root):
        try:
            text = (PROC / str(pid) / "smaps_rollup").read_text("ascii")
            sample = _UNLIMITED not in (PROC / str(pid) / "limits").read_text("ascii")
        except PermissionError:
            unseen += 1
            continue
        except OSError:
            continue  # it has ended
        size = sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:"))
        whole += size
        without += 0 if sample else size
    return Memory(whole, without, unseen)


class Watch:
    """Looks at a process from time to time while it runs; a context manager, whose findings are read afterwards."""

    def __init__(self, root: int, every_s: float) -> None:
        self._root, self._every_s = root, every_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.seen: list[int] = []
        """Bytes without samples, at each look."""
        self.peak = Memory(0, 0, 0)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(self._every_s):
            now, peak = memory(self._root), self.peak
            self.seen.append(now.without_samples)
            self.peak = Memory(
                max(now.whole, peak.whole),
                max(now.without_samples, peak.without_samples),
                max(now.unseen, peak.unseen),
            )
