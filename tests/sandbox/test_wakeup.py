"""The wake-up of a pool: it ends a wait when something comes from elsewhere."""

from __future__ import annotations

import os
import select
import selectors
import threading
import time

import pytest
from jailed import Jailed, jail_at

from passcurve.sandbox.pool import Pool
from passcurve.sandbox.wakeup import Wakeup

LONG_S = 60.0
"""Far longer than anything here takes, unless a wake-up is lost."""


@pytest.fixture(params=["eventfd", "pipe"])
def wakeup(request, monkeypatch):
    """Return a wake-up as this system has it, and one as systems without eventfd have it."""
    if request.param == "pipe":
        monkeypatch.delattr(os, "eventfd", raising=False)
    wakeup = Wakeup()
    yield wakeup
    wakeup.close()


def is_set(wakeup: Wakeup) -> bool:
    """Tell whether a wait would end now."""
    return bool(select.select([wakeup], [], [], 0)[0])


def test_set_often_cleared_once(wakeup):
    """However often it was set, clearing it once is enough; clearing it again does nothing."""
    wakeup.clear()
    assert not is_set(wakeup)
    for _ in range(100_000):
        wakeup.set()
    assert is_set(wakeup)
    for _ in range(200):
        wakeup.clear()
    assert not is_set(wakeup)
    wakeup.set()
    assert is_set(wakeup)


def test_set_after_close(wakeup):
    """Setting a closed wake-up writes nothing: its descriptor may belong to somebody else by then."""
    wakeup.close()
    wakeup.close()
    ours, theirs = os.pipe()
    wakeup.set()
    assert not select.select([ours], [], [], 0)[0]
    os.close(ours)
    os.close(theirs)


@pytest.fixture(scope="module")
def jail():
    """Return a jail to build pools in."""
    with jail_at("full") as jail:
        yield jail


@pytest.fixture
def pool(jail: Jailed):
    """Return two workers."""
    with Pool(2, jail.sandbox) as pool:
        yield pool


def test_an_idle_pool_is_woken(pool):
    """A pool without jobs is woken, also by a wake-up that was set before it waits."""
    began = time.monotonic()
    setter = threading.Timer(0.05, pool.wakeup.set)
    setter.start()
    pool.wait_for_wakeup(LONG_S)
    setter.join()
    pool.wakeup.set()
    pool.wait_for_wakeup(LONG_S)
    assert time.monotonic() - began < LONG_S


def endless(jail):
    """Return a job that ends with the pool, which never waits for it."""
    return jail.job("import time\ndef f():\n    time.sleep(3600)\n", "def check(candidate):\n    candidate()\n")


def test_a_wait_is_ended_for_an_idle_worker(jail, pool):
    """A wake-up ends a wait while one worker is idle; with both busy it waits for one of them to end."""
    pool.start(0, endless(jail))
    setter = threading.Timer(0.05, pool.wakeup.set)
    setter.start()
    began = time.monotonic()
    assert not pool.wait(LONG_S)
    setter.join()
    assert time.monotonic() - began < LONG_S
    assert list(pool.idle()) == [1]
    quick = jail.job("def f():\n    return 1\n", "def check(candidate):\n    assert candidate() == 1\n")
    pool.start(1, quick)
    pool.wakeup.set()
    while not (outcomes := pool.wait(LONG_S)):
        assert list(pool.idle()) == [1], "woken though no worker was free"
        pool.wakeup.set()
    assert [quick.tag] == [outcome.tag for outcome in outcomes]


def test_all_workers_busy(jail, monkeypatch):
    """However often it is set while no worker is idle, a wake-up ends one wait only."""
    events = []

    class Watched(selectors.DefaultSelector):
        def unregister(self, source):
            events.append(source)
            return super().unregister(source)

    monkeypatch.setattr(selectors, "DefaultSelector", Watched)
    with Pool(2, jail.sandbox) as pool:
        watch_busy_pool(jail, pool, monkeypatch, events)


def watch_busy_pool(jail, pool, monkeypatch, events):
    """Set the wake-up of a pool again and again while all its workers are busy."""
    for slot in (0, 1):
        pool.start(slot, endless(jail))
    monkeypatch.setattr(pool.wakeup, "clear", lambda: events.append("clear"))
    events.clear()
    stop = threading.Event()

    def set_repeatedly():
        while not stop.wait(0.001):
            pool.wakeup.set()

    setter = threading.Thread(target=set_repeatedly)
    setter.start()
    assert not pool.wait(0.3)
    stop.set()
    setter.join()
    assert [pool.wakeup, "clear"] == events
