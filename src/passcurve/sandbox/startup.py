"""Start a sandbox: find the interpreter of the samples, start its fork server, and find the isolation to be had."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager

import msgspec

from passcurve.errors import IsolationError
from passcurve.sandbox import probe as isolation
from passcurve.sandbox import toolchain as tools
from passcurve.sandbox.forkserver_client import COMMAND_ROLES, PYTHON_ROLES, ForkServerClient
from passcurve.sandbox.probe import Probe
from passcurve.sandbox.spare_zygote import SpareZygote
from passcurve.sandbox.toolchain import Toolchain
from passcurve.sandbox.zygote_client import ZygoteSettings
from passcurve.types import Limits


class Sandbox(msgspec.Struct, frozen=True, kw_only=True):
    """The parts that a pool of workers is built from."""

    toolchain: Toolchain
    fork_server: ForkServerClient
    spare: SpareZygote
    """Where the first worker finds its zygote of samples."""
    probe: Probe
    limits: Limits
    preload: tuple[str, ...] = ()
    """Modules that the zygotes of samples import once."""
    commands: bool = False
    """Whether its jobs are commands instead of Python programs."""

    @property
    def zygote_settings(self) -> ZygoteSettings:
        """Settings of every zygote."""
        return ZygoteSettings(
            walls=self.probe.walls,
            toolchain=self.toolchain,
            limits=self.limits,
            rewinds=self.probe.reuse == "rewind",
            preload=self.preload,
        )


def usable_cores() -> list[int | None]:
    """Return the cores that this process may use, in order; one None where the system does not tell."""
    return [*sorted(os.sched_getaffinity(0))] if hasattr(os, "sched_getaffinity") else [None]


@contextmanager
def start_sandbox(
    limits: Limits,
    *,
    python: str | None = None,
    packages: tuple[str, ...] = (),
    optional: tuple[str, ...] = (),
    level: str = "auto",
    reuse: str = "auto",
    preload: tuple[str, ...] = (),
    processes: bool = False,
    commands: bool = False,
    early: ForkServerClient | None = None,
) -> Iterator[Sandbox]:
    """Start a sandbox, which ends with the context.

    ``packages`` must be installed beside ``python``; those of ``optional`` are taken if they are.
    ``preload``: modules that are imported once for all samples; ``processes``: samples may start processes, where
    nothing that they start can outlive them; ``commands``: its jobs are commands, which needs namespaces.
    ``level``, ``reuse``: as for ``probe.find_isolation``; ``early``: a fork server to use if it is of the right kind.
    Raises UsageError for a missing interpreter or package, IsolationError for a missing level.
    """
    toolchain = tools.find_toolchain(python, packages, (*tools.OPTIONAL, *optional))
    roles = COMMAND_ROLES if commands else PYTHON_ROLES
    if early is not None and (early.executable, early.roles) != (toolchain.executable, roles):
        early.kill()
        early = None
    with (
        closing(early or ForkServerClient(toolchain.executable, roles, keeps=not commands)) as fork_server,
        closing(SpareZygote(usable_cores()[0])) as spare,
    ):
        if early is None:
            # It loads while the rest is found out.
            fork_server.try_to_start()
        # Each command is a new process.
        reuse = "fork" if commands else reuse
        probe = isolation.find_isolation(level, toolchain, limits, fork_server, reuse, None if commands else spare)
        if commands and not (probe.walls.namespaces and probe.walls.seccomp):
            raise IsolationError(
                "programs in other languages than Python need namespaces and seccomp, which are missing here "
                f"({'; '.join(probe.jail.missing)}); `passcurve doctor` explains"
            )
        if processes or commands:
            probe = isolation.allow_processes(probe)
        yield Sandbox(
            toolchain=toolchain,
            fork_server=fork_server,
            spare=spare,
            probe=probe,
            limits=limits,
            preload=preload,
            commands=commands,
        )
