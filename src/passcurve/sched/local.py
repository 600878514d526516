"""Slots of this machine: first what is new, kept together by affinity; at the end, alone, what must run again."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

TOGETHER = 16
"""Items that a slot takes at once: more would make the slots end at different times."""

PATIENCE_S = 0.1
"""So long a free slot leaves to another, while items come, what that one is about to take."""

OVERDUE_S = 5.0
"""What has waited so long is next, whatever suits a slot better."""

Item = TypeVar("Item")
Item_contra = TypeVar("Item_contra", contravariant=True)
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


class Slots(Protocol[Item_contra, Result_co]):
    """What runs items: a pool of workers."""

    cores: int

    def idle(self, *, quiet: bool = False) -> Sequence[tuple[int, str]]:
        """Return (slot, affinity of its last item) of each free slot; ``quiet``: of those with nothing to clean up."""
        ...

    def suits(self, slot: int, affinity: str) -> bool:
        """Say whether a slot is prepared for an affinity as well as for any that it did not serve last."""
        ...

    def start(self, slot: int, /, *jobs: Item_contra) -> None:
        """Start an item on a free slot, or several that go together."""
        ...

    def wait(self, at_most_s: float) -> Sequence[Result_co]:
        """Wait for results."""
        ...


def _never(_one: object, _other: object) -> bool:
    return False


class Local(Generic[Item, Result]):
    """A queue in front of slots.

    ``together`` says of two items whether a slot can take both at once: fewer words are needed for each then.  ``put``
    queues an item that may run beside others.  ``put_last`` queues one that runs when nothing of the first
    kind is left, at most one to a core, so that what is measured of it depends on nothing else of ours.
    """

    def __init__(
        self,
        slots: Slots[Item, Result],
        together: Callable[[Item, Item], bool] = _never,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._slots = slots
        self._together = together
        self._clock = clock
        self._first: dict[str, deque[Item]] = {}
        """The longest waiting before the others."""
        self._since: dict[str, float] = {}
        """Since when something of each affinity has been waiting."""
        self._last: deque[Item] = deque()
        self._served: dict[int, str] = {}
        """The affinity that each slot is at."""
        self._in_flight = 0
        self._alone = False
        self._coming = False
        """Whether more comes while we wait, as was said last."""
        self.waiting = 0
        """Items of the first kind that are queued."""

    @property
    def empty(self) -> bool:
        """Whether nothing is queued or running."""
        return not (self.waiting or self._last or self._in_flight)

    def put(self, item: Item, affinity: str) -> None:
        """Queue an item; those of one affinity run one after another on the same slot where possible."""
        if affinity not in self._first:
            self._first[affinity] = deque()
            self._since[affinity] = self._clock()
        self._first[affinity].append(item)
        self.waiting += 1

    def put_last(self, item: Item) -> None:
        """Queue an item for the end."""
        self._last.append(item)

    def run(self, at_most_s: float, *, coming: bool = False) -> Sequence[Result]:
        """Start what can be started, wait at most that long, and return what has ended.

        ``coming``: items come as somebody makes them, so a slot may wait a moment for what suits it.
        """
        self._coming = coming
        if not self._in_flight:
            self._alone = not self.waiting
        idle = self._slots.idle(quiet=self._alone)
        share = min(TOGETHER, -(-self.waiting // max(1, len(idle))))
        for slot, _ in idle:
            self._served.pop(slot, None)
        # Those that need not prepare choose first.
        for slot, affinity in sorted(idle, key=lambda each: each[1] not in self._first):
            items = self._take_last(slot) if self._alone else self._take(slot, affinity, share)
            if items:
                self._slots.start(slot, *items)
                self._in_flight += len(items)
        if self.waiting and coming:
            at_most_s = min(at_most_s, PATIENCE_S)
        results = self._slots.wait(at_most_s)
        self._in_flight -= len(results)
        return results

    def _take(self, slot: int, affinity: str, at_most: int) -> list[Item]:
        if affinity not in self._first:
            affinity = self._another(slot)
        queue = self._first.get(affinity)
        if queue is None:
            return []
        if affinity:
            self._served[slot] = affinity
        items = [queue.popleft()]
        while queue and len(items) < at_most and self._together(items[0], queue[0]):
            items.append(queue.popleft())
        if not queue:
            del self._first[affinity], self._since[affinity]
        self.waiting -= len(items)
        return items

    def _another(self, slot: int) -> str:
        """Return the affinity that a slot had best go on with; nothing if none."""
        now = self._clock()
        # Two slots at one affinity prepare twice for it: rather another, if there is one.
        others = {*self._served.values()}
        oldest = next((each for each in self._first if each not in others), None)
        if oldest is not None:
            if now - self._since[oldest] >= OVERDUE_S:
                return oldest
            suiting = (each for each in self._first if each not in others and self._slots.suits(slot, each))
            return next(suiting, oldest)
        due = (
            each
            for each, queue in self._first.items()
            if not self._coming or len(queue) > TOGETHER or now - self._since[each] >= PATIENCE_S
        )
        return next(due, "")

    def _take_last(self, slot: int) -> list[Item]:
        # What has come meanwhile has its turn as soon as those that run alone have ended: where items come one by one
        # and wait for room, nobody waits for all that must run again.
        if self.waiting or not self._last or slot >= self._slots.cores:
            return []
        return [self._last.popleft()]
