"""The problems that come with samples: kept while a sample of theirs waits, and the latest for longer."""

from __future__ import annotations

from collections import OrderedDict, deque
from concurrent.futures import Future
from typing import Any

KEPT_PROBLEMS = 2000
"""Problems that are kept, with how they are checked, though nobody waits for a sample."""


class InlineProblems:
    """The ids of problems, the latest last, each with the number of its samples that wait.

    ``hold`` and ``take_unused`` are called under one lock.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: OrderedDict[str, int] = OrderedDict()
        self._released: deque[str] = deque()
        """One for each sample that has its verdict, or is not waited for."""

    @property
    def is_full(self) -> bool:
        """Tell whether there are more than are kept."""
        return len(self._waiting) > self._most

    def hold(self, problem_id: str, future: Future[Any]) -> bool:
        """Keep a problem until a future of a sample of it has ended; return whether it is new."""
        waiting = self._waiting.pop(problem_id, None)
        self._waiting[problem_id] = (waiting or 0) + 1
        future.add_done_callback(lambda _: self._released.append(problem_id))
        return waiting is None

    def take_unused(self) -> list[str]:
        """Remove and return the oldest problems that no sample waits for, down to half of what is kept."""
        while self._released:
            self._waiting[self._released.popleft()] -= 1
        unused = [name for name, waiting in self._waiting.items() if not waiting]
        dropped = unused[: max(0, len(self._waiting) - self._most // 2)]
        for name in dropped:
            del self._waiting[name]
        return dropped
