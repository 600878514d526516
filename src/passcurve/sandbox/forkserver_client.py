"""The supervisor's side of the fork server: the interpreter from which all zygotes are forked."""

from __future__ import annotations

import contextlib
import json
import marshal
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from passcurve.errors import SandboxError, UsageError
from passcurve.harness import wire
from passcurve.harness.framing import FrameBuffer
from passcurve.harness.protocol import MARSHAL_VERSION
from passcurve.sandbox.zygote import kernel
from passcurve.sandbox.zygote.interpreter_facts import conda_libraries, own_executable
from passcurve.types.forks import no_forks, socket_pair

READY_S = 60.0
"""A fork server starts in 0.1 s on an idle machine; one that takes this long never will."""

FRAME_BYTES = 1 << 16
"""Largest answer of a fork server."""

EXIT_S = 0.5
"""Time in which a process may end by itself before it is killed."""

LIBRARY_MISSING_EXIT = 127
"""Exit code of a program for which the dynamic loader does not find a library."""

REFEREE_ROLE = "passcurve.harness.referee"
TRIAL_ROLE = "passcurve.harness.rewind_trial"
SAMPLE_ROLES = (
    "passcurve.harness.sample",
    "passcurve.harness.shared",
    "passcurve.harness.unit_tests",
    "passcurve.harness.shared_statements",
    TRIAL_ROLE,
)

PYTHON_ROLES = (REFEREE_ROLE, *SAMPLE_ROLES)
"""The tests' role goes first: the others leave the generator of random numbers as samples expect it."""

COMMAND_ROLE = "passcurve.harness.command"
PROGRAM_ROLE = "passcurve.harness.program"
EXEC_ROLE = "passcurve.harness.exec_command"
COMMAND_ROLES = (COMMAND_ROLE, PROGRAM_ROLE, EXEC_ROLE)

PACKAGE = str(Path(__file__).resolve().parents[1])
BOOT_SCRIPT = str(Path(__file__).parent / "zygote" / "forkserver_boot.py")
_ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "HOME": "/tmp",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "LD_BIND_NOW": "1",
    # The kernel writes to an rseq area at any time, which no rewind could undo.
    "GLIBC_TUNABLES": "glibc.pthread.rseq=0",
}
_PREIMPORT = (
    "bisect",
    "collections",
    "copy",
    "datetime",
    "enum",
    "fractions",
    "functools",
    "heapq",
    "itertools",
    "math",
    "operator",
    "random",
    "re",
    "reprlib",
    "string",
    "time",
    "types",
    "typing",
)
"""Modules that samples import most.  Each one slows every fork, so samples load rarer ones themselves."""


class KilledError(SandboxError):
    """Somebody else killed a zygote before its walls stood; this says nothing about the walls."""


