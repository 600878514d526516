"""A program of the user's: started once, written to and read from line by line by one thread.

Theory of operation.  Neither side waits for the other to take a line: what the program does not read yet is kept here,
and what it says is read meanwhile.  Whoever closes it wakes the thread that listens, through a pipe of our own.
"""

from __future__ import annotations

import os
import select
import subprocess
import threading
import time
from collections.abc import Sequence
from typing import IO, cast

from passcurve.config import original_environment
from passcurve.errors import ModelError, RefusedError

_ENDING_S = 2.0
"""What a program has to end, once its stdin is closed."""
_SILENCE_S = 60.0
"""What a program may need for its next answer, of those that it has read before it closed its stdin."""
_CHUNK_BYTES = 1 << 16
_LOOK_BYTES = 1 << 20
"""Read at once, at most."""
_POLL_S = 3600.0
"""poll takes no time that does not fit into an int of milliseconds."""


class Program:
    """A process in the user's own environment; its stderr is ours.  Close it, from any thread but that which reads.

    Raises OSError when it cannot be started.
    """

    def __init__(self, words: Sequence[str], silence_s: float = _SILENCE_S) -> None:
        """Start it; when it has closed its stdin, nobody waits longer than ``silence_s`` for it to say more."""
        self._name = words[0]
        self._silence_s = silence_s
        # Readable once its other end is closed.
        self._over, self._going = os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the user's own program, by the user's own words
                words, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=original_environment()
            )
        except BaseException:
            os.close(self._over)
            os.close(self._going)
            raise
        # They are pipes because that was asked for.
        self._stdin = cast("IO[bytes]", self._process.stdin)
        self._stdout = cast("IO[bytes]", self._process.stdout)
        os.set_blocking(self._stdin.fileno(), False)
        os.set_blocking(self._stdout.fileno(), False)
        self._poll = select.poll()
        self._poll.register(self._stdout, select.POLLIN)
        self._poll.register(self._over, select.POLLIN)
        self._lock = threading.Lock()
        """Held by who uses the descriptors."""
        self._closed = False
        self._unsent = bytearray()
        self._deaf_since: float | None = None
        """When it was last heard since its stdin was found closed."""
        self._torn = bytearray()
        """What has come of the next line."""
        self._came_bytes = 0
        """When it was looked at last."""

    def send(self, line: bytes) -> None:
        """Have a line written when ``lines`` is called next, or as soon after as the program takes it."""
        if self._deaf_since is None:
            self._unsent += line

    def lines(self, at_most_s: float, rest_s: float = 0.0) -> list[bytes]:
        """Wait for that long at most, and return the lines that have come; of the last, at the end, even a part.

        First rest for some time, unless a line is under way in either direction, or what came last was all that a pipe
        holds.

        Raises RefusedError when no more will come, ModelError when this was closed.
        """
        with self._lock:
            if self._closed:
                raise ModelError("the run has ended")
            self._write()
            if self._came_bytes < _CHUNK_BYTES and not (self._torn or self._unsent):
                time.sleep(rest_s)
            self._wait(at_most_s)
            chunks, ended = self._read()
            self._came_bytes = sum(map(len, chunks))
            if chunks:
                self._deaf_since = time.monotonic() if self._deaf_since is not None else None
                return self._parted(chunks)
            if ended and self._torn:
                return self._parted([b"\n"])
            if ended:
                raise RefusedError(f"command: {self._name!r} has ended before all samples were written{self._exit()}")
            if self._deaf_since is not None and time.monotonic() - self._deaf_since >= self._silence_s:
                raise RefusedError(f"command: {self._name!r} reads no more orders{self._exit()}")
            return []

    def close(self) -> None:
        """Close its stdin, and end it when it does not end by itself; a second call does nothing."""
        if self._closed:
            return
        try:
            # Without the lock: it is held by the thread that this wakes.
            self._closed = True
            os.close(self._going)
            with self._lock:
                self._stdin.close()
                self._process.wait(_ENDING_S)
        except subprocess.TimeoutExpired:
            pass
        finally:
            # Also when somebody does not want to wait for its end.
            self._process.kill()
            self._process.wait()
        with self._lock:
            self._stdout.close()
            os.close(self._over)

    def _write(self) -> None:
        try:
            while self._unsent:
                with memoryview(self._unsent) as unsent:
                    count = os.write(self._stdin.fileno(), unsent[:_CHUNK_BYTES])
                del self._unsent[:count]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            # What it has read it may answer.
            self._unsent.clear()
            self._deaf_since = time.monotonic()

    def _wait(self, at_most_s: float) -> None:
        """Wait for that long at most until there is something to read, or the rest can be written."""
        if self._deaf_since is not None:
            at_most_s = min(at_most_s, self._silence_s)
        if self._unsent:
            self._poll.register(self._stdin, select.POLLOUT)
        self._poll.poll(1000 * min(at_most_s, _POLL_S))
        if self._unsent:
            self._poll.unregister(self._stdin)

    def _read(self) -> tuple[list[bytes], bool]:
        """Return what there is to read, and whether that was all."""
        chunks: list[bytes] = []
        try:
            while len(chunks) * _CHUNK_BYTES < _LOOK_BYTES:
                if not (chunk := os.read(self._stdout.fileno(), _CHUNK_BYTES)):
                    return chunks, True
                chunks.append(chunk)
        except BlockingIOError:
            pass
        return chunks, False

    def _parted(self, chunks: list[bytes]) -> list[bytes]:
        said = b"".join(chunks)
        self._torn += said
        if b"\n" not in said:
            return []
        *lines, self._torn = self._torn.split(b"\n")
        return [bytes(line) for line in lines]

    def _exit(self) -> str:
        try:
            return f" (exit code {self._process.wait(_ENDING_S)})"
        except subprocess.TimeoutExpired:
            return ""
