"""Connections of a server with bounds: their number, how long one may be silent, and how long it may not read.

uvicorn bounds none of these: a client that connects and says nothing, or asks and does not read, would stay for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import resource
import socket
from typing import Any

from passcurve.serve.web import Web

MAX_CONNECTIONS = 1000
_MAX_WAITING = 512
"""Connections that wait to be accepted."""


class Connections:
    """The connections of a server; where there are too many, the one that has been silent for longest goes."""

    def __init__(self, most: int = MAX_CONNECTIONS, *, look_s: float = 30.0, stalled_s: float = 60.0) -> None:
        """Set the bounds.  ``look_s``: one that asks for nothing between two looks is closed.

        ``stalled_s``: one that reads nothing for that time, too.
        """
        self.look_s, self.stalled_s = look_s, stalled_s
        # The sandbox needs descriptors too.
        self._most = min(most, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
        # asyncio accepts three times as many before it tells us of the first, and closes as many a turn later.
        self.burst = max(16, min(128, self._most // 8))
        self._open: dict[BoundedProtocol, None] = {}
        """The one that has said nothing for longest first."""

    def add(self, connection: BoundedProtocol) -> None:
        """Take a new connection."""
        if len(self._open) >= self._most:
            oldest = next((one for one in self._open if one.is_silent), connection)
            oldest.abort()
            self.remove(oldest)
            if oldest is connection:
                return
        self._open[connection] = None

    def note_data(self, connection: BoundedProtocol) -> None:
        """Note that a connection has said something."""
        if connection in self._open:
            del self._open[connection]
            self._open[connection] = None

    def remove(self, connection: BoundedProtocol) -> None:
        """Forget a connection that is closed."""
        self._open.pop(connection, None)

    def abort(self) -> None:
        """Close all, whatever they wait for."""
        for connection in list(self._open):
            connection.abort()


class BoundedProtocol(asyncio.Protocol):
    """The protocol of a connection, watched; ``inner`` is uvicorn's."""

    def __init__(self, inner: Any, connections: Connections) -> None:
        self._inner, self._connections = inner, connections
        self._transport: asyncio.Transport | None = None
        self._cycle_before: object = self
        self._timers: dict[str, asyncio.TimerHandle] = {}

    @property
    def is_silent(self) -> bool:
        """Tell whether no request is under way."""
        cycle = self._inner.cycle
        return cycle is None or cycle.response_complete

    def abort(self) -> None:
        """Close it at once."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to watch."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._inner.connection_made(transport)
        self._connections.add(self)
        self._look()

    def connection_lost(self, error: Exception | None) -> None:
        """Cease to watch."""
        self._connections.remove(self)
        for timer in self._timers.values():
            timer.cancel()
        self._inner.connection_lost(error)

    def data_received(self, data: bytes) -> None:
        """Hand data on."""
        self._connections.note_data(self)
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        """Hand the end on."""
        ended: bool | None = self._inner.eof_received()
        return ended

    def pause_writing(self) -> None:
        """Give the client some time to read."""
        self._inner.pause_writing()
        self._call_later("stalled", self._connections.stalled_s, self.abort)

    def resume_writing(self) -> None:
        """Note that it has read."""
        self._timers["stalled"].cancel()
        self._inner.resume_writing()

    def _look(self) -> None:
        cycle = self._inner.cycle
        is_closing = self._transport is None or self._transport.is_closing()
        if is_closing or (self.is_silent and cycle is self._cycle_before):
            self.abort()
        self._cycle_before = cycle if self.is_silent else self
        self._call_later("look", self._connections.look_s, self._look)

    def _call_later(self, name: str, seconds: float, function: Any) -> None:
        self._timers[name] = asyncio.get_running_loop().call_later(seconds, function)


def make_server(web: Web, app: Any, connections: Connections) -> Any:
    """Return a server of uvicorn's that runs until SIGTERM or Ctrl-C; a second one leaves what is under way."""
    config = web.config(
        app,
        http=lambda **settings: BoundedProtocol(web.protocol(**settings), connections),
        ws="none",
        # Where uvloop is installed uvicorn would take it, whose connections are none of asyncio's.
        loop="asyncio",
        backlog=connections.burst,
        # By default it asks whether stdout is a terminal, which there may not be.
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_keep_alive=int(connections.look_s),
        h11_max_incomplete_event_size=1 << 16,
    )
    # It writes tracebacks to a stream that perhaps nobody reads, which stops the server when the pipe is full.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    server = web.server(config)
    end, start = server.handle_exit, server.startup

    async def startup(sockets: list[socket.socket]) -> None:
        await start(sockets)
        for listener in sockets:
            # uvicorn's number is that of a burst and of those that wait in the kernel, of which there may be more.
            listener.listen(_MAX_WAITING)

    def handle_exit(number: int, frame: Any) -> None:
        if server.should_exit:
            server.force_exit = True
            connections.abort()
        end(number, frame)

    server.handle_exit, server.startup = handle_exit, startup
    return server


def run_server(server: Any, listener: socket.socket) -> None:
    """Answer requests until the server ends."""
    # It answers what is under way, and then raises the signal that ended it once more.
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listener])


def open_listener(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address of either family.  Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except TypeError as error:
        raise OSError(errno.EINVAL, "no name of a host") from error
    # Those that it accepts have this too.  Else the second part of an answer waits 40 ms for the client's receipt.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
