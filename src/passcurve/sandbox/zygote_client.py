"""The supervisor's side of a zygote: start it, send it orders, read its answers."""

from __future__ import annotations

import errno
import marshal
import os
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Literal

import msgspec

from passcurve.errors import SandboxError
from passcurve.harness import framing, wire
from passcurve.harness.framing import FrameBuffer
from passcurve.harness.protocol import MARSHAL_VERSION
from passcurve.sandbox import toolchain as tools
from passcurve.sandbox.command_layout import command_layout
from passcurve.sandbox.connection import RECEIVE_BYTES, HasFileno
from passcurve.sandbox.forkserver_client import ForkServerClient, KilledError
from passcurve.sandbox.job import CommandJail
from passcurve.sandbox.layers import namespaces
from passcurve.sandbox.own_folders import OwnFolder
from passcurve.sandbox.toolchain import Toolchain
from passcurve.sandbox.zygote import exit_status, kept_jobs
from passcurve.sandbox.zygote.exit_status import ProcessExit
from passcurve.sandbox.zygote.interpreter_facts import conda_libraries
from passcurve.sandbox.zygote.kept_jobs import JobData, JobResult
from passcurve.types import Limits
from passcurve.types.forks import socket_pair

READY_S = 60.0
"""A zygote starts in 0.02 s on an idle machine; one that takes this long never will."""

FAILED_EXIT_S = 5.0
"""Time in which a zygote that failed may end by itself."""

Side = Literal["jail", "referee"]
SIDES: tuple[Side, Side] = ("jail", "referee")

FIRST_UID = 1_500_000_000
"""Root's samples run under this uid plus the pid of their zygote: far above the uids that systems assign."""

SETUP_BYTES = 64 << 10
"""Largest setup that is sent on a new socket, which takes so much before anybody reads."""

ANSWER_S = 60.0
"""A zygote answers within milliseconds, however busy the machine; one that takes this long never will."""

_FRAME_BYTES = 128 << 20

Record = dict[str, Any] | ProcessExit | JobResult | JobData
"""What a zygote sends."""


class Walls(msgspec.Struct, frozen=True, kw_only=True):
    """The layers that a zygote is told to apply."""

    namespaces: bool
    landlock: bool
    seccomp: bool
    processes: bool = False
    """Whether samples may start processes; only with namespaces and seccomp."""


class ZygoteSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that both zygotes of a worker are started with."""

    walls: Walls
    toolchain: Toolchain
    limits: Limits
    rewinds: bool
    """Whether kept processes are rewound after each job; otherwise they are replaced."""
    preload: tuple[str, ...] = ()
    """Modules that the zygote of samples imports once."""
    commands: CommandJail | None = None
    """The jail of commands that it is for, instead of samples."""


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    """The report of a zygote when its walls stand."""

    kind: str
    landlock: int
    clock: bool
    watched: bool
    """Whether refused system calls are reported."""
    dropped: bool
    """Whether it gave up root's uid for one of its own."""
    broken: tuple[str, ...]
    python: str
    rewinds: bool = False
    """Whether rewinding a process was tried."""
    no_rewind: str = ""
    """Why that did not work."""
    fixed_addresses: bool = False
    """Whether addresses are the same in every run."""


class ZygoteLostError(SandboxError):
    """A zygote is gone, does not answer, or answers what it was not asked."""


