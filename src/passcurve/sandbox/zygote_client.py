"""The supervisor's side of a zygote: have it forked, send it orders, hear from it."""

from __future__ import annotations

import errno
import marshal
import os
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from passcurve.errors import SandboxError
from passcurve.harness import framing, wire
from passcurve.harness.framing import FrameBuffer
from passcurve.harness.protocol import MARSHAL_VERSION
from passcurve.sandbox import exit_status
from passcurve.sandbox import toolchain as tools
from passcurve.sandbox.forkserver_client import ForkServerClient, KilledError
from passcurve.sandbox.layers import namespaces
from passcurve.sandbox.layers.scratch import empty
from passcurve.types import Limits

READY_S = 60.0
"""A zygote takes 0.02 s on an idle machine; one that takes this long never comes."""

FAIL_S = 5.0
"""How long one that gave up gets to end by itself."""

_FOLDER = "passcurve-"
FIRST_UID = 1_500_000_000
"""Root's samples run under this uid plus the pid of their zygote: far above what systems hand out."""

LINE_BYTES = 64 << 10
"""Of a job that is sent on a new line, which takes so much before anybody reads."""

_FRAME_BYTES = 64 << 20


class Walls(msgspec.Struct, frozen=True, kw_only=True):
    """Which layers a zygote is told to apply."""

    namespaces: bool
    landlock: bool
    seccomp: bool


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    """What a zygote says of itself when its walls stand."""

    kind: str
    landlock: int
    clock: bool
    watched: bool
    """Whether what is refused is told."""
    dropped: bool
    """Whether it gave up root's uid for one of its own."""
    broken: tuple[str, ...]
    python: str
    rewinds: bool = False
    """Whether it was tried to put a process back."""
    no_rewind: str = ""
    """Why that did not work."""
    fixed: bool = False
    """Whether addresses are the same in every run."""


