"""The worker's line to the tests: keeps the referee of one problem at work, or one of all closed problems."""

from __future__ import annotations

import contextlib
import marshal
import mmap
import os
import selectors
import socket
import struct
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from passcurve.sandbox import wire
from passcurve.sandbox.job import Job, Referee
from passcurve.sandbox.learned import Learned
from passcurve.sandbox.zygotes import Zygote, translated

REPORT_BYTES = 1 << 20
MOVED_BYTES = 256 << 10
"""Of a problem that goes to a referee that is there; a larger one gets another."""

_CLOCKS = struct.Struct("<QQ")
_REPORTS = msgspec.json.Decoder(dict[str, Any])


class _FromReferee(msgspec.Struct, frozen=True):
    """What the supervisor itself reads of a referee's report: tests that are out for it can write on its line."""

    status: str
    number: int
    in_step: bool = False
    lost: bool = False
    cpu_ns: Annotated[int, msgspec.Meta(ge=0, le=1 << 62)] = 0
    memory: Annotated[int, msgspec.Meta(ge=0, le=1 << 62)] = 0


class _First(msgspec.Struct, frozen=True):
    """What a referee says before it has run anything of a benchmark: nobody else can have said it."""

    closed: bool


def read_report(frame: bytes) -> dict[str, Any]:
    """Return a report; raises msgspec.DecodeError for what is none."""
    return _REPORTS.decode(frame)


class Tester:
    """Gives samples to a referee.  Its zygote comes and goes with that of the samples."""

    def __init__(self, selector: selectors.BaseSelector, owner: object, learned: Learned) -> None:
        self._selector, self._owner = selector, owner
        self._learned = learned
        self.zygote: Zygote | None = None
        self.key = ""
        """Of the problem at hand; empty when the next one needs a new referee."""
        self.closed: bool | None = None
        """Whether all that the referee has run is closed, so that it can take another problem; None: it has said
        nothing yet."""
        self.line: socket.socket | None = None
        self._frames = wire.FrameBuffer(REPORT_BYTES)
        with translated():
            self._page = _shared_page()

    def check(self, job: Job, referee: Referee, tag: int, sample: int, company: Sequence[int] = ()) -> bool:
        """Give a sample's line to the referee of its problem, starting one if needed; False when that is gone.

        ``company``: the line is that of the commons, and these are the numbers of the jobs there.
        """
        known = referee.key == self.key and self.line is not None
        moves = bool(company and not known and self.closed and self.line is not None)
        moves = moves and self._learned.closed.get(referee.key, True)
        moves = moves and len(marshal.dumps(referee.setup, wire.MARSHAL)) < MOVED_BYTES
        if not known and not moves and not self._start(referee, tag):
            return False
        self.key = referee.key
        if self.line is None:
            return False
        os.pwrite(self._page, bytes(_CLOCKS.size), 0)
        order = {"output_bytes": job.limits.output_bytes, "replayed": job.replayed, "record": job.record}
        order |= {"company": list(company), "live": job.setup["live"]}
        if moves:
            # Where that is wrong it comes back, and a referee of its own will say so.
            self._learned.closed.setdefault(referee.key, True)
            order["setup"] = referee.setup
        try:
            socket.send_fds(self.line, [wire.frame(marshal.dumps(order, wire.MARSHAL))], [sample])
        except OSError:
            return False
        return True

    def _start(self, referee: Referee, tag: int) -> bool:
        if self.zygote is None:
            return False
        self.forget()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        order = {"do": "run", "role": referee.role, "tag": tag, "cpu": 0, "schedstat": True}
        setup = wire.write_file(referee.setup)
        sent = self.zygote.send(order, [theirs.fileno(), setup, self._page])
        os.close(setup)
        theirs.close()
        self.line, self.closed = ours, None
        self._frames = wire.FrameBuffer(REPORT_BYTES)
        self._selector.register(ours, selectors.EVENT_READ, (self._owner, "report"))
        return sent

    def reports(self, data: bytes) -> list[dict[str, Any]]:
        """Return the reports that are whole now; raises WireError and DecodeError for what is none."""
        frames = self._frames.feed(data)
        if frames and self.closed is None:
            self.closed = msgspec.json.decode(frames.pop(0), type=_First).closed
            self._learned.closed[self.key] = self.closed
        reports = [read_report(frame) for frame in frames]
        for report in reports:
            msgspec.convert(report, _FromReferee)
        return reports

    def clocks(self) -> tuple[int, int]:
        """Return how long the referee had been running or ready, and running, when its check began, in ns."""
        ready_ns, cpu_ns = _CLOCKS.unpack(os.pread(self._page, _CLOCKS.size, 0))
        return ready_ns, cpu_ns

    def forget(self) -> None:
        """Close the line: the next job needs a new referee."""
        line, self.line = self.line, None
        self.key = ""
        if line is not None:
            unwatch(self._selector, line)
            line.close()

    def drop(self) -> None:
        """End the referee at once."""
        self.forget()
        if self.zygote is not None:
            self.zygote.send({"do": "end"})

    def shut(self) -> None:
        """Give back what is held all the while."""
        if self._page >= 0:
            os.close(self._page)
            self._page = -1


def unwatch(selector: selectors.BaseSelector, line: socket.socket) -> None:
    """Stop watching a line, if it is watched."""
    # An interruption may have come while the same was being done, or before the line was watched at all.
    with contextlib.suppress(KeyError, ValueError):
        selector.unregister(line)


def _shared_page() -> int:
    """Return the descriptor of a page that the referee writes and we read: when its check began, by its own clocks."""
    fd = wire.write_file(bytes(mmap.PAGESIZE))
    os.truncate(fd, mmap.PAGESIZE)
    return fd
