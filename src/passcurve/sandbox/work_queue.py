"""The jobs that a worker still has to do, and those it has done."""

from __future__ import annotations

from collections import deque

from passcurve.sandbox.job import Job, Outcome


class WorkQueue:
    """Jobs that have not started, and outcomes that nobody has collected."""

    def __init__(self) -> None:
        self.waiting: deque[Job] = deque()
        self.finished: list[Outcome] = []

    def repeat(self, job: Job) -> None:
        """Run a job again before all that wait."""
        self.waiting.appendleft(job)

    def collect(self) -> list[Outcome]:
        """Return the outcomes since the last call."""
        finished, self.finished = self.finished, []
        return finished
