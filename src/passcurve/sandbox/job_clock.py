"""The clock of a running job: how much time the sample itself has used, as its zygote reads it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from passcurve.sandbox.zygote.exit_status import ProcessExit
from passcurve.sandbox.zygote_client import Side

FIRST_CHECK_S = 0.05
"""A job that runs longer is timed by its own clock from here on; most end before."""

_READINGS = 4
"""Readings of the clock in the time limit of one test, while tests are shorter than that."""

SECOND_NS = 1e-9


class ClockQuery:
    """A request to the zygotes for the clocks of their children, and the last answers so far."""

    def __init__(self) -> None:
        self.jail: tuple[Sequence[int] | None, int, int] | None = None
        """The sample's clock, the time at which it was read, and the time at which the sample started."""
        self.referee: Sequence[int] | None = None
        self.missing: Counter[Side] = Counter()
        """Answers that are to come from each zygote."""
        self.was_suspended = False


class JobClock:
    """Start and end of a job, and the times of its sample and its tests."""

    def __init__(self, slice_s: float, first_check_s: float = FIRST_CHECK_S) -> None:
        self.started_ns = time.monotonic_ns()
        self.stopped = 0.0
        self.check_at = self.started + min(first_check_s, slice_s)
        """When to look at the job again."""
        self.query: ClockQuery | None = None
        self.own_s = -1.0
        """The sample's own time; negative until it is known."""
        self.cpu_s = 0.0
        """The part of it that no waiting can add to."""
        self.tests_s = 0.0
        self.was_suspended = False
        """Whether the sample, its tests or the supervisor was stopped by somebody while the time ran."""
        self._test_began_s = 0.0
        """The sample's own time when the test at hand began, at most."""
        self._test_at = self.started
        """When the test at hand began."""
        self._read_at = self.started
        """When ``own_s`` was read, however late the answer came."""
        self._overlap_s = -1.0
        """Time for which both were ready at once, while they started; later one waits for the other."""

    @property
    def started(self) -> float:
        """When the job started."""
        return self.started_ns * SECOND_NS

    @property
    def wall_s(self) -> float:
        """Wall time so far, or until the job was stopped."""
        return (self.stopped or time.monotonic()) - self.started

    def begin_test(self, at: float, limit_s: float | None) -> None:
        """Take note that the next test began at a time: since the last reading the sample had at most the wall time.

        Where that is much of the test's limit, the clock is read again at once.
        """
        now = time.monotonic()
        self._test_at = min(at, now)
        self._test_began_s = self._most_when_test_began()
        if limit_s is not None and self.query is None and now - self._read_at > limit_s / _READINGS:
            self.check_at = min(self.check_at, now)

    def _most_when_test_began(self) -> float:
        """Return how much time the sample had had when the test at hand began, at most, by the last reading."""
        return max(self.own_s, 0.0) + max(self._test_at - self._read_at, 0.0)

    @property
    def test_s(self) -> float:
        """The sample's own time in the test at hand, at least."""
        return self.own_s - self._test_began_s

    @property
    def test_cpu_s(self) -> float:
        """The part of that which no waiting can add to."""
        return self.cpu_s - self._test_began_s

    def stop(self) -> None:
        """Stop the clock, unless it stands already."""
        self.stopped = self.stopped or time.monotonic()

    def read(
        self, query: ClockQuery, sample_exit: ProcessExit | None, tests_exit: ProcessExit | None, *, by_wall: bool
    ) -> float:
        """Work out the sample's own time from the answers to a query; return the wall time that it took.

        ``sample_exit``, ``tests_exit``: how the processes ended, for those that ended before they were timed.
        ``by_wall``: the wall time is the sample's own time.
        """
        tests = query.referee
        if tests is None and tests_exit is not None:
            tests = tests_exit.clock
        ready_s = 0.0
        if tests is not None:
            ready_s = tests[1] * SECOND_NS
            self.tests_s = tests[0] * SECOND_NS
        clock, at_ns, since_ns = query.jail or (None, time.monotonic_ns(), self.started_ns)
        if clock is None and sample_exit is not None:
            clock, at_ns, since_ns = sample_exit.clock, sample_exit.at, sample_exit.since
        # An order may wait for a while before it is obeyed.
        wall_s = (at_ns - max(since_ns, self.started_ns)) * SECOND_NS
        if by_wall:
            self.own_s = wall_s
        elif clock is not None:
            cpu_s, longest_s = clock[0] * SECOND_NS, clock[1] * SECOND_NS
            self.cpu_s = cpu_s
            if self._overlap_s < 0:
                self._overlap_s = min(longest_s, ready_s, FIRST_CHECK_S)
            # Only the CPU time includes threads that have ended; on one core they cannot have run at the same time.
            self.own_s = cpu_s + max(0.0, wall_s - max(cpu_s, longest_s) - (ready_s - self._overlap_s))
        elif self.own_s < 0:
            # It ended before it could be timed.
            self.own_s = wall_s if sample_exit is None else -1.0
        self._read_at = at_ns * SECOND_NS
        self._test_began_s = min(self._test_began_s, self._most_when_test_began())
        return wall_s

    def read_last(self, sample_exit: ProcessExit, *, by_wall: bool) -> None:
        """Take the sample's own time from its end, which nothing has told before, unless that was too soon to matter.

        ``sample_exit``, ``by_wall``: as for ``read``.
        """
        if sample_exit.clock is not None:
            self.read(ClockQuery(), sample_exit, None, by_wall=by_wall)

    def final_own_s(self, wall_s: float, cpu_s: float, sample_exit: ProcessExit | None, *, has_report: bool) -> float:
        """Return the sample's own time once the job has ended, given its wall time and the CPU time of its process."""
        if self.was_suspended and has_report:
            # Nobody can tell how much of the waiting was ours.
            return min(cpu_s, wall_s)
        if self.own_s >= 0:
            return self.own_s
        if sample_exit is not None and sample_exit.clock is None:
            # It was too short to be timed; only its end was reported late.
            wall_s = min(wall_s, (sample_exit.at - sample_exit.since) * SECOND_NS)
        return short_own_s(wall_s, cpu_s)


def short_own_s(wall_s: float, cpu_s: float) -> float:
    """Return the own time of a sample whose clock was never read."""
    # Before the first check the clocks differ by less than anybody's limit.
    return min(cpu_s, wall_s) if wall_s < FIRST_CHECK_S else wall_s
