"""A program of the user's: started once, written to and read from line by line by one thread.

Theory of operation.  Neither side waits for the other to take a line: what the program does not read yet is kept here,
and what it says is read meanwhile.  Whoever closes it wakes the thread that listens, through a pipe of our own.
"""

from __future__ import annotations

import os
import select
import subprocess
import threading
from collections.abc import Sequence

from passcurve.config import environment_of_others
from passcurve.errors import ModelError, RefusedError

_ENDING_S = 2.0
"""What a program has to end, once its stdin is closed, or to say what it has to say, once it has closed that itself."""
_CHUNK_BYTES = 1 << 16


class Program:
    """A process in the user's own environment; its stderr is ours.  Close it, from any thread.

    Raises OSError when it cannot be started.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._name = words[0]
        self._process = subprocess.Popen(  # noqa: S603 - the user's own program, by the user's own words
            words, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment_of_others()
        )
        self._stdin = self._process.stdin.fileno()  # type: ignore[union-attr]
        self._stdout = self._process.stdout.fileno()  # type: ignore[union-attr]
        os.set_blocking(self._stdin, False)
        # Readable once its other end is closed.
        self._over, self._going = os.pipe()
        self._poll = select.poll()
        self._poll.register(self._stdout, select.POLLIN)
        self._poll.register(self._over, select.POLLIN)
        self._lock = threading.Lock()
        """Held by who uses the descriptors."""
        self._closed = False
        self._unsent = b""
        self._deaf = False
        self._torn = bytearray()
        """What has come of the next line."""

    def send(self, line: bytes) -> None:
        """Have a line written when ``lines`` is called next, or as soon after as the program takes it."""
        self._unsent += line

    def lines(self, at_most_s: float) -> list[bytes]:
        """Wait for that long at most, and return the lines that have come, the last one even if torn.

        Raises RefusedError when no more will come, ModelError when this was closed.
        """
        with self._lock:
            if self._closed:
                raise ModelError("the run has ended")
            self._write()
            if not self._ready(at_most_s):
                return []
            if chunk := os.read(self._stdout, _CHUNK_BYTES):
                return self._parted(chunk)
            if self._torn:
                return self._parted(b"\n")
            raise RefusedError(f"command: {self._name!r} has ended before all samples were written{self._exit()}")

    def close(self) -> None:
        """Close its stdin, and end it when it does not end by itself; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        os.close(self._going)
        with self._lock:
            self._process.stdin.close()  # type: ignore[union-attr]
            try:
                self._process.wait(_ENDING_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process.stdout.close()  # type: ignore[union-attr]
            os.close(self._over)

    def _write(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(self._stdin, self._unsent) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            # What it has said before counts.
            self._unsent, self._deaf = b"", True

    def _ready(self, at_most_s: float) -> bool:
        """Wait for that long at most until there is something to read, or the rest can be written."""
        if self._unsent:
            self._poll.register(self._stdin, select.POLLOUT)
        found = self._poll.poll(1000 * (min(at_most_s, _ENDING_S) if self._deaf else at_most_s))
        if self._unsent:
            self._poll.unregister(self._stdin)
        if self._deaf and not found:
            raise RefusedError(f"command: {self._name!r} reads no more orders{self._exit()}")
        return any(descriptor == self._stdout for descriptor, _ in found)

    def _parted(self, chunk: bytes) -> list[bytes]:
        self._torn += chunk
        if b"\n" not in chunk:
            return []
        *lines, self._torn = self._torn.split(b"\n")
        return [bytes(line) for line in lines]

    def _exit(self) -> str:
        try:
            return f" (exit code {self._process.wait(_ENDING_S)})"
        except subprocess.TimeoutExpired:
            return ""
