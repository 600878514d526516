"""One jail of commands: its zygote, and the command that runs in it."""

from __future__ import annotations

import selectors
from collections.abc import Callable
from functools import partial

import msgspec

from passcurve.sandbox.connection import Connection, unwatch
from passcurve.sandbox.forkserver_client import KilledError
from passcurve.sandbox.job import CommandJail
from passcurve.sandbox.oneshot_runner import OneShotRunner
from passcurve.sandbox.pool_cache import PoolCache
from passcurve.sandbox.running_job import OneShotJob
from passcurve.sandbox.startup import Sandbox
from passcurve.sandbox.work_queue import WorkQueue
from passcurve.sandbox.zygote.exit_status import ProcessExit
from passcurve.sandbox.zygote_client import Side, ZygoteClient, ZygoteLostError, translate_os_errors


class CommandLane:
    """One jail of commands: its zygote, and what runs in it.  ``close`` ends it; it starts again when it is needed."""

    def __init__(
        self,
        jail: CommandJail,
        selector: selectors.BaseSelector,
        sandbox: Sandbox,
        wake: Callable[[], None],
    ) -> None:
        self._selector, self._sandbox = selector, sandbox
        commands = None if jail.is_of_samples else jail
        limits = sandbox.limits
        if jail.memory_bytes:
            limits = msgspec.structs.replace(limits, memory_bytes=jail.memory_bytes)
        self._settings = msgspec.structs.replace(
            sandbox.zygote_settings, commands=commands, rewinds=False, limits=limits
        )
        self._wake = wake
        self._client: ZygoteClient | None = None
        self.queue = WorkQueue()
        self.runner = OneShotRunner(self, self._connect, PoolCache(), self.queue)

    def __getitem__(self, side: Side) -> ZygoteClient:
        """Return the client of the zygote; raises ZygoteLostError when there is none."""
        if self._client is None or side != "jail":
            raise ZygoteLostError("the jail's zygote ended")
        return self._client

    def start(self, running: OneShotJob) -> None:
        """Start a step.  Raises SandboxError when there is no zygote to be had."""
        if self._client is None:
            self._start_zygote()
        try:
            with translate_os_errors():
                self.runner.start(running)
        except ZygoteLostError as error:
            self.abandon(str(error))

    def _start_zygote(self) -> None:
        for attempt in range(2):
            client = ZygoteClient("jail", self._sandbox.fork_server, self._settings, None)
            try:
                client.wait_ready()
            except KilledError:
                client.close()
                if attempt:
                    raise
                continue
            except BaseException:
                client.close()
                raise
            self._client = client
            self._selector.register(client.connection, selectors.EVENT_READ, partial(self._handle, self._receive))
            return

    def _connect(self, receive: Callable[[int], None]) -> Connection:
        return Connection(self._selector, partial(self._handle, receive))

    def _handle(self, receive: Callable[[int], None], events: int) -> None:
        try:
            receive(events)
        except ZygoteLostError as error:
            self.abandon(str(error))
        self._wake()

    def _receive(self, _: int) -> None:
        for record in self["jail"].read():
            if isinstance(record, ProcessExit):
                self.runner.take_exit("jail", record)
            elif not isinstance(record, dict):
                raise ZygoteLostError("the jail's zygote reports on a process that nobody has it keep")
            elif "clock" in record:
                self.runner.take_clock("jail", record)
            else:
                raise ZygoteLostError(f"the jail's zygote gave up: {str(record.get('failed'))[:200]}")

    def tick(self, now: float) -> None:
        """Check the step under way."""
        self._call(partial(self.runner.tick, now))

    def stop(self) -> None:
        """End the step under way as if its time were over."""
        self._call(self.runner.stop)

    def _call(self, function: Callable[[], None]) -> None:
        try:
            function()
        except ZygoteLostError as error:
            self.abandon(str(error))
        self._wake()

    def abandon(self, reason: str) -> None:
        """Give up what runs, as a fault of ours, and end the zygote."""
        self.runner.abandon(reason)
        self.close()

    def request_exit(self) -> None:
        """Have the zygote and all that is in it end, without waiting for it."""
        if self._client is not None:
            unwatch(self._selector, self._client.connection)
            self._client.request_exit()

    def close(self) -> None:
        """End the zygote and all that is in it."""
        self.runner.close()
        self.request_exit()
        client, self._client = self._client, None
        if client is not None:
            client.close()
