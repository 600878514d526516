"""The supervisor's side of a kept process: the jobs that its zygote has, which runs one after another in it."""

from __future__ import annotations

import time

from passcurve.sandbox.running_job import KeptJob
from passcurve.sandbox.zygote.kept_jobs import JobOrder
from passcurve.sandbox.zygote_client import ANSWER_S, Side, ZygoteClient, ZygoteLostError

KEPT_S = 0.02
"""Longest time of a sample or a check in a kept process."""

LINES: dict[Side, int] = {"jail": 1, "referee": 2}
"""Descriptors of its line that a process of each side gets: as many as where the tests have a line to the sample."""

PIECE_BYTES = 16 << 20
"""Jobs that are sent at once take no more, or are one."""

ANSWER_BYTES: dict[Side, int] = {"jail": 4 << 20, "referee": 64 << 20}
"""Longest answer of a process of each side."""


class KeptProcessClient:
    """One kept process and its jobs.  Every request raises ZygoteLostError when its zygote is gone."""

    def __init__(self, side: Side, zygote: ZygoteClient, role: str) -> None:
        self._side, self._zygote, self._role = side, zygote, role
        self.jobs: dict[int, KeptJob] = {}
        """The jobs under way, by tag, in order."""
        self._unsent: list[JobOrder] = []
        self._heard_at = 0.0
        """When the zygote has last sent anything, or was sent the first job."""

    def make(self) -> None:
        """Have the process made."""
        self._zygote.send({"do": "keep", "role": self._role, "lines": LINES[self._side]})

    def add(self, running: KeptJob, data: bytes) -> None:
        """Add a job, of which the process is sent these bytes, to those that ``flush`` sends."""
        if not self.jobs:
            self._heard_at = time.monotonic()
        self.jobs[running.tag] = running
        is_jail = self._side == "jail"
        order = JobOrder(
            tag=running.tag,
            data=data,
            is_interactive=running.is_interactive,
            # Tests that are recorded write what no others do.
            is_typical=is_jail or not (running.job.record or running.job.without_sample),
            limit_ns=int(min(KEPT_S, running.job.slice_s) * 1e9),
            counts_waiting=is_jail and not running.is_interactive,
            answer_bytes=ANSWER_BYTES[self._side],
        )
        self._unsent.append(order)

    def flush(self) -> None:
        """Send the jobs that were added, in pieces that the zygote takes."""
        piece: list[tuple[object, ...]] = []
        size = 0
        orders, self._unsent = self._unsent, []
        for order in orders:
            if piece and size + len(order.data) > PIECE_BYTES:
                self._zygote.send({"do": "jobs", "jobs": piece})
                piece, size = [], 0
            piece.append(tuple(order))
            size += len(order.data)
        if piece:
            self._zygote.send({"do": "jobs", "jobs": piece})

    def forward(self, running: KeptJob, data: bytes) -> None:
        """Send bytes to an interactive job."""
        self._zygote.send({"do": "data", "tag": running.tag, "data": data})

    def finish(self, running: KeptJob) -> None:
        """Have a job ended, unless it has ended."""
        if running.tag in self.jobs:
            self._zygote.send({"do": "finish", "tag": running.tag})

    def take(self, tag: int) -> KeptJob | None:
        """Return the job that a message is about, or None if it is none of ours."""
        self._heard_at = time.monotonic()
        return self.jobs.get(tag)

    def check_alive(self, now: float) -> None:
        """Raise ZygoteLostError for a zygote that does not answer."""
        if self.jobs and now - self._heard_at > ANSWER_S:
            raise ZygoteLostError(f"the {self._side}'s zygote does not answer")
