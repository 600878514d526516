"""A wake-up: any thread sets it, and whoever waits on descriptors waits for it among them."""

from __future__ import annotations

import os
import sys
import threading

from passcurve.types.forks import close_in_children, no_forks

_ONE = (1).to_bytes(8, sys.byteorder)


class Wakeup:
    """A flag with a descriptor that is readable while it is set.  Close it after use."""

    def __init__(self) -> None:
        # Who sets it does not know whether it is closed, and a closed descriptor may soon belong to somebody else.
        self._lock = threading.Lock()
        self._is_closed = False
        self._is_set = False
        """Setting it twice would only cost time, and there is never more than one number to read."""
        with no_forks():
            if hasattr(os, "eventfd"):
                self._read_end = self._write_end = os.eventfd(0)
            else:
                self._read_end, self._write_end = os.pipe()
            close_in_children(self, Wakeup._close_in_child)

    def fileno(self) -> int:
        """Return the descriptor that is readable while the flag is set."""
        return self._read_end

    def set(self) -> None:
        """Wake whoever waits; do nothing after ``close``."""
        with self._lock:
            if not self._is_closed and not self._is_set:
                os.write(self._write_end, _ONE)
                self._is_set = True

    def clear(self) -> None:
        """Clear the flag."""
        with self._lock:
            if not self._is_closed and self._is_set:
                # In this order: an interruption between the two must not leave a set flag without its number.
                self._is_set = False
                os.read(self._read_end, len(_ONE))

    def _close_in_child(self) -> None:
        # A thread that is not there may have held the lock.
        self._lock = threading.Lock()
        self.close()

    def close(self) -> None:
        """Close the descriptors; a second call does nothing."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                for descriptor in {self._read_end, self._write_end}:
                    os.close(descriptor)
