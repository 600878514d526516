"""A process for closed programs, one after the other: none of them can tell that another was there before.

It is jailed as every sample's process is, and never sees the tests.  A program that is not closed, or whose end could
depend on where it runs, is not judged by what happened here: it is told to be ``alone`` and gets a process of its own.
What keeps the next program from the last one is there twice: what a closed program is, and a look at whether anything
that all share has changed.

Frames in, from the supervisor: programs of one problem, and their calls.  Frames out, to the referee, for each program
in turn: ``HEAD``, then all that it would have sent on a line of its own, or nothing when it must be alone.  Where the
tests ask more than was sent along (``live``), frames come in from the referee as well, and each is answered so; an
empty one means that it has no more questions.
"""

from __future__ import annotations

import _thread
import builtins
import gc
import marshal
import os
import resource
import signal
import sys
import time
from types import CodeType
from typing import Any

from passcurve.sandbox.closed import MODULES, forget_types, is_closed
from passcurve.sandbox.inside import FRAME_BYTES, SOURCE_NAME, Sample
from passcurve.sandbox.reply import HEAD, REPLY_BYTES, SETUP_BYTES
from passcurve.sandbox.second_look import second_look
from passcurve.sandbox.wire import Closed, Handle, WireError, frame, receive_frame, write_all

EARLY_S = 0.01
"""What a program has said is sent on when the rest takes longer: often the tests need no more."""

EARLY_STACK_BYTES = 256 << 10
"""Of the thread that does so: address space that it takes, programs lack."""

WAITING_BYTES = 64 << 10
"""Of replies that wait to be sent together."""

YOUNG = 1
"""The generations that are collected after each program.  Collecting all takes five times as long, because it gives
back the memory that the interpreter keeps at hand, and the next program asks for it again."""

LEFT_OBJECTS = 500
"""Of what the collector knows, after collecting all; what is there between two programs is far less."""

FEW_OBJECTS = 100
"""With so few, all need not be collected."""

_MEMORY_UNIT = 1 if sys.platform == "darwin" else 1024
_DEPENDS = (MemoryError, RecursionError, WireError)
"""Exceptions that say something of the process as well."""


def main(descriptors: list[int]) -> None:
    """Run programs until the supervisor closes the line."""
    control, replies = descriptors
    shared = [vars(builtins), *(vars(sys.modules[name]) for name in sorted(MODULES) if name in sys.modules)]
    as_was = [dict(each) for each in shared]
    line = Line(replies)
    seat: list[Guest | None] = [None]
    _thread.stack_size(EARLY_STACK_BYTES)
    _thread.start_new_thread(tell_early, (seat, line))
    rehearse()
    gc.collect()
    gc.freeze()
    base = memory()
    try:
        while True:
            order = marshal.loads(receive_frame(control, SETUP_BYTES))
            for tag, program in order.pop("programs"):
                # By default its signal ends the process, whatever that is at: what is told until then counts.
                signal.setitimer(signal.ITIMER_PROF, order["company_s"])
                guest = seat[0] = Guest({**order, "program": program, "tag": tag}, base)
                # Called from here, all of it: how deep a program can nest must be as in a process of its own.
                guest.load()
                guest.serve()
                told = guest.live and not guest.alone
                if told:
                    guest.tell(line)
                    line.flush()
                    while not guest.alone and (question := receive_frame(replies, FRAME_BYTES)):
                        guest.hear(question)
                        guest.tell(line)
                        line.flush()
                guest.forget()
                if shared != as_was or is_left():
                    # Never seen, and whoever did this must not be believed.
                    os._exit(98)
                if not told:
                    guest.tell(line)
            seat[0] = None
            signal.setitimer(signal.ITIMER_PROF, 0)
            line.flush()
    except Closed:
        os._exit(0)


def is_left() -> bool:
    """Say whether there is more than a program may leave."""
    gc.collect(YOUNG)
    if len(gc.get_objects()) <= FEW_OBJECTS:
        return False
    gc.collect()
    return len(gc.get_objects()) > LEFT_OBJECTS


