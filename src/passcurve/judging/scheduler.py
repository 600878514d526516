"""The scheduler of jobs on this machine: what goes on, then new jobs in order; retries at the end, one on each core."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from passcurve.judging.fair_queue import NOBODY, FairQueue, Owner

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

    Where items come without an end, those for the end have a turn, one on each core, once ordinary ones have run for
    ``patience_s``; ``owner_of`` says whose an item is, and owners take turns at the end.  ``forget`` is called before
    an item starts, and returns True where it was forgotten because nobody waits for it any more.

    ``goes_alone``: whether a slot takes an item alone, so that no other waits behind it while another slot is free.
    """

    def __init__(
        self,
        slots: Slots[Item, Result],
        *,
        owner_of: Callable[[Item], Owner | None] = lambda _: None,
        forget: Callable[[Item], bool] = lambda _: False,
        goes_alone: Callable[[Item], bool] = lambda _: False,
        patience_s: float = math.inf,
    ) -> None:
        self._slots = slots
        self._owner_of, self._forget, self._patience_s = owner_of, forget, patience_s
        self._goes_alone = goes_alone
        self._ordinary: deque[Item] = deque()
        self._at_end: FairQueue[Item] = FairQueue()
        self._running = 0
        self._is_ending = False
        self._turns = 0
        """Items for the end that may still start although ordinary ones wait."""
        self._ordinary_since = time.monotonic()

    @property
    def waiting(self) -> int:
        """Number of ordinary items that are queued."""
        return len(self._ordinary)

    @property
    def is_empty(self) -> bool:
        """True if nothing is queued or running."""
        return not (self._ordinary or self._at_end or self._running)

    def put(self, item: Item, *, first: bool = False, at_end: bool = False) -> None:
        """Queue an item; ``first``: before the ordinary ones, as what goes on or has waited elsewhere."""
        if at_end:
            self._at_end.put(item, self._owner_of(item) or NOBODY)
        elif first:
            self._ordinary.appendleft(item)
        else:
            self._ordinary.append(item)

    def run(self, at_most_s: float) -> Sequence[Result]:
        """Start what can be started, wait at most that long, and return the results that have come."""
        if not self._running:
            self._begin_phase()
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

    @property
    def _is_overdue(self) -> bool:
        return bool(self._at_end) and time.monotonic() - self._ordinary_since > self._patience_s

    def _begin_phase(self) -> None:
        was_ending = self._is_ending
        self._is_ending = not self._ordinary or (self._is_overdue and not was_ending)
        self._turns = self._slots.cores if self._is_ending and self._ordinary else 0
        if was_ending and not self._is_ending:
            self._ordinary_since = time.monotonic()

    def _take_ordinary(self, at_most: int) -> list[Item]:
        if self._is_overdue:
            # Those that run come to their end, so that those for the end can have their turn.
            return []
        items: list[Item] = []
        while self._ordinary and len(items) < at_most:
            is_alone = self._goes_alone(self._ordinary[0])
            if is_alone and items:
                break
            item = self._ordinary.popleft()
            if not self._forget(item):
                items.append(item)
                if is_alone:
                    break
        return items

    def _take_one_at_end(self, slot: int) -> list[Item]:
        # Ordinary items that came meanwhile go before the other items for the end, as soon as those that run have
        # ended: where items come one by one, none waits for all retries.
        if (self._ordinary and not self._turns) or slot >= self._slots.cores:
            return []
        while self._at_end:
            item = self._at_end.pop()
            if not self._forget(item):
                self._turns = max(0, self._turns - 1)
                return [item]
        return []
