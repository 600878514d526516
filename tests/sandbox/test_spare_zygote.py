"""The zygote in which the walls were tried: the first worker goes on with it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pytest
from jailed import IS_ONE, LIMITS, ONE, descendants, need, until, zygotes

from passcurve.judging.plan import CheckPlan, make_job
from passcurve.sandbox.forkserver_client import SAMPLE_ROLES, ForkServerClient
from passcurve.sandbox.pool import Pool
from passcurve.sandbox.probe import find_isolation
from passcurve.sandbox.startup import Sandbox, start_sandbox
from passcurve.sandbox.toolchain import find_toolchain
from passcurve.types import FunctionTests, Problem


@contextmanager
def sandbox_with(**options: Any) -> Iterator[Sandbox]:
    """Yield a sandbox whose walls were tried at full isolation."""
    need("full")
    with start_sandbox(LIMITS, level="full", **options) as sandbox:
        yield sandbox


def below() -> set[int]:
    """Return the processes below this one."""
    return {process.pid for process in descendants(os.getpid())}


def judge(pool: Pool, program: str = ONE) -> str:
    """Judge a program, by default a right one, and return the status and the message of the report."""
    problem = Problem(id="T/0", prompt="", entry_point="f", check=FunctionTests(source=IS_ONE))
    pool.start(0, make_job(problem, program, CheckPlan(), LIMITS, 0, 1))
    while not (outcomes := pool.wait(30.0)):
        pass
    (outcome,) = outcomes
    report = outcome.report or {}
    return f"{report.get('status')} {report.get('message')}".strip()


def pids(pool: Pool) -> set[int]:
    """Return the zygotes of a pool of one worker."""
    return {zygote.pid for zygote in zygotes(pool).values()}


@pytest.mark.parametrize("reuse", ["auto", "fork"])
def test_the_first_worker_takes_it(reuse: str):
    """The first worker has the zygote of the trial, a later one has its own, and both judge."""
    before = below()
    with sandbox_with(reuse=reuse) as sandbox:
        tried = below() - before
        for expected in (1, 0):
            with Pool(1, sandbox) as pool:
                assert "passed" == judge(pool)
                assert expected == len(pids(pool) & tried)
    assert before == below()


FACTS = """
import gc, os, sys, threading
def f():
    numbers = os.getpid(), os.getppid(), threading.get_native_id()
    raise ValueError(*numbers, id(object()), hash(float("nan")), len(gc.get_objects()))
"""


def test_a_program_cannot_tell_it_from_another():
    """A program finds the same process number and memory in the zygote of the trial as in any other."""
    answers = []
    with sandbox_with() as sandbox:
        for _ in range(3):
            with Pool(1, sandbox) as pool:
                answers.append(judge(pool, FACTS))
    assert "ValueError" in answers[0]
    assert [answers[0]] * 3 == answers


def test_other_walls_are_needed():
    """Where samples may start processes the zygote of the trial ends, and the worker has its own."""
    before = below()
    with sandbox_with(processes=True) as sandbox:
        (fork_server,) = {process.pid for process in descendants(os.getpid()) if process.parent == os.getpid()} - before
        tried = {process.pid for process in descendants(fork_server)}
        with Pool(1, sandbox) as pool:
            assert "passed" == judge(pool)
            assert not below() & tried
            assert not pids(pool) & tried


def test_nobody_takes_it():
    """Without a worker the zygote ends with the sandbox."""
    before = below()
    with sandbox_with():
        assert before < below()
    until(lambda: before == below(), "the end of the zygote")


@contextmanager
def killing_once(fork_server: int, delay_s: float) -> Iterator[None]:
    """Kill all processes below a fork server, once, after a delay."""

    def kill() -> None:
        for process in descendants(fork_server):
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)

    timer = threading.Timer(delay_s, kill)
    timer.start()
    try:
        yield
    finally:
        timer.join()


@pytest.mark.nightly
def test_it_is_killed_while_it_is_tried():
    """Whenever somebody kills it, nothing else is said of walls and rewinding than without that."""
    need("full")
    toolchain, before = find_toolchain(None, ()), below()
    with closing(ForkServerClient(toolchain.executable, SAMPLE_ROLES)) as server:
        server.start()
        (pid,) = below() - before
        began = time.monotonic()
        expected = find_isolation("full", toolchain, LIMITS, server)
        length_s = time.monotonic() - began
        for number in range(30):
            with killing_once(pid, length_s * number / 30):
                assert expected == find_isolation("full", toolchain, LIMITS, server)


def test_it_is_killed_before_it_is_taken():
    """A zygote that somebody has killed meanwhile costs no verdict."""
    before = below()
    with sandbox_with() as sandbox:
        started = [p.pid for p in descendants(os.getpid()) if p.pid not in before and p.parent != os.getpid()]
        os.kill(started[0], signal.SIGKILL)
        for pid in started[1:]:
            # Most of them end with the first.
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with Pool(1, sandbox) as pool:
            assert "passed" == judge(pool)
