"""Suspicious calls of a sample: refused, and reported by name for that sample and no other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from jailed import IS_ONE, ONE, Jailed, jail_at

from passcurve.judging.suspicion import TRIED
from passcurve.sandbox.layers import watch
from passcurve.sandbox.layers.seccomp import SUSPICIOUS_CALLS

HEAD = """
import ctypes, os, signal, socket, subprocess, threading

libc = ctypes.CDLL(None, use_errno=True)


def tried(attempt):
    try:
        attempt()
    except (OSError, RuntimeError):
        return
    raise AssertionError("it worked")


def call(name, *args):
    if getattr(libc, name)(*args) == -1:
        raise OSError(ctypes.get_errno(), name)


def f():
    %s
    return 1
"""
ATTEMPTS = {
    "tried(os.fork)": {"clone"},
    "tried(lambda: subprocess.run(['ls']))": {"vfork", "clone"},
    "tried(lambda: os.posix_spawn('/bin/ls', ['ls'], {}))": {"vfork", "clone"},
    "tried(lambda: os.execv('/bin/ls', ['ls']))": {"execve"},
    "tried(lambda: os.kill(os.getppid(), 9))": {"kill"},
    "tried(lambda: os.kill(-1, 9))": {"kill"},
    "tried(lambda: os.kill(0, 9))": {"kill"},
    "tried(socket.socket)": {"socket"},
    "tried(lambda: call('ptrace', 16, os.getppid(), 0, 0))": {"ptrace"},
    "tried(lambda: call('unshare', 0x10000000))": {"unshare"},
    "tried(lambda: call('mount', b'a', b'/tmp', b'tmpfs', 0, 0))": {"mount"},
    "tried(lambda: call('umount2', b'/tmp', 2))": {"umount2"},
    "tried(lambda: os.memfd_create('hidden'))": {"memfd_create"},
    "tried(lambda: call('shmget', 1, 4096, 0o1600))": {"shmget"},
    "tried(lambda: os.setuid(0))": {"setuid"},
    "tried(os.setsid)": {"setsid"},
}
HONEST = {
    "a signal to itself": "os.kill(os.getpid(), 0)",
    "a signal raised": "signal.signal(signal.SIGUSR1, lambda *_: None); signal.raise_signal(signal.SIGUSR1)",
    "threads": "t = threading.Thread(target=len, args=['']); t.start(); t.join()",
    "a callback through ctypes": "ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 1)()",
    "numpy": "import numpy; numpy.arange(100) @ numpy.arange(100)",
    "asyncio": "import asyncio; asyncio.run(asyncio.sleep(0))",
    "temporary files": "import tempfile; tempfile.TemporaryFile().write(b'x')",
    "copied files": "import shutil; open('a', 'w').close(); shutil.copyfile('a', 'b')",
    "names of the machine": "import platform; platform.uname(); socket.gethostname(); os.cpu_count()",
    "random numbers": "import secrets, uuid; secrets.token_hex(); uuid.uuid4()",
    "an alarm": "signal.alarm(5); signal.alarm(0)",
    "time": "import time, datetime; time.localtime(); datetime.datetime.now().astimezone()",
    "a deep recursion": "g = lambda n: n and g(n - 1); g(500)",
    "decimals": "import decimal; decimal.Decimal(2).sqrt()",
    "compressed bytes": "import zlib, hashlib; zlib.compress(hashlib.sha256(b'x').digest())",
}


@pytest.fixture(scope="module", params=["full", "restricted"])
def jail(request: pytest.FixtureRequest) -> Iterator[Jailed]:
    """Return a jail of each level for the whole file."""
    with jail_at(request.param) as jail:
        yield jail


def run(jail: Jailed, line: str):
    """Run one line as a program to its end; return its outcome."""
    outcome = jail.run(jail.job(HEAD % line, IS_ONE))
    assert "passed" == (outcome.report or {}).get("status"), outcome
    return outcome


@pytest.mark.parametrize("line", ATTEMPTS)
def test_a_suspicious_call_is_reported(jail: Jailed, line: str):
    """A suspicious call is refused and reported by its name, for this sample only."""
    refused = run(jail, line).refused
    assert refused
    assert set(refused) <= ATTEMPTS[line]
    assert () == jail.run(jail.job(ONE, IS_ONE)).refused


@pytest.mark.parametrize("what", HONEST)
def test_honest_programs_are_not_reported(jail: Jailed, what: str):
    """A program that does ordinary things makes no suspicious call."""
    assert () == run(jail, HONEST[what]).refused


def test_a_call_is_reported_once(jail: Jailed):
    """Each call is reported once, however often and from however many threads it is tried."""
    line = (
        "ts = [threading.Thread(target=lambda: [tried(socket.socket) or tried(os.fork) for _ in range(200)]) "
        "for _ in range(8)]; [t.start() for t in ts]; [t.join() for t in ts]"
    )
    assert {"socket", "clone"} == set(run(jail, line).refused)
    assert () == jail.run(jail.job(ONE, IS_ONE)).refused


def test_a_sample_killed_during_its_attempts(jail: Jailed):
    """A sample that ends in the middle of its attempts leaves no report to the samples after it."""
    line = "[threading.Thread(target=lambda: [tried(socket.socket) for _ in range(10**6)]).start() for _ in range(4)]"
    for _ in range(20):
        jail.run(jail.job(HEAD % line, IS_ONE))
        assert () == jail.run(jail.job(ONE, IS_ONE)).refused


def test_the_watcher_is_out_of_reach(jail: Jailed):
    """No descriptor of a sample leads to the watcher."""
    line = (
        "import fcntl\n"
        "    for fd in range(64):\n"
        "        for request in (0xC0502100, 0xC0182101, 0x40082102):\n"
        "            try:\n"
        "                fcntl.ioctl(fd, request, bytearray(80))\n"
        "            except OSError:\n"
        "                continue\n"
        "            raise AssertionError(fd)"
    )
    run(jail, line)


def test_every_suspicious_call_has_a_description():
    """Each suspicious call is reported with its purpose in words."""
    assert set() == SUSPICIOUS_CALLS - TRIED.keys()
    assert {"clone"} == TRIED.keys() - SUSPICIOUS_CALLS


def test_processes_that_a_sample_may_have_started():
    """All of its namespace but the zygote, the template and the process that is kept, also with a lower number."""
    page = watch.Page()
    page.start_run()
    page.set_child(500)
    page.set_own(2, 300)
    page.write_entry(0, 1, 62)
    assert [True] * 3 == [page.may_be_started(pid) for pid in (301, 499, 501)]
    assert not any(page.may_be_started(pid) for pid in (1, 2, 300, 0, (1 << 64) - 1, (1 << 64) - 500))
    assert ((1, 500), [62]) == (page.head(), page.read_entries())
    page.close()
