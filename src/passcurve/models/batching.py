"""Samples that are asked for one by one and written several at a time: for back ends that compute in this process.

Theory of operation.  Those who ask put rows, one for each sample, and wait.  Whoever computes takes as many rows as it
can write together; who got an answer a moment ago asks again in a moment, so it waits that moment for more.
"""

from __future__ import annotations

import collections
import threading
from concurrent.futures import Future

from passcurve.errors import ModelError
from passcurve.types import Decoding, Prompt, Reply, SampleRequest

_MOMENT_S = 0.02


class Row:
    """One sample that is asked for, and the reply that somebody waits for."""

    def __init__(self, prompt: Prompt, decoding: Decoding, index: int) -> None:
        self.prompt, self.decoding, self.index = prompt, decoding, index
        self.reply: Future[Reply] = Future()


class Together:
    """The rows that wait, for any number of threads at either end.  Close it."""

    def __init__(self) -> None:
        self._rows: collections.deque[Row] = collections.deque()
        self._change = threading.Condition()
        self.closed = False

    def put(self, order: SampleRequest) -> list[Row]:
        """Let each sample of an order wait; raises ModelError once this is closed."""
        rows = [Row(order.prompt, order.decoding, index) for index in order.indices]
        with self._change:
            if self.closed:
                raise ModelError("the run has ended")
            self._rows.extend(rows)
            self._change.notify_all()
        return rows

    def take(self, most: int) -> list[Row]:
        """Wait for rows and return up to ``most`` that are drawn alike; none once this is closed."""
        with self._change:
            while not self.closed:
                self._change.wait_for(lambda: self._rows or self.closed)
                seen = 0
                while seen < len(self._rows) < most and not self.closed:
                    seen = len(self._rows)
                    self._change.wait_for(lambda: len(self._rows) >= most or self.closed, _MOMENT_S)
                if self._rows and not self.closed:
                    return self._alike(most)
            return []

    def close(self) -> None:
        """Fail all that wait, and whoever asks from now on."""
        with self._change:
            self.closed = True
            left = list(self._rows)
            self._rows.clear()
            self._change.notify_all()
        fail(left, ModelError("the run has ended"))

    def _alike(self, most: int) -> list[Row]:
        decoding = self._rows[0].decoding
        taken = [row for row in self._rows if row.decoding == decoding][:most]
        there = set(map(id, taken))
        self._rows = collections.deque(row for row in self._rows if id(row) not in there)
        return taken


def fail(rows: list[Row], error: Exception) -> None:
    """Let those who wait for these rows have an error."""
    for row in rows:
        if not row.reply.done():
            row.reply.set_exception(error)