class ForkServerClient:
    """The fork server; another is started when it was killed.

    Use it from one thread only, which must live as long: the kernel ends the fork server, and its zygotes with it, when
    the thread that started it ends.
    """

    def __init__(self, executable: str, roles: tuple[str, ...], *, keeps: bool = True) -> None:
        self.executable, self.roles = executable, roles
        self.keeps = keeps
        """Whether its zygotes may keep a process for many jobs, for which its memory is laid out."""
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None
        self._frames = FrameBuffer(FRAME_BYTES)
        self._number = 0
        """Number of the last order: an interruption may have come before its answer."""
        self.has_fixed_addresses = False
        """Whether its addresses are the same in every run."""
        self._pids: set[int] = set()
        """Pids of the zygotes that the present process has forked and not reaped."""

    def start(self) -> None:
        """Start it without waiting for it.

        Raises SandboxError when the system refuses, UsageError where this package is no folder.
        """
        if not Path(BOOT_SCRIPT).is_file():
            archive = str(Path(PACKAGE).parent)
            raise UsageError(
                f"passcurve lies in the archive {archive!r}, from which no jail can be started: install it"
            )
        ours, theirs = socket_pair()
        libraries = conda_libraries(self.executable)
        before = kernel.fix_addresses()
        self.has_fixed_addresses = before is not None
        try:
            # It waits for the end of a pipe that a copy of this process would have as well.
            with no_forks():
                self._process = subprocess.Popen(
                    [self.executable, "-S", "-s", BOOT_SCRIPT],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=_ENVIRONMENT | ({"LD_LIBRARY_PATH": libraries} if libraries else {}),
                    cwd="/",
                    start_new_session=True,
                )
        except OSError as error:
            ours.close()
            raise SandboxError(f"the interpreter {self.executable!r} cannot be started: {error}") from None
        finally:
            if before is not None:
                kernel.personality(before)
            theirs.close()
        config = {
            "package": PACKAGE,
            "preimport": _PREIMPORT,
            "roles": self.roles,
            "keeps": self.keeps,
            "supervisor": os.getpid(),
        }
        data = json.dumps(config).encode()
        ours.settimeout(READY_S)
        self._connection, self._frames = ours, FrameBuffer(FRAME_BYTES)
        with contextlib.suppress(OSError):
            ours.sendall(len(data).to_bytes(4, "little") + data)

    def try_to_start(self) -> None:
        """Start it if that is possible; whoever needs it starts it once more if not, and gets the error."""
        with contextlib.suppress(SandboxError, OSError):
            self.start()

    def fork(self, connection: socket.socket) -> int:
        """Have a zygote forked that serves ``connection``; return its pid, which stays its own until it is reaped.

        Raises SandboxError when no interpreter starts, KilledError when somebody else killed it twice.
        """
        order = {"do": "fork"}
        answer = self._request(order, [connection.fileno()]) if self._process is not None else None
        if answer is None:
            # It was not started, or somebody has killed it.
            self.close()
            self.start()
            answer = self._request(order, [connection.fileno()])
        if answer is None:
            code = self.close()
            if code == LIBRARY_MISSING_EXIT:
                raise SandboxError(
                    f"the interpreter {self.executable!r} does not find its libraries without LD_LIBRARY_PATH, which "
                    "samples do not have; add a run path (patchelf --set-rpath), or choose another with --python"
                )
            if code == -signal.SIGKILL:
                raise KilledError("an interpreter was killed before it had forked a zygote")
            raise SandboxError(f"a zygote did not start ({'no answer' if code is None else f'exit status {code}'})")
        if "failed" in answer:
            self.close()
            raise SandboxError(answer["failed"])
        pid = int(answer["pid"])
        self._pids.add(pid)
        return pid

    def reap(self, pid: int, within_s: float = EXIT_S) -> int:
        """Wait for a zygote to end, and kill it after that time; return its exit status, below zero for a signal."""
        # All zygotes die with their fork server; the next one does not know them.
        answer = self._request({"do": "reap", "pid": pid, "within_s": within_s}) if pid in self._pids else None
        self._pids.discard(pid)
        return -signal.SIGKILL if answer is None else int(answer["status"])

    def _request(self, order: dict[str, Any], descriptors: list[int] | None = None) -> dict[str, Any] | None:
        if self._connection is None:
            return None
        try:
            self._number += 1
            payload = marshal.dumps({**order, "number": self._number}, MARSHAL_VERSION)
            socket.send_fds(self._connection, [len(payload).to_bytes(4, "little") + payload], descriptors or [])
            while data := self._connection.recv(FRAME_BYTES):
                for frame in self._frames.feed(data):
                    answer: dict[str, Any] = wire.decode(frame)
                    if answer.get("number", self._number) == self._number:
                        return answer
        except (OSError, wire.WireError):
            pass
        return None

    def kill(self) -> None:
        """End it at once, as suits one that has forked no zygote."""
        if self._process is not None:
            self._process.kill()
        self.close()

    def close(self) -> int | None:
        """End it, and all zygotes that are left; return its exit status if it ended by itself."""
        process, self._process = self._process, None
        self._pids.clear()
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if process is None:
            return None
        try:
            return process.wait(timeout=EXIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return None


@contextlib.contextmanager
def early_fork_server(python: str | None) -> Iterator[ForkServerClient | None]:
    """Start the fork server of Python programs before it is known what a run needs: it loads while that is found out.

    None where ``python`` names another interpreter.  It ends with the context.
    """
    if python is not None:
        yield None
        return
    fork_server = ForkServerClient(own_executable(), PYTHON_ROLES)
    try:
        fork_server.try_to_start()
        yield fork_server
    finally:
        fork_server.kill()
