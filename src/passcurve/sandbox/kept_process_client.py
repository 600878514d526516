"""The supervisor's side of a kept process, which waits for jobs and is rewound or replaced after each."""

from __future__ import annotations

import socket
import time
from typing import Any

from passcurve.sandbox.connection import Connection
from passcurve.sandbox.running_job import KeptJob
from passcurve.sandbox.zygote_client import Side, ZygoteClient

KEPT_S = 0.04
"""Longest time of a sample or a check in a kept process; the clock of a job is read this often."""

DESCRIPTORS: dict[Side, int] = {"jail": 1, "referee": 2}
"""Descriptors that a new process of each side is sent: as many as where the tests have a line to the sample."""

_BUFFER_BYTES = 1 << 20


class KeptProcessClient:
    """One kept process: the connection to it, and the job that it is at.

    Every request raises ZygoteLostError when the zygote of the process is gone.
    """

    def __init__(self, zygote: ZygoteClient, role: str, connection: Connection, *, rewinds: bool) -> None:
        self._zygote, self._role, self._rewinds = zygote, role, rewinds
        self._connection = connection
        self._next_socket: socket.socket | None = None
        """To the process that is to take the place of this one."""
        self.running: KeptJob | None = None
        self.is_waiting = False
        """Whether it waits for a job."""
        self.is_ending = False
        """Whether it is being rewound or replaced."""
        self.check_at = 0.0
        """When to read the clock of its job."""
        self.pending_since = 0.0
        """Time of a request that its zygote has not answered yet; 0 when none is open."""

    def make(self) -> None:
        """Have the process made, with a connection that nobody has used."""
        self.close()
        self.is_waiting = False
        self.pending_since = time.monotonic()
        self._request_process({"do": "keep"})
        self._open_next()

    def _request_process(self, order: dict[str, Any]) -> None:
        """Send an order for a new process, with its end of a new connection."""
        self._next_socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            for end in (self._next_socket, theirs):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
            descriptors = [theirs.fileno()] * DESCRIPTORS[self._zygote.side]
            self._zygote.send({**order, "role": self._role}, descriptors)

    def _open_next(self) -> None:
        if self._next_socket is not None:
            self._connection.open(self._next_socket)
            self._next_socket = None

    def get_ready(self) -> None:
        """Wait for the next job: the process was rewound, or another one takes its place."""
        if not self._rewinds:
            self._open_next()
        self.is_waiting = True

    def start(self, running: KeptJob, setup: bytes) -> None:
        """Send it a job."""
        self.running, self.is_waiting = running, False
        self.check_at = time.monotonic() + KEPT_S
        self.send(setup)

    def send(self, data: bytes) -> None:
        """Send bytes, now or when the connection takes them; nothing is sent to a process that ends its job."""
        if not self.is_ending:
            self._connection.send(data)

    def send_rest(self) -> None:
        """Send what the connection did not take before."""
        self._connection.send_rest()

    def read(self) -> bytes:
        """Return what has come; when the process is gone its zygote says so."""
        return self._connection.read() or b""

    def end_job(self, tag: int, *, is_typical: bool) -> None:
        """Have the process rewound or replaced.  ``is_typical``: its job writes what most jobs write."""
        if self.is_ending:
            return
        self.is_waiting, self.is_ending, self.pending_since = False, True, time.monotonic()
        # The zygote throws away what the process has not read.
        self._connection.drop_rest()
        if self._rewinds:
            self._zygote.send({"do": "rewind", "tag": tag, "typical": is_typical})
        else:
            self._request_process({"do": "replace", "tag": tag})

    def request_clock(self) -> None:
        """Ask for the clock of its job."""
        self.check_at = time.monotonic() + KEPT_S
        if not self.is_ending:
            self._zygote.send({"do": "clock", "kept": True})

    def discard_input(self) -> bool:
        """Throw away what the process has sent; return whether that was anything."""
        has_input = False
        while self.read():
            has_input = True
        return has_input

    def close(self) -> None:
        """Close the connection, with all that is left on it."""
        if self._next_socket is not None:
            self._next_socket.close()
            self._next_socket = None
        self._connection.close()