@contextmanager
def translate_os_errors() -> Iterator[None]:
    """Turn an error of the system into one that says what to do."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        remedy = ""
        if error.errno in (errno.EMFILE, errno.ENFILE):
            reason, remedy = "too many open files", "; allow more (ulimit -n) or ask for fewer --workers"
        elif error.errno in (errno.ENOENT, errno.EROFS, errno.EACCES, errno.ENOSPC):
            remedy = "; name a writable folder in TMPDIR"
        raise SandboxError(f"cannot build a sandbox: {reason}{remedy}") from None


class ZygoteClient:
    """One zygote process and the connection to it."""

    def __init__(
        self,
        side: Side,
        fork_server: ForkServerClient,
        settings: ZygoteSettings,
        cpu: int | None,
        *,
        is_for_trial: bool = False,
    ) -> None:
        """``is_for_trial``: rewinding will be tried in it before it gets a job."""
        self.side = side
        self._is_for_trial = is_for_trial
        self._fork_server = fork_server
        self.folder: OwnFolder | None = None
        """Its folder on the host, where it has no mounts of its own."""
        self._ready: Ready | None = None
        self.frames = FrameBuffer(_FRAME_BYTES)
        with translate_os_errors():
            self._fork()
            try:
                self._configure(settings, cpu)
            except BaseException:
                self.close()
                raise

    def _fork(self) -> None:
        self.connection, theirs = socket_pair()
        try:
            self.pid = self._fork_server.fork(theirs)
        except BaseException:
            self.connection.close()
            raise
        finally:
            theirs.close()

    def _configure(self, settings: ZygoteSettings, cpu: int | None) -> None:
        if cpu is not None:
            try:
                os.sched_setaffinity(self.pid, {cpu})
            except OSError:
                pass  # only speed depends on it
        config = marshal.dumps(self._config(settings), MARSHAL_VERSION)
        # If somebody has killed it, whoever waits for it will see that.
        with suppress(OSError):
            self.connection.sendall(framing.make_frame(config))

    def _config(self, settings: ZygoteSettings) -> dict[str, Any]:
        walls, toolchain, limits, commands = settings.walls, settings.toolchain, settings.limits, settings.commands
        processes = (walls.processes and self.side == "jail") or commands is not None
        layout = command_layout(commands) if commands else tools.root_layout(toolchain, programs=processes)
        scratch_bytes = commands.scratch_bytes if commands else limits.scratch_bytes
        scratch_files = commands.scratch_files if commands else limits.scratch_files
        # One per zygote: threads are counted per id.
        host_id = namespaces.choose_host_id(FIRST_UID + self.pid)
        config = {
            "packages_path": tools.PACKAGES if toolchain.package_paths and commands is None else "",
            "libraries": conda_libraries(toolchain.executable) if processes and commands is None else "",
            "namespaces": walls.namespaces,
            "landlock": walls.landlock,
            "seccomp": walls.seccomp,
            "keeps": self._fork_server.keeps,
            "rewinds": settings.rewinds,
            "skips_number": settings.rewinds and walls.namespaces and not self._is_for_trial,
            "processes": processes,
            "preload": list(settings.preload) if self.side == "jail" else [],
            "host_id": host_id,
            "own_id": None,
            "binds": layout.binds,
            "links": layout.links,
            "masks": layout.hidden,
            # Who starts processes looks at them.
            "readable": [target for _, target in layout.binds] + (["/proc"] if processes else []),
            # Packages lie in it, and an import lists it.
            "listable": [tools.PACKAGES],
            "canary": __file__,
            "scratch": f"size={scratch_bytes},nr_inodes={scratch_files},mode=0700",
            "scratch_dir": "",
            "scratch_limits": (scratch_bytes, scratch_files),
            "file_bytes": scratch_bytes,
            "memory": limits.memory_bytes,
            "commands": commands is not None,
            "compiles": commands is not None and commands.is_for_compilers,
        }
        if not walls.namespaces:
            config.update(self._host_folders(settings, [source for source, _ in layout.binds], host_id))
        return config

    def _host_folders(self, settings: ZygoteSettings, sources: list[str], host_id: int | None) -> dict[str, Any]:
        """Return what differs where there are no mounts of our own: the host's own folders, as few as will do."""
        self.folder = OwnFolder()
        scratch = self.folder.path / "scratch"
        scratch.mkdir()
        packages = self.folder.path / "packages"
        packages.mkdir()
        packages.chmod(0o755)
        for name, path in settings.toolchain.package_paths:
            (packages / name).symlink_to(path)
        readable, listable = tools.without_environments(sources)
        is_public = tools.is_readable_by_all([*readable, *listable]) and tools.is_enterable_by_all(self.folder.path)
        has_own_id = settings.walls.seccomp and is_public
        own_id = host_id if has_own_id else None
        if own_id is not None:
            self.folder.path.chmod(0o711)
            os.chown(scratch, own_id, own_id)
        return {
            "packages_path": str(packages),
            "readable": readable,
            "listable": [*listable, str(packages)],
            "scratch_dir": str(scratch),
            "own_id": own_id,
        }

    def wait_ready(self) -> Ready:
        """Wait until the walls stand.  Raises SandboxError with the zygote's own reason when they do not.

        The error is a KilledError when somebody else killed the zygote before.
        """
        if self._ready is None:
            self._ready = self._wait_ready()
        return self._ready

    def _wait_ready(self) -> Ready:
        self.connection.settimeout(READY_S)
        deadline = time.monotonic() + READY_S
        answer: dict[str, Any] = {}
        while not answer and time.monotonic() < deadline:
            try:
                data = self.connection.recv(1 << 16)
            except TimeoutError:
                break
            except OSError:
                data = b""
            for frame in self.frames.feed(data):
                answer = wire.decode(frame)
            if not data:
                break
        if not answer:
            self.request_exit()
            code = self._fork_server.reap(self.pid)
            if code == -signal.SIGKILL:
                raise KilledError("a zygote was killed before its walls stood")
            raise SandboxError(f"a zygote did not start (exit status {code})")
        if "failed" in answer:
            self.request_exit()
            # A zygote whose watcher was killed fails at the first call that nobody answers.
            if self._fork_server.reap(self.pid, FAILED_EXIT_S) == -signal.SIGKILL:
                raise KilledError("a zygote's watcher was killed before its walls stood")
            raise SandboxError(answer["failed"])
        self.connection.settimeout(None)
        return Ready(
            kind=answer["kind"],
            landlock=answer["landlock"],
            clock=answer["clock"],
            watched=answer["watched"],
            dropped=answer["dropped"],
            broken=tuple(answer["broken"]),
            python=answer["python"],
        )

    def run(self, order: dict[str, Any], ours: socket.socket, theirs: Sequence[HasFileno], setup: bytes) -> None:
        """Have a process forked that gets some sockets and files; raises ZygoteLostError when the zygote is gone.

        The process finds its setup on the first socket, whose other end is ``ours``, or in a file if it is large.
        """
        descriptors = [item.fileno() for item in theirs]
        if len(setup) <= SETUP_BYTES:
            ours.sendall(setup)
            self.send(order, descriptors)
            return
        file = framing.create_memory_file(setup)
        try:
            self.send(order, [*descriptors, file])
        finally:
            os.close(file)

    def send(self, order: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
        """Send an order; raises ZygoteLostError when the zygote is gone."""
        payload = marshal.dumps(order, MARSHAL_VERSION)
        data = len(payload).to_bytes(4, "little") + payload
        try:
            sent = socket.send_fds(self.connection, [data], descriptors) if descriptors else self.connection.send(data)
            if sent < len(data):
                self.connection.sendall(data[sent:])
        except OSError:
            raise ZygoteLostError(f"the {self.side}'s zygote ended") from None

    def read(self) -> list[Record]:
        """Return the records that have come; raises ZygoteLostError when the zygote is gone."""
        try:
            data = self.connection.recv(RECEIVE_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        if not data:
            raise ZygoteLostError(f"the {self.side}'s zygote ended")
        return [_decode(frame) for frame in self.frames.feed(data)]

    def ask(self, order: dict[str, Any], within_s: float) -> Record | None:
        """Send an order and return the next record; None when there is none within that time."""
        try:
            self.send(order)
            self.connection.settimeout(within_s)
            while data := self.connection.recv(1 << 16):
                for frame in self.frames.feed(data):
                    return _decode(frame)
        except (OSError, ZygoteLostError):
            pass
        finally:
            self.connection.settimeout(None)
        return None

    def request_exit(self) -> None:
        """Have the zygote end, with everything in it, without waiting for it."""
        self.connection.close()

    def close(self) -> None:
        """End the zygote and everything in it."""
        self.request_exit()
        # A zygote that ends by itself reaps its children, so that their CPU time counts as ours.
        self._fork_server.reap(self.pid)
        if self.folder is not None:
            self.folder.close()


def _decode(frame: bytes) -> Record:
    """Return a record of a zygote."""
    if record := kept_jobs.unpack(frame) or exit_status.unpack(frame):
        return record
    fields: dict[str, Any] = wire.decode(frame)
    return fields
