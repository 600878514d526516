"""The wake-up of a pool: it ends a wait when something comes from elsewhere."""

from __future__ import annotations

import os
import select
import threading
import time

import pytest
from jailed import Jailed, jail_at

from passcurve.sandbox.pool import Pool
from passcurve.sandbox.wakeup import Wakeup

LONG_S = 60.0
"""Far longer than anything here takes, unless nobody hears the wakeup."""


@pytest.fixture(params=["eventfd", "pipe"])
def wakeup(request, monkeypatch):
    """Return a wakeup as this system has it, and one as systems without eventfd have it."""
    if request.param == "pipe":
        monkeypatch.delattr(os, "eventfd", raising=False)
    wakeup = Wakeup()
    yield wakeup
    wakeup.close()


def is_rung(wakeup: Wakeup) -> bool:
    """Say whether who looks now would hear it."""
    return bool(select.select([wakeup], [], [], 0)[0])


def test_rung_often_heard_once(wakeup):
    """However often it was rung, one hush is enough; a hush without a ring harms nothing."""
    wakeup.clear()
    assert not is_rung(wakeup)
    for _ in range(100_000):
        wakeup.set()
    assert is_rung(wakeup)
    for _ in range(200):
        wakeup.clear()
    assert not is_rung(wakeup)
    wakeup.set()
    assert is_rung(wakeup)


def test_rung_after_the_end(wakeup):
    """Who rings when nobody listens any more harms nobody: the descriptor may be another's by then."""
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


def test_a_pool_at_rest_is_woken(pool):
    """With nothing under way, the wakeup ends the rest, also when it was rung before."""
    began = time.monotonic()
    ringer = threading.Timer(0.05, pool.wakeup.set)
    ringer.start()
    pool.wait_for_wakeup(LONG_S)
    ringer.join()
    pool.wakeup.set()
    pool.wait_for_wakeup(LONG_S)
    assert time.monotonic() - began < LONG_S


def endless(jail):
    """Return a job that ends with the pool, which never waits for it."""
    return jail.job("import time\ndef f():\n    time.sleep(3600)\n", "def check(candidate):\n    candidate()\n")


def test_a_wait_is_ended_for_an_idle_worker(jail, pool):
    """While one worker is busy the wakeup calls for the other; with both busy it waits for one of them to end."""
    pool.start(0, endless(jail))
    ringer = threading.Timer(0.05, pool.wakeup.set)
    ringer.start()
    began = time.monotonic()
    assert not pool.wait(LONG_S)
    ringer.join()
    assert time.monotonic() - began < LONG_S
    assert list(pool.idle()) == [1]
    quick = jail.job("def f():\n    return 1\n", "def check(candidate):\n    assert candidate() == 1\n")
    pool.start(1, quick)
    pool.wakeup.set()
    while not (found := pool.wait(LONG_S)):
        assert list(pool.idle()) == [1], "woken though no worker was free"
        pool.wakeup.set()
    assert [quick.tag] == [outcome.tag for outcome in found]


def test_all_workers_busy(jail, pool, monkeypatch):
    """However often the wakeup is rung while no worker is idle, it wakes nobody a second time."""
    for slot in (0, 1):
        pool.start(slot, endless(jail))
    heard = []
    monkeypatch.setattr(pool.wakeup, "clear", lambda: heard.append("clear"))
    listen = pool._selector.unregister
    monkeypatch.setattr(pool._selector, "unregister", lambda each: heard.append(each) or listen(each))
    stop = threading.Event()

    def ring():
        while not stop.wait(0.001):
            pool.wakeup.set()

    ringer = threading.Thread(target=ring)
    ringer.start()
    assert not pool.wait(0.3)
    stop.set()
    ringer.join()
    assert [pool.wakeup, "clear"] == heard
