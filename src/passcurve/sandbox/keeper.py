"""The supervisor's side of the commons: keeps one such process going beside a worker's own zygotes."""

from __future__ import annotations

import marshal
import os
import resource
import selectors
import socket
from typing import Any

from passcurve.errors import SandboxError
from passcurve.sandbox import wire
from passcurve.sandbox.closed import VERSIONS
from passcurve.sandbox.probe import Probe
from passcurve.sandbox.reply import SETUP_BYTES
from passcurve.sandbox.stems import COMMONS_ROLE, Stem
from passcurve.sandbox.toolchain import Toolchain
from passcurve.sandbox.zygotes import Zygote
from passcurve.types import Limits

WORTH_JOBS = 5
"""Jobs of a worker before it has a commons started: a run of fewer ends sooner without."""

WAIT_JOBS = 15
"""Jobs after which a commons that is being started is waited for: it has cost more than what it still needs."""

CPU_S = 3600
"""Backstop for a commons whose supervisor is held: far beyond what is waited for, and it is replaced."""


class Keeper:
    """Starts a commons when it is worth it, hands programs to it, replaces it when something is amiss.

    While there is no commons, programs get processes of their own.
    """

    def __init__(
        self,
        selector: selectors.BaseSelector,
        owner: object,
        probe: Probe,
        toolchain: Toolchain,
        limits: Limits,
        stem: Stem,
        cpu: int | None,
    ) -> None:
        self._selector, self._owner = selector, owner
        self._probe, self._toolchain, self._limits, self._cpu = probe, toolchain, limits, cpu
        self._stem = stem
        # Under an interpreter whose instructions are not known nothing is closed.
        self._worth = tuple(int(part) for part in toolchain.version.split(".")[:2]) in VERSIONS
        self._zygote: Zygote | None = None
        self._ready = False
        self._asked = 0
        self._control: socket.socket | None = None
        self._replies: socket.socket | None = None

    def give(self, order: dict[str, Any]) -> int | None:
        """Hand programs to the commons; return the descriptor on which replies will come, or None for no."""
        if not self._worth:
            return None
        self._asked += 1
        if self._zygote is None and self._asked + len(order["programs"]) > WORTH_JOBS and _has_room():
            self._begin()
        elif not self._ready and self._asked >= WAIT_JOBS:
            self.hear()
        if self._control is None or self._replies is None:
            return None
        data = marshal.dumps(order, wire.MARSHAL)
        if len(data) > SETUP_BYTES:
            return None
        try:
            self._control.sendall(wire.frame(data))
        except OSError:
            self.renew()
            return None
        return self.replies

    @property
    def replies(self) -> int | None:
        """The descriptor on which replies come, or None while there is no commons."""
        return self._replies.fileno() if self._replies is not None else None

    def hear(self) -> None:
        """Take in what the zygote says: that it is ready, or that a commons has ended."""
        if self._zygote is None:
            return
        try:
            if not self._ready:
                self._zygote.wait_ready()
                self._ready = True
                self._open()
            elif not self._zygote.line.recv(1 << 16, socket.MSG_DONTWAIT):
                self.close()
        except BlockingIOError:
            pass
        except (OSError, SandboxError):
            self.close()

    def renew(self) -> None:
        """End the commons at once, with what runs in it, and have another."""
        self._shut()
        if self._ready:
            self._open()

    def close(self) -> None:
        """End the commons and its zygote; there may be others later."""
        self._shut()
        zygote, self._zygote = self._zygote, None
        self._ready, self._asked = False, 0
        if zygote is not None:
            self._selector.unregister(zygote.line)
            zygote.close()

    def _begin(self) -> None:
        try:
            self._zygote = Zygote(self._stem, self._probe.walls, self._toolchain, self._limits, self._cpu)
        except SandboxError:
            # Everything goes on without one.
            self._asked = 0
            return
        self._selector.register(self._zygote.line, selectors.EVENT_READ, (self._owner, "commons"))

    def _open(self) -> None:
        try:
            control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            replies, out = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        except OSError:
            self.close()
            return
        order = {"do": "run", "role": COMMONS_ROLE, "tag": 0, "cpu": CPU_S}
        sent = self._zygote is not None and self._zygote.send(order, [theirs.fileno(), out.fileno()])
        theirs.close()
        out.close()
        self._control, self._replies = control, replies
        if not sent:
            self.close()

    def _shut(self) -> None:
        for line in (self._control, self._replies):
            if line is not None:
                line.close()
        self._control = self._replies = None
        if self._ready and self._zygote is not None:
            self._zygote.send({"do": "end"})


def _has_room() -> bool:
    """Say whether descriptors are left, once all workers have a commons: programs can do without one."""
    try:
        # The lowest number that is free says how many are in use; a commons doubles what a worker uses.
        lowest = os.open(os.devnull, os.O_RDONLY)
    except OSError:
        return False
    os.close(lowest)
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limit == resource.RLIM_INFINITY or limit >= 3 * lowest
