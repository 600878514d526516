"""A program of the user's: started once, written to and read from line by line by one thread.

Theory of operation.  Neither side waits for the other to take a line: what the program does not read yet is kept here,
and its output is read meanwhile.  Closing it wakes the reading thread through a pipe of our own.
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

_EXIT_S = 2.0
"""Time that a program has to end once its stdin is closed."""
_SILENCE_S = 60.0
"""Longest wait for the next line of a program that has closed its stdin."""
_CHUNK_BYTES = 1 << 16
_READ_BYTES = 1 << 20
"""Largest amount of output to read at once."""
_MAX_POLL_S = 3600.0
"""Longest wait whose milliseconds fit into the int that poll takes."""


class _Input:
    """The program's stdin, and the lines that it has not taken yet."""

    def __init__(self, pipe: IO[bytes]) -> None:
        os.set_blocking(pipe.fileno(), False)
        self.pipe = pipe
        self.unsent = bytearray()
        self.is_broken = False

    def send(self, line: bytes) -> None:
        if not self.is_broken:
            self.unsent += line

    def flush(self) -> None:
        """Write as much as the program takes without waiting."""
        try:
            while self.unsent:
                with memoryview(self.unsent) as unsent:
                    count = os.write(self.pipe.fileno(), unsent[:_CHUNK_BYTES])
                del self.unsent[:count]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            # It may still answer the lines that it has read.
            self.unsent.clear()
            self.is_broken = True


class _Output:
    """The program's stdout, and the part of a line that has come so far."""

    def __init__(self, pipe: IO[bytes]) -> None:
        os.set_blocking(pipe.fileno(), False)
        self.pipe = pipe
        self.partial = bytearray()
        self.last_read_bytes = 0
        self.is_ended = False

    def read_lines(self) -> list[bytes]:
        """Return the lines that are there; a partial line only once the output has ended."""
        chunks: list[bytes] = []
        try:
            while len(chunks) * _CHUNK_BYTES < _READ_BYTES and not self.is_ended:
                chunk = os.read(self.pipe.fileno(), _CHUNK_BYTES)
                self.is_ended = not chunk
                chunks.append(chunk)
        except BlockingIOError:
            pass
        text = b"".join(chunks)
        self.last_read_bytes = len(text)
        self.partial += text
        if self.is_ended and not text and self.partial:
            text = b"\n"
            self.partial += text
        if b"\n" not in text:
            return []
        *lines, self.partial = self.partial.split(b"\n")
        return [bytes(line) for line in lines]


class LineProcess:
    """A process in the user's own environment; it shares our stderr.  Close it, from any thread but the reading one.

    Raises OSError when it cannot be started.
    """

    def __init__(self, command: Sequence[str], silence_s: float = _SILENCE_S) -> None:
        """Start it; ``silence_s`` is the longest wait for a line once it has closed its stdin."""
        self._name = command[0]
        self._silence_s = silence_s
        # Readable once its other end is closed.
        self._wakeup_read, self._wakeup_write = os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the user's own program, by the user's own words
                command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=original_environment()
            )
        except BaseException:
            os.close(self._wakeup_read)
            os.close(self._wakeup_write)
            raise
        self._input = _Input(cast("IO[bytes]", self._process.stdin))
        self._output = _Output(cast("IO[bytes]", self._process.stdout))
        self._poll = select.poll()
        self._poll.register(self._output.pipe, select.POLLIN)
        self._poll.register(self._wakeup_read, select.POLLIN)
        self._lock = threading.Lock()
        """Held while the descriptors are in use."""
        self._closed = False
        self._silent_since: float | None = None
        """Time of its last output since its stdin was found closed."""

    def send(self, line: bytes) -> None:
        """Queue a line; the next ``lines`` writes it, or a later one if the program does not take it yet."""
        self._input.send(line)

    def lines(self, timeout_s: float, rest_s: float = 0.0) -> list[bytes]:
        """Wait for output, and return the lines that have come; at the end also a last line without a newline.

        Rest first, unless a line is under way in either direction, or the last read filled a pipe.

        Raises RefusedError when no more will come, ModelError when this was closed.
        """
        with self._lock:
            if self._closed:
                raise ModelError("the run has ended")
            self._flush()
            if self._output.last_read_bytes < _CHUNK_BYTES and not (self._output.partial or self._input.unsent):
                time.sleep(rest_s)
            self._wait(timeout_s)
            lines = self._output.read_lines()
            if self._output.last_read_bytes:
                self._silent_since = time.monotonic() if self._silent_since is not None else None
            elif not lines:
                self._check_alive()
            return lines

    def close(self) -> None:
        """Close its stdin, and kill it when it does not end by itself; a second call does nothing."""
        if self._closed:
            return
        try:
            # Without the lock: the thread that this wakes holds it.
            self._closed = True
            # Not by its end alone: a process that was forked meanwhile may have that, too.
            os.write(self._wakeup_write, b"x")
            os.close(self._wakeup_write)
            with self._lock:
                self._input.pipe.close()
                self._process.wait(_EXIT_S)
        except subprocess.TimeoutExpired:
            pass
        finally:
            # Also after an interruption of the wait.
            self._process.kill()
            self._process.wait()
        with self._lock:
            self._output.pipe.close()
            os.close(self._wakeup_read)

    def _check_alive(self) -> None:
        """Raise RefusedError when its output has ended, or when it has been silent for too long."""
        if self._output.is_ended:
            raise RefusedError(f"command: {self._name!r} has ended before all samples were written{self._exit()}")
        if self._silent_since is not None and time.monotonic() - self._silent_since >= self._silence_s:
            raise RefusedError(f"command: {self._name!r} has closed its stdin and answers no more{self._exit()}")

    def _flush(self) -> None:
        was_broken = self._input.is_broken
        self._input.flush()
        if self._input.is_broken and not was_broken:
            self._silent_since = time.monotonic()

    def _wait(self, timeout_s: float) -> None:
        """Wait until there is output to read or room for more input."""
        if self._silent_since is not None:
            timeout_s = min(timeout_s, self._silence_s)
        if self._input.unsent:
            self._poll.register(self._input.pipe, select.POLLOUT)
        self._poll.poll(1000 * min(timeout_s, _MAX_POLL_S))
        if self._input.unsent:
            self._poll.unregister(self._input.pipe)

    def _exit(self) -> str:
        try:
            return f" (exit code {self._process.wait(_EXIT_S)})"
        except subprocess.TimeoutExpired:
            return ""
