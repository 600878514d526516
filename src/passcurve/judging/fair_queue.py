"""A queue in which many owners have their turns: nobody's items wait for all those of another."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class FairQueue(Generic[Item]):
    """Items by owner: those of one owner by the time when they are due, then in order; one of each owner at a turn."""

    def __init__(self) -> None:
        self._queues: OrderedDict[Hashable, list[tuple[float, int, Item]]] = OrderedDict()
        self._number = 0
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def put(self, item: Item, owner: Hashable = None, due: float = 0.0) -> None:
        """Add an item to those of its owner; a new owner has the last turn."""
        self._number += 1
        self._size += 1
        heapq.heappush(self._queues.setdefault(owner, []), (due, self._number, item))

    def pop(self) -> Item:
        """Remove and return the first item of the owner whose turn it is.  Raises IndexError where there is none."""
        if not self._queues:
            raise IndexError("no item")
        owner, queue = next(iter(self._queues.items()))
        _, _, item = heapq.heappop(queue)
        self._size -= 1
        if queue:
            self._queues.move_to_end(owner)
        else:
            del self._queues[owner]
        return item
