"""The command, loaded once and forked for each call: a process as any other, without the half second of loading.

In it are its own exit code, pipes, folder, environment and memory; shared are what was imported and the hash seed.
So what depends on either, on a signal, on a terminal or on limits of a process is tested with a process of its own.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

FIXED = ("PYTHON", "LANG", "LC_", "LD_", "MPL", "OMP_", "OPENBLAS")
"""How variables begin that were read when everything was loaded."""

AT_ONCE = 1 << 16
"""The bytes that a pipe takes before anybody reads."""

LOADED = ("numpy", "scipy.special", "passcurve.cli.main")
WITH_A_PICTURE = ("matplotlib.figure", "matplotlib.backends.backend_svg", "matplotlib.backends.backend_agg")


class Ready:
    """The side of the tests: starts the process that is forked when it is first needed."""

    def __init__(self, command: str, env: Mapping[str, str]) -> None:
        self.command = command
        self.env = dict(env)
        self.process: subprocess.Popen[bytes] | None = None

    def fits(self, env: Mapping[str, str], stdin: bytes) -> bool:
        """Return whether a fork is what a process of its own would be, as far as this file knows."""
        names = {name for name, _ in env.items() ^ self.env.items()}
        return len(stdin) <= AT_ONCE and not any(name.startswith(FIXED) for name in names)

    def run(
        self, words: Sequence[str], folder: Path, env: Mapping[str, str], stdin: bytes, patience_s: float
    ) -> tuple[int, bytes, bytes]:
        """Run the command to its end and return exit code, stdout and stderr."""
        if self.process is None:
            self._start()
        (read_in, write_in), (read_out, write_out), (read_err, write_err) = os.pipe(), os.pipe(), os.pipe()
        os.write(write_in, stdin)
        os.close(write_in)
        request = {"argv": [self.command, *words], "cwd": str(folder), "env": dict(env)}
        text = json.dumps(request).encode()
        socket.send_fds(self.line, [len(text).to_bytes(8, "big")], [read_in, write_out, write_err])
        self.line.sendall(text)
        for pipe in (read_in, write_out, write_err):
            os.close(pipe)
        pid = int(self.answers.readline())
        output = self._read({read_out: bytearray(), read_err: bytearray()}, pid, patience_s)
        code = os.waitstatus_to_exitcode(int(self.answers.readline()))
        return code, bytes(output[read_out]), bytes(output[read_err])

    def close(self) -> None:
        """End the process that was forked."""
        if self.process is not None:
            self.answers.close()
            self.line.close()
            self.process.wait()

    def _start(self) -> None:
        self.line, theirs = socket.socketpair()
        self.answers = self.line.makefile("rb")
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                env=self.env,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )

    @staticmethod
    def _read(output: dict[int, bytearray], pid: int, patience_s: float) -> dict[int, bytearray]:
        deadline = time.monotonic() + patience_s
        with selectors.DefaultSelector() as selector:
            for pipe in output:
                selector.register(pipe, selectors.EVENT_READ)
            while selector.get_map():
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready:
                    os.kill(pid, signal.SIGKILL)
                    raise subprocess.TimeoutExpired("passcurve", patience_s)
                for key, _ in ready:
                    piece = os.read(key.fd, AT_ONCE)
                    output[key.fd] += piece
                    if not piece:
                        selector.unregister(key.fd)
                        os.close(key.fd)
        return output


def load(modules: Sequence[str]) -> None:
    """Import what is there; what is missing is for the command to say."""
    for module in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)


def serve(line: socket.socket) -> None:
    """Fork for each request and answer with its pid and, when it has ended, with its status; return in the fork."""
    from passcurve.config import use_one_thread

    use_one_thread()
    load(LOADED)
    gc.freeze()  # else each fork writes to every page, to no avail
    interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        head, pipes, _, _ = socket.recv_fds(line, 8, 3)
        if not head:
            os._exit(0)
        size = int.from_bytes(head, "big")
        text = line.recv(size, socket.MSG_WAITALL)
        request = json.loads(text)
        if "--plot" in request["argv"]:
            load(WITH_A_PICTURE)
            gc.freeze()
        pid = os.fork()
        if not pid:
            break
        for pipe in pipes:
            os.close(pipe)
        line.sendall(b"%d\n" % pid)
        line.sendall(b"%d\n" % os.waitpid(pid, 0)[1])
    signal.signal(signal.SIGINT, interrupted)
    line.close()
    for number, pipe in enumerate(pipes):
        os.dup2(pipe, number)
        os.close(pipe)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv[:] = request["argv"]


if __name__ == "__main__":
    sys.path[0] = str(Path(sys.executable).parent)
    serve(socket.socket(fileno=int(sys.argv[1])))
    from passcurve.__main__ import run

    run()
