"""Slots of this machine: first what is new, kept together by affinity; at the end, alone, what must run again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
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

    def idle(self, *, quiet: bool = False) -> Sequence[tuple[int, str]]:
        """Return (slot, affinity of its last item) of each free slot; ``quiet``: of those with nothing to clean up."""
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

    def __init__(self, slots: Slots[Item, Result], together: Callable[[Item, Item], bool] = _never) -> None:
        self._slots = slots
        self._together = together
        self._first: dict[str, deque[Item]] = {}
        self._last: deque[Item] = deque()
        self._served: dict[int, str] = {}
        """The affinity that each slot served last."""
        self._in_flight = 0
        self._alone = False
        self.waiting = 0
        """Items of the first kind that are queued."""

    @property
    def empty(self) -> bool:
        """Whether nothing is queued or running."""
        return not (self.waiting or self._last or self._in_flight)

    def put(self, item: Item, affinity: str) -> None:
        """Queue an item; those of one affinity run one after another on the same slot where possible."""
        self._first.setdefault(affinity, deque()).append(item)
        self.waiting += 1

    def put_last(self, item: Item) -> None:
        """Queue an item for the end."""
        self._last.append(item)

    def run(self, at_most_s: float) -> Sequence[Result]:
        """Start what can be started, wait at most that long, and return what has ended."""
        if not self._in_flight:
            self._alone = not self.waiting
        idle = self._slots.idle(quiet=self._alone)
        share = min(TOGETHER, -(-self.waiting // max(1, len(idle))))
        for slot, affinity in idle:
            items = self._take_last(slot) if self._alone else self._take(slot, affinity, share)
            if items:
                self._slots.start(slot, *items)
                self._in_flight += len(items)
        results = self._slots.wait(at_most_s)
        self._in_flight -= len(results)
        return results

    def _take(self, slot: int, affinity: str, at_most: int) -> list[Item]:
        if affinity not in self._first:
            # Two slots at one affinity prepare twice for it: rather another, if there is one.
            others = [served for other, served in self._served.items() if other != slot]
            free = (each for each in self._first if each not in others)
            affinity = next(free, next(iter(self._first), ""))
        self._served[slot] = affinity
        queue = self._first.get(affinity)
        if queue is None:
            return []
        items = [queue.popleft()]
        while queue and len(items) < at_most and self._together(items[0], queue[0]):
            items.append(queue.popleft())
        if not queue:
            del self._first[affinity]
        self.waiting -= len(items)
        return items

    def _take_last(self, slot: int) -> list[Item]:
        # What has come meanwhile has its turn as soon as those that run alone have ended: where items come one by one
        # and wait for room, nobody waits for all that must run again.
        if self.waiting or not self._last or slot >= self._slots.cores:
            return []
        return [self._last.popleft()]
