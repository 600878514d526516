"""A non-blocking connection to another process, which a selector watches."""

from __future__ import annotations

import selectors
import socket
from collections.abc import Callable
from typing import Protocol

RECEIVE_BYTES = 1 << 18


class HasFileno(Protocol):
    """A socket or a file."""

    def fileno(self) -> int:
        """Return its descriptor."""
        ...


class Connection:
    """At most one socket at a time, which is read.

    ``callback`` is called with the events of the socket: the selector holds it as the data of its key.
    """

    def __init__(self, selector: selectors.BaseSelector, callback: Callable[[int], None]) -> None:
        self._selector, self._callback = selector, callback
        self._socket: socket.socket | None = None
        self._is_watched = False

    def open(self, sock: socket.socket) -> None:
        """Use this socket from now on; an earlier one is closed."""
        self.close()
        self._socket = sock
        self._selector.register(sock, selectors.EVENT_READ, self._callback)
        self._is_watched = True

    def read(self) -> bytes | None:
        """Return what has come; None if nothing has, no bytes if the other end is closed."""
        if self._socket is None:
            return None
        try:
            data = self._socket.recv(RECEIVE_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        if not data:
            self._unwatch()
        return data

    def close(self) -> None:
        """Close the socket, if there is one, with all that is left on it."""
        if self._socket is not None:
            self._unwatch()
            self._socket.close()
            self._socket = None

    def _unwatch(self) -> None:
        if self._is_watched and self._socket is not None:
            unwatch(self._selector, self._socket)
        self._is_watched = False


Connect = Callable[[Callable[[int], None]], Connection]
"""Makes a connection, without a socket yet, that calls a function with its events."""


def unwatch(selector: selectors.BaseSelector, source: HasFileno) -> None:
    """Stop watching a socket or a pipe, if it is watched."""
    # An interruption may have come during an earlier call, or before the socket was watched at all.
    try:
        selector.unregister(source)
    except (KeyError, ValueError):
        pass
