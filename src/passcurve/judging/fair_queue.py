"""A queue in which many owners have their turns: nobody's items wait for all those of another."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Item = TypeVar("Item")
Owner = tuple[Hashable, ...]
"""The names of an owner, from the outermost on: a client, and a batch of it."""

NOBODY: Owner = (None,)
"""Who has what nobody waits for: no client has this name, an empty one some have."""


class _Heap(Generic[Item]):
    """The items of one owner: what is due first goes first, then the older."""

    def __init__(self) -> None:
        self._items: list[tuple[float, int, Item]] = []
        self._number = 0

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: Item, _: Owner, due: float) -> None:
        self._number += 1
        heapq.heappush(self._items, (due, self._number, item))

    def pop(self) -> Item:
        return heapq.heappop(self._items)[2]


class FairQueue(Generic[Item]):
    """Items by owner: one of each owner at a turn, those of one owner by the time when they are due, then in order.

    Of an owner within another, such as the batches of a client, the outer ones take turns, and then the inner ones.
    """

    def __init__(self) -> None:
        self._queues: OrderedDict[Hashable, FairQueue[Item] | _Heap[Item]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def put(self, item: Item, owner: Owner = NOBODY, due: float = 0.0) -> None:
        """Add an item to those of its owner, where a new one has the last turn.

        Whoever has owners within it has no items itself.
        """
        name, *inner = owner
        queue = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = FairQueue() if inner else _Heap()
        queue.put(item, tuple(inner), due)
        self._size += 1

    def pop(self) -> Item:
        """Remove and return the first item of the owner whose turn it is.  Raises IndexError where there is none."""
        if not self._queues:
            raise IndexError("no item")
        owner, queue = next(iter(self._queues.items()))
        item = queue.pop()
        self._size -= 1
        if queue:
            self._queues.move_to_end(owner)
        else:
            del self._queues[owner]
        return item
