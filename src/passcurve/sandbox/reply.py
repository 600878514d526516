"""What programs in the commons have to say, one after the other on one line, and the bounds of what goes there."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable

from passcurve.sandbox.wire import Closed, TooMuchError, WireError, send_frame

SETUP_BYTES = 1 << 20
"""Of programs that go there in one piece, with their calls; what is larger gets processes of its own."""

REPLY_BYTES = 1 << 20
"""What a program sends back beyond this it sends from a process of its own."""

GROWN_BYTES = 16 << 20
"""A process that a program has made so much larger is replaced: what the next one uses could not be told."""

HEAD = struct.Struct("<qqqq?")
"""Number of the job, CPU time of the program in ns, largest memory of the process in bytes so far, how much of that it
got from its first program on, and whether that is all; frames follow."""

NO_MORE = b""
"""What the tests send to a live program when they have come to their end."""

_READ_BYTES = 1 << 18


class Replies:
    """The tests' end of the line: what programs have said, in the order of their numbers.

    ``cpu_ns``, ``memory_bytes`` and ``grown_bytes`` are what the last reply said that the program took; ``in_step``,
    whether what comes next is the next program's.
    """

    def __init__(self, descriptor: int, before_waiting: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self._before_waiting = before_waiting
        self._came = b""
        self._at = 0
        self.begin(0)

    def begin(self, number: int) -> None:
        """Turn to the program of that number."""
        self._number = number
        self._reply, self._place = b"", 0
        self.cpu_ns = self.memory_bytes = self.grown_bytes = 0
        self.in_step = False

    def take(self, limit: int) -> bytes | None:
        """Return the next frame of what the program says, or None when it must run in a process of its own.

        ``before_waiting`` is called if it has not come yet.  Raises Closed at the end of the line, TooMuchError for a
        frame over ``limit`` bytes, and WireError for what no program says.
        """
        if self._place == len(self._reply) and not self._take_reply():
            return None
        start = self._place + 4
        end = start + int.from_bytes(self._reply[self._place : start], "little")
        if not start < end <= len(self._reply):
            raise WireError("cut short")
        if end - start > limit:
            raise TooMuchError("a frame of %d bytes; at most %d are taken" % (end - start, limit))
        self._place = end
        return self._reply[start:end]

    def ask(self, question: bytes) -> None:
        """Send a question to a live program, or ``NO_MORE``.  Raises Closed when it is gone, WireError as ``frame``."""
        self.in_step = False
        send_frame(self._descriptor, question)

    def _take_reply(self) -> bool:
        """Take in the next reply; return whether it says anything."""
        self.in_step = False
        size = int.from_bytes(self._bytes(4), "little")
        if size > REPLY_BYTES * 2:
            raise TooMuchError("a frame of %d bytes" % size)
        if size < HEAD.size:
            raise WireError("cut short")
        self._reply, self._place = self._bytes(size), HEAD.size
        number, self.cpu_ns, self.memory_bytes, self.grown_bytes, whole = HEAD.unpack_from(self._reply)
        if number != self._number:
            raise WireError("the reply of another job")
        self.in_step = whole
        return size > HEAD.size

    def _bytes(self, size: int) -> bytes:
        while len(self._came) - self._at < size:
            self._before_waiting()
            try:
                more = os.read(self._descriptor, _READ_BYTES)
            except OSError as error:
                raise Closed(str(error)) from None
            if not more:
                raise Closed("end of file")
            self._came = self._came[self._at :] + more
            self._at = 0
        start, self._at = self._at, self._at + size
        return self._came[start : self._at]
