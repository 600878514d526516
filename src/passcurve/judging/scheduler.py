"""The scheduler of jobs on this machine: new jobs first, in order; retries at the end, one on each core."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

MAX_BATCH = 16
"""Items that a slot takes at once: with more, the slots would end at different times."""

Item = TypeVar("Item")
Item_contra = TypeVar("Item_contra", contravariant=True)
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


class Slots(Protocol[Item_contra, Result_co]):
    """A pool of workers that run items."""

    cores: int

    def idle(self, *, quiet: bool = False) -> Sequence[int]:
        """Return the free slots; with ``quiet``, those with nothing to clean up."""
        ...

    def start(self, slot: int, /, *jobs: Item_contra) -> None:
        """Start items on a free slot, which runs them one after another."""
        ...

    def wait(self, at_most_s: float) -> Sequence[Result_co]:
        """Wait for results."""
        ...


class Scheduler(Generic[Item, Result]):
    """A queue in front of slots.

    Ordinary items may run beside others; a slot takes several at once.  Items for the end run when no ordinary item
    is left, at most one on each core, so that nothing else of ours changes what is measured of them.
    """

    def __init__(self, slots: Slots[Item, Result]) -> None:
        self._slots = slots
        self._ordinary: deque[Item] = deque()
        self._at_end: deque[Item] = deque()
        self._running = 0
        self._is_ending = False

    @property
    def waiting(self) -> int:
        """Number of ordinary items that are queued."""
        return len(self._ordinary)

    @property
    def is_empty(self) -> bool:
        """True if nothing is queued or running."""
        return not (self._ordinary or self._at_end or self._running)

    def put(self, item: Item, *, at_end: bool = False) -> None:
        """Queue an item."""
        (self._at_end if at_end else self._ordinary).append(item)

    def run(self, at_most_s: float) -> Sequence[Result]:
        """Start what can be started, wait at most that long, and return the results that have come."""
        if not self._running:
            self._is_ending = not self._ordinary
        idle = self._slots.idle(quiet=self._is_ending)
        share = min(MAX_BATCH, -(-len(self._ordinary) // max(1, len(idle))))
        for slot in idle:
            items = self._take_one_at_end(slot) if self._is_ending else self._take_ordinary(share)
            if items:
                self._slots.start(slot, *items)
                self._running += len(items)
        results = self._slots.wait(at_most_s)
        self._running -= len(results)
        return results

    def _take_ordinary(self, at_most: int) -> list[Item]:
        return [self._ordinary.popleft() for _ in range(min(at_most, len(self._ordinary)))]

    def _take_one_at_end(self, slot: int) -> list[Item]:
        # Ordinary items that came meanwhile go before the other items for the end, as soon as those that run have
        # ended: where items come one by one, none waits for all retries.
        if self._ordinary or not self._at_end or slot >= self._slots.cores:
            return []
        return [self._at_end.popleft()]
