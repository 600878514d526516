"""Slots of this machine: first what is new, in order; at the end, alone, what must run again."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

TOGETHER = 16
"""Items that a slot takes at once: more would make the slots end at different times."""

Item = TypeVar("Item")
Item_contra = TypeVar("Item_contra", contravariant=True)
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


class Slots(Protocol[Item_contra, Result_co]):
    """What runs items: a pool of workers."""

    cores: int

    def idle(self, *, quiet: bool = False) -> Sequence[int]:
        """Return the free slots; ``quiet``: those with nothing to clean up."""
        ...

    def start(self, slot: int, /, *jobs: Item_contra) -> None:
        """Start items on a free slot, which runs them one after another."""
        ...

    def wait(self, at_most_s: float) -> Sequence[Result_co]:
        """Wait for results."""
        ...


class Local(Generic[Item, Result]):
    """A queue in front of slots.

    ``put`` queues an item that may run beside others; a slot takes several at once.  ``put_last`` queues one that runs
    when nothing of the first kind is left, at most one to a core, so that what is measured of it depends on nothing
    else of ours.
    """

    def __init__(self, slots: Slots[Item, Result]) -> None:
        self._slots = slots
        self._first: deque[Item] = deque()
        self._last: deque[Item] = deque()
        self._in_flight = 0
        self._alone = False

    @property
    def waiting(self) -> int:
        """Items of the first kind that are queued."""
        return len(self._first)

    @property
    def empty(self) -> bool:
        """Whether nothing is queued or running."""
        return not (self._first or self._last or self._in_flight)

    def put(self, item: Item) -> None:
        """Queue an item."""
        self._first.append(item)

    def put_last(self, item: Item) -> None:
        """Queue an item for the end."""
        self._last.append(item)

    def run(self, at_most_s: float) -> Sequence[Result]:
        """Start what can be started, wait at most that long, and return what has ended."""
        if not self._in_flight:
            self._alone = not self._first
        idle = self._slots.idle(quiet=self._alone)
        share = min(TOGETHER, -(-len(self._first) // max(1, len(idle))))
        for slot in idle:
            items = self._take_last(slot) if self._alone else self._take(share)
            if items:
                self._slots.start(slot, *items)
                self._in_flight += len(items)
        results = self._slots.wait(at_most_s)
        self._in_flight -= len(results)
        return results

    def _take(self, at_most: int) -> list[Item]:
        return [self._first.popleft() for _ in range(min(at_most, len(self._first)))]

    def _take_last(self, slot: int) -> list[Item]:
        # What has come meanwhile has its turn as soon as those that run alone have ended: where items come one by one
        # and wait for room, nobody waits for all that must run again.
        if self._first or not self._last or slot >= self._slots.cores:
            return []
        return [self._last.popleft()]
