"""A process for closed programs, one after the other: none of them can tell that another was there before.

It is jailed as every sample's process is, and never sees the tests.  A program that is not closed, or whose end could
depend on where it runs, is not judged by what happened here: it is told to be ``alone`` and gets a process of its own.
What is done to keep the next program from the last one is done twice: by what a closed program is, and by looking
afterwards whether anything that all share has changed.

Frames in, from the supervisor: a setup.  Frames out, to the referee: ``HEAD``, then all that the program would have
sent on a line of its own, or nothing when it must be alone.
"""

from __future__ import annotations

import builtins
import gc
import marshal
import os
import resource
import sys
import time
from types import CodeType
from typing import Any

from passcurve.sandbox.closed import MODULES, is_closed
from passcurve.sandbox.inside import Sample
from passcurve.sandbox.reply import HEAD, REPLY_BYTES, SETUP_BYTES
from passcurve.sandbox.wire import Closed, WireError, frame, receive_frame, write_all

_MEMORY_UNIT = 1 if sys.platform == "darwin" else 1024
_DEPENDS = (MemoryError, RecursionError, WireError)
"""Exceptions that say something of the process as well."""


def main(descriptors: list[int]) -> None:
    """Run programs until the supervisor closes the line."""
    control, replies = descriptors
    shared = [vars(builtins), *(vars(sys.modules[name]) for name in sorted(MODULES) if name in sys.modules)]
    as_was = [dict(each) for each in shared]
    gc.collect()
    gc.freeze()
    while True:
        try:
            setup = marshal.loads(receive_frame(control, SETUP_BYTES))
        except Closed:
            os._exit(0)
        began = time.thread_time_ns()
        body = run(setup)
        gc.collect()
        if shared != as_was:
            # Never seen, and whoever did this must not be believed.
            os._exit(98)
        used = time.thread_time_ns() - began
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MEMORY_UNIT
        try:
            write_all(replies, frame(HEAD.pack(setup["tag"], used, memory) + body))
        except Closed:
            os._exit(0)


def run(setup: dict[str, Any]) -> bytes:
    """Run one program and make all calls to it; return the frames that it sends, or nothing if it must be alone."""
    guest = Guest(setup)
    guest.load()
    guest.serve()
    body = b"" if guest.alone else b"".join(guest.frames)
    sys.modules["sample"].__dict__.clear()
    return body


class _NotClosedError(Exception):
    """The program may reach more than its own values."""


class Guest(Sample):
    """A program in the commons; ``alone`` says that it must have a process of its own."""

    def __init__(self, setup: dict[str, Any]) -> None:
        super().__init__(-1, setup)
        self.alone = False
        self.frames: list[bytes] = []
        self._size = 0

    def serve(self) -> None:
        """Make the calls that came with the program, as long as what comes of them counts."""
        if self._waiting is None:
            return
        for args, kwargs in map(marshal.loads, marshal.loads(self._setup["replayed"])):
            if self.alone:
                return
            self._answer({"call": 0, "args": args, "kwargs": kwargs})

    def _compile(self, text: str) -> CodeType:
        code = super()._compile(text)
        if not is_closed(code):
            raise _NotClosedError
        return code

    def _describe(self, error: BaseException) -> dict[str, Any]:
        if not isinstance(error, Exception) or isinstance(error, (*_DEPENDS, _NotClosedError)):
            self.alone = True
        return super()._describe(error)

    def _reduce(self, value: Any) -> Any:
        reduced = super()._reduce(value)
        # A live object is asked again later.
        self.alone |= len(self._objects) > 1
        return reduced

    def _post(self, data: bytes) -> None:
        self.frames.append(self._frame(data))
        self._size += len(data)
        self.alone |= self._size > REPLY_BYTES
