"""A server that loads the command once and forks it for each call, which saves half a second of loading.

A forked call has its own exit code, pipes, folder, environment and memory; it shares the imports and the hash seed.
Tests of signals, terminals, process limits, imports or the hash seed must start a process of their own.
"""

from __future__ import annotations

import atexit
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
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

READ_AT_START = ("PYTHON", "LANG", "LC_", "LD_", "MPL", "OMP_", "OPENBLAS")
"""Prefixes of variables that are read when everything is loaded."""

PIPE_BYTES = 1 << 16
"""Capacity of a pipe."""

PRELOADED = (
    *("numpy", "scipy.special", "passcurve.judging.run", "passcurve.judging.inputs"),
    *("passcurve.judging.conclusion", "passcurve.generation.sources", "passcurve.store.input_report"),
    *("passcurve.report", "passcurve.report.live", "passcurve.report.scores", "passcurve.stats.metrics"),
    *("passcurve.analysis.score", "passcurve.analysis.compare", "passcurve.store.results_source"),
)
PRELOADED_FOR_PLOTS = ("matplotlib.figure", "matplotlib.backends.backend_svg", "matplotlib.backends.backend_agg")


class Completed(NamedTuple):
    """Exit code and output of a command that has ended."""

    code: int
    out: str
    err: str

    @property
    def record(self) -> dict[str, Any]:
        """The output as one JSON object; anything beside it is an error."""
        return json.loads(self.out)


class CommandServer:
    """Client side of the server, which starts on the first call."""

    def __init__(self, command: str, env: Mapping[str, str]) -> None:
        self.command = command
        self.env = dict(env)
        self.process: subprocess.Popen[bytes] | None = None

    def can_run(self, env: Mapping[str, str], stdin: bytes) -> bool:
        """Return whether a forked call behaves like a process of its own."""
        names = {name for name, _ in env.items() ^ self.env.items()}
        return len(stdin) <= PIPE_BYTES and not any(name.startswith(READ_AT_START) for name in names)

    def run(
        self, words: Sequence[str], folder: Path, env: Mapping[str, str], stdin: bytes, timeout_s: float
    ) -> tuple[int, bytes, bytes]:
        """Run the command and return its exit code, stdout and stderr."""
        if self.process is None:
            self._start()
        (read_in, write_in), (read_out, write_out), (read_err, write_err) = os.pipe(), os.pipe(), os.pipe()
        os.write(write_in, stdin)
        os.close(write_in)
        request = {"argv": [self.command, *words], "cwd": str(folder), "env": dict(env)}
        text = json.dumps(request).encode()
        socket.send_fds(self.connection, [len(text).to_bytes(8, "big")], [read_in, write_out, write_err])
        self.connection.sendall(text)
        for pipe in (read_in, write_out, write_err):
            os.close(pipe)
        pid = int(self.responses.readline())
        try:
            output = self._read({read_out: bytearray(), read_err: bytearray()}, pid, timeout_s)
        except subprocess.TimeoutExpired:
            # Else the next call would take this end for its own.
            self.responses.readline()
            raise
        code = os.waitstatus_to_exitcode(int(self.responses.readline()))
        return code, bytes(output[read_out]), bytes(output[read_err])

    def close(self) -> None:
        """Stop the server."""
        if self.process is not None:
            self.responses.close()
            self.connection.close()
            self.process.wait()

    def _start(self) -> None:
        self.connection, server_end = socket.socketpair()
        self.responses = self.connection.makefile("rb")
        with server_end:
            self.process = subprocess.Popen(
                [sys.executable, __file__, str(server_end.fileno())],
                env=self.env,
                pass_fds=[server_end.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )

    @staticmethod
    def _read(output: dict[int, bytearray], pid: int, timeout_s: float) -> dict[int, bytearray]:
        deadline = time.monotonic() + timeout_s
        with selectors.DefaultSelector() as selector:
            for pipe in output:
                selector.register(pipe, selectors.EVENT_READ)
            while selector.get_map():
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready:
                    os.kill(pid, signal.SIGKILL)
                    raise subprocess.TimeoutExpired("passcurve", timeout_s)
                for key, _ in ready:
                    piece = os.read(key.fd, PIPE_BYTES)
                    output[key.fd] += piece
                    if not piece:
                        selector.unregister(key.fd)
                        os.close(key.fd)
        return output


def load(modules: Sequence[str]) -> None:
    """Import modules; the command itself reports those that are missing."""
    for module in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)


def serve(connection: socket.socket) -> None:
    """Fork for each request; answer with its pid and then its exit status.  Return in the forked process."""
    from passcurve.config import use_one_thread

    use_one_thread()
    load(PRELOADED)
    with contextlib.suppress(ImportError):
        importlib.import_module("passcurve.cli.main").make_app()
    gc.freeze()  # else each fork copies every page
    interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        head, pipes, _, _ = socket.recv_fds(connection, 8, 3)
        if not head:
            os._exit(0)
        size = int.from_bytes(head, "big")
        text = connection.recv(size, socket.MSG_WAITALL)
        request = json.loads(text)
        if "--plot" in request["argv"]:
            load(PRELOADED_FOR_PLOTS)
            gc.freeze()
        pid = os.fork()
        if not pid:
            break
        for pipe in pipes:
            os.close(pipe)
        connection.sendall(b"%d\n" % pid)
        connection.sendall(b"%d\n" % os.waitpid(pid, 0)[1])
    signal.signal(signal.SIGINT, interrupted)
    connection.close()
    for number, pipe in enumerate(pipes):
        os.dup2(pipe, number)
        os.close(pipe)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv[:] = request["argv"]


def leave(code: object) -> None:
    """End as the interpreter does, but for freeing what was loaded: a fork would copy each page of it first."""
    if not isinstance(code, int | None):
        raise SystemExit(code)
    threading._shutdown()  # noqa: SLF001 - nothing public waits for all threads
    atexit._run_exitfuncs()  # noqa: SLF001 - nothing public runs them before the end
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit((code or 0) & 0xFF)


if __name__ == "__main__":
    sys.path[0] = str(Path(sys.executable).parent)
    serve(socket.socket(fileno=int(sys.argv[1])))
    from passcurve.__main__ import run

    try:
        run()
    except SystemExit as end:
        leave(end.code)