@contextmanager
def translated() -> Iterator[None]:
    """Turn what the system refuses us into an error that says what to do."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        remedy = ""
        if error.errno in (errno.EMFILE, errno.ENFILE):
            reason, remedy = "too many open files", "; allow more (ulimit -n) or ask for fewer --workers"
        elif error.errno in (errno.ENOENT, errno.EROFS, errno.EACCES, errno.ENOSPC):
            remedy = "; name a folder that can be written in TMPDIR"
        raise SandboxError(f"a sandbox cannot be built: {reason}{remedy}") from None


class ZygoteClient:
    """One zygote process and the line to it."""

    def __init__(
        self,
        fork_server: ForkServerClient,
        walls: Walls,
        toolchain: tools.Toolchain,
        limits: Limits,
        cpu: int | None,
        *,
        rewinds: bool,
    ) -> None:
        self._fork_server = fork_server
        self._rewinds = rewinds
        self._folder: str | None = None
        self.frames = FrameBuffer(_FRAME_BYTES)
        with translated():
            self._start(walls, toolchain, limits, cpu)

    def _start(self, walls: Walls, toolchain: tools.Toolchain, limits: Limits, cpu: int | None) -> None:
        self.line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.pid = self._fork_server.fork(theirs)
        except BaseException:
            self.line.close()
            raise
        finally:
            theirs.close()
        if cpu is not None:
            try:
                os.sched_setaffinity(self.pid, {cpu})
            except OSError:
                pass  # only speed depends on it
        config = marshal.dumps(self._config(walls, toolchain, limits), MARSHAL_VERSION)
        # If somebody has killed it, whoever waits for it will see that.
        with suppress(OSError):
            self.line.sendall(framing.make_frame(config))

    def _config(self, walls: Walls, toolchain: tools.Toolchain, limits: Limits) -> dict[str, Any]:
        binds, links, masks = tools.binds(toolchain)
        # One per zygote: threads are counted per id.
        host_id = namespaces.choose_host_id(FIRST_UID + self.pid)
        config = {
            "packages_path": tools.PACKAGES if toolchain.package_paths else "",
            "namespaces": walls.namespaces,
            "landlock": walls.landlock,
            "seccomp": walls.seccomp,
            "rewinds": self._rewinds,
            "host_id": host_id,
            "own_id": None,
            "binds": binds,
            "links": links,
            "masks": masks,
            "readable": [target for _, target in binds],
            # Packages lie in it, and an import lists it.
            "listable": [tools.PACKAGES],
            "canary": __file__,
            "scratch": f"size={limits.scratch_bytes},nr_inodes={limits.scratch_files},mode=0700",
            "scratch_dir": "",
            "scratch_limits": (limits.scratch_bytes, limits.scratch_files),
            "file_bytes": limits.scratch_bytes,
            "memory": limits.memory_bytes,
        }
        if not walls.namespaces:
            config.update(self._on_the_host(walls, toolchain, [source for source, _ in binds], host_id))
        return config

    def _on_the_host(
        self, walls: Walls, toolchain: tools.Toolchain, sources: list[str], host_id: int | None
    ) -> dict[str, Any]:
        """Return what differs where there are no mounts of our own: the host's own folders, as few as will do."""
        _remove_orphans()
        self._folder = tempfile.mkdtemp(prefix=f"{_FOLDER}{os.getpid()}-")
        scratch = Path(self._folder, "scratch")
        scratch.mkdir()
        packages = Path(self._folder, "packages")
        packages.mkdir()
        for name, path in toolchain.package_paths:
            (packages / name).symlink_to(path)
        readable, listable = tools.without_environments(sources)
        own_id = host_id if walls.seccomp and tools.open_to_all([*readable, *listable]) else None
        if own_id is not None:
            Path(self._folder).chmod(0o711)
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

        The error is a KilledError when somebody else ended the zygote before.
        """
        self.line.settimeout(READY_S)
        deadline = time.monotonic() + READY_S
        answer: dict[str, Any] = {}
        while not answer and time.monotonic() < deadline:
            try:
                data = self.line.recv(1 << 16)
            except TimeoutError:
                break
            except OSError:
                data = b""
            for frame in self.frames.feed(data):
                answer = wire.decode(frame)
            if not data:
                break
        if not answer:
            self.leave()
            code = self._fork_server.reap(self.pid)
            if code == -signal.SIGKILL:
                raise KilledError("a zygote was killed before its walls stood")
            raise SandboxError(f"a zygote did not start (exit status {code})")
        if "failed" in answer:
            self.leave()
            # One whose watcher was killed fails at what that does not answer.
            if self._fork_server.reap(self.pid, FAIL_S) == -signal.SIGKILL:
                raise KilledError("a zygote's watcher was killed before its walls stood")
            raise SandboxError(answer["failed"])
        self.line.settimeout(None)
        return Ready(
            kind=answer["kind"],
            landlock=answer["landlock"],
            clock=answer["clock"],
            watched=answer["watched"],
            dropped=answer["dropped"],
            broken=tuple(answer["broken"]),
            python=answer["python"],
        )

    def run(self, order: dict[str, Any], to_it: socket.socket, lines: list[socket.socket], job: bytes) -> bool:
        """Have a process forked that has some lines; it finds its job on the first, or in a file if it is large.

        False when the zygote is gone.
        """
        descriptors = [line.fileno() for line in lines]
        if len(job) <= LINE_BYTES:
            to_it.sendall(job)
            return self.send(order, descriptors)
        file = framing.create_memory_file(job)
        try:
            return self.send(order, [*descriptors, file])
        finally:
            os.close(file)

    def send(self, order: dict[str, Any], descriptors: Sequence[int] = ()) -> bool:
        """Send an order; False when the zygote is gone."""
        payload = marshal.dumps(order, MARSHAL_VERSION)
        data = len(payload).to_bytes(4, "little") + payload
        try:
            sent = socket.send_fds(self.line, [data], descriptors) if descriptors else self.line.send(data)
            if sent < len(data):
                self.line.sendall(data[sent:])
        except OSError:
            return False
        return True

    def ask(self, order: dict[str, Any], descriptors: Sequence[int], within_s: float) -> dict[str, Any] | None:
        """Send an order and wait for what is said of it; None when nothing is."""
        if not self.send(order, descriptors):
            return None
        self.line.settimeout(within_s)
        try:
            while data := self.line.recv(1 << 16):
                for frame in self.frames.feed(data):
                    answer: dict[str, Any] = (
                        exit_status.unpack(frame) if exit_status.is_packed(frame) else wire.decode(frame)
                    )
                    return answer
        except OSError:
            pass
        finally:
            self.line.settimeout(None)
        return None

    def leave(self) -> None:
        """Tell the zygote to end, with everything in it, without waiting for it."""
        self.line.close()

    def close(self) -> None:
        """End the zygote and everything in it."""
        self.leave()
        # Left to itself it reaps its children, so that the time they used is known to whoever waits for us.
        self._fork_server.reap(self.pid)
        if self._folder is not None:
            # Samples may have left folders too deep for a removal that follows them down.
            for left in Path(self._folder, "scratch").iterdir():
                empty(str(left))
            shutil.rmtree(self._folder, ignore_errors=True)


def _remove_orphans() -> None:
    """Remove the folders of ours whose supervisor was killed before it could."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*-*"):
        owner = folder.name.removeprefix(_FOLDER).partition("-")[0]
        if owner.isdecimal() and not Path(f"/proc/{owner}").exists() and folder.stat().st_uid == os.getuid():
            for left in folder.glob("scratch/*"):
                empty(str(left))
            shutil.rmtree(folder, ignore_errors=True)
