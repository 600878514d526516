"""The clock of a sample: its CPU time and its sleep count, its waiting for a core does not."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from jailed import IS_ONE, LIMITS, Jailed, Process, descendants, jail_at, until, zygotes

from passcurve.harness.recording import pack_arguments, pack_calls
from passcurve.judging.plan import CheckPlan
from passcurve.sandbox.job import Job, Outcome
from passcurve.sandbox.job_clock import FIRST_CHECK_S, ClockQuery, JobClock
from passcurve.types import Limits

CHECK = "def check(candidate):\n    assert candidate() == 1\n"
LIMIT_S = 0.4
SLACK_S = 0.25
"""Longest time over the limit before a sample is stopped."""


@pytest.fixture(scope="module", params=["full", "restricted"])
def jail(request: pytest.FixtureRequest) -> Iterator[Jailed]:
    """Return a jail of each level; the clock reads the same numbers through another /proc."""
    with jail_at(request.param) as jail:
        if not jail.probe.own_clock:
            pytest.skip("this kernel does not report how long a thread waited for a core")
        yield jail


def limits(timeout_s: float, clock: str = "own") -> Limits:
    """Return limits that differ in time only."""
    return msgspec.structs.replace(LIMITS, timeout_s=timeout_s, clock=clock)


def run(jail: Jailed, body: str, timeout_s: float = LIMIT_S, clock: str = "own", test: str = IS_ONE) -> Outcome:
    """Run the body of a function under a limit of time."""
    program = f"import hashlib, threading, time\ndef f():\n    {body}\n    return 1\n"
    return jail.run(jail.job(program, test, limits=limits(timeout_s, clock)))


@contextlib.contextmanager
def neighbours(count: int) -> Iterator[None]:
    """Keep the core of the first worker busy with processes of other sessions."""
    core = min(os.sched_getaffinity(0))
    code = f"import os\nos.sched_setaffinity(0, {{{core}}})\nprint('busy', flush=True)\nwhile True: pass"
    started = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
        for _ in range(count)
    ]
    try:
        for process in started:
            assert b"busy\n" == process.stdout.readline()
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()
            process.stdout.close()


@pytest.mark.ci
def test_a_loop(jail: Jailed):
    """A loop without end is a timeout at the limit of its own time, all of it CPU."""
    outcome = run(jail, "while True: pass")
    assert "timeout" == outcome.ended
    assert LIMIT_S <= outcome.own_s < LIMIT_S + SLACK_S
    assert abs(outcome.own_s - outcome.cpu_s) < SLACK_S


@pytest.mark.ci
def test_sleep(jail: Jailed):
    """Sleeping counts like working, though it uses no CPU."""
    outcome = run(jail, "time.sleep(60)")
    assert "timeout" == outcome.ended
    assert LIMIT_S <= outcome.own_s < LIMIT_S + SLACK_S
    assert outcome.cpu_s < LIMIT_S / 2


def test_short_sleep(jail: Jailed):
    """A sleep within the limit passes, and its length is in the time."""
    outcome = run(jail, "time.sleep(0.3)", timeout_s=5.0)
    assert "passed" == outcome.report["status"]
    assert 0.3 <= outcome.own_s < 0.3 + SLACK_S


@pytest.mark.ci
def test_waiting_at_module_level(jail: Jailed):
    """The clock starts with the program, not with the first call."""
    program = "import time\ntime.sleep(60)\ndef f():\n    return 1\n"
    assert "timeout" == jail.run(jail.job(program, IS_ONE, limits=limits(LIMIT_S))).ended


SPIN = (
    "work = lambda: [hashlib.sha256(bytes(1 << 16)).digest() for _ in iter(int, 1)]\n"
    "    threads = [threading.Thread(target=work) for _ in range(8)]\n"
    "    [t.start() for t in threads]\n"
    "    [t.join() for t in threads]"
)


def test_threads_are_summed(jail: Jailed):
    """The CPU time of eight working threads is added up."""
    outcome = run(jail, SPIN)
    assert "timeout" == outcome.ended
    assert LIMIT_S <= outcome.own_s < LIMIT_S + SLACK_S
    assert abs(outcome.own_s - outcome.cpu_s) < SLACK_S


ONE_BY_ONE = (
    "work = lambda: [hashlib.sha256(bytes(1 << 16)).digest() for _ in range(20)]\n"
    "    end = time.process_time() + {cpu}\n"
    "    while time.process_time() < end:\n"
    "        t = threading.Thread(target=work); t.start(); t.join()"
)


def test_ended_threads_are_charged(jail: Jailed):
    """Work of threads that have ended stays on the clock."""
    outcome = run(jail, ONE_BY_ONE.format(cpu=60))
    assert "timeout" == outcome.ended
    assert LIMIT_S <= outcome.own_s < LIMIT_S + SLACK_S
    # On a busy machine more is charged: their waiting for a core went with them.
    assert outcome.own_s > outcome.cpu_s - SLACK_S


@pytest.mark.ci
def test_ended_threads_are_charged_once(jail: Jailed):
    """A sample that works in one short thread after another is charged at most the wall time."""
    outcome = run(jail, ONE_BY_ONE.format(cpu=0.4), timeout_s=5.0)
    assert "passed" == (outcome.report or {}).get("status"), outcome
    assert 0.4 <= outcome.own_s < outcome.wall_s + 0.05


BURN = "end = time.process_time() + {cpu}\n    while time.process_time() < end: pass"


@pytest.mark.ci
def test_a_starved_sample_is_not_blamed(jail: Jailed):
    """With two busy neighbours on its core, a sample that needs half of its limit takes longer and passes."""
    with neighbours(2):
        outcome = run(jail, BURN.format(cpu=0.3), timeout_s=0.6)
    assert "passed" == (outcome.report or {}).get("status"), outcome
    assert 0.3 <= outcome.own_s < 0.6
    assert outcome.wall_s > outcome.own_s + 0.2, "the neighbours did not keep it from running"


@pytest.mark.ci
def test_a_starved_loop_still_ends(jail: Jailed):
    """Neighbours do not save a loop: it ends at the limit of its own time, after more wall time."""
    with neighbours(1):
        outcome = run(jail, "while True: pass")
    assert "timeout" == outcome.ended
    assert LIMIT_S <= outcome.own_s < LIMIT_S + SLACK_S
    assert outcome.wall_s > outcome.own_s


def test_a_starved_sleep_counts_once(jail: Jailed):
    """A sleeping sample is not stretched by neighbours: the sleep is charged as long as it is."""
    with neighbours(2):
        outcome = run(jail, "time.sleep(0.4)", timeout_s=5.0)
    assert "passed" == outcome.report["status"]
    # What the tests wait for a core while it sleeps cannot be told from its own waiting, and is not charged.
    waited_s = outcome.wall_s - 0.4
    assert 0.4 - waited_s <= outcome.own_s < 0.4 + SLACK_S


def test_wall_clock(jail: Jailed):
    """With the wall clock, as in classic harnesses, wall time ends a loop, starved or not."""
    with neighbours(1):
        outcome = run(jail, "while True: pass", clock="wall")
    assert "timeout" == outcome.ended
    assert abs(outcome.own_s - outcome.wall_s) < 0.05
    assert LIMIT_S <= outcome.own_s < LIMIT_S + 2 * SLACK_S
    assert outcome.cpu_s < outcome.own_s


def test_a_slice_ends_early(jail: Jailed):
    """A job that is given a slice is stopped at its end, and that is no timeout."""
    # A process that is kept has a shorter one.
    wanted = jail.job("def f():\n    while True: pass\n", IS_ONE, limits=limits(20.0), allow_kept=False)
    outcome = jail.run(msgspec.structs.replace(wanted, slice_s=0.2))
    assert "slice" == outcome.ended
    assert 0.2 <= outcome.own_s < 0.2 + SLACK_S


@pytest.mark.ci
def test_time_of_the_tests_is_not_the_samples(jail: Jailed):
    """What the tests themselves compute between two calls is not charged to the sample."""
    test = (
        "import time\n"
        "def check(candidate):\n"
        "    assert candidate() == 1\n"
        "    end = time.process_time() + 1.0\n"
        "    while time.process_time() < end: pass\n"
        "    assert candidate() == 1\n"
    )
    outcome = run(jail, "pass", timeout_s=0.7, test=test)
    assert "passed" == (outcome.report or {}).get("status"), outcome
    assert outcome.own_s < 0.5


@pytest.mark.ci
def test_the_whole_check_counts(jail: Jailed):
    """The limit is one for all calls of a check, not one for process."""
    test = "def check(candidate):\n    assert all(candidate() == 1 for _ in range(100))\n"
    outcome = run(jail, "time.sleep(0.1)", test=test)
    assert "timeout" == outcome.ended
    assert LIMIT_S <= outcome.own_s < LIMIT_S + SLACK_S


def test_a_quick_sample(jail: Jailed):
    """A quick sample has a time above zero and far below the limit."""
    outcome = run(jail, "pass")
    assert "report" == outcome.ended
    assert 0 < outcome.own_s < 0.1
    assert 0 < outcome.cpu_s
    assert outcome.memory_bytes > 1 << 20


def has_used(process: Process, cpu_s: float) -> bool:
    """Return whether a process waits for something after that much CPU time."""
    try:
        state, *fields = Path(f"/proc/{process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return False
    return state == "S" and (int(fields[10]) + int(fields[11])) / os.sysconf("SC_CLK_TCK") >= cpu_s


@pytest.mark.parametrize("is_timed", [False, True], ids=["", "timed before"])
@pytest.mark.parametrize("limit", ["of all tests", "of one test"])
def test_a_limit_that_passed_unseen(jail: Jailed, limit: str, is_timed: bool):
    """A program that went over a limit does not pass because the supervisor had no core until its report was there."""
    over = limits(LIMIT_S) if limit == "of all tests" else msgspec.structs.replace(limits(60.0), test_timeout_s=LIMIT_S)
    program = "from time import process_time\ndef f():\n    while process_time() < %s: pass\n    return 1\n"
    # The tests are compiled at the first.
    quick, slow = (jail.job(program % text, CHECK, limits=over, allow_kept=False) for text in ("0", "0.8"))
    assert "report" == jail.run(quick).ended
    earlier = set(descendants(os.getpid()))
    jail.pool.start(0, slow)
    if is_timed:
        # The supervisor does nothing until it is time to ask for the clock.
        time.sleep(FIRST_CHECK_S)
        # Long enough to ask for the clock, too short to take the answer.
        jail.pool.wait(1e-6)
    until(lambda: any(has_used(process, 0.7) for process in set(descendants(os.getpid())) - earlier), "its end", 60.0)
    # The result has left the sample; the tests report it meanwhile.
    time.sleep(0.3)
    outcome = jail.end()
    assert {"of all tests": "timeout", "of one test": "test timeout"}[limit] == outcome.ended
    assert outcome.report is None


def used_ns(process: Process) -> int:
    """Return the CPU time of a process."""
    return int(Path(f"/proc/{process.pid}/schedstat").read_text("utf-8").split()[0])


def run_unseen(jail: Jailed, job: Job) -> float:
    """Run a job in the kept process while its zygote is stopped; return the CPU time that it used meanwhile."""
    below = descendants(zygotes(jail.pool)["jail"].pid)
    before = {process: used_ns(process) for process in below if process.pid not in {other.parent for other in below}}
    jail.pool.start(0, job)
    process = until(lambda: next((one for one in before if used_ns(one) > before[one] + 1_000_000), None), "its start")
    os.kill(process.parent, signal.SIGSTOP)
    began_ns = used_ns(process)
    stat = Path(f"/proc/{process.pid}/stat")
    until(lambda: stat.read_text("utf-8").rpartition(") ")[2][0] != "R", "its end", 60.0)
    used_s = (used_ns(process) - began_ns) * 1e-9
    os.kill(process.parent, signal.SIGCONT)
    return used_s


def test_a_limit_that_passed_unseen_in_a_kept_process(jail: Jailed):
    """A program that went over its limit in a kept process, whose zygote had no core, does not pass."""
    plan = CheckPlan(calls=pack_calls([pack_arguments((), {})]))
    program = "def f():\n    for _ in range(%d): pass\n    return 1\n"
    # Tests of its own: those of others may be known to need new processes.
    options = {"plan": plan, "limits": limits(0.2), "problem_id": "T/kept"}
    quick, slow = (jail.job(program % n, CHECK, **options) for n in (1, 50_000_000))
    for _ in range(50):
        assert "report" == jail.run(quick).ended
        # Where the zygote is stopped too late, it has ended the job before.
        is_unseen = run_unseen(jail, slow) > 0.3
        assert "timeout" == jail.end().ended
        if is_unseen:
            break
    assert is_unseen


def test_a_reading_that_came_late():
    """A test is not charged for the time of earlier tests between a reading of the clock and its arrival."""
    clock = JobClock(slice_s=60.0)
    # The readings below lie in the past, as those that arrive late do.
    time.sleep(0.3)

    def read_at(after_s: float) -> None:
        """Take a reading of a sample that has run all the time."""
        query = ClockQuery()
        at_ns = clock.started_ns + int(after_s * 1e9)
        query.jail = (int(after_s * 1e9),) * 2, at_ns, clock.started_ns
        clock.read(query, None, None, by_wall=False)

    read_at(0.1)
    clock.begin_test(clock.started + 0.2, limit_s=LIMIT_S)
    read_at(0.3)
    assert pytest.approx(0.1, abs=0.001) == clock.test_s
    assert pytest.approx(0.1, abs=0.001) == clock.test_cpu_s
