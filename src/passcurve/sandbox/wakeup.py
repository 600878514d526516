"""A wakeup: other threads ring it, and who waits on descriptors hears it among them."""

from __future__ import annotations

import os
import sys
import threading

_PULL = (1).to_bytes(8, sys.byteorder)


class Wakeup:
    """A line to ourselves.  Rung any number of times before it is heard, it is heard once.  Close it."""

    def __init__(self) -> None:
        if hasattr(os, "eventfd"):
            self._heard = self._pulled = os.eventfd(0)
        else:
            self._heard, self._pulled = os.pipe()
        # Who rings does not know whether anybody listens still, and a closed descriptor may soon be another's.
        self._lock = threading.Lock()
        self._closed = False
        self._rung = False
        """And not hushed yet: to ring again would only cost time, and one ring is all that is ever there to be read."""

    def fileno(self) -> int:
        """Return the descriptor that is readable once it was rung."""
        return self._heard

    def set(self) -> None:
        """Wake who waits; nothing happens once it is closed."""
        with self._lock:
            if not self._closed and not self._rung:
                os.write(self._pulled, _PULL)
                self._rung = True

    def clear(self) -> None:
        """Forget that it was rung."""
        with self._lock:
            if not self._closed and self._rung:
                # In this order: an interruption between the two must not leave us waiting for what was read.
                self._rung = False
                os.read(self._heard, len(_PULL))

    def close(self) -> None:
        """Let go of the pipe; a second call does nothing."""
        with self._lock:
            if not self._closed:
                self._closed = True
                for end in {self._heard, self._pulled}:
                    os.close(end)