def rehearse() -> None:
    """Have a program of our own first, so that what the interpreter makes only once is there before any other."""
    calls = marshal.dumps([marshal.dumps((([1],), {}))])
    text = b"from typing import List\ndef f(x: List[int]) -> List[int]:\n    return [y for y in x]\n"
    setup = {"program": text, "entry_point": "f", "seed": 0, "output_bytes": 1 << 20, "replayed": calls, "tag": 0}
    guest = Guest({**setup, "live": False})
    guest.load()
    guest.serve()
    guest.forget()


def tell_early(seat: list[Guest | None], line: Line) -> None:
    """Send on what a program has said, and those before it, when it has been running for a while."""
    last = None
    while True:
        time.sleep(EARLY_S)
        if seat[0] is last and last is not None:
            try:
                last.tell(line, whole=False)
                line.flush()
            except Closed:
                return
        last = seat[0]


def memory() -> int:
    """Return the largest memory of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MEMORY_UNIT


class Line:
    """The line to the tests: what programs have said waits there to be sent in one piece."""

    def __init__(self, replies: int) -> None:
        self._replies = replies
        self._waiting: list[bytes] = []
        self._size = 0
        self._sending = _thread.allocate_lock()

    def put(self, reply: bytes) -> None:
        """Add a reply, from any thread."""
        self._waiting.append(reply)
        self._size += len(reply)
        if self._size > WAITING_BYTES:
            self.flush()

    def flush(self) -> None:
        """Send what waits.  Raises Closed when nobody reads."""
        with self._sending:
            waiting = self._waiting[:]
            del self._waiting[: len(waiting)]
            self._size = 0
            if waiting:
                write_all(self._replies, b"".join(waiting))


class _NotClosedError(Exception):
    """The program may reach more than its own values."""


class Guest(Sample):
    """A program in the commons; ``alone`` says that it must have a process of its own."""

    def __init__(self, setup: dict[str, Any], base: int = 0) -> None:
        super().__init__(-1, setup)
        self._base = base
        self.alone = False
        self.live = bool(setup["live"])
        self._frames: list[bytes] = []
        self._size = 0
        self._told = False
        self._telling = _thread.allocate_lock()
        self._began = time.process_time_ns()

    def tell(self, line: Line, *, whole: bool = True) -> None:
        """Say what there is to say, from any thread, and what it took; if it is not ``whole``, only if there is any.

        What a whole answer lacks was sent before.
        """
        with self._telling:
            said = self._frames[:]
            if not whole and (self._told or self.alone or not said):
                return
            del self._frames[: len(said)]
            self._told = whole
            used = time.process_time_ns() - self._began
            peak = memory()
            head = HEAD.pack(self._setup["tag"], used, peak, peak - self._base, whole)
            line.put(frame(b"".join([head] if self.alone else [head, *said])))

    def forget(self) -> None:
        """Let go of the program and of all that it made."""
        sys.modules["sample"].__dict__.clear()
        self._objects.clear()
        text = self._setup["program"]
        # The compiler reads some other letters as these.
        if b"typing" in text or not text.isascii():
            forget_types()

    def serve(self) -> None:
        """Make the calls that came with the program, as long as what comes of them counts."""
        if self._waiting is None:
            return
        for args, kwargs in map(marshal.loads, marshal.loads(self._setup["replayed"])):
            if self.alone:
                return
            self._answer({"call": 0, "args": args, "kwargs": kwargs})

    def hear(self, question: bytes) -> None:
        """Take a question of the tests."""
        self._told = False
        order = self._decode(question)
        if not self.alone:
            self._answer(order)

    def _admit(self, code: CodeType, text: str) -> CodeType:
        admitted = code if is_closed(code) else second_look(text, SOURCE_NAME)
        if admitted is None:
            raise _NotClosedError
        return admitted

    def _describe(self, error: BaseException) -> dict[str, Any]:
        if not isinstance(error, Exception) or isinstance(error, (*_DEPENDS, _NotClosedError)):
            self.alone = True
        return super()._describe(error)

    def _reduce(self, value: Any) -> Any:
        reduced = super()._reduce(value)
        # A live object is asked again later.
        self.alone |= len(self._objects) > 1
        return reduced

    def _resolve(self, handle: Handle) -> Any:
        # It would call the tests back.
        self.alone = True
        return handle

    def _post(self, data: bytes) -> None:
        self._frames.append(self._frame(data))
        self._size += len(data)
        self.alone |= self._size > REPLY_BYTES
