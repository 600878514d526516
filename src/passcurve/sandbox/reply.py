"""What programs in the commons have to say, one after the other on one line, and the bounds of what goes there."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable

from passcurve.sandbox.wire import Closed, TooMuchError, WireError

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
    """The tests' end of the line: what has come is kept until its turn."""

    def __init__(self, descriptor: int, before_waiting: Callable[[], None]) -> None:
        self.descriptor = descriptor
        self._before_waiting = before_waiting
        self._kept = b""
        self._at = 0

    def take(self) -> bytes:
        """Return the next reply, a ``HEAD`` and frames; ``before_waiting`` is called if it has not come yet.

        Raises Closed at the end of the line, TooMuchError for a reply longer than any program's.
        """
        size = int.from_bytes(self._bytes(4), "little")
        if size > REPLY_BYTES * 2:
            raise TooMuchError("a frame of %d bytes" % size)
        if size < HEAD.size:
            raise WireError("cut short")
        return self._bytes(size)

    def _bytes(self, size: int) -> bytes:
        while len(self._kept) - self._at < size:
            self._before_waiting()
            try:
                more = os.read(self.descriptor, _READ_BYTES)
            except OSError as error:
                raise Closed(str(error)) from None
            if not more:
                raise Closed("end of file")
            self._kept = self._kept[self._at :] + more
            self._at = 0
        start, self._at = self._at, self._at + size
        return self._kept[start : self._at]
