"""The two zygotes of a worker, one for samples and one for tests."""

from __future__ import annotations

import selectors
from collections.abc import Callable
from typing import Protocol

from passcurve.sandbox.connection import unwatch
from passcurve.sandbox.forkserver_client import REFEREE_ROLE, SAMPLE_ROLES, KilledError
from passcurve.sandbox.startup import Sandbox
from passcurve.sandbox.zygote_client import SIDES, Side, ZygoteClient, ZygoteLostError


class Zygotes(Protocol):
    """The zygotes of a worker, by side."""

    def __getitem__(self, side: Side) -> ZygoteClient:
        """Return the client of a zygote; raises ZygoteLostError when there is none."""
        ...


class ZygotePair:
    """Both zygotes; after ``close`` they can be started again."""

    def __init__(self, selector: selectors.BaseSelector, sandbox: Sandbox, cpu: int | None) -> None:
        self._selector, self._sandbox, self._cpu = selector, sandbox, cpu
        self.settings = sandbox.zygote_settings
        self.clients: dict[Side, ZygoteClient] = {}
        self.is_ready = False
        self.kept_roles: dict[Side, str] = {"jail": SAMPLE_ROLES[0], "referee": REFEREE_ROLE}
        """Roles of the kept processes."""

    def __getitem__(self, side: Side) -> ZygoteClient:
        """Return the client of a zygote; raises ZygoteLostError when there is none."""
        if side not in self.clients:
            raise ZygoteLostError(f"the {side}'s zygote ended")
        return self.clients[side]

    def start(self) -> None:
        """Start both without waiting for them.  Raises SandboxError when the system refuses."""
        sandbox, cpu = self._sandbox, self._cpu
        for side in SIDES:
            spare = sandbox.spare.take(self.settings, cpu) if side == "jail" else None
            self.clients[side] = spare or ZygoteClient(side, sandbox.fork_server, self.settings, cpu)

    def wait_ready(self, make_callback: Callable[[Side], Callable[[int], None]]) -> None:
        """Wait until the walls of both stand, then watch what each sends; ``make_callback`` says who is called.

        Zygotes that were killed meanwhile are started once more.  Raises SandboxError when there are none.
        """
        try:
            self._wait_ready()
        except KilledError:
            self.close()
            self._wait_ready()
        for side, client in self.clients.items():
            self._selector.register(client.connection, selectors.EVENT_READ, make_callback(side))
        self.is_ready = True

    def _wait_ready(self) -> None:
        if not self.clients:
            self.start()
        for client in self.clients.values():
            client.wait_ready()

    def request_exit(self) -> None:
        """Have both end, with all that is in them, without waiting for it."""
        for client in self.clients.values():
            unwatch(self._selector, client.connection)
            client.request_exit()

    def close(self) -> None:
        """End both, and all that is in them."""
        self.request_exit()
        clients = list(self.clients.values())
        self.clients, self.is_ready = {}, False
        for client in clients:
            client.close()
