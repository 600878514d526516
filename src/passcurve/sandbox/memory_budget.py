"""The memory of all commands that run at once: one that could exceed it waits until others have ended."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from passcurve import machine


class _Waiting(NamedTuple):
    """A command that is to begin."""

    size: int
    begin: Callable[[], None]


class MemoryBudget:
    """A bound for the sum of the limits of all commands under way; ``total_bytes``: None for no bound.

    They begin in the order in which they came, so that one with a large limit has its turn.  One runs whatever its
    limit is: its jail ends it where it exceeds that.
    """

    def __init__(self, total_bytes: int | None) -> None:
        self.total_bytes = total_bytes
        self._used_bytes = 0
        self._waiting: deque[_Waiting] = deque()

    def take(self, size: int, begin: Callable[[], None]) -> None:
        """Call ``begin`` when there is room for a command with this limit, now or later."""
        self._waiting.append(_Waiting(size, begin))
        self._begin_all()

    def give_back(self, size: int) -> None:
        """Note that a command with this limit has ended."""
        self._used_bytes -= size
        self._begin_all()

    def _begin_all(self) -> None:
        while self._waiting and self._has_room(self._waiting[0].size):
            command = self._waiting.popleft()
            self._used_bytes += command.size
            command.begin()

    def _has_room(self, size: int) -> bool:
        return self.total_bytes is None or not self._used_bytes or self._used_bytes + size <= self.total_bytes


def commands_memory_bytes() -> int | None:
    """Return the memory for all commands of a pool: a part of what is free now; None where that is not known."""
    free = machine.free_memory_bytes()
    return None if free is None else int(free * machine.MEMORY_SHARE)
